"""`rfactor`: one partial result per iteration of a reduction loop, so that the loop can be vectorized."""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.expr import Expr, Read, Tensor, Var, plain
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import rewrite, variables, walk
from texpr.passes.reductions import identity
from texpr.schedule.loops import find_loops, paths, replace_loops, span_of
from texpr.support.errors import ScheduleError


def rfactor(kernel: Kernel, loop: str | Var, *, reassoc: bool = False) -> Kernel:
    """Give each iteration of the reduction loop `loop` a partial result; combine them at the end.

    s = 0; for ko: for ki: s += f   ->   for ki: p[ki] = 0;  for ko: for ki: p[ki] += f;  s = 0;  for ki_sum: s += p[ki_sum]

    Max, min and integers give the same value in any order. A float sum or product does not: `reassoc=True` permits the new order.

    Raises:
        ScheduleError: `loop` is no reduction loop, or the step needs `reassoc=True`.
    Source: Suriana, Adams, Kamil, Parallel Associative Reductions in Halide, CGO 2017.
    """
    found = find_loops(kernel, loop)
    at = found[-1]
    above, update = _reduction(kernel, at)
    if not (reassoc or update.reassoc):
        raise ScheduleError(f"rfactor of `{at.var.name}` changes the order of a float {'sum' if update.update == 'add' else 'product'}",
                            span_of(kernel, at), code="exact", help=f'rfactor("{at.var.name}", reassoc=True) permits it')
    if not variables(at.extent) <= set(kernel.sizes):
        raise ScheduleError(f"the extent of `{at.var.name}` depends on other loops, so partial results have no shape",
                            span_of(kernel, at), code="rfactor", help=f'split("{at.var.name}", 16), then rfactor the inner loop')
    total = update.tensor
    top = _outermost_reduction(above, update)
    inside = next((v for n in walk(top) if isinstance(n, For) for v in [n.var] for i in update.indices if v in variables(i)), None)
    if inside is not None:
        raise ScheduleError(f"`{inside.name}`, a loop over elements of `{total.name}`, stands inside the reduction", span_of(kernel, at),
                            code="rfactor", help="rfactor first, then reorder")
    partial = Tensor(_unused(kernel, f"{total.name}_part"), total.dtype, plain(*total.shape, at.extent))
    start, combine = Var(at.var.name), Var(f"{at.var.name}_sum")
    at_total = _elements(kernel, update)
    zero = Store(partial, (*update.indices, start), identity(_op(update), total.dtype), start=True, equation=update.equation,
                 at=at_total)
    joined = Store(total, update.indices, Read(partial, (*update.indices, combine)), update.update, reassoc=True, equation=update.equation,
                   at=at_total)

    def make(rebuilt: For) -> tuple[Stmt, ...]:
        body = replace_store(rebuilt, update, replace(update, tensor=partial, indices=(*update.indices, at.var)))
        return (For(start, at.extent, (zero,), tensor=at.tensor), body, For(combine, at.extent, (joined,), tensor=at.tensor))

    after = replace_loops(kernel, [top], make)
    return replace(after, temporaries=(*after.temporaries, partial))


def _op(update: Store) -> str:
    assert update.update is not None
    return update.update


def _reduction(kernel: Kernel, loop: For) -> tuple[tuple[For | If, ...], Store]:
    """The update that `loop` reduces, with what encloses it."""
    inside = [(above, s) for above, s in paths(kernel) if any(n is loop for n in above)]
    updates = [(above, s) for above, s in inside if isinstance(s, Store) and s.update is not None]
    if len(inside) != 1 or not updates or any(loop.var is v for i in updates[0][1].indices for v in variables(i)):
        raise ScheduleError(f"`{loop.var.name}` is not the loop of one reduction", span_of(kernel, loop), code="rfactor",
                            help="rfactor takes a loop whose variable the accumulator does not have")
    return updates[0]


def _elements(kernel: Kernel, update: Store) -> tuple[Expr, ...]:
    """The axes of the instance that `update` computes, without the binders of the reduction."""
    start = next((s for _, s in paths(kernel) if isinstance(s, Store) and s.start and s.tensor is update.tensor), None)
    return () if start is None else update.at[: len(start.at)]


def _outermost_reduction(above: tuple[For | If, ...], update: Store) -> For:
    """The outermost of the loops that only add to one total: in those around them it also starts, or is read."""
    used = {v for i in update.indices for v in variables(i)}
    loops = [n for n in above if isinstance(n, For)]
    outer = len(loops) - 1
    while outer > 0 and loops[outer - 1].var not in used and not _uses(loops[outer - 1], update):
        outer -= 1
    return loops[outer]


def _uses(loop: For, update: Store) -> bool:
    """Whether another statement in the loop starts or reads the total."""
    return any((isinstance(n, Store) and n is not update and n.tensor is update.tensor)
               or (isinstance(n, Read) and n.tensor is update.tensor) for n in walk(loop))


def replace_store(root: For, old: Store, new: Store) -> For:
    """`root` with one store exchanged, wherever its rebuilt form stands."""
    return rewrite(root, lambda n: new if n is old else None)  # type: ignore[return-value]


def _unused(kernel: Kernel, name: str) -> str:
    taken = {t.name for t in (*kernel.inputs, *kernel.outputs, *kernel.temporaries)}
    while name in taken:
        name += "_"
    return name
