"""The three operators of a convolution by Winograd's method, as text for the shapes at hand.

An image is cut into tiles of outputs, `m` in each dimension, of windows of `n = m + r - 1` elements
for `r` taps. Windows and weights are transformed (`V`, `U`), products of their elements are summed
over channels (`M`), and sums are transformed back. Rows are transformed first, columns of the result
then; a dimension with one tap is left as it is. Source: Lavin and Gray, Fast Algorithms for
Convolutional Neural Networks, CVPR 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from math import prod

from texpr import lang
from texpr.compiler import kernel_cache
from texpr.graph.fusion.cook_toom import Matrix, transforms
from texpr.ir.tensor import Program
from texpr.lang.elaboration.elaborate import unproven
from texpr.support.frozen_dataclass import frozen


@frozen
class Tiling:
    """A convolution in tiles.

    Attributes:
        images, channels, height, width: of the image.
        filters, taps: of the weights, `filters x channels x taps[0] x taps[1]`.
        padding: zeros above and left of the image.
        rows, columns: of the result.
        outputs: of a tile, in each dimension.
        lanes: the number of tiles is filled up to a multiple of it, so that all vectors are full.
        panel: filters whose sums are in registers together; weights of so many lie side by side.
        flat: images and weights have one dimension, which is that of columns.
    """

    images: int
    channels: int
    height: int
    width: int
    filters: int
    taps: tuple[int, int]
    padding: tuple[int, int]
    rows: int
    columns: int
    outputs: tuple[int, int]
    lanes: int
    panel: int
    flat: bool = False

    @property
    def window(self) -> tuple[int, int]:
        """Elements of a window in each dimension."""
        (m, p), (r, q) = self.outputs, self.taps
        return m + r - 1, p + q - 1

    @property
    def points(self) -> int:
        """Elements of a window, each of which has its own product of matrices."""
        return prod(self.window)

    @property
    def grid(self) -> tuple[int, int, int]:
        """Images, rows and columns of tiles."""
        return self.images, -(-self.rows // self.outputs[0]), -(-self.columns // self.outputs[1])

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
    them is, too, then.
    """
    (m, p), (n, q), (above, left), (images, rows, columns) = t.outputs, t.window, t.padding, t.grid
    high, wide = rows + (n - 1) // m, columns + (q - 1) // p
    filled = [f"V[a, b, c, t] = 0  for t in {prod(t.grid)}..{t.tiles}"] if prod(t.grid) < t.tiles else []
    first, last = _transforms_of_windows(t)
    return _program(
        f"op winograd_window(X: f32[{images}, {t.channels}, {_places(t, t.height, t.width)}])\n"
        f"   -> V: f32[{n}, {q}, {t.channels}, {t.tiles}] {{\n"
        f"  let P: f32[{images}, {t.channels}, {m * high}, {p * wide}]\n"
        f"  let D: f32[{images}, {t.channels}, {m}, {high}, {p}, {wide}]\n"
        + (f"  let E: f32[{images}, {t.channels}, {q}, {m}, {high}, {columns}]\n" if first else "")
        + f"  P[n, c, y, x] = X[n, c, {_places(t, f'y - {above}', f'x - {left}')} | 0]\n"
        f"  D[n, c, i, y, j, x] = P[n, c, {m}*y + i, {p}*x + j]\n"
        + _lines(first, filled, [f"{last}  for y in 0..{rows}, x in 0..{columns}"])
    )


def _transforms_of_windows(t: Tiling) -> tuple[list[str], str]:
    """`E` by combinations of columns of `D`, and `V` by those of its rows; of dimensions with one tap
    there are none. A transform is one equation, whose loop over rows of its matrix becomes copies in
    the default schedule: many equations take long to compile.
    """
    (m, p), (n, q) = t.outputs, t.window
    down, across = (transforms(*sizes).window for sizes in zip(t.outputs, t.taps, strict=True))
    whole = f"V[a, b, c, {t.place}] = "
    if n == 1:
        return [], whole + _choice("b", across, lambda j: f"D[n, c, 0, y, {j % p}, x + {j // p}]")
    if q == 1:
        return [], whole + _choice("a", down, lambda i: f"D[n, c, {i % m}, y + {i // m}, 0, x]")
    columns = _choice("k", across, lambda j: f"D[n, c, i, y, {j % p}, x + {j // p}]")
    rows = _choice("a", down, lambda i: f"E[n, c, b, {i % m}, y + {i // m}, x]")
    return [f"E[n, c, k, i, y, x] = {columns}  for x in 0..{t.grid[2]}"], whole + rows


def product_operator(t: Tiling) -> Program:
    """`U = G W G'` of each filter `W`, computed in f64, and the sums over channels of its products."""
    n, q = t.window
    down, across = (transforms(*sizes).taps for sizes in zip(t.outputs, t.taps, strict=True))
    rows = [
        " + ".join(
            f"H[b, {q}] * f64(weight[{t.panel}*k + i, c, {_places(t, r, q)} | 0])" for q in range(t.taps[1])
        )
        for r in range(t.taps[0])
    ]
    whole = " + ".join(f"G[a, {r}] * ({row})" for r, row in enumerate(rows))
    return _program(
        f"op winograd_product(weight: f32[{t.filters}, {t.channels}, {_places(t, *t.taps)}], "
        f"V: f32[{n}, {q}, {t.channels}, {t.tiles}])\n"
        f"   -> M: f32[{n}, {q}, {t.panels}, {t.panel}, {t.tiles}] {{\n"
        f"  let G: f64[{n}, {t.taps[0]}]\n"
        f"  let H: f64[{q}, {t.taps[1]}]\n"
        f"  let U: f32[{n}, {q}, {t.panels}, {t.channels}, {t.panel}]\n"
        f"  G[a, r] = {_choices(down)}\n"
        f"  H[a, r] = {_choices(across)}\n"
        f"  U[a, b, k, c, i] = f32({whole})\n"
        "  M[a, b, k, i, t] = sum(c: U[a, b, k, c, i] * V[a, b, c, t])\n}\n"
    )


def _choices(matrix: Matrix) -> str:
    """The element `a, r` of a matrix, as text."""
    cases = [(a, r, x) for a, row in enumerate(matrix) for r, x in enumerate(row) if x]
    return "".join(f"if a == {a} and r == {r} then {float(x)!r} else " for a, r, x in cases) + "0"


def output_operator(t: Tiling) -> Program:
    """`Y = A' M A` of each tile."""
    n, q = t.window
    first, last = _transforms_of_sums(t)
    return _program(
        f"op winograd_output(M: f32[{n}, {q}, {t.panels * t.panel}, {t.tiles}])\n"
        f"   -> Y: f32[{t.images}, {t.filters}, {t.rows}, {t.columns}] {{\n"
        + (f"  let S: f32[{t.outputs[0]}, {q}, {t.filters}, {t.tiles}]\n" if first else "")
        + _lines(first, last)
    )


def _transforms_of_sums(t: Tiling) -> tuple[list[str], list[str]]:
    """`S` by combinations of rows of `M`, and `Y` by those of its columns; of dimensions with one tap
    there are none. Rows of a tile are a loop, since the factors of an equation hold for all rows of
    as many tiles.
    """
    (m, p), (n, q) = t.outputs, t.window
    down, across = (transforms(*sizes).output for sizes in zip(t.outputs, t.taps, strict=True))
    if q == 1:
        values = [_choice("p", down, lambda a: f"M[{a}, 0, k, {t.place}]")]
    else:
        source = "M[0, {b}, k, {place}]" if n == 1 else "S[p, {b}, k, {place}]"
        values = [_combination(row, lambda b: source.format(b=b, place=t.place)) for row in across]
    columns = [
        f"Y[n, k, {m}*y + p, {p}*x + {j}] = {value}"
        f"  for n in 0..{t.images}, y in 0..{parts}, p in {first}..{last}, x in 0..{_parts(t.columns, j, p)}"
        for first, last, parts in _phases(t.rows, m)
        for j, value in enumerate(values[: t.columns])
    ]
    rows = "S[p, b, k, t] = " + _choice("p", down, lambda a: f"M[{a}, b, k, t]")
    return [] if 1 in (n, q) else [rows], columns


@lru_cache(maxsize=256)
def _program(text: str) -> Program:
    """The program of a text. It is not proven for itself: its kernels are certified, as those of other
    programs that passes make, and tests prove it.
    """
    (declaration,) = lang.parse(text).ops.values()
    program = unproven(declaration, {}, {})
    kernel_cache.remember_origin(program, f"winograd {sha256(text.encode()).hexdigest()}")
    return program


def _places(t: Tiling, row: object, column: object) -> str:
    """Extents or indices in the dimensions of an image or a filter, as text."""
    return f"{column}" if t.flat else f"{row}, {column}"


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
