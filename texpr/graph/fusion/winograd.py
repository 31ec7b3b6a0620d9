"""Convolutions whose weights stay the same, by Winograd's method: fewer products, more sums.

`Y[n, k, y, x] = f(sum(c, r, q: X[n, c, y + r - P, x + q - L | 0] * weight[k, c, r, q]))` becomes
three kernels (`winograd_operators`), the last of which ends with `f`. Transformed weights are kept
from run to run as packed ones are. That the transforms are right is checked in fractions
(`cook_toom`); floats round otherwise than the plain sum, and infinities become NaN in all outputs of
their tile (`docs/guide/rounding.md`).
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from texpr.graph.fusion.kernel_groups import Group, as_program
from texpr.graph.fusion.producer_consumer import FLOPS_PER_BYTE, Decision, fuse
from texpr.graph.fusion.winograd_operators import Tiling, output_operator, product_operator, window_operator
from texpr.graph.passes.flatten_calls import shape_of, view
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.dtypes import F32
from texpr.ir.expr import Const, Expr, Mul, Node, Read, Reduce, Tensor, Var, index, plain
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import equal, rewrite, walk
from texpr.passes.analysis.substitution import over_tensors
from texpr.support.frozen_dataclass import frozen_by_identity, replace
from texpr.targets import find_target

TILES = {3: (4, 2), 5: (2,)}
"""Outputs of a tile in each dimension, by the taps of a filter."""
GAIN = 1.2
"""The least quotient of the two costs: below it the plain sum has fewer roundings and less memory."""
LEAST_LANES = 8
"""Tiles are filled up to a multiple of it, of longer vectors where there are such."""
PANELS = (6, 12)
"""Filters whose sums for two vectors of tiles are in 16 or in 32 registers, beside operands."""
REUSED_BYTES = 1 << 21
"""Transformed images and their sums up to this size stay in a cache between two kernels."""
MOST_BYTES = 1 << 28
"""Transformed images and their sums take no more memory than so much."""


@frozen_by_identity
class Convolution:
    """An equation that convolves an image with constant weights, at steps of one.

    Attributes:
        total: the sum in its value, which may read it several times (`silu`).
        padding: zeros above and left of the image.
    """

    equation: Equation
    total: Reduce
    image: Tensor
    weight: Tensor
    padding: tuple[int, int]


def with_winograd(program: Program, constants: Set[Tensor]) -> tuple[Program, list[Decision]]:
    """The program with convolutions in tiles where that costs less, and what was decided.

    Args:
        constants: inputs that have the same values from run to run.
    """
    equations: list[Equation | Invoke] = []
    decisions: list[Decision] = []
    names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}
    for each in program.equations:
        found = convolution(each, constants) if isinstance(each, Equation) else None
        tiling = best_tiling(found) if found else None
        if found and tiling:
            equations += _in_tiles(found, tiling, names)
            decisions.append(_decision(found, tiling))
        else:
            equations.append(each)
    return (replace(program, equations=tuple(equations)), decisions) if decisions else (program, [])


def convolution(equation: Equation, constants: Set[Tensor]) -> Convolution | None:
    """The convolution that an equation is; None if it is none that can be computed in tiles."""
    total, *again = [n for n in walk(equation.value) if isinstance(n, Reduce)] or [None]
    if total is None or not all(equal(total, n) for n in again):
        return None
    if len(equation.axes) != 4 or equation.target.dtype != F32 or not _is_plain(equation):
        return None
    factors = (total.body.lhs, total.body.rhs) if isinstance(total.body, Mul) else ()
    reads = [f for f in factors if isinstance(f, Read) and f.tensor.dtype == F32]
    if (
        total.op != "sum"
        or total.dtype != F32
        or total.where is not None
        or len(total.axes) != 3
        or len(reads) != 2
    ):
        return None
    image, weight = sorted(reads, key=lambda r: r.tensor in constants and r.guard is None)
    taps = _taps(equation, total, weight)
    if weight.tensor not in constants or image.tensor in constants or taps is None:
        return None
    padding = _padding(equation, taps, image)
    return None if padding is None else Convolution(equation, total, image.tensor, weight.tensor, padding)


def _is_plain(equation: Equation) -> bool:
    """True if an equation defines each element of its tensor, and no condition says which."""
    extents = [integer(a.hi) for a in equation.axes if integer(a.lo) == 0]
    return (
        all(i is a.var for i, a in zip(equation.indices, equation.axes))
        and extents == list(shape_of(equation.target))
        and equation.update is None
        and equation.where is None
        and equation.guard is None
    )


def _taps(equation: Equation, total: Reduce, weight: Read) -> tuple[Var, ...] | None:
    """The variables `c, r, q` of a sum whose weights are `weight[k, c, r, q]`, all of them."""
    if len(weight.indices) != 4 or weight.guard is not None or weight.indices[0] is not equation.axes[1].var:
        return None
    extents = {a.var: integer(a.hi) for a in total.axes if integer(a.lo) == 0}
    found = tuple(i for i in weight.indices[1:] if isinstance(i, Var) and i in extents)
    whole = len(set(found)) == 3 and [extents[v] for v in found] == list(shape_of(weight.tensor)[1:])
    return found if whole else None


def _padding(equation: Equation, taps: tuple[Var, ...], image: Read) -> tuple[int, int] | None:
    """`(P, L)` of an image read at `[n, c, y + r - P, x + q - L | 0]`, both at least 0."""
    guard = image.guard
    zero = guard is None or (
        guard.mode == "value" and isinstance(guard.value, Const) and not guard.value.value
    )
    (n, _, y, x), (c, r, q) = (a.var for a in equation.axes), taps
    if not zero or len(image.indices) != 4 or image.indices[0] is not n or image.indices[1] is not c:
        return None
    above, left = _offset(image.indices[2], y, r), _offset(image.indices[3], x, q)
    return None if above is None or left is None or max(above, left) > 0 else (-above, -left)


def _offset(place: Expr, element: Var, tap: Var) -> int | None:
    """`o` of `element + tap + o`."""
    found = linear(place)
    return found.constant if dict(found.terms) == {element: 1, tap: 1} else None


def best_tiling(given: Convolution) -> Tiling | None:
    """The tiles that cost least; None if the plain sum costs little more."""
    shape = shape_of(given.weight)
    if shape[2] != shape[3] or shape[2] not in TILES or 0 in (*shape, *shape_of(given.equation.target)):
        return None
    best = min((_tiling(given, m) for m in TILES[shape[2]]), key=cost)
    worth = GAIN * cost(best) <= plain_cost(best) and moved_bytes(best) <= MOST_BYTES
    return best if worth else None


def _tiling(given: Convolution, outputs: int) -> Tiling:
    machine = find_target("native").machine
    images, channels, height, width = shape_of(given.image)
    _, filters, rows, columns = shape_of(given.equation.target)
    return Tiling(
        images=images,
        channels=channels,
        height=height,
        width=width,
        filters=filters,
        taps=shape_of(given.weight)[2],
        padding=given.padding,
        rows=rows,
        columns=columns,
        outputs=outputs,
        lanes=max(LEAST_LANES, machine.vector_bytes // F32.bytes),
        panel=PANELS[machine.vector_registers >= 32],
    )


def cost(t: Tiling) -> float:
    """Operations of a convolution in tiles, with the bytes that move as operations."""
    squares, moved = t.window**2, moved_bytes(t)
    passes = 2 if moved <= REUSED_BYTES else 4
    weights = F32.bytes * squares * t.filters * t.channels
    return 2 * squares * t.filters * t.channels * t.tiles + FLOPS_PER_BYTE * (passes * moved + weights)


def moved_bytes(t: Tiling) -> int:
    """Bytes of all transformed windows and of their sums."""
    return F32.bytes * t.window**2 * t.tiles * (t.channels + t.filters)


def plain_cost(t: Tiling) -> float:
    """The same of the plain sum, whose image and weights move once."""
    weights = t.taps**2 * t.filters * t.channels
    image = t.images * t.channels * t.height * t.width
    return 2 * weights * t.images * t.rows * t.columns + FLOPS_PER_BYTE * F32.bytes * (weights + image)


def _in_tiles(given: Convolution, tiling: Tiling, names: set[str]) -> Iterator[Equation | Invoke]:
    """The three calls in the place of an equation, and a view between two."""
    target = given.equation.target
    window, product = window_operator(tiling), product_operator(tiling)
    windows = _named(window.outputs[0], f"{target.name}_windows", names)
    panels = _named(product.outputs[0], f"{target.name}_panels", names)
    whole = plain(*window.outputs[0].shape[:2], index(tiling.panels * tiling.panel), index(tiling.tiles))
    sums = replace(_named(panels, f"{target.name}_products", names), dims=whole)
    yield Invoke((windows,), window, (given.image,), span=given.equation.span)
    yield Invoke((panels,), product, (given.weight, windows), span=given.equation.span)
    yield view(sums, panels)
    output, arguments = _output(given, tiling, sums)
    yield Invoke((target,), output, arguments, span=given.equation.span)


def _named(tensor: Tensor, name: str, names: set[str]) -> Tensor:
    while name in names:
        name += "_"
    names.add(name)
    return replace(tensor, name=name)


def _output(given: Convolution, tiling: Tiling, sums: Tensor) -> tuple[Program, tuple[Tensor, ...]]:
    """The program from the sums over channels to the equation's target, and its arguments."""
    call = output_operator(tiling)
    (whole,) = call.outputs
    read = Read(whole, tuple(a.var for a in given.equation.axes))

    def rule(node: Node) -> Node | None:
        return read if isinstance(node, Reduce) else None

    end = replace(given.equation, value=rewrite(given.equation.value, rule))
    equations = (*over_tensors(call, {call.inputs[0]: sums}).equations, end)
    inputs = tuple(t for t in Group(equations).sources)
    joined, _ = fuse(Program("winograd_output", inputs, (given.equation.target,), equations))
    program, arguments, _ = as_program(Group(joined.equations), {given.equation.target})
    return replace(program, name="winograd_output"), arguments


def _decision(given: Convolution, tiling: Tiling) -> Decision:
    """The decision to compute a convolution in tiles."""
    plain, products = given.equation.target.name, tiling.window**2 / tiling.outputs**2
    reason = f"{tiling.taps**2 / products:.3g} times fewer products, by tiles of {tiling.outputs} x {tiling.outputs}"
    return Decision("winograd", given.weight.name, (plain,), True, 0, 0, reason)
