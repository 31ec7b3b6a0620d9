"""Plainer schedules in the place of default schedules that are not certified.

A default schedule is nobody's wish: where the finished loops cannot be proven, another schedule
serves as well, if it is certified. The search keeps the longest certified prefix of the steps,
drops the step behind it, and goes on with the others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

from texpr.ir.loop import Kernel
from texpr.support.errors import CertificateError, CompileError, ScheduleError
from texpr.support.frozen_dataclass import frozen

if TYPE_CHECKING:
    from texpr.poly.certificate import Certificate
    from texpr.schedule.script.script import Step

MOST_DROPPED, MOST_TRIED = 8, 24
"""Steps that are dropped, and schedules that are certified, before the steps behind them are
given up.
"""
Prove: TypeAlias = "Callable[[Kernel], Certificate]"
"""Certify a kernel and check that its target can express it; raises ScheduleError or
CompileError.
"""


@frozen
class Fallback:
    """A default schedule that was left for a plainer one.

    Attributes:
        name: of the operator.
        script: the steps that are used, one a line.
        steps: how many steps the default schedule has.
        reason: the obligation that was not proven.
    """

    name: str
    script: str
    steps: int
    reason: str

    def to_json(self) -> list:
        """The plainer schedule as a value of JSON."""
        return [self.name, self.script, self.steps, self.reason]

    @staticmethod
    def from_json(data: object) -> Fallback | None:
        """Read what `to_json` wrote; None stands for no fallback.

        Raises:
            ValueError: it is of another form.
        """
        match data:
            case None:
                return None
            case [str(name), str(script), int(steps), str(reason)]:
                return Fallback(name, script, steps, reason)
        raise ValueError(f"no fallback: {data!r:.80}")

    def __str__(self) -> str:
        return (
            f"{self.name}: {len(self.script.splitlines())} of {self.steps} steps of the default schedule, "
            f"since all of them are not certified: {self.reason}"
        )


@frozen
class DefaultSchedule:
    """The steps of a default schedule, the loops they begin with, and why they were chosen, all
    made when they are needed.

    Attributes:
        presumed: the loops that it gives where no dependence is proven to be kept, if these are to
            be tried first.
    """

    steps: Callable[[], Sequence[Step]]
    naive: Callable[[], Kernel]
    explain: Callable[[], str] = str
    presumed: Callable[[], Kernel] | None = None

    def replay(self, script: Sequence[Step]) -> Kernel:
        """The loops after steps that are known to apply."""
        kernel = self.naive()
        for step in script:
            kernel = step.apply(kernel)
        return kernel


_left: list[Fallback] = []
_lock = threading.Lock()


def fallbacks() -> tuple[Fallback, ...]:
    """The default schedules that were left for plainer ones in this process, in order:
    `len(tx.fallbacks())` counts them.

    Example:
        >>> before = len(tx.fallbacks())
        >>> tx.ops.softmax(np.float32([[1, 1]])).tolist()
        [[0.5, 0.5]]
        >>> len(tx.fallbacks()) - before  # its default schedule is certified
        0
    """
    with _lock:
        return tuple(_left)


def record_fallback(fallback: Fallback) -> None:
    """Count a default schedule that was left."""
    with _lock:
        _left.append(fallback)


def find_fallback(
    name: str, default: DefaultSchedule, error: CertificateError, prove: Prove
) -> tuple[Fallback, Certificate] | None:
    """Search for steps of a default schedule that are certified; None where not even the naive
    loops are.

    Args:
        error: why the whole schedule is not certified.
    """
    steps, certificate = default.steps(), _proven(default.naive(), prove)
    if certificate is None:
        return None
    left, kept = list(steps), 0
    prove = _limited(prove)
    for _ in range(MOST_DROPPED):
        kept, certificate = _prefix(default, left, kept, certificate, prove)
        left = _without(default, left, kept)
        if len(left) == kept:
            break
        if (whole := _proven(default.replay(left), prove)) is not None:
            kept, certificate = len(left), whole
            break
    return Fallback(
        name, "".join(f"{step}\n" for step in left[:kept]), len(steps), error.message
    ), certificate


def _limited(prove: Prove) -> Prove:
    """The same for so many kernels; further ones are not proven."""
    tried = count()

    def limited(kernel: Kernel) -> Certificate:
        if next(tried) >= MOST_TRIED:
            raise CertificateError("too many schedules were tried", code="certificate")
        return prove(kernel)

    return limited


def _prefix(
    default: DefaultSchedule, steps: Sequence[Step], low: int, certificate: Certificate, prove: Prove
) -> tuple[int, Certificate]:
    """The length of a certified prefix whose next step ends it, by bisection from one that is
    certified, and its certificate.
    """
    high = len(steps)
    while high - low > 1:
        middle = (low + high) // 2
        proven = _proven(default.replay(steps[:middle]), prove)
        if proven is None:
            high = middle
        else:
            low, certificate = middle, proven
    return low, certificate


def _without(default: DefaultSchedule, steps: Sequence[Step], k: int) -> list[Step]:
    """The steps but for the one at `k`, and for later steps that do not apply without it."""
    kernel, used = default.replay(steps[:k]), list(steps[:k])
    for step in steps[k + 1 :]:
        try:
            kernel = step.apply(kernel)
        except ScheduleError:
            continue
        used.append(step)
    return used


def _proven(kernel: Kernel, prove: Prove) -> Certificate | None:
    try:
        return prove(kernel)
    except (ScheduleError, CompileError):
        return None
