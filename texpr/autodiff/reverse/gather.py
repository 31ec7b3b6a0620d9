"""A contribution seen from the tensor it goes to: as a sum over the instances that read one
element, or as a fold over all instances.

`A[e(x)]` read under a condition gives `dA[y] = sum(x where e(x) == y: ...)` with the equality
solved (`invert_index`); where it cannot be solved it gives `dA[e(x)] += ...`.
"""

from __future__ import annotations

from texpr.autodiff.core.algebra import choose, convert, is_value, total, zero
from texpr.autodiff.core.contribution import Contribution
from texpr.autodiff.core.interval_bounds import at_least, below, without_data
from texpr.autodiff.reverse.invert_index import Solution, solve
from texpr.autodiff.reverse.rows import reduces_rows, with_rows
from texpr.ir import build
from texpr.ir.affine import Linear, linear
from texpr.ir.dtypes import I64
from texpr.ir.expr import (
    Add,
    Axis,
    Call,
    Cast,
    Compare,
    Const,
    Div,
    Expr,
    FloorDiv,
    Guard,
    Mod,
    Mul,
    Neg,
    Node,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
)
from texpr.ir.tensor import Equation
from texpr.ir.traverse import children, rewrite, substitute, tensors, variables, walk
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class _Term:
    """`sum(axes where conditions: value)`, conditions in an order in which each protects those
    after it; `indices` for a fold.
    """

    axes: tuple[Axis, ...]
    conditions: tuple[Expr, ...]
    value: Expr
    indices: tuple[Expr, ...] = ()


def gather(contribution: Contribution, target: tuple[Axis, ...], element: tuple[Expr, ...]) -> Expr | None:
    """The contribution to `element`, which is made of the variables of `target`; None
    where the read cannot be inverted.
    """
    if contribution.guard is not None and contribution.guard.mode != "value":
        return None
    scope = contribution.scope
    solution = solve(contribution.indices, scope.axes, contribution.outer, target, element)
    if solution is None:
        return None
    value, ranges = _guarded(contribution, solution)
    conditions = [*solution.conditions, *_range_conditions(ranges, (*target, *solution.remaining), solution)]
    conditions += (substitute(c, solution.values) for c in scope.conditions)
    term = _known_binders(_Term(solution.remaining, tuple(conditions), substitute(value, solution.values)))
    return _as_sum(_tidy(term))


def searched(contribution: Contribution, target: tuple[Axis, ...], element: tuple[Expr, ...]) -> Expr:
    """The same as a sum over all instances, of which those count that read the element; no guard
    may fold the index.

    For recurrences, where a fold would have to be done before what it is made of: the equality says
    what is read.
    """
    axes = {axis.var: axis for axis in contribution.scope.axes}
    bare = {i: e for i, e in zip(contribution.indices, element) if isinstance(i, Var) and i in axes}
    equal_to = (Compare("==", i, e) for i, e in zip(contribution.indices, element) if i not in bare)
    ranges = [c for v, e in bare.items() for c in _in_range(axes[v], e, target)]
    conditions = (*ranges, *contribution.scope.conditions, *equal_to)
    rest = tuple(axis for axis in contribution.scope.axes if axis.var not in bare)
    if any(v in variables(axis.lo, axis.hi) for axis in rest for v in bare):
        rest = tuple(Axis(axis.var, substitute(axis.lo, bare), substitute(axis.hi, bare)) for axis in rest)
    return _as_sum(
        _tidy(
            _Term(rest, tuple(substitute(c, bare) for c in conditions), substitute(contribution.value, bare))
        )
    )


def _in_range(axis: Axis, value: Expr, known: tuple[Axis, ...]) -> list[Expr]:
    found = [] if at_least(value, axis.lo, known) else [_at_most(axis.lo, value)]
    return found if below(value, axis.hi, known) else [*found, build.compare("<", value, axis.hi)]


def scatter(contribution: Contribution, into: Tensor) -> Equation:
    """The fold that adds the contribution into `into`: over the axes in its indices, in their
    order, and over those whose rows these are; a sum over the others.
    """
    scope, guard = contribution.scope, contribution.guard
    term = _known_binders(_Term(scope.axes, scope.conditions, contribution.value, contribution.indices))
    used = {v: None for root in term.indices for v in walk(root) if isinstance(v, Var)}
    by_var = {axis.var: axis for axis in term.axes}
    left = [by_var[v] for v in used if v in by_var]
    left = _ordered(left if reduces_rows(term.value) else with_rows(left, term.axes))
    inner = tuple(axis for axis in term.axes if axis not in left)
    outer = tuple(_widened(axis, inner, contribution) for axis in left)
    narrow = [c for old, new in zip(left, outer) for c in _narrowed(old, new)]
    where = _reading(term, inner)
    rest = tuple(c for c in term.conditions if not any(c is w for w in where))
    value = _as_sum(_Term(inner, (*narrow, *rest), term.value))
    mode = None if guard is None else Guard("drop") if guard.mode == "value" else guard
    return Equation(
        into,
        term.indices,
        outer,
        convert(value, into.dtype),
        "add",
        build.conjunction(*where) if where else None,
        mode,
        contribution.span,
    )


def _ordered(axes: list[Axis]) -> list[Axis]:
    """The same, each after those that its range depends on."""
    found: list[Axis] = []
    while axes:
        later = {axis.var for axis in axes}
        first = next(axis for axis in axes if not later & variables(axis.lo, axis.hi))
        found.append(first)
        axes = [axis for axis in axes if axis is not first]
    return found


def _reading(term: _Term, inner: tuple[Axis, ...]) -> tuple[Expr, ...]:
    """The conditions under which the indices can be read: they stay around an equation whose
    left side reads.
    """
    bound = {axis.var for axis in inner}
    if not any(tensors(i) for i in term.indices):
        return ()
    return tuple(c for c in term.conditions if not variables(c) & bound and _is_affine(c))


def _is_affine(condition: Expr) -> bool:
    """True if a condition compares indices and sizes by arithmetic that proofs follow."""
    for node in walk(condition):
        match node:
            case Mul(lhs, rhs) if not isinstance(lhs, Const) and not isinstance(rhs, Const):
                return False
            case FloorDiv(_, rhs) | Mod(_, rhs) if not isinstance(rhs, Const):
                return False
            case Read() | Reduce() | Cast() | Call():
                return False
            case Expr() if node.dtype.is_float:
                return False
    return True


def _narrowed(axis: Axis, widened: Axis) -> list[Expr]:
    """Conditions that hold where a place in the wider range is in the axis."""
    low = [] if axis.lo is widened.lo else [_at_most(axis.lo, axis.var)]
    return low if axis.hi is widened.hi else [*low, build.compare("<", axis.var, axis.hi)]


def _widened(axis: Axis, inner: tuple[Axis, ...], of: Contribution) -> Axis:
    """The axis with a range that holds for all values of the axes it is no longer inside of.

    Raises:
        CheckError: data of which nothing is declared says what the range is.
    """
    chosen = {other.var for other in inner}
    lo, hi = without_data(axis.lo, chosen, -1), without_data(axis.hi, chosen, 1)
    if lo is None or hi is None:
        end = axis.lo if lo is None else axis.hi
        data = next(iter(tensors(end))).name
        raise CheckError(
            f"the gradient of `{of.tensor.name}` needs to know how far `{axis.var.name}` counts, which "
            f"`{data}` says",
            of.span,
            code="gradient",
            help=f"declare the range of `{data}`: {data}: ... in 0..N",
        )
    for other in reversed(inner):
        lo, hi = at_extreme(lo, other, -1), at_extreme(hi, other, 1)
    return axis if lo is axis.lo and hi is axis.hi else replace(axis, lo=lo, hi=hi)


def at_extreme(e: Expr, axis: Axis, sign: int) -> Expr:
    """The largest value of `e` over the axis (sign 1), or the smallest (sign -1)."""
    factor = linear(e).coefficient(axis.var)
    if not factor:
        return e
    return linear(substitute(e, {axis.var: Sub(axis.hi, index(1)) if factor * sign > 0 else axis.lo})).expr()


def _as_sum(term: _Term) -> Expr:
    affine, data = _by_kind(term.conditions)
    value = choose(data, term.value)
    if not term.axes:
        return choose(affine, value)
    bound = {axis.var for axis in term.axes}
    inner = tuple(c for c in affine if variables(c) & bound)
    outer = tuple(c for c in affine if not variables(c) & bound)
    return choose(outer, total(term.axes, build.conjunction(*inner) if inner else None, value))


def _by_kind(conditions: tuple[Expr, ...]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Conditions that read nothing, which need no protection, and the others."""
    return tuple(c for c in conditions if not tensors(c)), tuple(c for c in conditions if tensors(c))


def _known_binders(term: _Term) -> _Term:
    """Without the axes that a condition `k == place` fixes, such as where a maximum was found."""
    for condition in term.conditions:
        match condition:
            case Compare("==", Var(pack=False) as var, Read() as place) if var not in variables(place):
                rest = tuple(axis for axis in term.axes if axis.var is not var)
                if len(rest) < len(term.axes) and not any(var in variables(a.lo, a.hi) for a in rest):
                    known = {var: place}
                    others = tuple(substitute(c, known) for c in term.conditions if c is not condition)
                    indices = tuple(substitute(i, known) for i in term.indices)
                    return _known_binders(_Term(rest, others, substitute(term.value, known), indices))
    return term


def _range_conditions(ranges: dict[Var, Axis], known: tuple[Axis, ...], solution: Solution) -> list[Expr]:
    found = []
    for var, axis in ranges.items():
        value = solution.values[var]
        scaled, factor = (
            (value.lhs, value.rhs) if isinstance(value, FloorDiv) else (value, build.literal(1, value.dtype))
        )
        if not at_least(value, axis.lo, known):
            found.append(_at_most(build.mul(axis.lo, factor), scaled))
        if not below(value, axis.hi, known):
            found.append(build.compare("<", scaled, build.mul(axis.hi, factor)))
    return found


def _at_most(lo: Expr, e: Expr) -> Expr:
    """lo <= e, without minus signs: 0 <= h - r is r <= h."""
    return _compared("<=", linear(Sub(e, lo)))


def _cancelled(node: Compare) -> Expr | None:
    """The comparison without what both sides have."""
    form = linear(Sub(node.rhs, node.lhs))
    if len(form.terms) == len(linear(node.lhs).terms) + len(linear(node.rhs).terms):
        return build.fold(node)
    return _compared(node.op, form)


def _compared(op: str, form: Linear) -> Expr:
    """0 < form or 0 <= form, without minus signs."""
    positive = Linear(tuple((t, c) for t, c in form.terms if c > 0), max(form.constant, 0))
    negative = Linear(tuple((t, -c) for t, c in form.terms if c < 0), max(-form.constant, 0))
    return build.compare(op, negative.expr(), positive.expr())


def _guarded(contribution: Contribution, solution: Solution) -> tuple[Expr, dict[Var, Axis]]:
    """The value with a read guarded by 0 for each solved variable that only has to be in range
    for that read; the other variables.
    """
    value, left = contribution.value, dict(solution.ranges)
    for var in solution.ranges:
        read = _only_read(var, value, contribution)
        if read is not None and _vanishes_with(value, read):
            guarded = replace(read, guard=Guard("value", zero(read.dtype)))
            value = _with(value, read, guarded)
            del left[var]
    return value, left


def _with(value: Expr, old: Read, new: Read) -> Expr:
    return rewrite(value, lambda n: new if n is old else None)  # type: ignore[return-value]


def _only_read(var: Var, value: Expr, contribution: Contribution) -> Read | None:
    """The one read that `var` indexes over the whole of a dimension, if it is used for nothing
    else: data that are read at it to find the element must be inside as well.
    """
    scope = contribution.scope
    if any(var in variables(axis.lo, axis.hi) for axis in scope.axes) or any(
        var in variables(c) for c in scope.conditions
    ):
        return None
    if any(isinstance(n, Read) and var in variables(n) for n in walk(*contribution.indices)):
        return None
    users = [node for node in walk(value) if any(child is var for child in children(node))]
    if len(users) != 1 or not isinstance(users[0], Read):
        return None
    read = users[0]
    places = [n for n, i in enumerate(read.indices) if i is var]
    axis = next(
        axis for axis in scope.axes if axis.var is var
    )  # a binder that solving has made is in no read
    whole = (
        len(places) == 1
        and _same(axis.lo, build.literal(0, axis.lo.dtype))
        and _same(axis.hi, read.tensor.shape[places[0]])
    )
    return read if whole and _gives_zero(read.guard) else None


def _same(a: Expr, b: Expr) -> bool:
    difference = linear(Sub(a, b))
    return not difference.terms and difference.constant == 0


def _gives_zero(guard: Guard | None) -> bool:
    return guard is None or (guard.mode == "value" and guard.value is not None and is_value(guard.value, 0.0))


def _vanishes_with(root: Expr, read: Read) -> bool:
    """True if `root` is 0 where `read` is 0, whatever else it is computed from (infinities aside)."""
    done: dict[int, bool] = {}
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if not ready:
            stack.append((node, True))
            stack += [(child, False) for child in children(node) if id(child) not in done]
            continue
        done[id(node)] = node is read or _vanishes(node, done)
    return done[id(root)]


def _vanishes(node: Node, below_is_zero: dict[int, bool]) -> bool:
    match node:
        case Const(value):
            return node.dtype.is_float and value == 0
        case Mul(lhs, rhs):
            return below_is_zero[id(lhs)] or below_is_zero[id(rhs)]
        case Div(lhs, _):
            return below_is_zero[id(lhs)]
        case Add(lhs, rhs) | Sub(lhs, rhs) | Select(_, lhs, rhs):
            return below_is_zero[id(lhs)] and below_is_zero[id(rhs)]
        case Neg(operand) | Cast(operand):
            return below_is_zero[id(operand)]
        case Reduce(op="sum", body=body):
            return below_is_zero[id(body)]
    return False


def _tidy(term: _Term) -> _Term:
    """Index arithmetic folded and in linear normal form."""
    return _Term(term.axes, tuple(map(_folded, term.conditions)), _folded(term.value))


def _folded(e: Expr) -> Expr:
    def rule(node: Node) -> Node | None:
        if isinstance(node, Read):
            return (
                replace(node, indices=tuple(linear(i).expr() for i in node.indices)) if node.indices else None
            )
        if isinstance(node, Compare) and node.op in ("<", "<=") and node.lhs.dtype == I64:
            return _cancelled(node)
        return build.fold(node)

    return rewrite(e, rule)  # type: ignore[return-value]
