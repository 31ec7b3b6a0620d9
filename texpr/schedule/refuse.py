"""What a refusal looks like."""

from __future__ import annotations

from collections.abc import Mapping

from texpr.ir.loop import Kernel
from texpr.poly import Conflict
from texpr.schedule.loops import span_of
from texpr.support.errors import ScheduleError

_KINDS = {"flow": "reads what another wrote", "anti": "overwrites what another still reads", "output": "overwrites what another wrote"}


def refused(kernel: Kernel, message: str, conflict: Conflict, why: str, help: str = "") -> ScheduleError:
    """The error for a step that would break a dependence: the later statement as printed now, and the two instances."""
    source, at_source = conflict.source
    sink, at_sink = conflict.sink
    element = f"{conflict.tensor.name}[{', '.join(map(str, conflict.element))}]"
    sizes = f"at {_values(conflict.sizes)}: " if conflict.sizes else ""
    note = f"{sizes}iteration ({_values(at_source)}) and iteration ({_values(at_sink)}) both use {element}; {why}"
    return ScheduleError(message, span_of(kernel, sink), code="order", label=_KINDS[conflict.kind],
                         notes=[note, f"first: {span_of(kernel, source).text.strip()}"], help=help,
                         witness={**conflict.sizes, **at_sink})


def _values(values: Mapping[str, int]) -> str:
    return ", ".join(f"{k}={v}" for k, v in values.items())
