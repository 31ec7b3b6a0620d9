"""Asynchronous copies of single threads (cp.async), past registers: begin and wait."""

from __future__ import annotations

from texpr.ir.affine import linear
from texpr.ir.build import TRUE, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import And, Compare, Expr, Var, index
from texpr.ir.loop import Commit, Store, Wait, copy_of
from texpr.ir.traverse import variables
from texpr.passes.analysis.substitution import folded
from texpr.support.errors import CompileError
from texpr.targets.gpu.addressing import GLOBAL
from texpr.targets.gpu.bulk_copies import emit_commit, emit_wait
from texpr.targets.gpu.emission_context import GpuContext
from texpr.targets.gpu.shared_memory import SHARED

COPIES = (4, 8, 16)
"""Bytes of an asynchronous copy of a thread from global to shared memory."""


def emit_async_copy(emitter: GpuContext, s: Store) -> None:
    """Begin a copy from memory to shared memory, past the registers."""
    copy = copy_of(s)
    assert copy is not None, "only copies are asynchronous"
    (source, within), lane = copy, emitter.lane
    spaces = emitter.space_number(s.tensor), emitter.space_number(source.tensor)
    size = s.tensor.dtype.bytes * max(emitter.lanes if lane is not None else 1, 1)
    (_, _, stride), (_, _, step) = (
        emitter.address(s.tensor, s.indices),
        emitter.address(source.tensor, source.indices),
    )
    runs = lane is None or stride == step == 1
    begins = min(emitter.alignment(s.tensor, s.indices), emitter.alignment(source.tensor, source.indices))
    whole = lane is None or lane not in variables(within) or is_uniform(within, lane, emitter.lanes)
    if spaces != (SHARED, GLOBAL) or size not in COPIES or not runs or begins < size or not whole:
        raise CompileError(
            f"{source.tensor.name} is copied to {s.tensor.name} asynchronously, which threads do with 4, 8 "
            f"or 16 bytes "
            "that begin at a multiple of that, from memory to shared memory",
            code="target",
            help="vectorize the innermost loop of the copy, or pipeline without asynchronous=True",
        )
    places = [
        *emitter.split_address(s.tensor, s.indices),
        *emitter.split_address(source.tensor, source.indices),
    ]
    if within is not TRUE:
        held = emitter.value(within if lane is None else folded(within, {lane: index(0)}))
        places.append(f"i32 {emitter.function.define(f'select {held}, i32 {size}, i32 0')}")
    symbol = f"@texpr.copy.{size}{'' if within is TRUE else '.s'}"
    emitter.declared[symbol] = _wrapper(symbol, size, some=within is not TRUE)
    emitter.function.emit(f"call void {symbol}({', '.join(places)})")


def _wrapper(symbol: str, size: int, *, some: bool) -> str:
    """A function for the instruction, which an emulator replaces by its name. Known parts of
    addresses are operands of the instruction: LLVM takes each whole address for a value of its own,
    and keeps one in registers for each copy of a loop.
    """
    cache = "cg" if size == max(COPIES) else "ca"
    given = [f"ptr addrspace({SHARED}) %to", "i64 %to.known", f"ptr addrspace({GLOBAL}) %at", "i64 %at.known"]
    given += ["i32 %some"] if some else []
    text = f"cp.async.{cache}.shared.global [$0+$1], [$2+$3], {size}{', $4' if some else ''};"
    return "\n".join(
        [
            f"define internal void {symbol}({', '.join(given)}) alwaysinline nounwind {{",
            f'  call void asm sideeffect "{text}", '
            f'"l,n,l,n,{"r," if some else ""}~{{memory}}"({", ".join(given)})',
            "  ret void",
            "}",
        ]
    )


def emit_copy_group(emitter: GpuContext, s: Commit | Wait) -> None:
    """Emit the end of a group of copies, or the wait for all but some groups."""
    match s:
        case Commit(slot=None):
            emitter.intrinsic("llvm.nvvm.cp.async.commit.group", "void")
        case Wait(pending, slot=None):
            emitter.intrinsic("llvm.nvvm.cp.async.wait.group", "void", f"i32 {pending}")
        case Commit():
            emit_commit(emitter, s)
        case Wait():
            emit_wait(emitter, s)


def is_uniform(cond: Expr, lane: Var, lanes: int) -> bool:
    """True if a condition holds for all of so many lanes or for none: a bound that is met at
    multiples of their number.
    """
    if lane not in variables(cond):
        return True
    match cond:
        case And(lhs, rhs):
            return is_uniform(lhs, lane, lanes) and is_uniform(rhs, lane, lanes)
        case Compare("<", lhs, rhs) if lhs.dtype == I64:
            form = linear(sub(lhs, rhs))
            rest = form.without(lane)
            plain = not any(lane in variables(t) for t, _ in rest.terms)
            return (
                plain
                and form.coefficient(lane) == 1
                and not any(c % lanes for c in (rest.constant, *(c for _, c in rest.terms)))
            )
    return False
