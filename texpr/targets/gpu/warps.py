"""Code of the instructions of a warp (`warp_instructions`): reductions over lanes, products of
tiles, loads of tiles from shared memory.

Source: PTX ISA 8.0, 9.7.13 (warp level matrix multiply-accumulate instructions), NVIDIA 2022.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import product as pairs

from texpr.ir.build import add, compare, floordiv, mod, mul
from texpr.ir.expr import Expr, Var, index
from texpr.ir.instructions import INSTRUCTIONS
from texpr.ir.loop import For, If, instruction_of
from texpr.ir.traverse import walk
from texpr.passes.analysis.match_nest import Match, instance
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded
from texpr.support.errors import CompileError
from texpr.targets.emit.function import Value, constant, memory_type
from texpr.targets.gpu.addressing import check_inside
from texpr.targets.gpu.emission_context import GpuContext
from texpr.targets.gpu.native_conversions import ROUND
from texpr.targets.gpu.warp_instructions import (
    LANES,
    AccumulatorTile,
    MatrixLoad,
    QuadReduction,
    WarpMma,
    WarpReduction,
)

_ROW = 16
"""Bytes of a row that a lane addresses."""
_EVERY_LANE = "i32 -1"


def emit_warp(emitter: GpuContext, loop: For) -> None:
    """Emit the instruction that replaces the nest of `loop`. The target has it: that was checked."""
    name = instruction_of(loop)
    match = instance(name, loop)
    match INSTRUCTIONS[name].emit:
        case WarpReduction(update):
            _emit_reduction(emitter, update, match)
        case QuadReduction(update):
            _emit_quad_reduction(emitter, update, match)
        case WarpMma() as p:
            _emit_product(emitter, p, match)
        case AccumulatorTile(m, _, stores):
            lane = emitter.positions["x"]
            places = [(8 * h, b) for h, b in pairs(range(m // 8), range(2))]
            emit_accumulator_move(
                emitter,
                match,
                loop,
                stores,
                places,
                floordiv(lane, index(4)),
                mul(mod(lane, index(4)), index(2)),
            )
        case MatrixLoad() as load:
            _emit_load(emitter, load, match)
        case other:
            raise CompileError(f"a GPU has no code for {name} ({other})", code="target")


def _emit_reduction(emitter: GpuContext, update: str, match: Match) -> None:
    f, (tensor, _) = emitter.function, match.operands["P"]
    lane = emitter.positions["x"]
    address = emitter.operand_address(*match.operands["P"], values_of(match, l=lane))
    value = Value(
        f.define(f"load {memory_type(tensor.dtype)}, {address}, align {tensor.dtype.bytes}"), tensor.dtype
    )
    distance = LANES // 2
    while distance:
        value = emitter.combine(update, value, _shuffle(emitter, value, distance))
        distance //= 2
    total, at = match.operands["S"]

    def add_to_total() -> None:
        emitter.store(total, at, emitter.combine(update, emitter.load_element(total, at), value))

    emitter.in_first_lane(add_to_total)


def _emit_quad_reduction(emitter: GpuContext, update: str, match: Match) -> None:
    """Emit a reduction, as `_emit_reduction`, over the row that a quad of lanes holds."""
    f, (tensor, _) = emitter.function, match.operands["P"]
    lane = emitter.positions["x"]
    row, four = floordiv(lane, index(4)), index(4)
    address = emitter.operand_address(*match.operands["P"], values_of(match, g=row, t=mod(lane, four)))
    value = Value(
        f.define(f"load {memory_type(tensor.dtype)}, {address}, align {tensor.dtype.bytes}"), tensor.dtype
    )
    for distance in (2, 1):
        value = emitter.combine(update, value, _shuffle(emitter, value, distance))
    total, at = match.operands["S"]
    element = tuple(folded(i, values_of(match, g=row)) for i in at)

    def add_to_total() -> None:
        emitter.store(total, element, emitter.combine(update, emitter.load_element(total, element), value))

    emitter.where_holds([compare("==", mod(lane, four), index(0))], add_to_total)


def _shuffle(emitter: GpuContext, value: Value, distance: int) -> Value:
    """The value of the lane that is `distance` away, in words of 32 bits."""
    f, t, count = emitter.function, value.type, value.dtype.bytes // 4
    words = f"<{count} x i32>"
    whole = f.define(f"bitcast {value} to {words}")
    result = "poison"
    for k in range(count):
        word = f.define(f"extractelement {words} {whole}, i64 {k}")
        moved = emitter.intrinsic(
            "llvm.nvvm.shfl.sync.bfly.i32", "i32", _EVERY_LANE, f"i32 {word}", f"i32 {distance}", "i32 31"
        )
        result = f.define(f"insertelement {words} {result}, i32 {moved}, i64 {k}")
    return Value(f.define(f"bitcast {words} {result} to {t}"), value.dtype)


def _emit_product(emitter: GpuContext, p: WarpMma, match: Match) -> None:
    f, w = emitter.function, p.width
    total = match.operands["C"][0].dtype
    tiles = range(p.k // (4 * w))
    left = [
        _operand_word(emitter, match, "A", p, i=8 * h, k=4 * w * q) for q in tiles for h in range(p.m // 8)
    ]
    right = [_operand_word(emitter, match, "B", p, k=4 * w * q, j=0) for q in tiles]
    places = [register_address(emitter, match, "C", i=8 * h, j=b) for h in range(p.m // 8) for b in range(2)]
    t = memory_type(total)
    sums = [f.define(f"load {t}, {at}, align {total.bytes}") for at in places]
    result = f"{{ {', '.join([t] * len(sums))} }}"
    after = emitter.intrinsic(
        f"llvm.nvvm.{p.call}",
        result,
        *(f"{p.word} {x}" for x in (*left, *right)),
        *(f"{t} {x}" for x in sums),
    )
    for k, at in enumerate(places):
        f.emit(f"store {t} {f.define(f'extractvalue {result} {after}, {k}')}, {at}, align {total.bytes}")


def emit_accumulator_move(
    emitter: GpuContext,
    match: Match,
    loop: For,
    stores: bool,
    places: Iterable[tuple[int, int]],
    row: Expr,
    column: Expr,
) -> None:
    """Set a tile to 0, or store it, each lane its elements: `places` in the first lane, so many
    rows and columns further in others.
    """
    f, (target, indices) = emitter.function, match.operands["C"]
    t = target.dtype
    conditions = [n.cond for n in walk(loop) if isinstance(n, If)]
    for i, j in places:
        if not stores:
            f.emit(
                f"store {memory_type(t)} {constant(0, t).text}, "
                f"{register_address(emitter, match, 'C', i=i, j=j)}, align {t.bytes}"
            )
            continue
        values = values_of(match, i=add(index(i), row), j=add(column, index(j)))
        value = f.define(
            f"load {memory_type(t)}, {register_address(emitter, match, 'A', i=i, j=j)}, align {t.bytes}"
        )
        element = tuple(folded(e, values) for e in indices)
        emitter.where_holds(
            [folded(c, values) for c in conditions], partial(emitter.store, target, element, Value(value, t))
        )


def _operand_word(emitter: GpuContext, match: Match, operand: str, p: WarpMma, **first: int) -> str:
    """The register of an operand: neighbours along k, which lie beside each other unless the buffer
    has another order.
    """
    if p.width == 1:
        return _operand_element(emitter, match, operand, p, first)
    f, element = emitter.function, memory_type(match.operands[operand][0].dtype)
    size = match.operands[operand][0].dtype.bytes
    if is_packed(emitter, match, operand):
        return f.define(
            f"load {p.word}, {register_address(emitter, match, operand, **first)}, align {p.width * size}"
        )
    vector = f"<{p.width} x {element}>"
    word = "poison"
    for b in range(p.width):
        at = register_address(emitter, match, operand, **{**first, "k": first["k"] + b})
        word = f.define(
            f"insertelement {vector} {word}, {element} {f.define(f'load {element}, {at}, align {size}')}, "
            f"i64 {b}"
        )
    return word if vector == p.word else f.define(f"bitcast {vector} {word} to {p.word}")


def _operand_element(
    emitter: GpuContext, match: Match, operand: str, p: WarpMma, first: Mapping[str, int]
) -> str:
    """A register that holds one element, of a buffer in registers or from memory."""
    (tensor, indices), across = match.operands[operand], "i" if operand == "A" else "j"
    if tensor.scope == "register":
        there = register_address(emitter, match, operand, **first)
    else:
        lane = emitter.positions["x"]
        own = {
            across: add(index(first.get(across, 0)), floordiv(lane, index(4))),
            "k": add(index(first["k"]), mod(lane, index(4))),
        }
        there = emitter.operand_address(tensor, indices, values_of(match, **own))
    t = memory_type(tensor.dtype)
    value = emitter.function.define(f"load {t}, {there}, align {tensor.dtype.bytes}")
    return emitter.intrinsic(ROUND, p.word, f"{t} {value}") if p.word == "i32" else value


def is_packed(emitter: GpuContext, match: Match, operand: str, along: str = "k") -> bool:
    """True if neighbours along a loop of an instruction are neighbours in a lane's registers."""
    tensor, indices = match.operands[operand]
    return (
        emitter.register_stride(tensor, indices, next(w for v, w in match.loops.items() if v.name == along))
        == 1
    )


def _emit_load(emitter: GpuContext, load: MatrixLoad, match: Match) -> None:
    """Load tiles from shared memory: each lane has the address of one row of 16 bytes; four tiles
    of 8 rows come at once.
    """
    f, (tensor, indices) = emitter.function, match.operands["A"]
    if tensor.scope != "shared":
        raise CompileError(
            f"ldmatrix reads shared memory, and {tensor.name} lives elsewhere",
            code="target",
            help=f'cache_read("{tensor.name}", ...), then set_scope(..., "shared")',
        )
    lane, half = emitter.positions["x"], index(16)
    row, column = mod(lane, half), mul(floordiv(lane, half), index(4 * load.width))
    places = values_of(match, i=row, k=column)
    if tensor.swizzle is not None:
        check_inside(
            tensor, flat_index(tensor, tuple(folded(i, places) for i in indices)), _ROW // tensor.dtype.bytes
        )
    address = emitter.operand_address(tensor, indices, places)
    kind = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.{'trans.' if load.transposed else ''}b16.p3"
    result = "{ i32, i32, i32, i32 }"
    words = emitter.intrinsic(kind, result, address)
    for m in range(4):
        word = f.define(f"extractvalue {result} {words}, {m}")
        _store_elements(emitter, load, match, word, i=8 * (m % 2), k=4 * load.width * (m // 2))


def _store_elements(emitter: GpuContext, load: MatrixLoad, match: Match, word: str, **first: int) -> None:
    """Store the elements of a register."""
    f, t = emitter.function, match.operands["B"][0].dtype
    along = "i" if load.transposed else "k"
    if is_packed(emitter, match, "B", along):
        f.emit(f"store i32 {word}, {register_address(emitter, match, 'B', **first)}, align 4")
        return
    vector = f"<{load.width} x {memory_type(t)}>"
    parts = f.define(f"bitcast i32 {word} to {vector}")
    for b in range(load.width):
        at = register_address(emitter, match, "B", **{**first, along: first[along] + b})
        f.emit(
            f"store {memory_type(t)} {f.define(f'extractelement {vector} {parts}, i64 {b}')}, {at}, align "
            f"{t.bytes}"
        )


def values_of(match: Match, **places: Expr) -> dict[Var, Expr]:
    """Values of a nest's loops for an element of an instruction's operand, named by the loops of
    its meaning; others at 0.
    """
    return {w: places.get(v.name, index(0)) for v, w in match.loops.items()}


def register_address(emitter: GpuContext, match: Match, operand: str, **places: int) -> str:
    """The address in registers of an element of the first lane; every lane has its own there."""
    tensor, indices = match.operands[operand]
    return emitter.register_address(
        tensor, indices, values_of(match, **{name: index(n) for name, n in places.items()})
    )


def indices_of(match: Match, operand: str, **places: int) -> tuple[Expr, ...]:
    """The indices of an element of the first lane."""
    values = values_of(match, **{name: index(n) for name, n in places.items()})
    return tuple(folded(i, values) for i in match.operands[operand][1])
