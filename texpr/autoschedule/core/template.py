"""Templates of default schedules: what each matches, the steps it applies, and what follows
where a step is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, Protocol

from texpr.autoschedule.core.builder import Refused, ScheduleBuilder
from texpr.autoschedule.core.decision import Decision
from texpr.autoschedule.core.handles import LoopHandle, handles
from texpr.autoschedule.core.nest import Nest
from texpr.support.errors import ResourceError, ScheduleError
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import current


class Stage(IntEnum):
    """Stages at which templates are tried, and their subjects."""

    CHAINS = 0
    """All nests of the kernel together, before any has steps of its own."""
    EQUATIONS = 1
    """Nest by nest, before other rewrites of the equations."""
    SUMS = 2
    """Nest by nest; what a template of this stage leaves unmarked goes on to the later ones."""
    GROUPS = 3
    """A nest among others that it may share loops with (`Among`)."""
    NESTS = 4
    """Nest by nest, with the loops that it has for itself."""
    FINISHING = 5
    """The loops of the kernel's body, once nests are scheduled."""


@frozen
class NoMatch:
    """The reason why a template does not match, in a few words."""

    reason: str


NO_REDUCTION = NoMatch("no sum")
NOT_A_PRODUCT = NoMatch("no sum of products of two reads, by itself")
UNKNOWN_EXTENTS = NoMatch("extents that only the call knows")


class DeferredCopy(Protocol):
    """A copy of an operand that is made once nests share loops."""

    @property
    def equation(self) -> int:
        """The equation of the nest which reads the copy."""
        ...

    @property
    def own(self) -> LoopHandle | None:
        """The outermost loop of that nest alone, if it has one."""
        ...

    def make(self, builder: ScheduleBuilder, outer: list[LoopHandle], turned: set[int]) -> None:
        """Make the copy in these loops; `turned` are the equations that read such copies."""


@frozen
class Scheduled:
    """A nest that a template has scheduled.

    Attributes:
        loops: its outer loops, which threads may share, outermost first.
        copy: a copy that is still to be made in them.
        members: nests that are computed in the same loops from now on, the one that has the loops
            last.
    """

    loops: list[LoopHandle]
    copy: DeferredCopy | None = None
    members: tuple[Nest, ...] = ()


@frozen
class Rewritten:
    """A nest in another form, which the templates that follow schedule.

    Attributes:
        again: templates that are tried on it once more, before those that follow.
    """

    nest: Nest
    again: tuple[Template, ...] = ()


class Template(Protocol):
    """A kind of schedule for a kind of nest.

    Attributes:
        name: as `explain()` and the docs call it.
        stage: when it is tried, which says what its subjects are.
    """

    name: str
    stage: Stage

    def match(self, builder: ScheduleBuilder, subject: Any, /) -> Any:
        """The parts of the subject, a record for `apply`; a `NoMatch` if the template does not
        know it. No step is applied.
        """

    def apply(self, builder: ScheduleBuilder, match: Any, /) -> Any:
        """Apply the steps. None, a `NoMatch`, `Refused` or a `ScheduleError` says that they do not
        go through: they are left out then.
        """


@frozen
class Among:
    """A nest among others.

    Attributes:
        nests: of the kernel, in order.
        taken: those that are scheduled already, by identity.
    """

    nest: Nest
    nests: Sequence[Nest]
    taken: frozenset[int] = frozenset()


class Naive:
    """The nest as it is."""

    name, stage = "Naive", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest:
        """Any nest."""
        return nest

    def apply(self, builder: ScheduleBuilder, nest: Nest) -> Scheduled:
        """No step."""
        return Scheduled(handles(nest.spatial))


def of_stage(templates: Iterable[Template], *stages: Stage) -> tuple[Template, ...]:
    """The templates of some stages, in order."""
    return tuple(t for t in templates if t.stage in stages)


def apply_first(
    builder: ScheduleBuilder, templates: Sequence[Template], subject: Any, label: str | None
) -> Any:
    """Apply the first template that matches and whose steps all go through, and record the choice.

    Steps of a template that does not go through are rolled back, and the next one is tried. A
    template that rewrites a nest hands the new one on.

    Returns:
        what the template gave; None where no template took the subject.
    """
    rejected: dict[str, str] = {}
    left = list(templates)
    while left:
        template = left.pop(0)
        found = _tried(builder, template, subject)
        if isinstance(found, NoMatch):
            rejected[template.name] = found.reason
        elif isinstance(found, Rewritten):
            subject, left = found.nest, [*found.again, *left]
            builder.decisions.append(Decision(label, template.name, tuple(rejected.items())))
            rejected.clear()
        else:
            builder.decisions.append(Decision(label, template.name, tuple(rejected.items())))
            others = [n for n in found.members if n.label != label] if isinstance(found, Scheduled) else []
            builder.decisions += [Decision(n.label, template.name) for n in others]
            return found
    builder.decisions.append(Decision(label, None, tuple(rejected.items())))
    return None


def _tried(builder: ScheduleBuilder, template: Template, subject: Any) -> Any:
    """The result of a template for a subject, or the reason for none; then no step of it is left.

    Errors are raised under `verify`: a template asks whether a step is legal (`try_apply`), so one
    that raises assumes what does not hold.
    """
    before, builder.refused = builder.checkpoint(), None
    try:
        match = template.match(builder, subject)
        found = match if isinstance(match, NoMatch) else template.apply(builder, match)
    except Refused as error:
        found = NoMatch(str(error))
    except (ScheduleError, ResourceError) as error:
        if current().verify:
            raise
        found = NoMatch(error.message)
    if found is None:
        found = NoMatch(
            "a step was refused"
            if builder.refused is None
            else f"the step {builder.refused.name} was refused"
        )
    if isinstance(found, NoMatch):
        builder.rollback(before)
    return found
