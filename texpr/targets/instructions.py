"""The instructions that run a nest of loops, as data, and how they are written."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.ir.expr import Expr, Var, index
from texpr.ir.instructions import INSTRUCTIONS, Instruction, meaning
from texpr.ir.loop import INSTRUCTION, For
from texpr.passes.renew import folded
from texpr.passes.unify import Match, unify
from texpr.targets.access import Accesses


@dataclass(frozen=True, slots=True)
class _Dot:
    """C[j] += sum of A[k] * B[j, k] over a group of k: `call(C, A for each j, B)`."""

    call: str
    lanes: int
    group: str


def _dot(name: str, call: str, lanes: int, terms: int, left: str, right: str, group: str) -> None:
    text = f"""kernel {name}(A: {left}[{terms}], B: {right}[{lanes}, {terms}]) -> (C: i32[{lanes}])
  for j in 0..{lanes}
    for k in 0..{terms}
      C[j] += i32(A[k]) * i32(B[j, k])  reassoc
"""
    INSTRUCTIONS[name] = Instruction(name, text, _Dot(call, lanes, group))


_dot("vpdpbusd", "llvm.x86.avx512.vpdpbusd.512", 16, 4, "u8", "i8", "<64 x i8>")
_dot("vpdpwssd", "llvm.x86.avx512.vpdpwssd.512", 16, 2, "i16", "i16", "<32 x i16>")
_dot("sdot", "llvm.aarch64.neon.sdot.v4i32.v16i8", 4, 4, "i8", "i8", "<16 x i8>")
_dot("udot", "llvm.aarch64.neon.udot.v4i32.v16i8", 4, 4, "u8", "u8", "<16 x i8>")


def emit_instruction(emitter: Accesses, loop: For) -> None:
    """Write the instruction that runs the nest of `loop`; that the target has it was checked."""
    name = loop.kind.removeprefix(INSTRUCTION)
    match = unify(meaning(name), loop)
    dot = INSTRUCTIONS[name].emit
    assert isinstance(dot, _Dot)
    f, sums = emitter.function, f"<{dot.lanes} x i32>"
    target = _address(emitter, match, "C")
    a = f.define(f"load i32, ptr {_address(emitter, match, 'A')}, align 1")
    one = f.define(f"insertelement {sums} poison, i32 {a}, i64 0")
    every = f.define(f"shufflevector {sums} {one}, {sums} poison, <{dot.lanes} x i32> zeroinitializer")
    left = f.define(f"bitcast {sums} {every} to {dot.group}")
    right = f.define(f"load {dot.group}, ptr {_address(emitter, match, 'B')}, align 1")
    before = f.define(f"load {sums}, ptr {target}, align 4")
    after = emitter.intrinsic(dot.call, sums, f"{sums} {before}", f"{dot.group} {left}", f"{dot.group} {right}")
    f.emit(f"store {sums} {after}, ptr {target}, align 4")


def _address(emitter: Accesses, match: Match, operand: str) -> str:
    """Of the first element."""
    tensor, indices = match.operands[operand]
    first: dict[Var, Expr] = {w: index(0) for w in match.loops.values()}
    return emitter.address(tensor, tuple(folded(i, first) for i in indices))[0]
