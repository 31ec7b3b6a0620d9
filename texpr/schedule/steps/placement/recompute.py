"""`compute_at` where the loops of producer and consumer do not match: what an iteration needs is
computed there, again if need be.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr import poly
from texpr.ir.affine import linear
from texpr.ir.build import add, integer
from texpr.ir.expr import Expr, Tensor, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.traverse import variables
from texpr.passes.analysis.substitution import folded, over_tensors, with_fresh_variables
from texpr.schedule.legality.independence import check_moved
from texpr.schedule.steps.placement.producer import (
    Production,
    check_pure,
    find_production,
    find_tensor,
    replaced,
)
from texpr.schedule.steps.placement.region import Place, Span, needed_box, restricted
from texpr.schedule.structure.loops import path_to, qualified, span_of, text_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


def computed_at(kernel: Kernel, tensor: str, loop: For) -> Kernel:
    """`tensor` computed in each iteration of `loop`, as much of it as the iteration reads.

    Raises:
        ScheduleError: it is read elsewhere too, computed from itself, or from what changes
            meanwhile.
    """
    production, around = _movable(kernel, tensor, loop)
    chain = (*(n for n in around if isinstance(n, For)), loop)
    box = needed_box(kernel, production.tensor, chain)
    place = Place(chain, (*kernel.requires, *(n.cond for n in around if isinstance(n, If))))
    for region in (box, (None,) * len(box)):
        moved = restricted(production, region, place)
        after = with_head(_without(kernel, production), loop, moved)
        check_pure(kernel, production, "compute_at", after)
        if poly.flow_stays_within(after, production.tensor, chain) and _private_stay(
            after, production, chain
        ):
            check_moved(kernel, after, "compute_at")
            return after
    raise ScheduleError(
        f'compute_at("{tensor}", "{qualified(loop)}"): it is not proven that each iteration computes what it '
        f"reads",
        span_of(kernel, loop),
        code="compute_at",
        help="compute it at an outer loop, or leave it where it is",
    )


def _private_stay(after: Kernel, production: Production, chain: Sequence[For]) -> bool:
    return all(poly.flow_stays_within(after, t, chain) for t in production.private)


def slid_at(kernel: Kernel, tensor: str, loop: For) -> Kernel:
    """`tensor` computed in each iteration of `loop`, without what the iteration before has
    computed.

    Raises:
        ScheduleError: as `computed_at`; or what one iteration needs does not overlap with the next
            by moving along one dimension.
    """
    production, around = _movable(kernel, tensor, loop)
    loops = tuple(n for n in around if isinstance(n, For))
    box = needed_box(kernel, production.tensor, (*loops, loop))
    d, span, step, extent = _sliding(kernel, production, box, loop)
    kept = extent - abs(step)
    if kept <= 0:
        raise ScheduleError(
            f"iterations of `{qualified(loop)}` share no element of `{production.tensor.name}`",
            span_of(kernel, loop),
            code="compute_at",
            help="compute_at without slide=True computes each element once already",
        )
    conditions = (*kernel.requires, *(n.cond for n in around if isinstance(n, If)))
    first = folded(span.base, {loop.var: index(0)})
    ahead = (first, add(span.base, index(kept))) if step > 0 else (add(first, index(-step)), span.base)
    warm = [s if k != d else Span(ahead[0], index(kept)) for k, s in enumerate(box)]
    rest = [s if k != d else Span(linear(ahead[1]).expr(), index(abs(step))) for k, s in enumerate(box)]
    before = _copies(kernel, production, restricted(production, warm, Place(loops, conditions)))
    moved = restricted(production, rest, Place((*loops, loop), conditions))
    after = with_head(_without(kernel, production), loop, moved, before=before[0])
    after = replace(after, temporaries=(*after.temporaries, *before[1]))
    check_pure(kernel, production, "compute_at", after)
    if not poly.flow_stays_within(after, production.tensor, loops) or not _private_stay(
        after, production, (*loops, loop)
    ):
        raise ScheduleError(
            f'compute_at("{tensor}", "{qualified(loop)}", slide=True): iterations are not proven to find '
            f"what they need",
            span_of(kernel, loop),
            code="compute_at",
            help="compute_at without slide=True computes it anew",
        )
    check_moved(kernel, after, "compute_at")
    return after


def _sliding(
    kernel: Kernel, production: Production, box: Sequence[Span | None], loop: For
) -> tuple[int, Span, int, int]:
    """The dimension along which the box moves with the loop, its part there, by how much it
    moves, and how long it is.
    """
    found = [
        (d, span, step)
        for d, span in enumerate(box)
        if span is not None and (step := _stride(span.base, loop.var)) != 0
    ]
    if len(found) == 1:
        d, span, step = found[0]
        extent = integer(span.extent)
        if step is not None and extent is not None:
            return d, span, step, extent
    raise ScheduleError(
        f"what iterations of `{qualified(loop)}` need of `{production.tensor.name}` does not move along one "
        f"dimension",
        span_of(kernel, loop),
        code="compute_at",
        help="slide along a loop over rows, not over tiles of both",
    )


def _stride(base: Expr, var: Var) -> int | None:
    """By how much the base moves from one iteration to the next; None where that changes."""
    form = linear(base)
    if any(var in variables(t) for t, _ in form.terms if t is not var):
        return None
    return form.coefficient(var)


def _copies(
    kernel: Kernel, production: Production, statements: Sequence[Stmt]
) -> tuple[tuple[Stmt, ...], list[Tensor]]:
    """Copies of statements with private tensors of their own."""
    taken = {t.name for t in (*kernel.inputs, *kernel.outputs, *kernel.temporaries)} | {
        v.name for v in kernel.sizes
    }
    own: dict[Tensor, Tensor] = {}
    for t in sorted(production.private, key=lambda t: t.name):
        name = f"{t.name}_first"
        while name in taken:
            name += "_"
        taken.add(name)
        own[t] = replace(t, name=name)
    return tuple(over_tensors(with_fresh_variables(s), own) for s in statements), list(own.values())


def _movable(kernel: Kernel, name: str, loop: For) -> tuple[Production, tuple[For | If, ...]]:
    """The production of the tensor, if it can go under the loop, and the loops and conditions
    around the loop.
    """
    tensor = find_tensor(kernel, name, "compute_at")
    production = find_production(kernel, tensor, "compute_at")
    around = path_to(kernel, loop)[:-1]
    if any(a is not b for a, b in zip(production.above, around)) or len(production.above) > len(around):
        raise ScheduleError(
            f"`{name}` is computed in loops that are not around `{qualified(loop)}`",
            text_of(kernel, production.statements[0]),
            code="compute_at",
            help="compute it at a loop inside those",
        )
    updated = next((s for s in production.stores if s.tensor is tensor and s.update is not None), None)
    if updated is not None:
        raise ScheduleError(
            f"`{name}` is updated in place, so a part of it is not computed alone",
            text_of(kernel, updated),
            code="compute_at",
            help="leave it where it is",
        )
    return production, around


def _without(kernel: Kernel, production: Production) -> Kernel:
    return replaced(kernel, production.above, production.statements, {})


def with_head(kernel: Kernel, loop: For, head: tuple[Stmt, ...], before: tuple[Stmt, ...] = ()) -> Kernel:
    """`head` at the head of the loop's body, `before` in front of the loop."""
    *around, old = path_to(kernel, loop)
    new = replace(old, body=(*head, *old.body))
    return replaced(kernel, around, (old,), {id(old): (*before, new)})
