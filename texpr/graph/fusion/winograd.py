"""Convolutions whose weights stay the same, by Winograd's method: fewer products, more sums.

`Y[n, k, y, x] = f(sum(c, r, q: X[n, c, y + r - P, x + q - L | 0] * weight[k, c, r, q]))`, and the
same of one dimension, becomes three kernels (`winograd_operators`), the last of which ends with `f`.
Transformed weights are kept from run to run as packed ones are. That the transforms are right is
checked in fractions (`cook_toom`); floats round otherwise than the plain sum, and infinities become
NaN in all outputs of their tile (`docs/guide/rounding.md`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import product
from math import prod

from texpr.graph.fusion.kernel_groups import Group, as_program
from texpr.graph.fusion.producer_consumer import FLOPS_PER_BYTE, Decision, fuse
from texpr.graph.fusion.single_groups import views_of, without_group
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

WINDOWS = {1: (8, 6, 4), 2: (6, 4)}
"""Elements of a window in a dimension with several taps, by the number of such dimensions: more of
them need fewer products, and round more."""
GAIN = 1.2
"""The least quotient of the two costs: below it the plain sum has fewer roundings and less memory."""
LEAST_LANES = 8
"""Tiles are filled up to a multiple of it, of longer vectors where there are such."""
PANELS = (6, 12)
"""Filters whose sums for two vectors of tiles are in 16 or in 32 registers, beside operands."""
REUSED = 4
"""Transformed images and their sums stay near between two kernels up to so many second caches."""
BEYOND = 3
"""Moving a byte beyond these takes as long as moving so many of those that stay."""
MOST_BYTES = 1 << 28
"""Transformed images and their sums take no more memory than so much."""


@frozen_by_identity
class Convolution:
    """An equation that convolves an image with constant weights, at steps of one.

    Attributes:
        total: the sum in its value, which may read it several times (`silu`).
        padding: zeros above and left of the image; of one dimension, zeros before it.
    """

    equation: Equation
    total: Reduce
    image: Tensor
    weight: Tensor
    padding: tuple[int, ...]


def with_winograd(program: Program, constants: Set[Tensor]) -> tuple[Program, list[Decision]]:
    """The program with convolutions in tiles where that costs less, and what was decided.

    Args:
        constants: inputs that have the same values from run to run.
    """
    equations: list[Equation | Invoke] = []
    decisions: list[Decision] = []
    names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}
    views = views_of(program)
    for each in program.equations:
        found = _convolution_of_one_group(each, constants, views)
        tiling = best_tiling(found) if found else None
        if found and tiling:
            equations += _in_tiles(found, tiling, names)
            decisions.append(_decision(found, tiling))
            (target,) = each.targets
            if found.equation.target is not target:
                equations.append(view(target, found.equation.target))
        else:
            equations.append(each)
    return (replace(program, equations=tuple(equations)), decisions) if decisions else (program, [])


def _convolution_of_one_group(
    each: Equation | Invoke, constants: Set[Tensor], views: Mapping[Tensor, Tensor]
) -> Convolution | None:
    """The convolution that an equation is, or is without a dimension for one group."""
    if not isinstance(each, Equation):
        return None
    found = convolution(each, constants)
    alone = None if found else without_group(each, views)
    return convolution(alone, constants) if alone else found


def convolution(equation: Equation, constants: Set[Tensor]) -> Convolution | None:
    """The convolution that an equation is; None if it is none that can be computed in tiles."""
    total, *again = [n for n in walk(equation.value) if isinstance(n, Reduce)] or [None]
    if total is None or not all(equal(total, n) for n in again):
        return None
    if len(equation.axes) not in (3, 4) or equation.target.dtype != F32 or not _is_plain(equation):
        return None
    factors = (total.body.lhs, total.body.rhs) if isinstance(total.body, Mul) else ()
    reads = [f for f in factors if isinstance(f, Read) and f.tensor.dtype == F32]
    if (
        total.op != "sum"
        or total.dtype != F32
        or total.where is not None
        or len(total.axes) != len(equation.axes) - 1
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
    rank = len(equation.axes)
    if len(weight.indices) != rank or weight.guard or weight.indices[0] is not equation.axes[1].var:
        return None
    extents = {a.var: integer(a.hi) for a in total.axes if integer(a.lo) == 0}
    found = tuple(i for i in weight.indices[1:] if isinstance(i, Var) and i in extents)
    whole = len(set(found)) == rank - 1 and [extents[v] for v in found] == list(shape_of(weight.tensor)[1:])
    return found if whole else None


def _padding(equation: Equation, taps: tuple[Var, ...], image: Read) -> tuple[int, ...] | None:
    """`P, L` of an image read at `[n, c, y + r - P, x + q - L | 0]`, both at least 0."""
    guard = image.guard
    zero = guard is None or (
        guard.mode == "value" and isinstance(guard.value, Const) and not guard.value.value
    )
    n, _, *elements = (a.var for a in equation.axes)
    if not zero or len(image.indices) != len(equation.axes):
        return None
    if image.indices[0] is not n or image.indices[1] is not taps[0]:
        return None
    found = [_offset(*each) for each in zip(image.indices[2:], elements, taps[1:], strict=True)]
    return None if any(o is None or o > 0 for o in found) else tuple(-o for o in found if o is not None)


def _offset(place: Expr, element: Var, tap: Var) -> int | None:
    """`o` of `element + tap + o`."""
    found = linear(place)
    return found.constant if dict(found.terms) == {element: 1, tap: 1} else None


def best_tiling(given: Convolution) -> Tiling | None:
    """The tiles that cost least; None if the plain sum costs little more."""
    if 0 in (*shape_of(given.weight), *shape_of(given.equation.target)):
        return None
    taps = _two(shape_of(given.weight)[2:])
    sizes = WINDOWS.get(sum(r > 1 for r in taps), ())
    down, across = ([1] if r == 1 else [n - r + 1 for n in sizes if n > r] for r in taps)
    best = min((_tiling(given, taps, m) for m in product(down, across)), key=cost, default=None)
    if best is None or best.points == 1:
        return None
    worth = GAIN * cost(best) <= plain_cost(best) and moved_bytes(best) <= MOST_BYTES
    return best if worth else None


def _two(extents: Sequence[int], first: int = 1) -> tuple[int, int]:
    """The extents of an image with two dimensions; one of one dimension is a row."""
    height, width = (first, *extents)[-2:]
    return height, width


def _tiling(given: Convolution, taps: tuple[int, int], outputs: tuple[int, int]) -> Tiling:
    machine = find_target("native").machine
    images, channels, *extents = shape_of(given.image)
    _, filters, *results = shape_of(given.equation.target)
    (height, width), (rows, columns) = _two(extents), _two(results)
    return Tiling(
        images=images,
        channels=channels,
        height=height,
        width=width,
        filters=filters,
        taps=taps,
        padding=_two(given.padding, 0),
        rows=rows,
        columns=columns,
        outputs=outputs,
        lanes=max(LEAST_LANES, machine.vector_bytes // F32.bytes),
        panel=PANELS[machine.vector_registers >= 32],
        flat=len(extents) == 1,
    )


def cost(t: Tiling) -> float:
    """Operations of a convolution in tiles, with the bytes that move as operations."""
    products = t.points * t.panels * t.panel * t.channels
    return 2 * products * t.tiles + FLOPS_PER_BYTE * (2 * moving(moved_bytes(t)) + F32.bytes * products)


def moving(size: int) -> float:
    """Bytes that are moved once, those that leave the caches between two kernels several times."""
    caches = find_target("native").machine.caches[:2]
    near = REUSED * caches[-1] if caches else 0
    return size + (BEYOND - 1) * max(0, size - near)


def moved_bytes(t: Tiling) -> int:
    """Bytes of all transformed windows and of their sums."""
    return F32.bytes * t.points * t.tiles * (t.channels + t.filters)


def plain_cost(t: Tiling) -> float:
    """The same of the plain sum, whose image and weights move once."""
    weights = prod(t.taps) * t.filters * t.channels
    image = t.images * t.channels * t.height * t.width
    return 2 * weights * t.images * t.rows * t.columns + FLOPS_PER_BYTE * F32.bytes * (weights + image)


def _in_tiles(given: Convolution, tiling: Tiling, names: set[str]) -> Iterator[Equation | Invoke]:
    """The three calls in the place of an equation, and a view between two."""
    target = given.equation.target
    window, products = window_operator(tiling), product_operator(tiling)
    windows = _named(window.outputs[0], f"{target.name}_windows", names)
    panels = _named(products.outputs[0], f"{target.name}_panels", names)
    whole = plain(*window.outputs[0].shape[:2], index(tiling.panels * tiling.panel), index(tiling.tiles))
    sums = replace(_named(panels, f"{target.name}_products", names), dims=whole)
    yield Invoke((windows,), window, (given.image,), span=given.equation.span)
    yield Invoke((panels,), products, (given.weight, windows), span=given.equation.span)
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
    n, k, *places = (a.var for a in given.equation.axes)
    read = Read(whole, (n, k, index(0), *places) if tiling.flat else (n, k, *places))

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
    target, taps, outputs = given.equation.target.name, prod(tiling.taps), prod(tiling.outputs)
    size = " x ".join(map(str, tiling.outputs[-1:] if tiling.flat else tiling.outputs))
    reason = f"{taps * outputs / tiling.points:.3g} times fewer products, by tiles of {size}"
    return Decision("winograd", given.weight.name, (target,), True, 0, 0, reason)
