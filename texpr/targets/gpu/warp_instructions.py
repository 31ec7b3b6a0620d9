"""Instructions that the 32 threads of a warp run together, as data: reductions over lanes, products
of tiles (`mma`), loads of tiles from shared memory (`ldmatrix`). `warps` writes their code.

The warp is thread.x of a block whose thread.x is 32. Tiles live in registers: which lane holds
which elements is said here once (`fragment_layout`), as the PTX ISA has it, with g = lane / 4 and t
= lane % 4:

    operand          element                                     lane's registers
    A of a product   A[8*h + g, 4*w*q + w*t + b]                 w elements b side by side for each q, h
    B                B[4*w*q + w*t + b, g], 8*c + g for c tiles  w elements b side by side for each q
    C                C[8*h + g, 2*t + b]                         one for each h, b

w is how many elements 32 bits hold (1 for f64).

Source: PTX ISA 8.0, 9.7.13 (warp level matrix multiply-accumulate instructions), NVIDIA 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product as pairs

from texpr.ir.build import add, floordiv, mod, mul
from texpr.ir.expr import Expr, Var, index
from texpr.ir.instructions import INSTRUCTIONS, Instruction
from texpr.ir.loop import For, instruction_of
from texpr.passes.analysis.match_nest import instance
from texpr.support.frozen_dataclass import frozen

LANES = 32


@frozen
class WarpReduction:
    """A reduction over the lanes of a warp."""

    update: str


@frozen
class QuadReduction:
    """A reduction over each four neighbouring lanes, which hold the elements of a row of a tile of
    sums.
    """

    update: str


@frozen
class WarpMma:
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


@frozen
class AccumulatorTile:
    """The sums of a tile of m rows and n columns: set to 0, or stored to memory, where
    conditions may leave some out.
    """

    m: int
    n: int
    stores: bool


@frozen
class MatrixLoad:
    """A tile of 16 rows of 32 bytes from shared memory to registers; `transposed` where
    registers hold elements of one column.
    """

    width: int
    transposed: bool


_FOLDS = {"add": "+=", "max": "max=", "min": "min="}
for _t in ("f32", "f64", "i32", "i64"):
    for _update, _sign in _FOLDS.items():
        _name = f"warp_{_update}_{_t}"
        _text = f"""kernel {_name}(P: {_t}[{LANES}]) -> (S: {_t}[1])
  for l in 0..{LANES}
    S[0] {_sign} P[l]  reassoc
"""
        INSTRUCTIONS[_name] = Instruction(
            _name, _text, WarpReduction(_update), reorders=_update == "add" and _t[0] == "f"
        )

for _update, _sign in _FOLDS.items():
    _name = f"quad_{_update}_f32"
    INSTRUCTIONS[_name] = Instruction(
        _name,
        f"""kernel {_name}(P: f32[{LANES // 4}, T, 4, U]) -> (S: f32[{LANES // 4}, V])
  for g in 0..{LANES // 4}
    for t in 0..4
      S[g, 0] {_sign} P[g, 0, t, 0]  reassoc
""",
        QuadReduction(_update),
        reorders=_update == "add",
    )


def _define_mma(
    name: str,
    p: WarpMma,
    left: str,
    total: str,
    *,
    right: str = "",
    flushes_denormals: bool = False,
    reorders: bool = False,
    reduced_precision: bool = False,
    converted: str = "",
) -> None:
    def term(read: str) -> str:
        return f"{converted}({read})" if converted else read if left == total else f"{total}({read})"

    # The symbols between stand for strides of any length.
    text = f"""kernel {name}(A: {left}[{p.m}, P, {p.k}, Q], B: {right or left}[{p.k}, R, {p.n}, S]) -> (C: {total}[{p.m}, T, {p.n}, U])
  for i in 0..{p.m}
    for j in 0..{p.n}
      for k in 0..{p.k}
        C[i, 0, j, 0] += {term("A[i, 0, k, 0]")} * {term("B[k, 0, j, 0]")}  reassoc
"""
    INSTRUCTIONS[name] = Instruction(
        name,
        text,
        p,
        flushes_denormals=flushes_denormals,
        reorders=reorders,
        reduced_precision=reduced_precision,
    )


_define_mma(
    "mma_bf16",
    WarpMma("mma.m16n8k16.row.col.bf16", 16, 8, 16, "i32", 2),
    "bf16",
    "f32",
    flushes_denormals=True,
)
_define_mma(
    "mma_f16",
    WarpMma("mma.m16n8k16.row.col.f32.f32", 16, 8, 16, "<2 x half>", 2),
    "f16",
    "f32",
    flushes_denormals=True,
)
_define_mma(
    "mma_tf32",
    WarpMma("mma.m16n8k8.row.col.tf32", 16, 8, 8, "i32", 1),
    "f32",
    "f32",
    flushes_denormals=True,
    converted="tf32",
)
_define_mma("mma_i8", WarpMma("mma.m16n8k32.row.col.s8", 16, 8, 32, "i32", 4), "i8", "i32")
for _left, _right in pairs(("e4m3", "e5m2"), repeat=2):
    _define_mma(
        f"mma_f8{_left}" + (f"_f8{_right}" if _left != _right else ""),
        WarpMma(f"mma.m16n8k32.row.col.f32.{_left}.{_right}.f32", 16, 8, 32, "i32", 4),
        f"f8{_left}",
        "f32",
        right=f"f8{_right}",
        reorders=True,
        reduced_precision=True,
    )
_define_mma("mma_f64", WarpMma("mma.m8n8k4.row.col.f64", 8, 8, 4, "double", 1), "f64", "f64", reorders=True)


def define_accumulator_moves(
    name: str, t: str, m: int, n: int, kind: type[AccumulatorTile] = AccumulatorTile
) -> None:
    """Define the moves of accumulators of a tile of `m` rows and `n` columns: `zero_NAME` and
    `store_NAME`.
    """
    zero = "0.0" if t[0] == "f" else "0"
    INSTRUCTIONS[f"zero_{name}"] = Instruction(
        f"zero_{name}",
        f"""kernel zero_{name}() -> (C: {t}[{m}, T, {n}, U])
  for i in 0..{m}
    for j in 0..{n}
      C[i, 0, j, 0] = {zero}
""",
        kind(m, n, False),
    )
    text = f"""kernel store_{name}(A: {t}[{m}, P, {n}, Q]) -> (C: {t}[{m}, T, {n}, U])
  for i in 0..{m}
    for j in 0..{n}
      C[i, 0, j, 0] = A[i, 0, j, 0]
"""
    INSTRUCTIONS[f"store_{name}"] = Instruction(f"store_{name}", text, kind(m, n, True), masked=True)


define_accumulator_moves("mma_f32", "f32", 16, 8)
define_accumulator_moves("mma_i32", "i32", 16, 8)
define_accumulator_moves("mma_f64", "f64", 8, 8)


def _define_load(t: str, load: MatrixLoad) -> None:
    name = f"ldmatrix_{'trans_' if load.transposed else ''}{t}"
    columns = 8 * load.width
    text = f"""kernel {name}(A: {t}[16, P]) -> (B: {t}[16, Q, {columns}, R])
  for i in 0..16
    for k in 0..{columns}
      B[i, 0, k, 0] = A[i, k]
"""
    INSTRUCTIONS[name] = Instruction(name, text, load)


for _t in ("bf16", "f16"):
    _define_load(_t, MatrixLoad(2, False))
    _define_load(_t, MatrixLoad(2, True))
for _t in ("i8", "f8e4m3", "f8e5m2"):
    _define_load(_t, MatrixLoad(4, False))

OF_SM = {
    70: frozenset(
        n for n, each in INSTRUCTIONS.items() if isinstance(each.emit, WarpReduction | QuadReduction)
    ),
    75: frozenset(n for n in INSTRUCTIONS if n.startswith("ldmatrix_")),
    80: frozenset(
        n
        for n, each in INSTRUCTIONS.items()
        if isinstance(each.emit, WarpMma | AccumulatorTile) and not each.reduced_precision
    ),
    89: frozenset(
        n for n, each in INSTRUCTIONS.items() if isinstance(each.emit, WarpMma) and each.reduced_precision
    ),
}
"""Instructions by the first processor that has them. LLVM ends the process over one that the
processor lacks.
"""


def instructions_of(processor: int) -> frozenset[str]:
    """The instructions of a processor, such as 80."""
    return frozenset().union(*(names for first, names in OF_SM.items() if first <= processor))


def reads_operands_from_memory(loop: For) -> bool:
    """True if lanes of the instruction read operands from memory, each its own elements."""
    name = instruction_of(loop)
    match INSTRUCTIONS[name].emit:
        case WarpMma(width=1):
            return any(t.scope != "register" for t, _ in instance(name, loop).operands.values())
    return False


# Which lane holds what.


def fragment_layout(name: str, operand: str, lane: Var) -> tuple[dict[str, Expr], dict[Var, int]]:
    """The loops of an instruction's meaning by which an operand in registers moves, in terms of the
    lane and of registers; the number of values that each of these takes.
    """
    match INSTRUCTIONS[name].emit:
        case WarpReduction():
            return ({"l": lane}, {}) if operand == "P" else ({}, {})
        case QuadReduction():
            return (
                ({"g": floordiv(lane, index(4)), "t": mod(lane, index(4))}, {})
                if operand == "P"
                else ({}, {})
            )
        case WarpMma(_, m, n, k, _, w) if operand == "C":
            return _fragment_layout(lane, {"i": m, "j": n}, along="j", width=2)
        case WarpMma(_, m, n, k, _, w):
            return _fragment_layout(
                lane, {"i": m, "k": k} if operand == "A" else {"k": k, "j": n}, along="k", width=w
            )
        case AccumulatorTile(m, n):
            return _fragment_layout(lane, {"i": m, "j": n}, along="j", width=2)
        case MatrixLoad(w, transposed) if operand == "B":
            return _fragment_layout(lane, {"i": 16, "k": 8 * w}, along="i" if transposed else "k", width=w)
    return {}, {}


def _fragment_layout(
    lane: Var, loops: Mapping[str, int], along: str, width: int
) -> tuple[dict[str, Expr], dict[Var, int]]:
    """Layout where a lane holds `width` neighbours along `along`, and every eighth element of the
    other loop.
    """
    places: dict[str, Expr] = {}
    extents: dict[Var, int] = {}
    for name, n in loops.items():
        tile, inside = Var(f"{name}o"), Var(f"{name}i")
        if name == along:
            extents |= {tile: n // (4 * width), inside: width}
            places[name] = add(
                add(mul(tile, index(4 * width)), mul(mod(lane, index(4)), index(width))), inside
            )
        else:
            extents[tile] = n // 8
            places[name] = add(mul(tile, index(8)), floordiv(lane, index(4)))
    return places, extents
