"""Instructions that the 32 threads of a warp run together: sums over lanes, products of tiles, loads of tiles from shared memory.

The warp is thread.x of a block whose thread.x is 32. Tiles live in registers: which lane holds which elements is said here once (`held`),
as the PTX ISA has it, with g = lane / 4 and t = lane % 4:

    operand          element                                     lane's registers
    A of a product   A[8*h + g, 4*w*q + w*t + b]                 w elements b side by side for each q, h
    B                B[4*w*q + w*t + b, g], 8*c + g for c tiles  w elements b side by side for each q
    C                C[8*h + g, 2*t + b]                         one for each h, b

w is how many elements 32 bits hold (1 for f64).

Source: PTX ISA 8.0, 9.7.13 (warp level matrix multiply-accumulate instructions), NVIDIA 2022.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product as pairs
from typing import TYPE_CHECKING

from texpr.ir.build import add, compare, floordiv, mod, mul
from texpr.ir.expr import Expr, Var, index
from texpr.ir.instructions import INSTRUCTIONS, Instruction
from texpr.ir.loop import INSTRUCTION, For, If
from texpr.ir.traverse import walk
from texpr.passes.analysis.match_nest import Match, instance
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded
from texpr.support.errors import CompileError
from texpr.targets.emit.function import Value, constant, memory_type
from texpr.targets.gpu.native_conversions import ROUND
from texpr.targets.gpu.swizzle import check_inside

if TYPE_CHECKING:
    from texpr.targets.gpu.emitter import GpuEmitter

LANES = 32
_ROW = 16
"""Bytes of a row that a lane gives the address of."""
_EVERY_LANE = "i32 -1"


@dataclass(frozen=True, slots=True)
class _Fold:
    """Over the lanes of a warp."""

    update: str


@dataclass(frozen=True, slots=True)
class _Quads:
    """Over each four neighbouring lanes, which hold the elements of a row of a tile of sums."""

    update: str


@dataclass(frozen=True, slots=True)
class _Product:
    """A product of tiles: C[m, n] += A[m, k] * B[k, n].

    Attributes:
        call: the intrinsic.
        word: LLVM's type of a register of A and B, which holds `width` elements.
    """

    call: str
    m: int
    n: int
    k: int
    word: str
    width: int


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of a tile of m rows and n columns: set to 0, or stored to memory, where conditions may leave some out."""

    m: int
    n: int
    stores: bool


@dataclass(frozen=True, slots=True)
class _Load:
    """A tile of 16 rows of 32 bytes from shared memory to registers; `turned` where registers hold elements of one column."""

    width: int
    turned: bool


_FOLDS = {"add": "+=", "max": "max=", "min": "min="}
for _t in ("f32", "f64", "i32", "i64"):
    for _update, _sign in _FOLDS.items():
        _name = f"warp_{_update}_{_t}"
        _text = f"""kernel {_name}(P: {_t}[{LANES}]) -> (S: {_t}[1])
  for l in 0..{LANES}
    S[0] {_sign} P[l]  reassoc
"""
        INSTRUCTIONS[_name] = Instruction(_name, _text, _Fold(_update), reorders=_update == "add" and _t[0] == "f")

for _update, _sign in _FOLDS.items():
    _name = f"quad_{_update}_f32"
    INSTRUCTIONS[_name] = Instruction(_name, f"""kernel {_name}(P: f32[{LANES // 4}, T, 4, U]) -> (S: f32[{LANES // 4}, V])
  for g in 0..{LANES // 4}
    for t in 0..4
      S[g, 0] {_sign} P[g, 0, t, 0]  reassoc
""", _Quads(_update), reorders=_update == "add")


def _product(name: str, p: _Product, left: str, total: str, *, right: str = "", flushes: bool = False, reorders: bool = False,
             coarse: bool = False, converted: str = "") -> None:
    def term(read: str) -> str:
        return f"{converted}({read})" if converted else read if left == total else f"{total}({read})"

    # The symbols between stand for strides of any length.
    text = f"""kernel {name}(A: {left}[{p.m}, P, {p.k}, Q], B: {right or left}[{p.k}, R, {p.n}, S]) -> (C: {total}[{p.m}, T, {p.n}, U])
  for i in 0..{p.m}
    for j in 0..{p.n}
      for k in 0..{p.k}
        C[i, 0, j, 0] += {term("A[i, 0, k, 0]")} * {term("B[k, 0, j, 0]")}  reassoc
"""
    INSTRUCTIONS[name] = Instruction(name, text, p, flushes=flushes, reorders=reorders, coarse=coarse)


_product("mma_bf16", _Product("mma.m16n8k16.row.col.bf16", 16, 8, 16, "i32", 2), "bf16", "f32", flushes=True)
_product("mma_f16", _Product("mma.m16n8k16.row.col.f32.f32", 16, 8, 16, "<2 x half>", 2), "f16", "f32", flushes=True)
_product("mma_tf32", _Product("mma.m16n8k8.row.col.tf32", 16, 8, 8, "i32", 1), "f32", "f32", flushes=True, converted="tf32")
_product("mma_i8", _Product("mma.m16n8k32.row.col.s8", 16, 8, 32, "i32", 4), "i8", "i32")
for _left, _right in pairs(("e4m3", "e5m2"), repeat=2):
    _product(f"mma_f8{_left}" + (f"_f8{_right}" if _left != _right else ""),
             _Product(f"mma.m16n8k32.row.col.f32.{_left}.{_right}.f32", 16, 8, 32, "i32", 4), f"f8{_left}", "f32", right=f"f8{_right}",
             reorders=True, coarse=True)
_product("mma_f64", _Product("mma.m8n8k4.row.col.f64", 8, 8, 4, "double", 1), "f64", "f64", reorders=True)


def around_products(name: str, t: str, m: int, n: int, kind: type[Sums] = Sums) -> None:
    """What surrounds the products of a tile of `m` rows and `n` columns: `zero_NAME` and `store_NAME`."""
    zero = "0.0" if t[0] == "f" else "0"
    INSTRUCTIONS[f"zero_{name}"] = Instruction(f"zero_{name}", f"""kernel zero_{name}() -> (C: {t}[{m}, T, {n}, U])
  for i in 0..{m}
    for j in 0..{n}
      C[i, 0, j, 0] = {zero}
""", kind(m, n, False))
    text = f"""kernel store_{name}(A: {t}[{m}, P, {n}, Q]) -> (C: {t}[{m}, T, {n}, U])
  for i in 0..{m}
    for j in 0..{n}
      C[i, 0, j, 0] = A[i, 0, j, 0]
"""
    INSTRUCTIONS[f"store_{name}"] = Instruction(f"store_{name}", text, kind(m, n, True), masked=True)


around_products("mma_f32", "f32", 16, 8)
around_products("mma_i32", "i32", 16, 8)
around_products("mma_f64", "f64", 8, 8)


def _loads(t: str, load: _Load) -> None:
    name = f"ldmatrix_{'trans_' if load.turned else ''}{t}"
    columns = 8 * load.width
    text = f"""kernel {name}(A: {t}[16, P]) -> (B: {t}[16, Q, {columns}, R])
  for i in 0..16
    for k in 0..{columns}
      B[i, 0, k, 0] = A[i, k]
"""
    INSTRUCTIONS[name] = Instruction(name, text, load)


for _t in ("bf16", "f16"):
    _loads(_t, _Load(2, False))
    _loads(_t, _Load(2, True))
for _t in ("i8", "f8e4m3", "f8e5m2"):
    _loads(_t, _Load(4, False))

OF_SM = {70: frozenset(n for n, each in INSTRUCTIONS.items() if isinstance(each.emit, _Fold | _Quads)),
         75: frozenset(n for n in INSTRUCTIONS if n.startswith("ldmatrix_")),
         80: frozenset(n for n, each in INSTRUCTIONS.items() if isinstance(each.emit, _Product | Sums) and not each.coarse),
         89: frozenset(n for n, each in INSTRUCTIONS.items() if isinstance(each.emit, _Product) and each.coarse)}
"""Instructions by the first processor that has them. LLVM ends the process over one that the processor lacks."""


def instructions_of(processor: int) -> frozenset[str]:
    """The instructions of a processor, such as 80."""
    return frozenset().union(*(names for first, names in OF_SM.items() if first <= processor))


def reads_memory(loop: For) -> bool:
    """Whether lanes of the instruction read operands from memory, each its own elements."""
    name = loop.kind.removeprefix(INSTRUCTION)
    match INSTRUCTIONS[name].emit:
        case _Product(width=1):
            return any(t.scope != "register" for t, _ in instance(name, loop).operands.values())
    return False


# Which lane holds what.


def held(name: str, operand: str, lane: Var) -> tuple[dict[str, Expr], dict[Var, int]]:
    """The loops of an instruction's meaning by which an operand in registers moves, in terms of the lane and of registers; the number of
    values that each of these takes.
    """
    match INSTRUCTIONS[name].emit:
        case _Fold():
            return ({"l": lane}, {}) if operand == "P" else ({}, {})
        case _Quads():
            return ({"g": floordiv(lane, index(4)), "t": mod(lane, index(4))}, {}) if operand == "P" else ({}, {})
        case _Product(_, m, n, k, _, w) if operand == "C":
            return _held(lane, {"i": m, "j": n}, along="j", width=2)
        case _Product(_, m, n, k, _, w):
            return _held(lane, {"i": m, "k": k} if operand == "A" else {"k": k, "j": n}, along="k", width=w)
        case Sums(m, n):
            return _held(lane, {"i": m, "j": n}, along="j", width=2)
        case _Load(w, turned) if operand == "B":
            return _held(lane, {"i": 16, "k": 8 * w}, along="i" if turned else "k", width=w)
    return {}, {}


def _held(lane: Var, loops: Mapping[str, int], along: str, width: int) -> tuple[dict[str, Expr], dict[Var, int]]:
    """`along` is the loop of which a lane holds `width` neighbours; of the other one it holds every eighth."""
    places: dict[str, Expr] = {}
    extents: dict[Var, int] = {}
    for name, n in loops.items():
        tile, inside = Var(f"{name}o"), Var(f"{name}i")
        if name == along:
            extents |= {tile: n // (4 * width), inside: width}
            places[name] = add(add(mul(tile, index(4 * width)), mul(mod(lane, index(4)), index(width))), inside)
        else:
            extents[tile] = n // 8
            places[name] = add(mul(tile, index(8)), floordiv(lane, index(4)))
    return places, extents


# Code.


def emit_warp(emitter: GpuEmitter, loop: For) -> None:
    """Write the instruction that runs the nest of `loop`; that the target has it was checked."""
    name = loop.kind.removeprefix(INSTRUCTION)
    match = instance(name, loop)
    match INSTRUCTIONS[name].emit:
        case _Fold(update):
            _emit_fold(emitter, update, match)
        case _Quads(update):
            _emit_quads(emitter, update, match)
        case _Product() as p:
            _emit_product(emitter, p, match)
        case Sums(m, _, stores):
            lane = emitter.positions["x"]
            places = [(8 * h, b) for h, b in pairs(range(m // 8), range(2))]
            emit_sums(emitter, match, loop, stores, places, floordiv(lane, index(4)), mul(mod(lane, index(4)), index(2)))
        case _Load() as load:
            _emit_load(emitter, load, match)
        case other:
            raise CompileError(f"a GPU has no code for {name} ({other})", code="target")


def _emit_fold(emitter: GpuEmitter, update: str, match: Match) -> None:
    f, (tensor, _) = emitter.function, match.operands["P"]
    lane = emitter.positions["x"]
    address = emitter.place(*match.operands["P"], values_of(match, l=lane))
    value = Value(f.define(f"load {memory_type(tensor.dtype)}, {address}, align {tensor.dtype.bytes}"), tensor.dtype)
    distance = LANES // 2
    while distance:
        value = emitter.folded(update, value, _from_lane(emitter, value, distance))
        distance //= 2
    total, at = match.operands["S"]
    emitter.in_first_lane(lambda: emitter.store(total, at, emitter.folded(update, emitter.loaded(total, at), value)))


def _emit_quads(emitter: GpuEmitter, update: str, match: Match) -> None:
    """As `_emit_fold`, for the row that a quad of lanes holds."""
    f, (tensor, _) = emitter.function, match.operands["P"]
    lane = emitter.positions["x"]
    row, four = floordiv(lane, index(4)), index(4)
    address = emitter.place(*match.operands["P"], values_of(match, g=row, t=mod(lane, four)))
    value = Value(f.define(f"load {memory_type(tensor.dtype)}, {address}, align {tensor.dtype.bytes}"), tensor.dtype)
    for distance in (2, 1):
        value = emitter.folded(update, value, _from_lane(emitter, value, distance))
    total, at = match.operands["S"]
    element = tuple(folded(i, values_of(match, g=row)) for i in at)
    first = compare("==", mod(lane, four), index(0))
    emitter.where_holds([first], lambda: emitter.store(total, element, emitter.folded(update, emitter.loaded(total, element), value)))


def _from_lane(emitter: GpuEmitter, value: Value, distance: int) -> Value:
    """What the lane `distance` away has, in words of 32 bits."""
    f, t, count = emitter.function, value.type, value.dtype.bytes // 4
    words = f"<{count} x i32>"
    whole = f.define(f"bitcast {value} to {words}")
    result = "poison"
    for k in range(count):
        word = f.define(f"extractelement {words} {whole}, i64 {k}")
        moved = emitter.intrinsic("llvm.nvvm.shfl.sync.bfly.i32", "i32", _EVERY_LANE, f"i32 {word}", f"i32 {distance}", "i32 31")
        result = f.define(f"insertelement {words} {result}, i32 {moved}, i64 {k}")
    return Value(f.define(f"bitcast {words} {result} to {t}"), value.dtype)


def _emit_product(emitter: GpuEmitter, p: _Product, match: Match) -> None:
    f, w = emitter.function, p.width
    total = match.operands["C"][0].dtype
    tiles = range(p.k // (4 * w))
    left = [_word(emitter, match, "A", p, i=8 * h, k=4 * w * q) for q in tiles for h in range(p.m // 8)]
    right = [_word(emitter, match, "B", p, k=4 * w * q, j=0) for q in tiles]
    places = [place(emitter, match, "C", i=8 * h, j=b) for h in range(p.m // 8) for b in range(2)]
    t = memory_type(total)
    sums = [f.define(f"load {t}, {at}, align {total.bytes}") for at in places]
    result = f"{{ {', '.join([t] * len(sums))} }}"
    after = emitter.intrinsic(f"llvm.nvvm.{p.call}", result, *(f"{p.word} {x}" for x in (*left, *right)), *(f"{t} {x}" for x in sums))
    for k, at in enumerate(places):
        f.emit(f"store {t} {f.define(f'extractvalue {result} {after}, {k}')}, {at}, align {total.bytes}")


def emit_sums(
    emitter: GpuEmitter, match: Match, loop: For, stores: bool, places: Iterable[tuple[int, int]], row: Expr, column: Expr
) -> None:
    """Set to 0, or store, what each lane holds of a tile: `places` in the first lane, so many rows and columns further in others."""
    f, (target, indices) = emitter.function, match.operands["C"]
    t = target.dtype
    conditions = [n.cond for n in walk(loop) if isinstance(n, If)]
    for i, j in places:
        if not stores:
            f.emit(f"store {memory_type(t)} {constant(0, t).text}, {place(emitter, match, 'C', i=i, j=j)}, align {t.bytes}")
            continue
        values = values_of(match, i=add(index(i), row), j=add(column, index(j)))
        value = f.define(f"load {memory_type(t)}, {place(emitter, match, 'A', i=i, j=j)}, align {t.bytes}")
        element = tuple(folded(e, values) for e in indices)
        emitter.where_holds([folded(c, values) for c in conditions], partial(emitter.store, target, element, Value(value, t)))


def _word(emitter: GpuEmitter, match: Match, operand: str, p: _Product, **first: int) -> str:
    """A register: neighbours along k, which lie beside each other unless the buffer has another order."""
    if p.width == 1:
        return _element(emitter, match, operand, p, first)
    f, element = emitter.function, memory_type(match.operands[operand][0].dtype)
    size = match.operands[operand][0].dtype.bytes
    if side_by_side(emitter, match, operand):
        return f.define(f"load {p.word}, {place(emitter, match, operand, **first)}, align {p.width * size}")
    vector = f"<{p.width} x {element}>"
    word = "poison"
    for b in range(p.width):
        at = place(emitter, match, operand, **{**first, "k": first["k"] + b})
        word = f.define(f"insertelement {vector} {word}, {element} {f.define(f'load {element}, {at}, align {size}')}, i64 {b}")
    return word if vector == p.word else f.define(f"bitcast {vector} {word} to {p.word}")


def _element(emitter: GpuEmitter, match: Match, operand: str, p: _Product, first: Mapping[str, int]) -> str:
    """A register that holds one element, of a buffer in registers or from memory."""
    (tensor, indices), across = match.operands[operand], "i" if operand == "A" else "j"
    if tensor.scope == "register":
        there = place(emitter, match, operand, **first)
    else:
        lane = emitter.positions["x"]
        own = {across: add(index(first.get(across, 0)), floordiv(lane, index(4))), "k": add(index(first["k"]), mod(lane, index(4)))}
        there = emitter.place(tensor, indices, values_of(match, **own))
    t = memory_type(tensor.dtype)
    value = emitter.function.define(f"load {t}, {there}, align {tensor.dtype.bytes}")
    return emitter.intrinsic(ROUND, p.word, f"{t} {value}") if p.word == "i32" else value


def side_by_side(emitter: GpuEmitter, match: Match, operand: str, along: str = "k") -> bool:
    """Whether neighbours along a loop of an instruction are neighbours in a lane's registers."""
    tensor, indices = match.operands[operand]
    return emitter.register_stride(tensor, indices, next(w for v, w in match.loops.items() if v.name == along)) == 1


def _emit_load(emitter: GpuEmitter, load: _Load, match: Match) -> None:
    """Each lane has the address of one row of 16 bytes; four tiles of 8 rows come at once."""
    f, (tensor, indices) = emitter.function, match.operands["A"]
    if tensor.scope != "shared":
        raise CompileError(f"ldmatrix reads shared memory, and {tensor.name} lives elsewhere", code="target",
                           help=f'cache_read("{tensor.name}", ...), then scope(..., "shared")')
    lane, half = emitter.positions["x"], index(16)
    row, column = mod(lane, half), mul(floordiv(lane, half), index(4 * load.width))
    places = values_of(match, i=row, k=column)
    if tensor.swizzle is not None:
        check_inside(tensor, flat_index(tensor, tuple(folded(i, places) for i in indices)), _ROW // tensor.dtype.bytes)
    address = emitter.place(tensor, indices, places)
    kind = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.{'trans.' if load.turned else ''}b16.p3"
    result = "{ i32, i32, i32, i32 }"
    words = emitter.intrinsic(kind, result, address)
    for m in range(4):
        word = f.define(f"extractvalue {result} {words}, {m}")
        _keep(emitter, load, match, word, i=8 * (m % 2), k=4 * load.width * (m // 2))


def _keep(emitter: GpuEmitter, load: _Load, match: Match, word: str, **first: int) -> None:
    """Store the elements of a register."""
    f, t = emitter.function, match.operands["B"][0].dtype
    along = "i" if load.turned else "k"
    if side_by_side(emitter, match, "B", along):
        f.emit(f"store i32 {word}, {place(emitter, match, 'B', **first)}, align 4")
        return
    vector = f"<{load.width} x {memory_type(t)}>"
    parts = f.define(f"bitcast i32 {word} to {vector}")
    for b in range(load.width):
        at = place(emitter, match, "B", **{**first, along: first[along] + b})
        f.emit(f"store {memory_type(t)} {f.define(f'extractelement {vector} {parts}, i64 {b}')}, {at}, align {t.bytes}")


def values_of(match: Match, **places: Expr) -> dict[Var, Expr]:
    """What the loops of a nest stand at for an element of an instruction's operand, named by the loops of its meaning; others at 0."""
    return {w: places.get(v.name, index(0)) for v, w in match.loops.items()}


def place(emitter: GpuEmitter, match: Match, operand: str, **places: int) -> str:
    """The address in registers of an element of the first lane; every lane has its own there."""
    tensor, indices = match.operands[operand]
    return emitter.register(tensor, indices, values_of(match, **{name: index(n) for name, n in places.items()}))


def indices_of(match: Match, operand: str, **places: int) -> tuple[Expr, ...]:
    """The indices of an element of the first lane."""
    values = values_of(match, **{name: index(n) for name, n in places.items()})
    return tuple(folded(i, values) for i in match.operands[operand][1])
