"""Reductions made ready for lowering."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, partial

from texpr import poly
from texpr.ir.affine import linear, same_value
from texpr.ir.build import FALSE, compare, conjunction, conjuncts, integer, literal, negation, sub
from texpr.ir.dtypes import BOOL, I32, I64, U8, most
from texpr.ir.expr import (
    Axis,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Node,
    Read,
    Reduce,
    Select,
    Tensor,
    Var,
    index,
    plain,
)
from texpr.ir.guarded import guarded_reads
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import (
    children,
    equal,
    factors,
    free_variables,
    rewrite,
    substitute,
    tensors,
    variables,
    walk,
    with_children,
)
from texpr.passes.analysis.equation_cycles import recurrence_cycles
from texpr.passes.analysis.iteration_ranges import longest, needed_by
from texpr.passes.analysis.substitution import with_fresh_variables
from texpr.passes.tensor.argmax import first_place, index_of
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import replace
from texpr.support.trampoline import Steps, run

Circle = Callable[[], frozenset[Tensor]]
"""The tensors that are computed from an equation, and it from them; found when it is first asked
for.
"""


def desugar(program: Program) -> Program:
    """argmax, argmin, any and all in terms of max and min; nothing that only derivatives look at.

    argmax(k: x) = min(k: if x == max(j: x[k := j]) or x != x then k else 2^63 - 1), the first index
    of the largest; the first NaN where there is one. Where several equations ask for the indices of
    one extreme, it is found once. A place among few is a small number.
    """

    def rule(node: Node) -> Node | None:
        match node:
            case Call("detach" | "with_slope", (value, *_)):
                return value
            case Reduce("any" | "all" as op, axes, body, where):
                fold = Reduce(
                    "max" if op == "any" else "min",
                    axes,
                    Cast(body, dtype=U8),
                    where,
                    dtype=U8,
                    span=node.span,
                )
                return Compare("!=", fold, Const(0, dtype=U8))
            case Reduce("argmax" | "argmin"):
                return index_of(node, first_place(node))
        return None

    return rewrite(_found_once(program), rule)  # type: ignore[return-value]


def _found_once(program: Program) -> Program:
    """Equations that are an argmax but for the axis it is asked along read the place from one
    tensor.

    R[y] = argmax<0>(r, q: x);  Q[y] = argmax<1>(r, q: x)   ->   P[y] = the first place;  R[y] = P[y] // 2;  Q[y] = P[y] % 2
    """
    groups: list[list[Equation]] = []
    for e in program.equations:
        if isinstance(e, Equation) and isinstance(e.value, Reduce) and e.value.op in ("argmax", "argmin"):
            group = next(
                (
                    g
                    for g in groups
                    if equal(_along_the_first(g[0]), replace(_along_the_first(e), target=g[0].target))
                ),
                None,
            )
            groups.append([e]) if group is None else group.append(e)
    names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}
    changed: dict[int, tuple[Equation, ...]] = {}
    for group in (g for g in groups if len(g) > 1):
        changed |= _with_place(group, names)
    equations = (each for e in program.equations for each in changed.get(id(e), (e,)))
    return replace(program, equations=tuple(equations)) if changed else program


def _along_the_first(e: Equation) -> Equation:
    assert isinstance(e.value, Reduce)
    return replace(e, value=replace(e.value, which=0))


def _with_place(group: list[Equation], names: set[str]) -> dict[int, tuple[Equation, ...]]:
    one = group[0]
    assert isinstance(one.value, Reduce)
    first = first_place(one.value)
    place = Tensor(_unused(f"{one.target.name}_place", names), first.dtype, one.target.dims)
    changed: dict[int, tuple[Equation, ...]] = {}
    for e in group:
        assert isinstance(e.value, Reduce)
        changed[id(e)] = (replace(e, value=index_of(e.value, Read(place, e.indices))),)
    changed[id(one)] = (replace(one, target=place, value=first), *changed[id(one)])
    return changed


def _unused(name: str, names: set[str]) -> str:
    while name in names:
        name += "_"
    names.add(name)
    return name


def hoist(program: Program) -> Program:
    """Each reduction that does not run over all axes of its equation, or is not the only one there,
    gets a tensor of its own. Equal ones are one node, wherever they stand.

    Y[i, j] = e[i, j] / sum(k: e[i, k])   ->   Y_sum[i] = sum(k: e[i, k]);  Y[i, j] = e[i, j] / Y_sum[i]

    Without this every Y[i, j] would compute the sum again, and of two sums only one could have the
    loops it likes. A reduction under an `if` takes the condition into its `where`, and so does one
    that may only be computed where an axis that it does not run over has an instance: without one
    its reads may be outside.
    """
    names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}
    equations: list[Equation | Invoke] = []
    found = cache(lambda: recurrence_cycles(program.equations))
    for k, equation in enumerate(program.equations):
        circle = partial(lambda k: found()[k], k)
        equations += (
            [equation]
            if isinstance(equation, Invoke)
            else _hoisted(equation, names, program.requires, circle)
        )
    return replace(program, equations=tuple(equations))


def _hoisted(equation: Equation, names: set[str], requires: Sequence[Expr], circle: Circle) -> list[Equation]:
    before: list[Equation] = []
    kept: list[Reduce] = []
    outermost = _outermost_reductions(equation.value)
    alone = bool(outermost) and _is_one(outermost)
    extracted = partial(_extracted, equation, names, before)
    unconditional = cache(lambda: alone and _is_unconditional(outermost[0], equation.axes, requires, circle))

    def needed(reduced: Expr, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        free = needed_by(axes, free_variables(reduced))
        return tuple(a for a in axes if a.var in free)

    def visit(e: Expr, axes: tuple[Axis, ...], condition: tuple[Expr, ...], top: bool) -> Steps:
        """`e` without reductions inside reductions or over fewer axes."""
        match e:
            case Reduce():
                inner = (*axes, *e.axes)
                condition = _kept(condition, e, axes, requires, circle)
                known = [] if e.where is None else conjuncts(e.where)
                condition = tuple(c for c in condition if not any(equal(c, k) for k in known))
                where = None if e.where is None else (yield visit(e.where, inner, condition, False))
                where = _both(conjunction(*condition), where)
                reduced = replace(
                    e,
                    body=(yield visit(e.body, inner, condition if where is None else (where,), False)),
                    where=where,
                )
                if alone and top and len(needed(reduced, axes)) == len(axes):
                    kept.append(reduced)
                    if equal(kept[0], reduced):  # not so under an `if`, whose condition it has taken
                        return kept[0]
                # Where the equation has no instance, its reads may be outside.
                reduced = replace(reduced, where=_both(equation.where, reduced.where))
                over = needed(reduced, axes)
                left_out = [a for a in axes if a not in over]
                if left_out and not reads_inside(reduced, over, requires):
                    if {a.var for a in left_out} & variables(*(n for a in left_out for n in (a.lo, a.hi))):
                        return extracted(reduced, axes)
                    some = conjunction(*(compare("<", a.lo, a.hi) for a in left_out))
                    # Where a range is data, these may exist under the condition alone.
                    both = (reduced.where, some) if tensors(some) else (some, reduced.where)
                    reduced = replace(reduced, where=_both(*both))
                return extracted(reduced, over)
            case Select(cond, then, orelse):
                cond = yield visit(cond, axes, condition, top and unconditional())
                then = yield visit(then, axes, (*condition, cond), top)
                return replace(
                    e,
                    cond=cond,
                    then=then,
                    orelse=(yield visit(orelse, axes, (*condition, negation(cond)), top)),
                )
        below, found = children(e), []
        for c in below:
            found.append((yield visit(c, axes, condition, top)) if isinstance(c, Expr) else c)
        new = tuple(found)
        return e if all(a is b for a, b in zip(new, below)) else with_children(e, new)  # type: ignore[return-value]

    value = run(visit(equation.value, equation.axes, (), True))
    return [*before, equation if value is equation.value else replace(equation, value=value)]


def _is_unconditional(
    reduced: Reduce, axes: Sequence[Axis], requires: Sequence[Expr], circle: Circle
) -> bool:
    """True if a reduction may be computed for each instance of its equation, whatever data say."""
    return (
        not any(isinstance(n, Reduce) for n in walk(reduced.body))
        and circle().isdisjoint(tensors(reduced))
        and reads_inside(reduced, axes, requires)
    )


def _extracted(
    equation: Equation, names: set[str], before: list[Equation], reduced: Reduce, over: Sequence[Axis]
) -> Expr:
    """A read of the tensor that has a reduction: of one that an equal reduction of the equation has
    got, or of a new one.

    Args:
        before: the equations of such tensors.
        over: the axes that it is computed for.
    """
    lengths = longest(over)
    if None in lengths.values():
        raise CheckError(
            "a sum inside another whose range is not linear is not compiled",
            reduced.span or equation.span,
            code="target",
            help="give it an equation of its own; tx.interpret runs it",
        )
    name = f"{equation.target.name}_{reduced.op}"
    while name in names:
        name += "_"
    tensor = Tensor(name, reduced.dtype, plain(*(e for a in over if (e := lengths[a.var]) is not None)))
    renamed = {a.var: replace(a.var) for a in over}
    fresh = tuple(
        replace(a, var=renamed[a.var], lo=substitute(a.lo, renamed), hi=substitute(a.hi, renamed))
        for a in over
    )
    value = substitute(with_fresh_variables(reduced), renamed)
    made = Equation(tensor, tuple(sub(f.var, f.lo) for f in fresh), fresh, value, span=equation.span)
    known = next((e for e in before if equal(e, replace(made, target=e.target))), None)
    if known is None:
        names.add(name)
        before.append(made)
    return Read((known or made).target, tuple(sub(a.var, a.lo) for a in over))


def sums_of_all(program: Program, tensors: Collection[Tensor]) -> Program:
    """Reductions in equations of these tensors that stand under an `if` without its conditions,
    where all that they read exists anyway.

    s[i, j] = if j <= i then sum(d where j <= i: x[i, j, d]) else y   ->   s[i, j] = if j <= i then sum(d: x[i, j, d]) else y
    """
    return replace(
        program,
        equations=tuple(
            _of_all(e, program.requires) if isinstance(e, Equation) and e.target in tensors else e
            for e in program.equations
        ),
    )


def _of_all(equation: Equation, requires: Sequence[Expr]) -> Equation:
    def under(cond: Expr, node: Node) -> Node | None:
        if not isinstance(node, Reduce) or node.where is None:
            return None
        left = [c for c in conjuncts(node.where) if not any(equal(c, known) for known in conjuncts(cond))]
        without = replace(node, where=conjunction(*left) if left else None)
        return without if reads_inside(without, equation.axes, requires) else None

    def rule(node: Node) -> Node | None:
        match node:
            case Select(cond, then):
                free = rewrite(then, partial(under, cond))
                return None if free is then else replace(node, then=free)
        return None

    return rewrite(equation, rule)  # type: ignore[return-value]


def _kept(
    conditions: tuple[Expr, ...],
    reduced: Reduce,
    axes: Sequence[Axis],
    requires: Sequence[Expr],
    circle: Circle,
) -> tuple[Expr, ...]:
    """The conditions that a reduction under them takes over: not those on data, nor those on axes
    that it is the same for, nor the only one if it is a triangle of two axes that the reduction
    runs over for each, where all that it reads exists anyway.

    They would be asked for every term, and whole vectors of terms would be computed all the same: a
    tile of sums that ask has no registers. For an axis that only a condition names, the reduction
    would be computed again and again. In a recurrence elements may exist and not be computed yet
    where a condition does not hold.
    """
    over = [a.var for a in axes if a.var in free_variables(reduced)]
    alone = len(conditions) == 1
    others = {a.var for a in axes}.difference(over)
    left_out = [
        any(isinstance(n, Read | Reduce) for n in walk(c))
        or (alone and _is_triangle(c, over))
        or not others.isdisjoint(variables(c))
        for c in conditions
    ]
    if not any(left_out) or not _is_unconditional(reduced, axes, requires, circle):
        return conditions
    return tuple(c for c, out in zip(conditions, left_out) if not out)


def _is_triangle(condition: Expr, axes: Sequence[Var]) -> bool:
    """True if this is j <= i, j < i or the like of two of the axes, which about half of all
    elements of a square fulfil.
    """
    match condition:
        case Compare("<" | "<=" | ">" | ">=", a, b) if a.dtype == I64:
            form = linear(sub(a, b))
            return (
                {t for t, _ in form.terms} <= set(axes)
                and sorted(c for _, c in form.terms) == [-1, 1]
                and abs(form.constant) <= 1
            )
    return False


def reads_inside(reduced: Reduce, axes: Sequence[Axis], requires: Sequence[Expr]) -> bool:
    """True if all reads of a reduction without inner reductions are inside their tensors for every
    instance of the axes, at sizes of 0, too.
    """
    every = (*axes, *reduced.axes)
    below = {a.var: a.hi for a in every if integer(a.lo) == 0}

    def inside(i: Expr, n: Expr, mode: str, facts: tuple[Expr, ...]) -> bool:
        if mode == "value" or isinstance(i, Var) and i in below and same_value(below[i], n):
            return True
        exists = compare("<", index(0), n)
        wanted = exists if mode else conjunction(compare("<=", index(0), i), compare("<", i, n))
        return poly.always(wanted, every, (*requires, *facts))

    ends = tuple(e for a in reduced.axes for e in (a.lo, a.hi))
    body = guarded_reads(
        (*ends, reduced.body if reduced.where is None else Select(reduced.where, reduced.body, index(0)))
    )
    return all(
        inside(i, n, r.guard.mode if r.guard is not None else "", facts)
        for r, facts in body
        for i, n in zip(r.indices, r.tensor.shape)
    )


def _both(outer: Expr | None, inner: Expr | None) -> Expr | None:
    """Both conditions, None for none. What the inner one reads may be outside where the outer
    one fails.
    """
    if outer is None or inner is None or _holds(outer):
        return inner if outer is None or _holds(outer) else outer
    lazy = any(isinstance(n, Read) for n in walk(inner))
    return Select(outer, inner, FALSE, dtype=BOOL) if lazy else conjunction(outer, inner)


def _holds(condition: Expr) -> bool:
    return isinstance(condition, Const) and condition.value is True


def _outermost_reductions(e: Expr) -> list[Reduce]:
    """Reductions that stand in no other reduction, each as often as it stands there."""
    found: list[Reduce] = []
    stack: list[Node] = [e]
    while stack:
        node = stack.pop()
        if isinstance(node, Reduce):
            found.append(node)
        else:
            stack += children(node)
    return found


def _is_one(found: Sequence[Reduce]) -> bool:
    """True if these are one reduction, or none. One in several places has to be a sum of products
    each of whose factors has all indices: others are rearranged, in an equation of their own.
    """
    if len(found) < 2:
        return True
    first, *others = found
    inside = {a.var for a in first.axes}
    return all(equal(first, other) for other in others) and all(
        inside <= free_variables(f) for f in factors(first.body)
    )


def identity(op: str, dtype) -> Const:
    """The identity element of a fold."""
    match op:
        case "sum" | "add":
            return literal(0, dtype)
        case "prod" | "mul":
            return literal(1, dtype)
        case "max" | "min" if dtype.is_float:
            return literal(-most(dtype) if op == "max" else most(dtype), dtype)
        case "max":
            return literal(0 if not dtype.is_signed else -(1 << (dtype.bits - 1)), dtype)
        case "min":
            return literal(
                (1 << dtype.bits) - 1 if not dtype.is_signed else (1 << (dtype.bits - 1)) - 1, dtype
            )
    raise AssertionError(f"no identity of {op} over {dtype or I32}")


def neutral(op: str, dtype) -> Const:
    """The element that leaves every bit of any value when folded into it: for float sums -0.0, as
    -0.0 + 0.0 = 0.0.
    """
    return literal(-0.0, dtype) if op == "add" and dtype.is_float else identity(op, dtype)
