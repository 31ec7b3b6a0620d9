"""`rfactor`: one partial result per iteration of a reduction loop, so that the loop can be
vectorized or run in parallel.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr import poly
from texpr.ir.build import compare, conjunction, conjuncts, is_natural, maximum, negation
from texpr.ir.expr import Axis, Expr, Read, Tensor, Var, index, plain
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.store_kind import PARTIAL_START, START
from texpr.ir.traverse import rewrite, tensors, variables
from texpr.passes.analysis.iteration_ranges import largest
from texpr.passes.analysis.substitution import folded
from texpr.passes.tensor.reduction_passes import identity, neutral
from texpr.schedule.legality.refusal import About
from texpr.schedule.steps.reductions.privatize import element_of, privatized, scatters, uses
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, paths, replace_loops, span_of, stores, text_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen, replace


@step(order_of_sums="kept unless lanes run over terms")
def rfactor(kernel: Kernel, loop: str | Var, *, reassoc: bool = False) -> Kernel:
    """Give each iteration of the reduction loop `loop` a partial result; combine them at the end.

    s = 0; for ko: for ki: s += f   ->   for ki: p[ki] = 0;  for ko: for ki: p[ki] += f;  s = 0;  for ki_sum: s += p[ki_sum]

    Legal for max, min and integers, which give the same value in any order. A float sum or product
    does not: `reassoc=True` permits the new order. Where data says what is added to, each iteration
    gets all of the tensor: a private histogram. The tensor keeps what it held.

    for io: for ii: H[X[io, ii]] += 1
    ->   for io: for v: p[io, v] = 0;  for io: for ii: p[io, X[io, ii]] += 1;  for v: for io_sum: H[v] += p[io_sum, v]

    Loops over elements of the total that stand inside the reduction get copies around the first and
    the last part. Other statements may stand in the loop, as long as they do not use the total. Of
    several totals, each gets partial results.

    Raises:
        ScheduleError: no iterations of `loop` add to one element, its length has no known maximum,
            or the step needs `reassoc=True`.
    Source: Suriana, Adams, Kamil, Parallel Associative Reductions in Halide, CGO 2017.
    Example:
        op = tx.op("op largest(X: f32[N]) -> y: f32 { y = max(i: X[i]) }")
        s = tx.schedule(op, N=4096).split("i", 16)
        s.rfactor("ii")
    Refused:
        op = tx.op("op total(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }")
        tx.schedule(op).rfactor("i")
    Elsewhere: Halide `rfactor`; TVM `rfactor`; Exo none; MLIR
    `transform.structured.split_reduction`.
    """
    at, updates, apart = _reductions(kernel, find_loops(kernel, loop))
    if not isinstance(reassoc, bool):
        raise ScheduleError(
            f"`reassoc` is True or False, not {reassoc!r}", span_of(kernel, at), code="rfactor"
        )
    exact = next((s for s in updates if not (reassoc or s.reassoc)), None)
    if exact is not None:
        raise ScheduleError(
            f"rfactor of `{at.var.name}` changes the order of a float "
            f"{'sum' if exact.update == 'add' else 'product'}",
            span_of(kernel, at),
            code="exact",
            help=f'rfactor("{at.var.name}", reassoc=True) permits it',
            details=About(kernel, exact),
        )
    if apart:
        return privatized(kernel, at, updates)
    for update in updates:
        kernel = _factored(kernel, at.var, update)
    return kernel


@frozen
class _Reduction:
    """An update that a loop reduces.

    Attributes:
        at: the loop.
        around: the loops outside of everything that only adds to the total.
        inner: the loops inside, outermost first.
        conditions: inside, those that do not depend on loops that reduce.
        given: the conditions around the loops inside.
    """

    update: Store
    at: For
    around: tuple[For, ...]
    inner: tuple[For, ...]
    conditions: tuple[Expr, ...]
    given: tuple[Expr, ...]
    complete: bool

    @property
    def elements(self) -> tuple[For, ...]:
        """The inner loops over elements of the total."""
        used = variables(*self.update.indices)
        return tuple(n for n in self.inner if n.var in used)

    def longest(self, e: Expr, over: tuple[For, ...]) -> Expr | None:
        """The largest value of an extent over loops that it may depend on."""
        found: Expr | None = e
        for n in reversed(over):
            found = None if found is None else largest(found, {n.var: n.extent})
        return found


def _factored(kernel: Kernel, var: Var, update: Store) -> Kernel:
    """The kernel with partial results for one update."""
    r = _reduction(kernel, var, update)
    total, at = update.tensor, r.at
    length = r.longest(at.extent, (*r.around, *r.inner))
    if length is None:
        raise ScheduleError(
            f"the length of `{at.var.name}` has no known maximum, so partial results have no shape",
            span_of(kernel, at),
            code="rfactor",
            help=f'split("{at.var.name}", 16), then rfactor the inner loop',
        )
    if not is_natural(length):  # The longest of no sums at all.
        length = maximum(length, index(0))
    partial = Tensor(_unused(kernel, f"{total.name}_part"), total.dtype, plain(*total.shape, length))
    at_total, part = _origin(kernel, update)
    start, combine = replace(at.var), replace(at.var, name=f"{at.var.name}_sum")
    nothing = (neutral if part else identity)(_op(update), total.dtype)
    zero = Store(
        partial,
        (*update.indices, start),
        nothing,
        role=PARTIAL_START if part else START,
        equation=update.equation,
        at=at_total,
    )
    joined = Store(
        total,
        update.indices,
        Read(partial, (*update.indices, combine)),
        update.update,
        reassoc=True,
        equation=update.equation,
        at=at_total,
    )
    first, last = _nest(kernel, r, start, zero), _nest(kernel, r, combine, joined)

    def make(rebuilt: For) -> tuple[Stmt, ...]:
        return (
            first,
            replace_store(
                rebuilt, update, replace(update, tensor=partial, indices=(*update.indices, at.var))
            ),
            last,
        )

    after = replace_loops(kernel, [r.inner[0]], make)
    return replace(after, temporaries=(*after.temporaries, partial))


def _nest(kernel: Kernel, r: _Reduction, var: Var, store: Store) -> Stmt:
    """A store for each element and each partial result: copies of the loops over elements, then
    the loop of the partial results.
    """
    reduce = tuple(n for n in r.inner if n not in r.elements)
    copies: dict[Var, Expr] = {}
    loops: list[For] = []
    for n in (*r.elements, replace(r.at, var=var)):
        extent = r.longest(n.extent, reduce)
        if extent is None:
            raise ScheduleError(
                f"the length of `{n.var.name}` has no known maximum over the reduction",
                span_of(kernel, r.at),
                code="rfactor",
                help="rfactor first, then reorder",
            )
        fresh = var if n.var is var else replace(n.var)
        loops.append(For(fresh, folded(extent, copies), (), tensor=n.tensor))
        copies[n.var] = fresh
    axes = [Axis(n.var, index(0), n.extent) for n in (*r.around, *loops)]
    _check_once(kernel, r, loops[:-1], [folded(i, copies) for i in r.update.indices])
    conditions = tuple(folded(c, copies) for c in r.conditions)
    inside = conjunction(
        *(
            c
            for i, n in zip(store.indices, store.tensor.shape)
            for c in (compare("<=", index(0), folded(i, copies)), compare("<", folded(i, copies), n))
        )
    )
    if not r.complete and not poly.always(inside, axes, (*kernel.requires, *r.given, *conditions)):
        raise ScheduleError(
            f"which elements of `{r.update.tensor.name}` are added to depends on the loops that reduce",
            text_of(kernel, r.update),
            code="rfactor",
            help="rfactor first, then reorder",
        )
    body: Stmt = folded(store, copies)
    if conditions:
        body = If(conjunction(*conditions), (body,))
    for n in reversed(loops):
        body = replace(n, body=(body,))
    return body


def _check_once(kernel: Kernel, r: _Reduction, loops: Sequence[For], indices: Sequence[Expr]) -> None:
    """Each element is added to once: the loops over elements never meet in one."""
    twins: dict[Var, Expr] = {n.var: replace(n.var) for n in loops}
    axes = [Axis(n.var, index(0), n.extent) for n in loops]
    axes += [Axis(v, index(0), folded(n.extent, twins)) for n in loops if isinstance(v := twins[n.var], Var)]
    meet = conjunction(*(compare("==", i, folded(i, twins)) for i in indices))
    same = conjunction(*(compare("==", v, w) for v, w in twins.items()))
    if not poly.never(conjunction(meet, negation(same)), axes, kernel.requires):
        raise ScheduleError(
            f"several iterations add to one element of `{r.update.tensor.name}`, which would get the partial "
            f"results "
            "several times",
            text_of(kernel, r.update),
            code="rfactor",
            help="rfactor the innermost of these loops",
        )


def _op(update: Store) -> str:
    assert update.update is not None
    return update.update


def _reductions(kernel: Kernel, found: list[For]) -> tuple[For, list[Store], bool]:
    """The last of the loops that reduces something, the updates that it reduces, and whether
    data or a sum of loops says into what.
    """
    for loop in reversed(found):
        updates = [
            s for s in scatters(loop) if loop.var not in variables(*s.indices) and not tensors(*s.indices)
        ]
        if updates:
            return loop, updates, False
    for loop in reversed(found):
        if updates := scatters(loop):
            return loop, updates, True
    raise ScheduleError(
        f"`{found[-1].var.name}` is not the loop of a reduction",
        span_of(kernel, found[-1]),
        code="rfactor",
        help="rfactor takes a loop whose variable the accumulator does not have",
    )


def _reduction(kernel: Kernel, var: Var, update: Store) -> _Reduction:
    above = next(above for above, s in paths(kernel) if s is update)
    loops = [n for n in above if isinstance(n, For)]
    used = variables(*update.indices)
    at = outer = next(k for k, n in enumerate(loops) if n.var is var)
    while outer > 0 and loops[outer - 1].var not in used and not uses(loops[outer - 1], update):
        outer -= 1
    inner = tuple(loops[outer:])
    reduce = {n.var for n in inner if n.var not in used}
    inside = [c for n in above[above.index(inner[0]) :] if isinstance(n, If) for c in conjuncts(n.cond)]
    kept = tuple(c for c in inside if not reduce & variables(c) and not tensors(c))
    # What was left out may be what keeps elements inside the total.
    complete = not any(used & variables(c) for c in inside if c not in kept) and not any(
        reduce & variables(n.extent) for n in inner if n.var in used
    )
    given = tuple(n.cond for n in above[: above.index(inner[0])] if isinstance(n, If) and not tensors(n.cond))
    return _Reduction(update, loops[at], tuple(loops[:outer]), inner, kept, given, complete)


def _origin(kernel: Kernel, update: Store) -> tuple[tuple[Expr, ...], bool]:
    """The axes of the instance that `update` computes, without the binders of the reduction; or
    the element that it folds a part into.
    """
    start = next((s for s in stores(kernel) if s.is_start and s.tensor is update.tensor), None)
    if start is None or start.role is PARTIAL_START:
        return element_of(kernel, update, update.indices), True
    return update.at[: len(start.at)], False


def replace_store(root: For, old: Store, new: Store) -> For:
    """`root` with one store exchanged, wherever its rebuilt form stands."""
    return rewrite(root, lambda n: new if n is old else None)  # type: ignore[return-value]


def _unused(kernel: Kernel, name: str) -> str:
    taken = {t.name for t in (*kernel.inputs, *kernel.outputs, *kernel.temporaries)}
    while name in taken:
        name += "_"
    return name
