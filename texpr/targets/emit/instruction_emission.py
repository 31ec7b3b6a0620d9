"""Instructions that replace a nest of loops, as data, and their emission."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from texpr.ir.affine import Linear
from texpr.ir.dtypes import DType
from texpr.ir.expr import Expr, Var, index
from texpr.ir.instructions import INSTRUCTIONS, Instruction, transpose
from texpr.ir.loop import For, instruction_of
from texpr.passes.analysis.match_nest import Match, instance
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded
from texpr.support.frozen_dataclass import frozen
from texpr.targets.common.instruction_names import transposed_squares
from texpr.targets.emit.function import memory_type, vector_type
from texpr.targets.emit.memory_access import Accesses


@frozen
class _Dot:
    """C[j] += sum of A[k] * B[j, k] over a group of k: `call(C, A for each j, B)`.

    Attributes:
        total: LLVM's type of a sum.
        by_element: the call takes A last, which may then be one element of a register.
        offset: the call takes A as unsigned bytes: it gets A + 128, and what that adds is taken off
            again.
    """

    call: str
    lanes: int
    group: str
    total: str = "i32"
    offset: bool = False
    by_element: bool = False


def _dot(name: str, dot: _Dot, terms: int, left: str, right: str) -> None:
    total = {"i32": "i32", "float": "f32"}[dot.total]
    text = f"""kernel {name}(A: {left}[{terms}], B: {right}[{dot.lanes}, {terms}]) -> (C: {total}[{dot.lanes}])
  for j in 0..{dot.lanes}
    for k in 0..{terms}
      C[j] += {total}(A[k]) * {total}(B[j, k])  reassoc
"""
    INSTRUCTIONS[name] = Instruction(
        name, text, dot, flushes_denormals=dot.total == "float", offset=dot.offset
    )


_dot("vpdpbusd", _Dot("llvm.x86.avx512.vpdpbusd.512", 16, "<64 x i8>"), 4, "u8", "i8")
# Of AVX-VNNI-INT8. On machines with vpdpbusd alone `passes.loop.signed_dot_products` leaves few of
# them.
_dot("vpdpbssd", _Dot("llvm.x86.avx512.vpdpbusd.512", 16, "<64 x i8>", offset=True), 4, "i8", "i8")
_dot("vpdpwssd", _Dot("llvm.x86.avx512.vpdpwssd.512", 16, "<32 x i16>"), 2, "i16", "i16")
_dot("vdpbf16ps", _Dot("llvm.x86.avx512bf16.dpbf16ps.512", 16, "<32 x bfloat>", "float"), 2, "bf16", "bf16")
_dot("sdot", _Dot("llvm.aarch64.neon.sdot.v4i32.v16i8", 4, "<16 x i8>", by_element=True), 4, "i8", "i8")
_dot("udot", _Dot("llvm.aarch64.neon.udot.v4i32.v16i8", 4, "<16 x i8>", by_element=True), 4, "u8", "u8")
_dot(
    "bfdot",
    _Dot("llvm.aarch64.neon.bfdot.v4f32.v8bf16", 4, "<8 x bfloat>", "float", by_element=True),
    2,
    "bf16",
    "bf16",
)


@frozen
class _Square:
    """C[i, j] += sum of A[i, k] * B[j, k] for two rows each, over `terms` terms: `call(C, A, B)`,
    squares and rows beside each other.

    Attributes:
        element, total: LLVM's types of a factor and of a sum.
    """

    call: str
    terms: int
    element: str
    total: str


def _square_product(name: str, square: _Square, factor: str, total: str) -> None:
    INSTRUCTIONS[name] = Instruction(
        name,
        f"""kernel {name}(A: {factor}[2, P], B: {factor}[2, Q]) -> (C: {total}[2, R])
  for i in 0..2
    for j in 0..2
      for k in 0..{square.terms}
        C[i, j] += {total}(A[i, k]) * {total}(B[j, k])  reassoc
""",
        square,
        flushes_denormals=total == "f32",
    )


_square_product("bfmmla", _Square("llvm.aarch64.neon.bfmmla", 4, "bfloat", "float"), "bf16", "f32")
_square_product("smmla", _Square("llvm.aarch64.neon.smmla.v4i32.v16i8", 8, "i8", "i32"), "i8", "i32")
_square_product("ummla", _Square("llvm.aarch64.neon.ummla.v4i32.v16i8", 8, "i8", "i32"), "u8", "i32")
_ROW_LOOPS = {"A": "i", "B": "j", "C": "i"}
"""The loops of a square's meaning that run along the rows of its operands."""


@frozen
class _Transpose:
    """B[i, j] = A[j, i] for a square of registers."""

    lanes: int


def _square(t: DType, lanes: int) -> None:
    name = transpose(t, lanes)
    text = f"""kernel {name}(A: {t}[{lanes}, P]) -> (B: {t}[{lanes}, Q])
  for i in 0..{lanes}
    for j in 0..{lanes}
      B[i, j] = A[j, i]
"""
    INSTRUCTIONS[name] = Instruction(name, text, _Transpose(lanes))


for _each in transposed_squares():
    _square(*_each)


def emit_instruction(emitter: Accesses, loop: For) -> None:
    """Emit the instruction that replaces the nest of `loop`. The target has it: that was checked."""
    name = instruction_of(loop)
    match = instance(name, loop)
    match INSTRUCTIONS[name].emit:
        case _Dot() as dot:
            _emit_dot(emitter, dot, match)
        case _Square() as square:
            _emit_square(emitter, square, match)
        case _Transpose(lanes):
            _emit_transpose(emitter, lanes, match)
        case other:
            raise AssertionError(f"no code for {other}")


def _emit_dot(emitter: Accesses, dot: _Dot, match: Match) -> None:
    f, groups, sums = emitter.function, f"<{dot.lanes} x i32>", f"<{dot.lanes} x {dot.total}>"
    target = _address(emitter, match, "C")
    a = f.define(f"load i32, ptr {_address(emitter, match, 'A')}, align 1")
    if dot.offset:
        a = f.define(f"xor i32 {a}, -2139062144")
    one = f.define(f"insertelement {groups} poison, i32 {a}, i64 0")
    every = f.define(f"shufflevector {groups} {one}, {groups} poison, <{dot.lanes} x i32> zeroinitializer")
    left = f.define(f"bitcast {groups} {every} to {dot.group}")
    right = f.define(f"load {dot.group}, ptr {_address(emitter, match, 'B')}, align 1")
    before = f.define(f"load {sums}, ptr {target}, align 4")
    factors = (right, left) if dot.by_element else (left, right)
    after = emitter.intrinsic(
        dot.call, sums, f"{sums} {before}", *(f"{dot.group} {each}" for each in factors)
    )
    if dot.offset:
        more = emitter.intrinsic(
            dot.call, sums, f"{sums} zeroinitializer", f"{dot.group} splat (i8 -128)", f"{dot.group} {right}"
        )
        after = f.define(f"sub {sums} {after}, {more}")
    f.emit(f"store {sums} {after}, ptr {target}, align 4")


def _flat(match: Match, operand: str, **places: int) -> Linear:
    """Position of an operand's element in its tensor: the first one, or that at other places of the
    pattern's loops.
    """
    tensor, indices = match.operands[operand]
    return flat_index(tensor, _indices(match, indices, places))


def _indices(match: Match, indices: tuple[Expr, ...], places: Mapping[str, int]) -> tuple[Expr, ...]:
    at: dict[Var, Expr] = {w: index(places.get(v.name, 0)) for v, w in match.loops.items()}
    return tuple(folded(i, at) for i in indices)


def _emit_square(emitter: Accesses, square: _Square, match: Match) -> None:
    f = emitter.function
    sums, terms, factor = (
        f"<4 x {square.total}>",
        f"<{2 * square.terms} x {square.element}>",
        (square.element, square.terms),
    )
    c, a, b = (
        _rows(emitter, match, name, *each)
        for name, each in (("C", (square.total, 2)), ("A", factor), ("B", factor))
    )
    new = emitter.intrinsic(square.call, sums, f"{sums} {c}", f"{terms} {a}", f"{terms} {b}")
    if _are_neighbours(match, "C", 2):
        f.emit(f"store {sums} {new}, ptr {_address(emitter, match, 'C')}, align 4")
        return
    for i in range(2):
        row = f.define(f"shufflevector {sums} {new}, {sums} poison, <2 x i32> <i32 {2 * i}, i32 {2 * i + 1}>")
        f.emit(f"store <2 x {square.total}> {row}, ptr {_address(emitter, match, 'C', i=i)}, align 4")


def _rows(emitter: Accesses, match: Match, operand: str, element: str, count: int) -> str:
    """Two rows of an operand in one register."""
    f, row, align = emitter.function, _ROW_LOOPS[operand], match.operands[operand][0].dtype.bytes
    if _are_neighbours(match, operand, count):
        return f.define(
            f"load <{2 * count} x {element}>, ptr {_address(emitter, match, operand)}, align {align}"
        )
    halves = [
        f.define(
            f"load <{count} x {element}>, ptr {_address(emitter, match, operand, **{row: i})}, align {align}"
        )
        for i in range(2)
    ]
    order = ", ".join(f"i32 {k}" for k in range(2 * count))
    typed = ", ".join(f"<{count} x {element}> {half}" for half in halves)
    return f.define(f"shufflevector {typed}, <{2 * count} x i32> <{order}>")


def _are_neighbours(match: Match, operand: str, count: int) -> bool:
    """True if the second row of an operand follows the first, of so many elements, in memory."""
    apart = _flat(match, operand, **{_ROW_LOOPS[operand]: 1}).plus(_flat(match, operand), -1)
    return not apart.terms and apart.constant == count


def _address(emitter: Accesses, match: Match, operand: str, **places: int) -> str:
    """Address of an operand's element: the first, or the one at other places of the pattern's
    loops.
    """
    tensor, indices = match.operands[operand]
    return emitter.address(tensor, _indices(match, indices, places))[0]


_PIECE = 16
"""Bytes of a register within which shuffles are cheapest, and whole ones of which are moved by
an instruction without a table.
"""


def _emit_transpose(emitter: Accesses, lanes: int, match: Match) -> None:
    """Emit a transposition: rows are loaded; squares within pieces of registers are transposed,
    then the square of pieces.

    Tables of shuffles would take registers from whatever else runs in the function.
    """
    f, (read, write) = emitter.function, (match.operands[name][0] for name in "AB")
    row = vector_type(memory_type(read.dtype), lanes)
    rows = [
        f.define(f"load {row}, ptr {_address(emitter, match, 'A', j=k)}, align {emitter.alignment(read)}")
        for k in range(lanes)
    ]
    side = _PIECE // read.dtype.bytes

    def joined(first: str, second: str, picks: list[int]) -> str:
        return f.define(
            f"shufflevector {row} {first}, {row} {second}, <{lanes} x i32> "
            f"<{', '.join(f'i32 {k}' for k in picks)}>"
        )

    for at in range(0, lanes, side):
        rows[at : at + side] = _within_pieces(rows[at : at + side], lanes, side, joined)
    for j in range(side):
        rows[j::side] = _of_pieces(rows[j::side], lanes, side, joined)
    for k, value in enumerate(rows):
        f.emit(
            f"store {row} {value}, ptr {_address(emitter, match, 'B', i=k)}, align {emitter.alignment(write)}"
        )


def _within_pieces(
    rows: list[str], lanes: int, side: int, joined: Callable[[str, str, list[int]], str]
) -> list[str]:
    """The rows transposed within each piece: halves of pieces of two rows are interleaved, runs of
    1, 2, ... elements at a time.
    """
    run = 1
    while run < side:
        low = [
            piece + half // 2 * run + part + half % 2 * lanes
            for piece in range(0, lanes, side)
            for half in range(side // run)
            for part in range(run)
        ]
        pairs = [(rows[k], rows[k + run]) for k in range(len(rows)) if not k & run]
        rows = [joined(*pair, [k + high for k in low]) for pair in pairs for high in (0, side // 2)]
        run *= 2
    return rows


def _of_pieces(
    rows: list[str], lanes: int, side: int, joined: Callable[[str, str, list[int]], str]
) -> list[str]:
    """The rows with their pieces transposed: every second piece of two rows side by side, from the
    first one and from the next one.
    """
    if len(rows) == 1:
        return rows
    even = [
        k + which * lanes
        for which in (0, 1)
        for at in range(0, lanes, 2 * side)
        for k in range(at, at + side)
    ]
    firsts, seconds = (
        [joined(a, b, [k + odd for k in even]) for a, b in zip(rows[::2], rows[1::2])] for odd in (0, side)
    )
    found = [_of_pieces(half, lanes, side, joined) for half in (firsts, seconds)]
    return [each for pair in zip(*found) for each in pair]
