"""Instructions that the 128 threads of a warpgroup run together: products of tiles that lie in shared memory, with sums in registers.

The warpgroup is thread.x of a block whose thread.x is 128, or thread.x and thread.y of one where these are 32 and 4: then what its warps
run stands in loops over thread.y. Its four warps have 16 rows of the sums each; inside these, lanes hold what lanes of a warp hold of the
sums of a smaller product (`warps`). Each instruction begins and ends its product: operands and sums are as
any other memory before and after it, so barriers stand where those of other statements do. Only what was stored to shared memory has to
be shown to the tensor cores, by a fence before each barrier.

Operands have rows of 128 bytes, exchanged by swizzle(8, 8, 64), as descriptors of shared memory say it: rows of 64 terms each, or, of
turned operands (`_ta`, `_tb`, `_tab` in names), 64 terms of 64 elements each, in panels where the operand has more elements. Floats of 8
bits lie in rows of 128 terms, under swizzle(16, 8, 128), and cannot be turned. The left operand of 16 bits may be in registers instead
(`_ra`): as it is there for a warp, which is how a warp holds sums, so that what is made of sums is an operand of the next product.

Source: PTX ISA 8.0, 9.7.14 (asynchronous warpgroup level matrix instructions), NVIDIA 2022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product as pairs
from typing import TYPE_CHECKING

from texpr.ir.build import add, floordiv, integer, mod, mul
from texpr.ir.expr import Expr, Tensor, Var, index
from texpr.ir.instructions import INSTRUCTIONS, Instruction
from texpr.ir.loop import INSTRUCTION, For
from texpr.ir.swizzle import Swizzle
from texpr.passes.analysis.match_nest import Match, instance
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded
from texpr.support.errors import CompileError
from texpr.targets.gpu import async_mma as begun
from texpr.targets.gpu import warps

if TYPE_CHECKING:
    from texpr.targets.gpu.emitter import GpuEmitter

LANES = 128
_ROWS = 64
PATTERN = 1024
"""Bytes after which the swizzle begins anew: operands begin at multiples of them."""
_PANEL = 64
"""Rows of 128 bytes of a panel: terms of a turned operand, of which each row has 64 columns."""
_DESCRIPTOR = 1 << 62 | PATTERN // 16 << 32
"""Its upper word: rows of 128 bytes exchanged, eight rows after eight others."""
_PANELS = _PANEL * 128 // 16 << 16
"""How far apart panels are, in the lower word, which has the address as well."""


@dataclass(frozen=True, slots=True)
class _Product:
    """C[64, n] += A[64, terms] * B[n, terms], rows of A and B in shared memory; of `turned` ones (a, b, ab), columns of up to 64 elements.

    Attributes:
        left, right: types of the operands.
        terms: as many as 32 bytes have.
        registers: whether the left operand is in registers.
    """

    n: int
    left: str
    right: str
    terms: int
    turned: str = ""
    registers: bool = False

    @property
    def kind(self) -> str:
        """What names say of operands."""
        return self.types + self.suffix

    @property
    def suffix(self) -> str:
        """What names say of where operands lie, and how."""
        return ("_ra" if self.registers else "") + (f"_t{self.turned}" if self.turned else "")

    @property
    def described(self) -> str:
        """The operands in shared memory."""
        return "b" if self.registers else "ab"

    @property
    def types(self) -> str:
        """Of operands, in names: once, where they are the same."""
        return self.left if self.left == self.right else f"{self.left}_{self.right}"

    @property
    def small(self) -> bool:
        """Whether operands are floats of 8 bits: sums have fewer bits then, and nothing is too small for them."""
        return self.terms == 32

    @property
    def lies(self) -> Swizzle:
        """How operands lie in shared memory: units of 16 bytes are exchanged."""
        return Swizzle(self.terms // 2, 8, 4 * self.terms)

    def meaning(self, name: str) -> str:
        """As a listing."""
        panels = f"{self.n // 64}, " if self.n > 64 else ""
        left = "A[i, 0, k, 0]" if self.registers else "A[k, i]" if "a" in self.turned else "A[i, k]"
        right = ("B[j // 64, k, j % 64]" if panels else "B[k, j]") if "b" in self.turned else "B[j, k]"
        row = self.lies.row
        shape = f"{panels}{_PANEL}, 64" if "b" in self.turned else f"{self.n}, {row}"
        lies = f"{_ROWS}, P, {self.terms}, Q" if self.registers else f"64, {row}"
        return f"""kernel {name}(A: {self.left}[{lies}], B: {self.right}[{shape}]) -> (C: f32[{_ROWS}, T, {self.n}, U])
  for i in 0..{_ROWS}
    for j in 0..{self.n}
      for k in 0..{self.terms}
        C[i, 0, j, 0] += f32({left}) * f32({right})  reassoc
"""


class _Sums(warps.Sums):
    """Those of a warpgroup."""

    __slots__ = ()


for _n in (64, 128, 256):
    _both = [_Product(_n, _t, _t, 16, _turned) for _t, _turned in pairs(("bf16", "f16"), ("", "a", "b", "ab"))]
    _both += [_Product(_n, _t, _t, 16, _turned, registers=True) for _t, _turned in pairs(("bf16", "f16"), ("", "b"))]
    for _p in [*_both, *(_Product(_n, _left, _right, 32) for _left, _right in pairs(("f8e4m3", "f8e5m2"), repeat=2))]:
        _name = f"wgmma_{_p.types}_n{_n}{_p.suffix}"
        INSTRUCTIONS[_name] = Instruction(_name, _p.meaning(_name), _p, flushes=not _p.small, reorders=_p.small, coarse=_p.small,
                                          begun=True)
    warps.around_products(f"wgmma_n{_n}", "f32", _ROWS, _n, _Sums)

NAMES = frozenset(n for n, each in INSTRUCTIONS.items() if isinstance(each.emit, _Product | _Sums))
"""What a processor of 9.0 has under the name that ends in `a`. LLVM ends the process over one that the processor lacks."""


def lanes_of(name: str) -> int:
    """How many threads run an instruction together."""
    return LANES if name in NAMES else warps.LANES


def axes_of(name: str, block: Sequence[Expr]) -> str:
    """The axes of a block along which all threads run an instruction together; empty if no such threads do."""
    x, y, _ = map(integer, block)
    if lanes_of(name) == x:
        return "x"
    return "xy" if x is not None and lanes_of(name) == LANES == x * (y or 0) and x == warps.LANES else ""


def not_together(name: str) -> CompileError:
    """The error for an instruction that does not stand where the threads that run it are together."""
    lanes = lanes_of(name)
    if lanes == warps.LANES:
        who, ways, more = "warp", f"{lanes} threads along thread.x", f"bind loops of {lanes} iterations to thread.x, and"
    else:
        who, ways = "warpgroup", f"{lanes} threads along thread.x, or {warps.LANES} there and {lanes // warps.LANES} along thread.y"
        more = f"bind loops of {lanes} iterations to thread.x, or of {warps.LANES} there and of {lanes // warps.LANES} to thread.y, and"
    return CompileError(f"{name} is run by a {who}: {ways}, and no loop over them around it", code="target",
                        help=f"{more} loops over {who}s to {'thread.y' if lanes == warps.LANES else 'the next axis'}")


def described(loop: For) -> tuple[Tensor, ...]:
    """The buffers that an instruction reads by descriptors of shared memory."""
    name = loop.kind.removeprefix(INSTRUCTION)
    match INSTRUCTIONS[name].emit:
        case _Product() as p:
            operands = instance(name, loop).operands
            return tuple(operands[x.upper()][0] for x in p.described)
    return ()


def held(name: str, operand: str, positions: Mapping[str, Var], axes: str) -> tuple[dict[str, Expr], dict[Var, int]]:
    """As for a warp (`warps.held`), of warpgroups too: eight rows by four pairs of columns in a warp, two rows in a lane.

    Args:
        positions: where threads are along each axis.
        axes: those along which they run the instruction together.
    """
    lane = positions["x"]
    match INSTRUCTIONS[name].emit:
        case _Product(registers=True, terms=terms) if operand == "A":
            half, tile, inside = Var("io"), Var("ko"), Var("ki")
            row = add(_row(positions, axes), mul(half, index(8)))
            return {"i": row, "k": add(add(mul(tile, index(8)), _column(lane)), inside)}, {half: 2, tile: terms // 8, inside: 2}
        case _Product(n) | _Sums(_, n):
            half, tile, inside = Var("io"), Var("jo"), Var("ji")
            row = add(_row(positions, axes), mul(half, index(8)))
            return {"i": row, "j": add(add(mul(tile, index(8)), _column(lane)), inside)}, {half: 2, tile: n // 8, inside: 2}
    return warps.held(name, operand, lane)


def _row(positions: Mapping[str, Var], axes: str) -> Expr:
    eighths = floordiv(positions["x"], index(4))
    if axes == "xy":
        return add(mul(positions["y"], index(16)), eighths)
    return add(mul(floordiv(eighths, index(8)), index(16)), mod(eighths, index(8)))


def _column(lane: Expr) -> Expr:
    return mul(mod(lane, index(4)), index(2))


def emit_together(emitter: GpuEmitter, loop: For) -> None:
    """Write the instruction of a warp or a warpgroup that runs the nest of `loop`; that the target has it was checked."""
    name = loop.kind.removeprefix(INSTRUCTION)
    match INSTRUCTIONS[name].emit:
        case _Product() as p:
            _emit_product(emitter, p, instance(name, loop), _how(emitter, loop))
        case _Sums(_, n, stores):
            row = _row(emitter.positions, axes_of(name, emitter.where.block))
            warps.emit_sums(emitter, instance(name, loop), loop, stores, _elements(n), row, _column(emitter.positions["x"]))
        case _:
            warps.emit_warp(emitter, loop)


def _how(emitter: GpuEmitter, loop: For) -> str:
    """Whether a product is done at once (empty), begins behind other statements, or behind one that has begun."""
    return "" if not begun.is_begun(loop) else "next." if loop in emitter.sums.following else "begin."


def _emit_product(emitter: GpuEmitter, p: _Product, match: Match, how: str) -> None:
    f = emitter.function
    left = _words(emitter, match, p) if p.registers else _operand(emitter, match, p, "A")
    operands = [*left, *_operand(emitter, match, p, "B")]
    places = [warps.place(emitter, match, "C", i=i, j=j) for i, j in _elements(p.n)]
    sums = [f.define(f"load float, {at}, align 4") for at in places]
    words = [f"i32 {n}" for n in begun.numbers(emitter, match, _elements(p.n))] if how else []
    symbol = f"@texpr.wgmma.{how}m{_ROWS}n{p.n}k{p.terms}.{p.kind}"
    result = f"{{ {', '.join(['float'] * len(sums))} }}"
    emitter.declared[symbol] = _wrapper(symbol, result, p, how)
    after = f.define(f"call {result} {symbol}({', '.join([*words, *(f'float {x}' for x in sums), *operands])})")
    for k, at in enumerate(places):
        f.emit(f"store float {f.define(f'extractvalue {result} {after}, {k}')}, {at}, align 4")


def _words(emitter: GpuEmitter, match: Match, p: _Product) -> list[str]:
    """The typed addresses of a lane's registers of the left operand, each of two terms of a row: the wrapper loads them."""
    if not warps.side_by_side(emitter, match, "A"):
        raise CompileError(f"wgmma reads pairs of terms from registers, and those of {match.operands['A'][0].name} do not lie beside each "
                           "other", code="target", help="leave the buffer in the order of its terms")
    return [warps.place(emitter, match, "A", i=8 * h, k=8 * q) for q, h in pairs(range(p.terms // 8), range(2))]


def _operand(emitter: GpuEmitter, match: Match, p: _Product, name: str) -> list[str]:
    """Where a tile of the terms of an instruction begins, in the first of eight rows: a typed address, and the bytes from there on that
    are known. So the descriptors of products that follow each other differ by a number.
    """
    tensor, indices = match.operands[name]
    turned, lies = name.lower() in p.turned, p.lies
    if tensor.scope != "shared" or tensor.swizzle != lies:
        how = f"{lies.unit}, {lies.count}, {lies.row}"
        raise CompileError(f"wgmma reads rows of 128 bytes of shared memory under {lies}, and {tensor.name} does not lie so",
                           code="target", help=f'scope("{tensor.name}", "shared"), then swizzle("{tensor.name}", {how})')
    zero = {w: index(0) for w in match.loops.values()} | begun.once(emitter)
    flat, period = flat_index(tensor, tuple(folded(i, zero) for i in indices)), lies.row * lies.count
    extents = emitter.threads.extents
    near = [(t, c % period) for t, c in flat.terms if c % period]
    last = flat.constant % period + sum(c * ((integer(extents[t]) or period) - 1 if isinstance(t, Var) and t in extents else period)
                                        for t, c in near)
    step = period if turned else p.terms
    if last + p.terms > lies.row or any(c % step for c in (flat.constant, *(c for _, c in near))):
        which = "eight rows" if turned else "one row"
        raise CompileError(f"wgmma reads {p.terms} terms of {which} of {tensor.name}, from every eighth row on, and these may begin "
                           "elsewhere", code="target",
                           help=f"use tiles of {lies.row} terms, cut into steps of {p.terms}, and of rows that are a multiple of 8")
    known = flat.constant * tensor.dtype.bytes
    at = emitter.function.define(f"getelementptr i8, {emitter.place(tensor, indices, zero)}, i64 {-known}")
    return [f"ptr addrspace(3) {at}", f"i32 {known}"]


def _wrapper(symbol: str, result: str, p: _Product, how: str) -> str:
    """A function for one instruction, which an emulator replaces by its name. Of an operand in registers it is given where they are."""
    count = p.n // 2
    words = p.terms // 4 if p.registers else 0
    given = [begun.given(count) if how else begun.values(count), *(f"ptr %w{k}" for k in range(words))]
    given += [f"ptr addrspace(3) %{x}, i32 %{x}.known" for x in p.described]
    lines = [f"define internal {result} {symbol}({', '.join(given)}) alwaysinline convergent nounwind {{"]
    lines += [f"  %a{k} = load i32, ptr %w{k}, align 4" for k in range(words)]
    for x in p.described:
        low = _PANELS if x in p.turned else 1 << 16
        lines += [f"  %{x}0 = ptrtoint ptr addrspace(3) %{x} to i32", f"  %{x}1 = lshr i32 %{x}0, 4", f"  %{x}2 = and i32 %{x}1, 16383",
                  f"  %{x}3 = or i32 %{x}2, {low}", f"  %{x}5 = lshr i32 %{x}.known, 4", f"  %{x}6 = add nuw i32 %{x}3, %{x}5",
                  f"  %{x}7 = zext i32 %{x}6 to i64", f"  %{x}4 = or i64 %{x}7, {_DESCRIPTOR}"]
    operands = [*(f"i32 %a{k}" for k in range(words)), *(f"i64 %{x}4" for x in p.described)]
    kinds = ",".join("r" * words + "l" * len(p.described))
    lines += [f'  %r = call {result} asm sideeffect "{_text(p, how)}", "{begun.tied(count)},{kinds},~{{memory}}"'
              f"({begun.values(count)}, {', '.join(operands)}) convergent", f"  ret {result} %r", "}"]
    return "\n".join(lines)


def _text(p: _Product, how: str) -> str:
    """The instruction, with a fence before it and a wait behind it where no other does that."""
    count, first = p.n // 2, p.n
    words = p.terms // 4 if p.registers else 0
    sums, left = (", ".join(f"${k}" for k in range(at, at + n)) for at, n in ((0, count), (first, words or 1)))
    types = ".".join(t.removeprefix("f8") for t in (p.left, p.right))
    turns = "" if p.small else "".join(f", {int(x in p.turned)}" for x in p.described)
    ends = "" if how else " wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    return (f"{'' if how == 'next.' else begun.FENCE} wgmma.mma_async.sync.aligned.m{_ROWS}n{p.n}k{p.terms}.f32.{types} "
            f"{{{sums}}}, {f'{{{left}}}' if words else left}, ${first + (words or 1)}, 1, 1, 1{turns};{ends}")


def _elements(n: int) -> list[tuple[int, int]]:
    """What the first lane holds, in the order of its registers."""
    return [(8 * h, 8 * c + b) for c, h, b in pairs(range(n // 8), range(2), range(2))]
