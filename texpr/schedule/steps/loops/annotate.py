"""`annotate`: notes on a loop, for readers and for tuners."""

from __future__ import annotations

import re
from math import isfinite

from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, replace_loops, span_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

_TEXT = re.compile(r"[A-Za-z0-9_ .,:/+*-]{0,80}")


@step(order_of_sums="kept")
def annotate(kernel: Kernel, loop: str | Var, **notes: str | int | float | bool) -> Kernel:
    """Put free marks on a loop. They stay in listings and scripts and mean nothing. Always legal.
    Pragmas elsewhere.

    for i in 0..n: S   -- annotate("i", tuned=16) -->   for i in 0..n  @tuned(16): S

    Args:
        notes: integers, floats, bools, or short text of letters, digits and `_ .,:/+*-`; a later
            mark of one name takes the place.
    Raises:
        ScheduleError: no such loop, nothing to put there, or a value that is none of these.
    Example:
        op = tx.op("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
        s = tx.schedule(op)
        s.annotate("i", tuned=16)
    Refused:
        s.annotate("i", tuned=None)
    Elsewhere: Halide none; TVM `annotate`; Exo none; MLIR `transform.annotate`.
    """
    found = find_loops(kernel, loop)
    if not notes:
        raise ScheduleError(
            "annotate needs a mark",
            span_of(kernel, found[0]),
            code="annotate",
            help='annotate("i", tuned=16)',
        )
    for key, value in notes.items():
        plain = isinstance(value, int) or isinstance(value, float) and isfinite(value)
        if not (plain or isinstance(value, str) and _TEXT.fullmatch(value)):
            raise ScheduleError(
                f"{key}={value!r} cannot be a mark",
                span_of(kernel, found[0]),
                code="annotate",
                help="a number, a bool, or up to 80 letters, digits and `_ .,:/+*-`",
            )
    return replace_loops(kernel, found, lambda n: replace(n, notes=tuple({**dict(n.notes), **notes}.items())))
