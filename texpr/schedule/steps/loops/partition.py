"""`partition`: iterations in which conditions surely hold, in which they may hold, and in which
they never do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce

from texpr import poly
from texpr.ir.affine import Linear, ceiling, linear, same_value
from texpr.ir.build import (
    FALSE,
    TRUE,
    add,
    compare,
    conjunction,
    conjuncts,
    floordiv,
    integer,
    maximum,
    minimum,
    select,
    sub,
)
from texpr.ir.expr import Axis, Expr, Max, Min, Node, Read, Select, Tensor, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.loop_kind import PARALLEL, SERIAL, UNROLLED
from texpr.ir.printing.expr import show
from texpr.ir.traverse import is_plain, rewrite, tensors, variables, walk
from texpr.passes.analysis.intervals import at_least_zero
from texpr.passes.analysis.substitution import folded, folded_anew, over_tensors
from texpr.passes.loop.simplify_guards import decide, drop_guards
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import (
    find_loops,
    loops_around,
    paths,
    private_copies,
    replace_loops,
    shortest,
    span_of,
    with_temporaries,
)
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen_by_identity, replace


@step("separate", order_of_sums="kept")
def partition(kernel: Kernel, loop: str | Var, *, choices: bool = False) -> Kernel:
    """Cut the range of a loop where the conditions inside begin and cease to hold. Always legal:
    the order is unchanged. Index set splitting elsewhere.

    for j in 0..n: for k in 0..4: if 4*j + k <= i: S   ->   for j in 0..(i + 1)//4: for k in 0..4: S
                                                            for j in (i + 1)//4..i//4 + 1: for k in
                                                            0..4: if 4*j + k <= i: S

    Conditions are comparisons that are affine in the loop and in those inside. Where all of them
    hold in every iteration of the loops inside, they are gone; where one of them fails in every
    iteration, the statements under it are. The loops keep the name; those without conditions stay.

    Args:
        choices: conditions of choices in stored values count as well, such as those of a copy that is
            filled up with zeros.
    Raises:
        ScheduleError: a loop that is neither serial nor parallel or stands in vector lanes, or no
            condition inside that bounds it.
    Source: Griebl, Feautrier and Lengauer, Index Set Splitting, International Journal of Parallel
    Programming 2000.
    Example:
        op = tx.op("op triangle(X: f32[N, N]) -> Y: f32[N] { Y[i] = sum(j where j <= i: X[i, j]) }")
        s = tx.schedule(op).split("j", 8)
        s.partition("jo")
    Refused:
        op = tx.op("op plain(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }")
        tx.schedule(op).partition("i")
    Elsewhere: Halide `partition`; TVM `LoopPartition` (a pass); Exo `cut_loop`; MLIR
    `transform.structured.split`.
    """
    found = find_loops(kernel, loop)
    for n in found:
        _check_kind(kernel, n)
    bounds = {n.var: bounds_of(n, choices) for n in found}
    bounded = [n for n in found if any(bounds[n.var])]
    if not bounded:
        raise _no_bounds(kernel, found)
    cuts = {n.var: _cuts(kernel, n, bounds[n.var]) for n in bounded}
    own = {
        n.var: [private_copies(kernel, n, part) for part in ("before", "first", "last", "beyond")]
        for n in bounded
    }

    def make(n: For) -> tuple[Stmt, ...]:
        start, full, after, end = cuts[n.var]
        conditions, zero = {id(b.condition) for of in bounds[n.var] for b in of}, index(0)
        free, never = _without(n, conditions, choices), _without(n, conditions, choices, FALSE)
        before, first, last, beyond = own[n.var]
        parts = [
            _part(never, zero, start, before),
            _part(n, start, full, first),
            _from(free, full, after),
            _part(n, after, end, last),
            _part(never, end, n.extent, beyond),
        ]
        return tuple(p for p in parts if integer(p.extent) != 0)

    cut = drop_guards(replace_loops(kernel, bounded, make))
    return with_temporaries(cut, [t for parts in own.values() for part in parts for t in part.values()])


def _check_kind(kernel: Kernel, n: For) -> None:
    around = next((m for m in loops_around(kernel, n) if m.kind not in (SERIAL, PARALLEL, UNROLLED)), None)
    if n.kind not in (SERIAL, PARALLEL):
        raise ScheduleError(
            f"`{n.var.name}` is marked {n.kind}, and its parts would have other lengths",
            span_of(kernel, n),
            code="partition",
            help=f"partition a loop around it, or partition `{shortest(kernel, n)}` before it is marked",
        )
    if around is not None:
        raise ScheduleError(
            f"`{n.var.name}` stands in `{around.var.name}`, which is marked {around.kind}",
            span_of(kernel, n),
            code="partition",
            help=f"partition before `{shortest(kernel, around)}` is marked",
        )


@frozen_by_identity
class Bound:
    """A condition as bounds of the iterations of a loop around it.

    Attributes:
        condition: a comparison, one of those that a statement stands under.
        surely, possibly: at least 0 where it holds in every iteration of the loops between the two,
        and where it holds in one.
    """

    condition: Expr
    surely: Linear
    possibly: Linear

    def low(self, form: Linear, v: Var) -> Expr | None:
        """The first iteration for which the form is at least 0, if it grows."""
        c = form.coefficient(v)
        return floordiv(_plus(form.without(v).negated, c - 1).expr(), index(c)) if c > 0 else None

    def high(self, form: Linear, v: Var) -> Expr | None:
        """The number of iterations up to the last one for which the form is at least 0, if it
        falls.
        """
        c = -form.coefficient(v)
        return floordiv(_plus(form.without(v), c).expr(), index(c)) if c > 0 else None


def bounds_of(loop: For, choices: bool = False) -> list[list[Bound]]:
    """For each statement in a loop what the conditions that it stands under say of the
    iterations.

    Args:
        choices: what those of choices in its value say, too.
    """
    places = [
        [
            (c, tuple(m for m in above[:k] if isinstance(m, For)))
            for k, n in enumerate(above)
            if isinstance(n, If)
            for c in conjuncts(n.cond)
        ]
        + [(c, tuple(m for m in above if isinstance(m, For))) for c in _chosen_by(s) if choices]
        for above, s in paths(replace(_NOTHING, body=loop.body))
    ]
    known = {
        place: _bounds(place[0], loop.var, place[1])
        for place in dict.fromkeys(p for of in places for p in of)
    }
    unclear = {id(c) for (c, _), bounds in known.items() if not bounds}  # wherever else it stands
    return [[b for place in of if id(place[0]) not in unclear for b in known[place]] for of in places]


def _chosen_by(s: Stmt) -> list[Expr]:
    """The conditions of the choices in the value of a store."""
    chosen = (n for n in walk(s.value) if isinstance(n, Select)) if isinstance(s, Store) else ()
    return [c for n in chosen for c in conjuncts(n.cond)]


_NOTHING = Kernel("", (), (), (), (), ())


def _bounds(condition: Expr, v: Var, inner: Sequence[For]) -> list[Bound]:
    """None unless all that the comparison says is affine."""
    found: list[Bound] = []
    for form in at_least_zero(condition):
        surely, possibly = _least(form, v, inner), _least(form.negated, v, inner)
        if surely is None or possibly is None or not surely.coefficient(v):
            return []
        found.append(Bound(condition, surely, possibly.negated))
    return found


def _least(form: Linear, v: Var, inner: Sequence[For]) -> Linear | None:
    """Lower bound of a form in the iterations of the inner loops; None unless that is affine in
    `v`.
    """
    for n in reversed(inner):
        c = form.coefficient(n.var)
        form = form.without(n.var)
        if c < 0:
            last = _last(n.extent, {v, *(m.var for m in inner)})
            if last is None:
                return None
            form = form.plus(last, c)
    within = {v, *(n.var for n in inner)}
    opaque = any(variables(t) & within for t, _ in form.terms if not isinstance(t, Var))
    return (
        None
        if opaque or any(isinstance(t, Var) and t in within and t is not v for t, _ in form.terms)
        else form
    )


def _last(extent: Expr, within: set[Var]) -> Linear | None:
    """A number that no iteration of a loop is above: of a clipped loop the last one of a whole
    tile.
    """
    longest = ceiling(extent)
    if longest is not None or tensors(extent):
        return None if longest is None else Linear((), longest - 1)
    for length in (extent.lhs, extent.rhs) if isinstance(extent, Min) else (extent,):
        form = linear(length)
        if not any(variables(t) & within for t, _ in form.terms if not isinstance(t, Var)):
            return _plus(form, -1)
    return None


def _plus(form: Linear, n: int) -> Linear:
    return Linear(form.terms, form.constant + n)


def _cuts(kernel: Kernel, n: For, bounds: Sequence[Sequence[Bound]]) -> tuple[Expr, Expr, Expr, Expr]:
    """Four cuts of the loop, in order: the first iteration of any statement under conditions, the
    range in which all conditions hold, and the end of the last such statement.
    """
    v, zero, under, all_of = n.var, index(0), [of for of in bounds if of], [b for of in bounds for b in of]
    around = loops_around(kernel, n)
    axes, ranges = [Axis(m.var, index(0), m.extent) for m in around], {m.var: m.extent for m in around}
    first: dict[Var, Expr] = {m.var: index(0) for m in around if integer(m.extent) == 1}

    def ordered(low: Expr, high: Expr) -> bool:
        return same_value(low, high) or poly.always(compare("<=", low, high), axes, kernel.requires)

    def larger(a: Expr, b: Expr) -> Expr:
        return b if ordered(a, b) else a if ordered(b, a) else maximum(a, b)

    def smaller(a: Expr, b: Expr) -> Expr:
        return a if ordered(a, b) else b if ordered(b, a) else minimum(a, b)

    def within(e: Expr) -> Expr:
        return larger(zero, smaller(decide(folded(e, first), ranges), n.extent))

    def extreme(which: Callable[[Expr, Expr], Expr], of: Sequence[Expr | None]) -> Expr | None:
        """None if there is none, or one of them is unknown."""
        known = [e for e in of if e is not None]
        return within(reduce(which, known)) if known and len(known) == len(of) else None

    runs_from = extreme(
        smaller, [extreme(larger, [e for b in of if (e := b.low(b.possibly, v))]) for of in under]
    )
    runs_to = extreme(
        larger, [extreme(smaller, [e for b in of if (e := b.high(b.possibly, v))]) for of in under]
    )
    holds_from = extreme(larger, [e for b in all_of if (e := b.low(b.surely, v))])
    holds_to = extreme(smaller, [e for b in all_of if (e := b.high(b.surely, v))])
    start = zero if runs_from is None else runs_from
    full = start if holds_from is None else larger(start, holds_from)
    if holds_to is None:
        return start, full, n.extent, n.extent
    after = larger(full, holds_to)
    if runs_to is None:
        return start, full, after, n.extent
    return start, full, after, larger(full if ordered(holds_to, runs_to) else after, runs_to)


def _without(n: For, conditions: Collection[int], choices: bool, known: Expr = TRUE) -> For:
    """The loop where these conditions hold everywhere, or nowhere."""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, If | Select):
            return None
        of = conjuncts(node.cond)
        others = [c for c in of if id(c) not in conditions]
        cond = conjunction(*others, *([known] if len(others) < len(of) else ()))
        if isinstance(node, Select):
            return node if len(others) == len(of) else select(cond, node.then, node.orelse)
        return replace(node, cond=cond)

    return rewrite(n, rule, keep=None if choices else is_plain)


def _from(n: For, low: Expr, high: Expr) -> For:
    """The iterations from one to another."""
    body = n.body if integer(low) == 0 else tuple(folded(s, {n.var: add(n.var, low)}) for s in n.body)
    return replace(n, extent=_length(low, high), body=body)


def _part(n: For, low: Expr, high: Expr, own: dict[Tensor, Tensor]) -> For:
    """The iterations from one to another, in a loop that can stand beside the others."""
    again = replace(n.var)
    body = tuple(folded_anew(s, {n.var: add(again, low)}) for s in n.body)
    return over_tensors(replace(n, var=again, extent=_length(low, high), body=body), own)


def _length(low: Expr, high: Expr) -> Expr:
    return index(0) if same_value(low, high) else sub(high, low)


def _no_bounds(kernel: Kernel, found: Sequence[For]) -> ScheduleError:
    """The refusal of a loop whose iterations no condition separates."""
    v = found[0].var.name
    conditions = [
        (n, c)
        for n in found
        for above, _ in paths(replace(_NOTHING, body=n.body))
        for m in above
        if isinstance(m, If)
        for c in conjuncts(m.cond)
    ]
    notes = dict.fromkeys(f"`{show(c)}` {_fault(c, n.var)}" for n, c in conditions)
    if not notes:
        clamped = any(_is_clamped(n) for n in found)
        return ScheduleError(
            f"nothing in `{v}` stands under a condition" + (", and a clamp is none" if clamped else ""),
            span_of(kernel, found[0]),
            code="partition",
            help=f'peel("{shortest(kernel, found[0])}", FIRST, LAST) runs so many iterations at each end in '
            f"loops of their own; in the middle the clamp goes"
            if clamped
            else "partition a loop around a condition, as reorder, split and skew leave them",
        )
    return ScheduleError(
        f"no condition in `{v}` bounds its iterations",
        span_of(kernel, found[0]),
        code="partition",
        notes=list(notes),
        help="partition a loop that a condition compares, without data, with others or with sizes",
    )


def _is_clamped(loop: For) -> bool:
    """True if an index in the loop is a smallest or a largest value of something of the loop."""
    read = [i for n in walk(loop) if isinstance(n, Read | Store) for i in n.indices]
    return any(isinstance(n, Min | Max) and loop.var in variables(n) for i in read for n in walk(i))


def _fault(condition: Expr, v: Var) -> str:
    if tensors(condition):
        return "depends on data"
    forms = at_least_zero(condition)
    return (
        f"is not affine in `{v.name}` and the loops inside"
        if not forms or v in variables(condition)
        else f"says nothing of `{v.name}`"
    )
