"""Equations: from syntax to IR, intermediates after what they are made of."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

from texpr.ir.build import integer
from texpr.ir.expr import Axis, Dim, Expr, Guard, Reduce, Tensor, Var, index
from texpr.ir.printing.expr import show
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import children, tensors, variables
from texpr.lang.elaboration.likely import advised_begin, advised_let, advised_ranges, likely_type
from texpr.lang.elaboration.name_scope import Scope, below, names_in
from texpr.lang.elaboration.reduction_elaboration import axis_of, fresh, range_steps
from texpr.lang.elaboration.scalars import Scalars
from texpr.lang.elaboration.self_reference import value_reading_itself
from texpr.lang.elaboration.signatures import check_rank
from texpr.lang.elaboration.typed_values import Value, materialize
from texpr.lang.syntax import tree
from texpr.passes.analysis.iteration_ranges import needed_by, nested
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import replace
from texpr.support.trampoline import Steps, run

UPDATES = {"=": None, "+=": "add", "*=": "mul", "max=": "max", "min=": "min"}


def equations_of(node: tree.Equation, s: Scalars) -> list[Equation]:
    """The equations one statement stands for: one per target."""
    if len(node.targets) == 1:
        return [equation(node, node.targets[0], s, None)]
    value = node.value
    if (
        not isinstance(value, tree.Reduction)
        or value.op not in ("argmax", "argmin")
        or len(value.binders) != len(node.targets)
    ):
        raise CheckError(
            f"{len(node.targets)} left sides need a right side with as many results",
            node.span,
            code="call",
            help="an operator's call, or argmax and argmin with as many binders",
        )
    return [equation(node, target, s, which) for which, target in enumerate(node.targets)]


def equation(node: tree.Equation, target: tree.Target, s: Scalars, which: int | None) -> Equation:
    """One equation; `which` selects a result of an argmax over several binders."""
    known = s.names.tensors.get(target.name.text)
    if known is None and target.name.text in names_in(node.value):
        known = _of_itself(node, target, s)
    variables = left_indices(target, s)
    scope = Scope().bind(variables)
    bounds = _bounds(node, variables, scope, s)
    indices = run(_left(node, target, known, scope, s))
    where = None if node.where is None else s.condition(node.where, scope)
    value = s.value(node.value, scope)
    if which is not None:
        assert isinstance(value.expr, Reduce)
        value = Value(replace(value.expr, which=which))
    ranges = {**_declared(target, known, indices), **bounds}
    _check_ranges(node, target, s, variables.values(), ranges)
    axes = tuple(_axis(target, s, v, ranges.get(v)) for v in variables.values())
    if known is None:
        of_numbers = value.weak == "literal" or s.arithmetic.is_of_numbers(value.expr)
        value = Value(materialize(value, value.dtype, node.value.span)) if value.weak else value
        known = infer(target, node, indices, axes, value, s)
        s.arithmetic.of_numbers |= {known} if of_numbers else set()
    axes = tuple(_in_order(axes, target))
    guard = None if target.guard is None else Guard(target.guard.mode)
    stored = s.arithmetic.store(value, known.dtype, node.value.span)
    return Equation(known, indices, axes, stored, UPDATES[node.update], where, guard, span=node.span)


def _of_itself(node: tree.Equation, target: tree.Target, s: Scalars) -> Tensor:
    """An intermediate that its equation reads: as `infer`, from what else is read."""
    variables = left_indices(target, s)
    scope = Scope().bind(variables)
    bounds = _bounds(node, variables, scope, s)
    indices = run(_left(node, target, None, scope, s))
    value = value_reading_itself(node, target, variables, s)
    _check_ranges(node, target, s, variables.values(), bounds)
    axes = tuple(_axis(target, s, v, bounds.get(v)) for v in variables.values())
    known = infer(target, node, indices, axes, value, s)
    s.arithmetic.of_numbers |= {known} if value.weak == "literal" else set()
    return known


def _axis(target: tree.Target, s: Scalars, var: Var, bounds: tuple[Expr, Expr] | None) -> Axis:
    """The range of an index of the left side."""
    return axis_of(s.uses, var, bounds, target.span, lambda: [])


def _check_ranges(
    node: tree.Equation,
    target: tree.Target,
    s: Scalars,
    variables: Iterable[Var],
    known: Mapping[Var, object],
) -> None:
    """Each index has a range: written, that of a declared dimension, or that of a read."""
    missing = [v.name for v in variables if v not in known and v not in s.uses and not v.pack]
    if missing:
        raise CheckError(
            f"the range of `{missing[0]}` is not known",
            target.span,
            code="range",
            notes=(f"no unguarded read has `{missing[0]}` alone as an index",),
            fixes=advised_ranges(node, missing, s.names),
        )


def _in_order(axes: tuple[Axis, ...], target: tree.Target) -> list[Axis]:
    """The axes, each after those that its range depends on."""
    for axis in axes:
        if axis.var in needed_by(axes, variables(axis.lo, axis.hi)):
            raise CheckError(
                f"the range of `{axis.var.name}` depends on itself",
                target.span,
                code="range",
                help="ranges may depend on indices whose ranges do not depend on them",
            )
    return nested(axes)


def left_indices(target: tree.Target, s: Scalars) -> dict[str, Var]:
    """The index variables of a left side: its names that mean nothing else."""
    variables: dict[str, Var] = {}
    for root in target.indices:
        for node in below(root):
            match node:
                case tree.Name(span, text) if text not in s.names and text not in variables:
                    variables[text] = fresh(s, text, False, span, Scope())
                case tree.PackName(span, text) if text not in variables:
                    variables[text] = fresh(s, text, True, span, Scope())
                case tree.Reduction():
                    raise CheckError("a left side has no reductions", node.span, code="index")
    return variables


def _bounds(
    node: tree.Equation, variables: dict[str, Var], scope: Scope, s: Scalars
) -> dict[Var, tuple[Expr, Expr]]:
    bounds: dict[Var, tuple[Expr, Expr]] = {}
    for b in node.ranges:
        var = variables.get(b.name)
        if var is None:
            raise CheckError(
                f"`{b.name}` is not an index of the left side",
                b.span,
                code="name",
                notes=(f"the left side has {', '.join(variables) or 'no indices'}",),
                help=f"what a sum runs over stands in the sum: sum({b.name} in 0..n: ...)",
            )
        if var in bounds:
            raise CheckError(f"`{b.name}` has two ranges", b.span, code="range")
        assert b.range is not None
        bounds[var] = run(range_steps(s, b.range, scope))
    return bounds


def _left(node: tree.Equation, target: tree.Target, known: Tensor | None, scope: Scope, s: Scalars) -> Steps:
    if known is not None:
        return (yield s.indices(known, target.indices, target.span, scope, False))
    result = []
    for entry in target.indices:
        var = scope.local.get(entry.text) if isinstance(entry, tree.Name | tree.PackName) else None
        if not isinstance(var, Var) or var in result:
            likely = likely_type(node, s.names)
            raise CheckError(
                f"the shape of `{target.name.text}` cannot be inferred",
                entry.span,
                code="shape",
                fixes=advised_let(
                    "only bare, distinct indices say a shape; declare it: ", target.name.text, likely
                ),
            )
        result.append(var)
    return tuple(result)


def _declared(
    target: tree.Target, known: Tensor | None, indices: tuple[Expr, ...]
) -> dict[Var, tuple[Expr, Expr]]:
    """The range of an index that stands bare on the left of a declared tensor."""
    if known is None or target.guard is not None:
        return {}
    found: dict[Var, tuple[Expr, Expr]] = {}
    entries = [
        e for node in target.indices for e in (node.items if isinstance(node, tree.Group) else (node,))
    ]
    for node, e, size in zip(entries, indices, known.shape):
        if isinstance(e, Var) and isinstance(node, tree.Name | tree.PackName):
            found.setdefault(e, (index(0), size))
    return found


def infer(
    target: tree.Target,
    node: tree.Equation,
    indices: tuple[Expr, ...],
    axes: tuple[Axis, ...],
    value: Value,
    s: Scalars,
) -> Tensor:
    """An intermediate with the shape of its indices and the type of its value."""
    name = target.name
    s.names.declare(name.text, name.span)
    declare = advised_let("declare it: ", name.text, likely_type(node, s.names, value.dtype))
    if node.update != "=" or target.guard is not None or node.where is not None:
        raise CheckError(
            f"`{name.text}` is not declared, and this equation cannot say its shape",
            target.span,
            code="shape",
            fixes=declare,
        )
    ranges = {axis.var: axis for axis in axes}
    dims: list[Dim] = []
    for entry, e in zip(target.indices, indices):
        axis = ranges[e]  # type: ignore[index]
        if integer(axis.lo) != 0:
            raise CheckError(
                f"the shape of `{name.text}` cannot be inferred: `{entry.span.text}` starts at "
                f"{show(axis.lo)}",
                entry.span,
                code="shape",
                fixes=[*advised_begin(target, (ranges[e] for e in indices)), *declare],  # type: ignore[index]
            )
        if tensors(axis.hi) or not variables(axis.hi) <= {*s.names.sizes.values()}:
            raise CheckError(
                f"the shape of `{name.text}` cannot be inferred: `{entry.span.text}` ends at {show(axis.hi)}",
                entry.span,
                code="shape",
                label="that is not the same everywhere",
                fixes=declare,
            )
        dims.append(Dim((axis.hi,), axis.var.pack))
    check_rank(name.text, len(dims), target.span)
    known = Tensor(name.text, value.dtype, tuple(dims), span=target.span)
    s.names.tensors[name.text] = known
    return known


def ordered(equations: list[Equation | Invoke]) -> tuple[Equation | Invoke, ...]:
    """Definitions before reads, otherwise as in the text; equations of a recurrence stay as in
    the text.
    """
    needs = _needs(equations)
    left = [len(n) for n in needs]
    users: dict[int, list[int]] = {}
    for k, n in enumerate(needs):
        for d in n:
            users.setdefault(d, []).append(k)
    ready = [k for k, count in enumerate(left) if count == 0]
    turns, done = iter(range(len(equations))), dict[int, None]()
    while len(done) < len(equations):
        k = heapq.heappop(ready) if ready else next(k for k in turns if k not in done)
        if k in done:
            continue
        done[k] = None
        for user in users.get(k, []):
            left[user] -= 1
            if left[user] == 0:
                heapq.heappush(ready, user)
    return tuple(equations[k] for k in done)


def _needs(equations: list[Equation | Invoke]) -> list[set[int]]:
    """Dependences of each equation: the equation before it with the same target, and the last
    equation of each tensor that it reads.
    """
    last = {t: k for k, e in enumerate(equations) for t in e.targets}
    before: dict[Tensor, int] = {}
    needs: list[set[int]] = []
    for k, e in enumerate(equations):
        needs.append(
            ({last[t] for t in reads_of(e) if t in last} | {before[t] for t in e.targets if t in before})
            - {k}
        )
        before |= dict.fromkeys(e.targets, k)
    return needs


def reads_of(e: Equation | Invoke) -> tuple[Tensor, ...]:
    """Tensors that an equation or call reads."""
    return e.args if isinstance(e, Invoke) else tuple(t for t in tensors(*children(e)))
