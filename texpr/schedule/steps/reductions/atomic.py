"""`atomic`: updates in which the threads of a GPU may meet."""

from __future__ import annotations

from collections.abc import Sequence

from texpr import poly
from texpr.ir.dtypes import BOOL
from texpr.ir.loop import ATOMIC_UPDATES, For, Kernel, Store, instruction_of
from texpr.ir.store_kind import ATOMIC
from texpr.ir.traverse import rewrite
from texpr.schedule.legality.independence import own_buffers
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import all_loops, span_of, stores
from texpr.schedule.structure.tensors import find_tensor
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step()
def atomic(kernel: Kernel, tensor: str, *, reassoc: bool = False) -> Kernel:
    """Update elements of a tensor so that no other thread comes between: iterations that meet there
    may be bound to threads and blocks.

    for i: H[X[i]] += w[i]   ->   for i: H[X[i]] += w[i]  atomic

    Legal for sums, maxima and minima whose iterations meet in these updates and nowhere else; for
    sums of floats with `reassoc=True`. On a GPU such an update is one instruction (`atom`, `red`),
    or tries again until nothing has come between. In which order iterations add is not known then,
    and may be another one in each run. Elsewhere loops are run one iteration after the other, as
    before.

    Args:
        reassoc: floats may be added in any order; results of f32 that are too small to be normal,
            or that are added to such, become 0.
    Raises:
        ScheduleError: nothing is updated, or by a product, or by an instruction that runs a nest.
            No two iterations of a loop meet in an element, or iterations need each other's results
            in other ways too. Sums of floats without `reassoc=True`.
    Example:
        op = tx.op('''op scatter(G: f32[M], at: i32[M] in 0..N, X: f32[N]) -> Y: f32[N] {
          Y[n] = X[n]
          Y[at[i]] += G[i]
        }''')
        s = tx.schedule(op)
        s.atomic("Y", reassoc=True)
    Refused:
        tx.schedule(op).atomic("Y")
    Elsewhere: Halide `atomic`; TVM none; Exo none; MLIR none.
    """
    t = find_tensor(kernel, tensor)
    updates = [s for s in stores(kernel) if s.tensor is t and s.update is not None]
    if not updates:
        updated = ", ".join(dict.fromkeys(s.tensor.name for s in stores(kernel) if s.update is not None))
        raise ScheduleError(
            f"nothing is added to `{tensor}`: only updates are atomic",
            code="atomic",
            help=f"updated are: {updated}" if updated else "this kernel has no updates (+=, max=, min=)",
        )
    _check_kinds(kernel, updates, reassoc)
    _check_needed(kernel, updates)
    marked = {s: replace(s, mode=ATOMIC, reassoc=s.reassoc or reassoc) for s in updates}
    return rewrite(kernel, lambda n: marked.get(n) if isinstance(n, Store) else None)


def _check_kinds(kernel: Kernel, updates: Sequence[Store], reassoc: bool) -> None:
    (tensor,) = {s.tensor for s in updates}
    if not isinstance(reassoc, bool):
        raise ScheduleError(f"`reassoc` is True or False, not {reassoc!r}", code="atomic")
    nests = (n for n in all_loops(kernel) if instruction_of(n) and any(s in updates for s in stores(n)))
    nest = next(nests, None)
    if nest is not None:
        raise ScheduleError(
            f"`{tensor.name}` is updated by the instruction {instruction_of(nest)}, which is not atomic",
            span_of(kernel, nest),
            code="atomic",
            help="give each nest of the instruction a result of its own, and add that atomically",
        )
    if tensor.dtype == BOOL or tensor.dtype.as_bits or any(s.update not in ATOMIC_UPDATES for s in updates):
        what = next((s.update for s in updates if s.update not in ATOMIC_UPDATES), tensor.dtype)
        raise ScheduleError(
            f"no processor has atomic updates of `{tensor.name}`: {what}",
            updates[0].span,
            code="atomic",
            help="integers, f16, f32 and f64 have sums, maxima and minima",
        )
    if not all(poly.reassociable(replace(s, reassoc=s.reassoc or reassoc)) for s in updates):
        raise ScheduleError(
            f"`{tensor.name}` is a sum of floats, which would be added in an order that is not known",
            updates[0].span,
            code="atomic",
            help=f'atomic("{tensor.name}", reassoc=True) permits it',
        )


def _check_needed(kernel: Kernel, updates: Sequence[Store]) -> None:
    """Raise ScheduleError unless iterations of some loop meet in these updates, and in nothing
    else.
    """
    around = [n for n in all_loops(kernel) if any(s in updates for s in stores(n))]
    dependent = [
        n for n in around if poly.carried_dependence(kernel, n, private=own_buffers(kernel, n)) is not None
    ]
    if not dependent:
        raise ScheduleError(
            f"no two iterations of a loop update one element of `{updates[0].tensor.name}`: there is nothing "
            f"to be atomic",
            updates[0].span,
            code="atomic",
            help="bind takes these loops as they are",
        )
    if not any(_alone(kernel, n, updates) for n in dependent):
        raise ScheduleError(
            f"iterations of `{dependent[0].var.name}` use what others write in other statements too",
            span_of(kernel, dependent[0]),
            code="atomic",
            help="take them apart first: fission, or an intermediate tensor of its own",
        )


def _alone(kernel: Kernel, loop: For, updates: Sequence[Store]) -> bool:
    """True if iterations of a loop are independent but for these updates."""
    return (
        poly.carried_dependence(kernel, loop, private=own_buffers(kernel, loop), free=lambda s: s in updates)
        is None
    )
