"""Equations of a gradient as the formulas of a book: `dX = Y * (dY - sum(dY * Y))` for softmax.

The chain rule repeats what it could say once. Here factors leave the sums that do not change them
and move to where the sums are read; terms share their common factors there; a product that an
equation of the primal has is read; and the deviations from a mean add up to 0. Each is an identity
of real numbers, and is kept where it makes the equations shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.autodiff.cleanup.common_subexpressions import without_repeats
from texpr.autodiff.cleanup.factored_products import Product, factored, product
from texpr.autodiff.cleanup.simplify import Equations, definitions
from texpr.autodiff.core.algebra import is_value, minus, negative, plus, zero
from texpr.autodiff.core.interval_bounds import always_defined
from texpr.autodiff.core.names import Names
from texpr.ir.build import integer
from texpr.ir.build import product as sizes
from texpr.ir.expr import Add, Axis, Cast, Const, Div, Expr, Mul, Neg, Node, Read, Reduce, Sub, Tensor, Var
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import children, equal, free_variables, postorder, rewrite, substitute, tensors, walk
from texpr.support.frozen_dataclass import frozen, replace


def formulas(
    equations: Equations,
    primal: Sequence[Equation | Invoke],
    outputs: Sequence[Tensor],
    own: set[Tensor],
    names: Names,
) -> Equations:
    """The same tensors from shorter equations.

    Args:
        primal: equations whose tensors may be read.
        own: the tensors whose equations may be rewritten.
    """
    book = _Book(primal)
    result: Equations = [
        _tidied(e, book) if isinstance(e, Equation) and e.target in own else e for e in equations
    ]
    result = _without_zeros(result, book, own - set(outputs))
    movable = [t for t in definitions(result) if t in own and t not in outputs]
    for tensor in movable:
        result = _moved(result, tensor, book, own, names)
    return without_repeats(result, own, names)


def _without_zeros(equations: Equations, book: _Book, candidates: set[Tensor]) -> Equations:
    """Without the candidates that are 0 everywhere."""

    def is_zero(t: Tensor, e: Equation) -> bool:
        return t in candidates and is_value(e.value, 0.0) and not _is_passed(t, equations)

    while zeros := {t for t, e in definitions(equations).items() if is_zero(t, e)}:

        def rule(node: Node, zeros: set[Tensor] = zeros) -> Node | None:
            return zero(node.dtype) if isinstance(node, Read) and node.tensor in zeros else None

        left = [e for e in equations if isinstance(e, Invoke) or e.target not in zeros]
        equations = [
            _tidied(rewrite(e, rule), book) if isinstance(e, Equation) and zeros & tensors(e).keys() else e
            for e in left
        ]
    return equations


def _is_passed(tensor: Tensor, equations: Equations) -> bool:
    """True if a call takes the tensor as an argument."""
    return any(isinstance(e, Invoke) and tensor in e.args for e in equations)


@frozen
class _Known:
    """`tensor[axes] = product`, every factor a read."""

    tensor: Tensor
    axes: tuple[Var, ...]
    value: Product


class _Book:
    """Definitions of the primal: products, and means."""

    def __init__(self, primal: Sequence[Equation | Invoke]) -> None:
        self.definitions = definitions(primal)
        self.products = [
            k
            for t, e in self.definitions.items()
            if t.dtype == e.value.dtype and (k := _known(t, e)) is not None
        ]

    def is_mean(self, mean: Expr, e: Expr, axes: tuple[Axis, ...]) -> bool:
        """True if `mean` is the sum of `e` over the axes, divided by their number."""
        if not isinstance(mean, Read) or mean.tensor not in self.definitions or mean.guard is not None:
            return False
        equation = self.definitions[mean.tensor]
        value = substitute(equation.value, dict(zip((axis.var for axis in equation.axes), mean.indices)))
        match value:
            case Div(Reduce(op="sum", where=None) as total, Cast(number)):
                same = equal(total, Reduce("sum", axes, e, dtype=total.dtype))
                return (
                    same
                    and all(integer(axis.lo) == 0 for axis in axes)
                    and equal(number, sizes(tuple(axis.hi for axis in axes)))
                )
        return False


def _known(tensor: Tensor, equation: Equation) -> _Known | None:
    value = product(equation.value)
    factors = (*value.above, *value.below)
    if (
        len(factors) < 2
        or not value.above  # found by its first factor
        or value.coefficient != 1
        or not all(isinstance(f, Read) and f.guard is None for f in factors)
    ):
        return None
    return _Known(tensor, tuple(axis.var for axis in equation.axes), value)


def _tidied(equation: Equation, book: _Book) -> Equation:
    axes = equation.axes

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Expr) or not node.dtype.is_float:
            return None
        match node:
            case Reduce(op="sum"):
                return _hoisted(node, axes, book)
            case Mul(lhs, rhs) if is_value(lhs, 0.0) or is_value(rhs, 0.0):
                return zero(node.dtype)
            case Div(lhs, _) if is_value(lhs, 0.0):
                return zero(node.dtype)
            case Neg(Const() as operand):
                return negative(operand)
            case Add(lhs, rhs) | Sub(lhs, rhs) if is_value(lhs, 0.0) or is_value(rhs, 0.0):
                return plus(lhs, rhs) if isinstance(node, Add) else minus(lhs, rhs)
            case Add() | Sub():
                found = factored(node)
                if found is None and isinstance(node.rhs, Neg):
                    return plus(node.lhs, node.rhs) if isinstance(node, Add) else minus(node.lhs, node.rhs)
                return None if found is None else _looked_up(found, book).expr()
            case Mul() | Div():
                shorter = _looked_up(product(node), book)
                return shorter.expr() if shorter.size < _operations(node) else None
        return None

    return rewrite(equation, rule)


def _operations(e: Expr) -> int:
    """The factors of a product as it is written, numbers among them."""
    match e:
        case Mul(lhs, rhs) | Div(lhs, rhs):
            return _operations(lhs) + _operations(rhs)
        case Neg(operand):
            return _operations(operand)
        case Const(value) if abs(value) == 1:
            return 0
    return 1


def _hoisted(node: Reduce, axes: tuple[Axis, ...], book: _Book) -> Expr | None:
    """The sum of what changes within it, times what does not."""
    if node.body.dtype != node.dtype:
        return None
    bound = {axis.var for axis in node.axes}
    outside, inside = product(node.body).split(
        lambda f: not free_variables(f) & bound and always_defined(f, axes)
    )
    if not inside.above:
        return None
    if (
        node.where is None
        and not inside.below
        and len(inside.above) == 1
        and _is_deviation(inside.above[0], node.axes, book)
    ):
        return zero(node.dtype)
    if outside.size == 0 and outside.coefficient == 1:
        return None
    return outside.times(Product(1.0, (replace(node, body=inside.expr()),), (), node.dtype)).expr()


def _is_deviation(e: Expr, axes: tuple[Axis, ...], book: _Book) -> bool:
    return isinstance(e, Sub) and book.is_mean(e.rhs, e.lhs, axes)


def _looked_up(value: Product, book: _Book) -> Product:
    """With products that the primal has as reads of them."""
    for known in book.products:
        for first in value.above:
            found = _matched(value, first, known)
            if found is not None:
                return _looked_up(found, book)
    return value


def _matched(value: Product, first: Expr, known: _Known) -> Product | None:
    pattern = known.value.above[0]
    assert isinstance(pattern, Read)
    if not isinstance(first, Read) or first.tensor is not pattern.tensor or first.guard is not None:
        return None
    places = {i: place for i, place in zip(pattern.indices, first.indices) if isinstance(i, Var)}
    if not all(axis in places for axis in known.axes):
        return None
    above, below = (
        tuple(substitute(f, places) for f in side) for side in (known.value.above, known.value.below)
    )
    found = value.over(Product(1.0, above, below, value.dtype))
    if found.size != value.size - len(above) - len(below):
        return None
    read = Read(known.tensor, tuple(places[axis] for axis in known.axes))
    return replace(found, above=(read, *found.above))


def _moved(equations: Equations, tensor: Tensor, book: _Book, own: set[Tensor], names: Names) -> Equations:
    """`T = f * sum(...)`, read as T: T is the sum, and readers multiply by f, where that makes
    them shorter.
    """
    definition = definitions(equations).get(tensor)
    users = [e for e in equations if isinstance(e, Equation) and tensor in tensors(e)]
    plainly = all(_is_read_plainly(e, tensor) and e.target in own for e in users)
    if definition is None or not users or not plainly or _is_passed(tensor, equations):
        return equations
    outside, inside = product(definition.value).split(lambda f: not (isinstance(f, Reduce) and f.op == "sum"))
    if len(inside.above) != 1 or inside.below or (outside.size == 0 and outside.coefficient == 1):
        return equations
    axes = [axis.var for axis in definition.axes]
    total = Tensor(names.fresh(f"{users[0].target.name}_sum"), tensor.dtype, tensor.dims)

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Read) or node.tensor is not tensor:
            return None
        factors = Product(1.0, (replace(node, tensor=total),), (), node.dtype).times(outside)
        places = dict(zip(axes, node.indices))
        return replace(
            factors,
            above=tuple(substitute(f, places) if f is not factors.above[0] else f for f in factors.above),
            below=tuple(substitute(f, places) for f in factors.below),
        ).expr()

    fresh: dict[Equation, Equation] = {definition: replace(definition, target=total, value=inside.above[0])}
    fresh |= {e: _tidied(rewrite(e, rule), book) for e in users}
    if sum(map(_length, fresh.values())) > sum(map(_length, fresh)):
        return equations
    own.add(total)
    return [fresh.get(e, e) if isinstance(e, Equation) else e for e in equations]


def _is_read_plainly(equation: Equation, tensor: Tensor) -> bool:
    return all(n.guard is None for n in walk(equation) if isinstance(n, Read) and n.tensor is tensor)


def _length(equation: Equation) -> int:
    """Nodes of the value, each as often as it is written; indices aside."""
    count: dict[int, int] = {}
    for node in postorder(equation.value):
        below = () if isinstance(node, Read) else children(node)
        count[id(node)] = 1 + sum(count[id(c)] for c in below if isinstance(c, Expr) and c.dtype.is_float)
    return count[id(equation.value)]
