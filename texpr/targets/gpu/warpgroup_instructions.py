"""Instructions that the 128 threads of a warpgroup run together (`wgmma`), as data: products of
tiles that lie in shared memory, with accumulators in registers. `warpgroups` writes their code.

The warpgroup is thread.x of a block whose thread.x is 128, or thread.x and thread.y of one where
these are 32 and 4: then what its warps run stands in loops over thread.y. Its four warps have 16
rows of the accumulators each; inside these, lanes hold what lanes of a warp hold of the
accumulators of a smaller product (`warp_instructions`).

Operands have rows of 128 bytes, exchanged by swizzle(8, 8, 64), as descriptors of shared memory say
it: rows of 64 terms each, or, of transposed operands (`_ta`, `_tb`, `_tab` in names), 64 terms of
64 elements each, in panels where the operand has more elements. Floats of 8 bits lie in rows of 128
terms, under swizzle(16, 8, 128), and cannot be transposed. The left operand of 16 bits may be in
registers instead (`_ra`): as it is there for a warp, which is how a warp holds accumulators, so
that what is made of accumulators is an operand of the next product.

Source: PTX ISA 8.0, 9.7.14 (asynchronous warpgroup level matrix instructions), NVIDIA 2022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product as pairs

from texpr.ir.build import add, floordiv, integer, mod, mul
from texpr.ir.expr import Expr, Tensor, Var, index
from texpr.ir.instructions import INSTRUCTIONS, Instruction
from texpr.ir.loop import For, instruction_of
from texpr.ir.swizzle import Swizzle
from texpr.passes.analysis.match_nest import instance
from texpr.support.errors import CompileError
from texpr.support.frozen_dataclass import frozen
from texpr.targets.gpu import warp_instructions

LANES = 128
ROWS = 64
PATTERN = 1024
"""Period of the swizzle in bytes: operands begin at multiples of them."""
PANEL = 64
"""Rows of 128 bytes of a panel: terms of a transposed operand, of which each row has 64 columns."""


@frozen
class WarpgroupMma:
    """C[64, n] += A[64, terms] * B[n, terms], rows of A and B in shared memory; of `transposed`
    operands (a, b, ab), columns of up to 64 elements.

    Attributes:
        left, right: types of the operands.
        terms: as many as 32 bytes have.
        left_in_registers: whether the left operand is in registers.
    """

    n: int
    left: str
    right: str
    terms: int
    transposed: str = ""
    left_in_registers: bool = False

    @property
    def kind(self) -> str:
        """Suffix of names for the types and places of operands."""
        return self.types + self.suffix

    @property
    def suffix(self) -> str:
        """Suffix of names for the places of operands: `_ra` if A is in registers, `_t` and the
        transposed ones.
        """
        return ("_ra" if self.left_in_registers else "") + (f"_t{self.transposed}" if self.transposed else "")

    @property
    def in_shared_memory(self) -> str:
        """The operands in shared memory."""
        return "b" if self.left_in_registers else "ab"

    @property
    def types(self) -> str:
        """The types of operands, in names: once, if they are the same."""
        return self.left if self.left == self.right else f"{self.left}_{self.right}"

    @property
    def is_fp8(self) -> bool:
        """True if operands are floats of 8 bits: sums have fewer bits then, and nothing is too
        small for them.
        """
        return self.terms == 32

    @property
    def swizzle(self) -> Swizzle:
        """Layout of operands in shared memory: units of 16 bytes are exchanged."""
        return Swizzle(self.terms // 2, 8, 4 * self.terms)

    def listing(self, name: str) -> str:
        """The instruction as a listing."""
        panels = f"{self.n // 64}, " if self.n > 64 else ""
        left = (
            "A[i, 0, k, 0]" if self.left_in_registers else "A[k, i]" if "a" in self.transposed else "A[i, k]"
        )
        right = ("B[j // 64, k, j % 64]" if panels else "B[k, j]") if "b" in self.transposed else "B[j, k]"
        row = self.swizzle.row
        shape = f"{panels}{PANEL}, 64" if "b" in self.transposed else f"{self.n}, {row}"
        lies = f"{ROWS}, P, {self.terms}, Q" if self.left_in_registers else f"64, {row}"
        return f"""kernel {name}(A: {self.left}[{lies}], B: {self.right}[{shape}]) -> (C: f32[{ROWS}, T, {self.n}, U])
  for i in 0..{ROWS}
    for j in 0..{self.n}
      for k in 0..{self.terms}
        C[i, 0, j, 0] += f32({left}) * f32({right})  reassoc
"""


class WarpgroupAccumulators(warp_instructions.AccumulatorTile):
    """The accumulators of a warpgroup."""

    __slots__ = ()


for _n in (64, 128, 256):
    _both = [
        WarpgroupMma(_n, _t, _t, 16, _transposed)
        for _t, _transposed in pairs(("bf16", "f16"), ("", "a", "b", "ab"))
    ]
    _both += [
        WarpgroupMma(_n, _t, _t, 16, _transposed, left_in_registers=True)
        for _t, _transposed in pairs(("bf16", "f16"), ("", "b"))
    ]
    for _p in [
        *_both,
        *(WarpgroupMma(_n, _left, _right, 32) for _left, _right in pairs(("f8e4m3", "f8e5m2"), repeat=2)),
    ]:
        _name = f"wgmma_{_p.types}_n{_n}{_p.suffix}"
        INSTRUCTIONS[_name] = Instruction(
            _name,
            _p.listing(_name),
            _p,
            flushes_denormals=not _p.is_fp8,
            reorders=_p.is_fp8,
            reduced_precision=_p.is_fp8,
            asynchronous=True,
        )
    warp_instructions.define_accumulator_moves(f"wgmma_n{_n}", "f32", ROWS, _n, WarpgroupAccumulators)

NAMES = frozenset(
    n for n, each in INSTRUCTIONS.items() if isinstance(each.emit, WarpgroupMma | WarpgroupAccumulators)
)
"""Instructions of a processor of 9.0 under the name that ends in `a`. LLVM ends the process over
one that the processor lacks.
"""


def thread_count(name: str) -> int:
    """Number of threads that run an instruction together."""
    return LANES if name in NAMES else warp_instructions.LANES


def axes_of(name: str, block: Sequence[Expr]) -> str:
    """The axes of a block along which all threads run an instruction together; empty if no such
    threads do.
    """
    x, y, _ = map(integer, block)
    if thread_count(name) == x:
        return "x"
    return (
        "xy"
        if x is not None and thread_count(name) == LANES == x * (y or 0) and x == warp_instructions.LANES
        else ""
    )


def misplaced(name: str) -> CompileError:
    """The error for an instruction that does not stand where the threads that run it are
    together.
    """
    lanes = thread_count(name)
    if lanes == warp_instructions.LANES:
        who, ways, more = (
            "warp",
            f"{lanes} threads along thread.x",
            f"bind loops of {lanes} iterations to thread.x, and",
        )
    else:
        who, ways = (
            "warpgroup",
            f"{lanes} threads along thread.x, or {warp_instructions.LANES} there and "
            f"{lanes // warp_instructions.LANES} along "
            f"thread.y",
        )
        more = (
            f"bind loops of {lanes} iterations to thread.x, or of {warp_instructions.LANES} there and of "
            f"{lanes // warp_instructions.LANES} to thread.y, and"
        )
    return CompileError(
        f"{name} is run by a {who}: {ways}, and no loop over them around it",
        code="target",
        help=f"{more} loops over {who}s to {'thread.y' if lanes == warp_instructions.LANES else 'the next axis'}",
    )


def descriptor_operands(loop: For) -> tuple[Tensor, ...]:
    """The buffers that an instruction reads by descriptors of shared memory."""
    name = instruction_of(loop)
    match INSTRUCTIONS[name].emit:
        case WarpgroupMma() as p:
            operands = instance(name, loop).operands
            return tuple(operands[x.upper()][0] for x in p.in_shared_memory)
    return ()


def fragment_layout(
    name: str, operand: str, positions: Mapping[str, Var], axes: str
) -> tuple[dict[str, Expr], dict[Var, int]]:
    """Layout of fragments, as for a warp (`warp_instructions.fragment_layout`), of warpgroups too:
    eight rows by four pairs of columns in a warp, two rows in a lane.

    Args:
        positions: where threads are along each axis.
        axes: those along which they run the instruction together.
    """
    lane = positions["x"]
    match INSTRUCTIONS[name].emit:
        case WarpgroupMma(left_in_registers=True, terms=terms) if operand == "A":
            half, tile, inside = Var("io"), Var("ko"), Var("ki")
            row = add(fragment_row(positions, axes), mul(half, index(8)))
            return {"i": row, "k": add(add(mul(tile, index(8)), fragment_column(lane)), inside)}, {
                half: 2,
                tile: terms // 8,
                inside: 2,
            }
        case WarpgroupMma(n) | WarpgroupAccumulators(_, n):
            half, tile, inside = Var("io"), Var("jo"), Var("ji")
            row = add(fragment_row(positions, axes), mul(half, index(8)))
            return {"i": row, "j": add(add(mul(tile, index(8)), fragment_column(lane)), inside)}, {
                half: 2,
                tile: n // 8,
                inside: 2,
            }
    return warp_instructions.fragment_layout(name, operand, lane)


def fragment_row(positions: Mapping[str, Var], axes: str) -> Expr:
    """The first row of accumulators that a thread holds; its other one is eight rows below."""
    eighths = floordiv(positions["x"], index(4))
    if axes == "xy":
        return add(mul(positions["y"], index(16)), eighths)
    return add(mul(floordiv(eighths, index(8)), index(16)), mod(eighths, index(8)))


def fragment_column(lane: Expr) -> Expr:
    """The first column of accumulators that a lane holds, of eight; the next one is its other
    one.
    """
    return mul(mod(lane, index(4)), index(2))
