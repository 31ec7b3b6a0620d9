"""The three operators of a convolution by Winograd's method, as text for the shapes at hand.

An image is cut into tiles of `m x m` outputs, each of a window of `n x n` elements, `n = m + r - 1`.
Windows and weights are transformed (`V`, `U`), products of their elements are summed over channels
(`M`), and sums are transformed back. Rows are transformed first, columns of the result then. Source:
Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, CVPR 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from math import prod

from texpr import lang
from texpr.compiler import kernel_cache
from texpr.graph.fusion.cook_toom import transforms
from texpr.ir.tensor import Program
from texpr.lang.elaboration.elaborate import unproven
from texpr.support.frozen_dataclass import frozen


@frozen
class Tiling:
    """A convolution in tiles.

    Attributes:
        images, channels, height, width: of the image.
        filters, taps: of the weights, `filters x channels x taps x taps`.
        padding: zeros above and left of the image.
        rows, columns: of the result.
        outputs: of a tile, in each dimension.
        lanes: the number of tiles is filled up to a multiple of it, so that all vectors are full.
        panel: filters whose sums are in registers together; weights of so many lie side by side.
    """

    images: int
    channels: int
    height: int
    width: int
    filters: int
    taps: int
    padding: tuple[int, int]
    rows: int
    columns: int
    outputs: int
    lanes: int
    panel: int

    @property
    def window(self) -> int:
        """Elements of a window in each dimension."""
        return self.outputs + self.taps - 1

    @property
    def grid(self) -> tuple[int, int, int]:
        """Images, rows and columns of tiles."""
        return self.images, -(-self.rows // self.outputs), -(-self.columns // self.outputs)

    @property
    def tiles(self) -> int:
        """Tiles with those that fill vectors."""
        return -(-prod(self.grid) // self.lanes) * self.lanes

    @property
    def panels(self) -> int:
        """Panels of filters; the last one is filled up."""
        return -(-self.filters // self.panel)

    @property
    def place(self) -> str:
        """The number of tile `n, y, x`, as text."""
        _, rows, columns = self.grid
        return f"{rows * columns}*n + {columns}*y + x"


def window_operator(t: Tiling) -> Program:
    """`V = B' D B` of each window `D`.

    All elements at one place of their windows lie side by side first (`D`): what is computed of
    them is, too, then. A transform is one equation, whose loop over rows of its matrix becomes
    copies in the default schedule: many equations take long to compile.
    """
    n, m, b = t.window, t.outputs, transforms(t.outputs, t.taps).window
    (above, left), (images, rows, columns) = t.padding, t.grid
    more = (n - 1) // m
    columns_first = "E[n, c, k, i, y, x] = " + _choice(
        "k", b, lambda j: f"D[n, c, i, y, {j % m}, x + {j // m}]"
    )
    rows_then = f"V[a, b, c, {t.place}] = " + _choice(
        "a", b, lambda i: f"E[n, c, b, {i % m}, y + {i // m}, x]"
    )
    filled = [f"V[a, b, c, t] = 0  for t in {prod(t.grid)}..{t.tiles}"] if prod(t.grid) < t.tiles else []
    return _program(
        f"op winograd_window(X: f32[{images}, {t.channels}, {t.height}, {t.width}])\n"
        f"   -> V: f32[{n}, {n}, {t.channels}, {t.tiles}] {{\n"
        f"  let P: f32[{images}, {t.channels}, {m * (rows + more)}, {m * (columns + more)}]\n"
        f"  let D: f32[{images}, {t.channels}, {m}, {rows + more}, {m}, {columns + more}]\n"
        f"  let E: f32[{images}, {t.channels}, {n}, {m}, {rows + more}, {columns}]\n"
        f"  P[n, c, y, x] = X[n, c, y - {above}, x - {left} | 0]\n"
        f"  D[n, c, i, y, j, x] = P[n, c, {m}*y + i, {m}*x + j]\n"
        + _lines([f"{columns_first}  for x in 0..{columns}"], filled, [f"{rows_then}  for y in 0..{rows}"])
    )


def product_operator(t: Tiling) -> Program:
    """`U = G W G'` of each filter `W`, computed in f64, and the sums over channels of its products."""
    n, g = t.window, transforms(t.outputs, t.taps).taps
    cases = [(a, r) for a in range(n) for r in range(t.taps) if g[a][r]]
    points = "".join(f"if a == {a} and r == {r} then {float(g[a][r])!r} else " for a, r in cases)
    rows = [
        " + ".join(f"G[b, {q}] * f64(weight[{t.panel}*k + i, c, {r}, {q} | 0])" for q in range(t.taps))
        for r in range(t.taps)
    ]
    whole = " + ".join(f"G[a, {r}] * ({row})" for r, row in enumerate(rows))
    return _program(
        f"op winograd_product(weight: f32[{t.filters}, {t.channels}, {t.taps}, {t.taps}], "
        f"V: f32[{n}, {n}, {t.channels}, {t.tiles}])\n"
        f"   -> M: f32[{n}, {n}, {t.panels}, {t.panel}, {t.tiles}] {{\n"
        f"  let G: f64[{n}, {t.taps}]\n"
        f"  let U: f32[{n}, {n}, {t.panels}, {t.channels}, {t.panel}]\n"
        f"  G[a, r] = {points}0\n"
        f"  U[a, b, k, c, i] = f32({whole})\n"
        "  M[a, b, k, i, t] = sum(c: U[a, b, k, c, i] * V[a, b, c, t])\n}\n"
    )


def output_operator(t: Tiling) -> Program:
    """`Y = A' M A` of each tile. Rows of a tile are a loop, since the factors of an equation hold for
    all rows of as many tiles.
    """
    n, m, a = t.window, t.outputs, transforms(t.outputs, t.taps).output
    rows = "S[p, b, k, t] = " + _choice("p", a, lambda i: f"M[{i}, b, k, t]")
    columns = [
        f"Y[n, k, {m}*y + p, {m}*x + {q}] = "
        + _combination(a[q], lambda j: f"S[p, {j}, k, {t.place}]")
        + f"  for n in 0..{t.images}, y in 0..{parts}, p in {first}..{last}, x in 0..{_parts(t.columns, q, m)}"
        for first, last, parts in _phases(t.rows, m)
        for q in range(min(m, t.columns))
    ]
    return _program(
        f"op winograd_output(M: f32[{n}, {n}, {t.panels * t.panel}, {t.tiles}])\n"
        f"   -> Y: f32[{t.images}, {t.filters}, {t.rows}, {t.columns}] {{\n"
        f"  let S: f32[{m}, {n}, {t.filters}, {t.tiles}]\n" + _lines([rows], columns)
    )


@lru_cache(maxsize=256)
def _program(text: str) -> Program:
    """The program of a text. It is not proven for itself, which takes a tenth of a network's first
    call: kernels are certified, as those of other programs that passes make, and tests prove it.
    """
    (declaration,) = lang.parse(text).ops.values()
    program = unproven(declaration, {}, {})
    kernel_cache.remember_origin(program, f"winograd {sha256(text.encode()).hexdigest()}")
    return program


def _parts(extent: int, phase: int, step: int) -> int:
    """Elements at `phase`, `phase + step` and so on below `extent`."""
    return max(0, -(-(extent - phase) // step))


def _phases(extent: int, step: int) -> list[tuple[int, int, int]]:
    """Ranges of phases with equally many elements, and that number, which is not 0."""
    few, more = divmod(extent, step)
    found = (0, more, few + 1), (more, step, few)
    return [(first, last, n) for first, last, n in found if first < last and n]


def _lines(*equations: Sequence[str]) -> str:
    """The rest of an operator's text."""
    return "".join(f"  {each}\n" for part in equations for each in part) + "}\n"


def _choice(variable: str, matrix: Sequence[Sequence[Fraction]], term: Callable[[int], str]) -> str:
    """The product of a row of a matrix with terms as text; a variable says which row it is."""
    *first, last = (_combination(row, term) for row in matrix)
    cases = (f"if {variable} == {k} then {text} else " for k, text in enumerate(first))
    return "".join((*cases, last))


def _combination(factors: Sequence[Fraction], term: Callable[[int], str]) -> str:
    """The sum of multiples of terms as text, each rounded once; those of zero are left out."""
    text = ""
    for k in sorted((k for k, f in enumerate(factors) if f), key=lambda k: factors[k] != 1):
        factor, each = float(factors[k]), term(k)
        text = f"fma({factor!r}, {each}, {text})" if text else each if factor == 1 else f"{factor!r} * {each}"
    return text
