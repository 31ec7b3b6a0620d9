"""One thread for each element, or for a few neighbours, of one nest or of several whose elements
need each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handles
from texpr.autoschedule.core.nest import Nest
from texpr.autoschedule.core.template import Among, NoMatch, Scheduled, Stage
from texpr.autoschedule.gpu.row_reduction import VECTOR_BYTES, fuse_known
from texpr.ir.build import integer
from texpr.ir.expr import Var


class SameElements:
    """Fusion of nests over the same elements in the same threads, for example the moments and the
    weight of an optimizer for instance.
    """

    name, stage = "SameElements", Stage.GROUPS

    def match(self, builder: ScheduleBuilder, subject: Among) -> tuple[Nest, list[Nest]] | NoMatch:
        """A nest without sums, and those before it that are such, too."""
        if not _is_elementwise(subject.nest):
            return NoMatch("a sum, an update, or a recurrence")
        at = next(k for k, n in enumerate(subject.nests) if n is subject.nest)
        before = [n for n in subject.nests[:at] if _is_elementwise(n) and id(n) not in subject.taken]
        return (subject.nest, before[::-1]) if before else NoMatch("no other nest computes elements")

    def apply(self, builder: ScheduleBuilder, match: tuple[Nest, list[Nest]]) -> Scheduled | NoMatch:
        """The steps, for those nests that can have the loops of the user."""
        user, before = match
        group = [user]
        for made in before:
            joins = any(_of_same_elements(made, n) for n in group)
            if joins and builder.try_apply("compute_at", made.label, user.spatial[-1], recompute=False):
                group.append(made)
        if len(group) == 1:
            return NoMatch("no other nest computes what the same iterations need")
        if not _is_single(user):
            _on_threads(builder, user, *_vector(builder, user, group[1:]))
        return Scheduled([], members=tuple(group))


class SingleThread:
    """Nests of one element: a loop of one iteration may be over a sum, and cannot be shared."""

    name, stage = "SingleThread", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest | NoMatch:
        """The nest, if it has one element."""
        return nest if _is_single(nest) else NoMatch("several elements")

    def apply(self, builder: ScheduleBuilder, match: Nest) -> Scheduled:
        """No step."""
        return Scheduled([])


class AtomicUpdates:
    """Updates whose elements data chooses: they are atomic, and each thread has one, so that
    those of a warp have neighbours.
    """

    name, stage = "AtomicUpdates", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest | NoMatch:
        """The nest, if it updates elements without a sum."""
        updated = nest.main.update is not None and not nest.reduction and not nest.enclosing_loops
        return nest if updated else NoMatch("no update of elements that indices choose")

    def apply(self, builder: ScheduleBuilder, match: Nest) -> Scheduled:
        """The steps; `atomic` is refused where threads do not meet, or may not."""
        builder.apply("atomic", match.main.tensor, reassoc=True)
        return _on_threads(builder, match, None, handles(match.spatial))


class ThreadElements:
    """A thread for each element, or for a vector of neighbours."""

    name, stage = "ThreadElements", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest | NoMatch:
        """The nest, if it has loops over elements."""
        return nest if nest.spatial else NoMatch("no loop over elements")

    def apply(self, builder: ScheduleBuilder, match: Nest) -> Scheduled:
        """The steps."""
        return _on_threads(builder, match, *_vector(builder, match, ()))


def _is_elementwise(nest: Nest) -> bool:
    return bool(nest.spatial) and not (
        nest.reduction or nest.enclosing_loops or nest.outer or nest.main.update
    )


def _is_single(nest: Nest) -> bool:
    return all(integer(loop.extent) == 1 for loop in nest.spatial)


def _on_threads(
    builder: ScheduleBuilder, nest: Nest, vector: LoopHandle | None, loops: list[LoopHandle]
) -> Scheduled:
    """Share the iterations of loops among blocks and threads."""
    cut = builder.try_split(fuse_known(builder, loops), builder.machine.gpu_threads)
    if cut is not None:
        if (
            not nest.enclosing_loops
        ):  # blocks do not wait for each other: what a recurrence repeats is one block's
            builder.try_apply("bind", cut[0], "block.x")
        builder.try_apply("bind", cut[1], "thread.x")
    if vector is not None:
        builder.try_apply("vectorize", vector)
    return Scheduled(loops)


def _of_same_elements(made: Nest, user: Nest) -> bool:
    """True if each iteration of `user` needs the results of the same iteration of `made`, and no
    other.
    """
    if len(made.spatial) != len(user.spatial) or any(
        integer(a.extent) is None or integer(a.extent) != integer(b.extent)
        for a, b in zip(made.spatial, user.spatial)
    ):
        return False
    mates = {a.var: b.var for a, b in zip(made.spatial, user.spatial)}
    wanted = [mates.get(i) for i in made.main.indices if isinstance(i, Var)]
    read = [a.indices for a in user.accesses[1:] if a.tensor is made.main.tensor]
    return bool(read) and all(
        len(wanted) == len(indices) and all(map(is_, indices, wanted)) for indices in read
    )


def _vector(
    builder: ScheduleBuilder, nest: Nest, others: Sequence[Nest]
) -> tuple[LoopHandle | None, list[LoopHandle]]:
    """The loop over a thread's neighbours (None if it has one element), and the loops around it."""
    loops, last = handles(nest.spatial), nest.spatial[-1]
    all_of = [(a, n.spatial[-1].var) for n in (nest, *others) for a in n.accesses]
    lanes = VECTOR_BYTES // max(
        (a.tensor.dtype.bytes for a, var in all_of if a.stride(var) != 0), default=VECTOR_BYTES
    )
    n = integer(last.extent)
    plain = all(a.stride(var) in (0, 1) for a, var in all_of) and nest.accesses[0].stride(last.var) == 1
    if (
        nest.reduction
        or nest.enclosing_loops
        or not plain
        or lanes < 2
        or (n is None or n % lanes)
        and len(loops) > 1
    ):
        return None, loops
    if n is not None and n < lanes:
        return None, loops
    cut = builder.try_split(loops[-1], lanes)
    return (None, loops) if cut is None else (cut[1], [*loops[:-1], cut[0]])
