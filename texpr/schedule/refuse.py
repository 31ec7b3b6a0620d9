"""What a refusal looks like: the operator's text under a caret, and the two instances that may not change places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from texpr.ir.build import integer
from texpr.ir.expr import Read, Var, index
from texpr.ir.loop import Kernel, Store
from texpr.ir.traverse import walk
from texpr.passes.renew import folded
from texpr.poly import Conflict
from texpr.schedule.loops import span_of, text_of
from texpr.schedule.replay import rerun
from texpr.support.errors import ScheduleError
from texpr.support.source import Span


@dataclass(frozen=True, slots=True, eq=False)
class Refused:
    """Why a step was refused: what it would have turned around in which kernel.

    Attributes:
        after: the kernel that the step would have made, where it is known.
        at_once: the step would have run iterations at once.
    """

    kernel: Kernel
    conflict: Conflict
    after: Kernel | None = None
    at_once: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """A refusal of a step that would change the answer of a store otherwise than by a dependence."""

    kernel: Kernel
    store: Store


def refused(kernel: Kernel, message: str, conflict: Conflict, why: str, help: str = "", *, after: Kernel | None = None,
            at_once: bool = False) -> ScheduleError:
    """The error for a step that would break a dependence.

    Args:
        why: what the new order does to the two instances.
        after: the kernel the step would have made; `replay()` of the error runs it.
        at_once: the step runs iterations at once.
    """
    (source, at_source), (sink, at_sink) = conflict.source, conflict.sink
    element = f"{conflict.tensor.name}[{', '.join(map(str, conflict.element))}]" if conflict.element else conflict.tensor.name
    sizes = f"at {_values(conflict.sizes)}: " if conflict.sizes else ""
    note = f"{sizes}{iteration(at_source)} runs before {iteration(at_sink)}, and both use {element}; {why}"
    first = [f"first: {span_of(kernel, source).text.strip()}"] if source is not sink else []
    witness = {"sizes": dict(conflict.sizes), "first": dict(at_source), "second": dict(at_sink), "tensor": conflict.tensor.name,
               "element": conflict.element}
    run = None if after is None else lambda: rerun(kernel, after, conflict.sizes, at_once=at_once)
    return ScheduleError(message, _place(kernel, conflict), code="order", label=_label(conflict), notes=[note, *first], help=help,
                         witness=witness, rerun=run, details=Refused(kernel, conflict, after, at_once))


def iteration(at: Mapping[str, int]) -> str:
    """`iteration (i=0, j=1)`."""
    return f"iteration ({_values(at)})" if at else "a statement outside all loops"


def _label(conflict: Conflict) -> str:
    who = iteration(conflict.source[1])
    if conflict.kind == "flow":
        return f"{'reads' if _read(conflict) is not None else 'updates'} what {who} writes"
    return f"overwrites what {who} {'reads' if conflict.kind == 'anti' else 'writes'}"


def _place(kernel: Kernel, conflict: Conflict) -> Span:
    """The read in the operator's text if there is one, else the later statement as printed now."""
    read = _read(conflict) if conflict.kind == "flow" else None
    return text_of(kernel, conflict.sink[0] if read is None else read)


def _read(conflict: Conflict) -> Read | None:
    """The read of the element in the later statement; None if the statement only writes it."""
    sink, at = conflict.sink
    reads = [n for n in walk(sink.value, *sink.indices) if isinstance(n, Read) and n.tensor is conflict.tensor]
    values = {v: index(at[v.name]) for r in reads for v in walk(r) if isinstance(v, Var) and v.name in at}
    exact = (r for r in reads if tuple(integer(folded(i, values)) for i in r.indices) == conflict.element)
    return next(exact, reads[0] if reads else None)


def _values(values: Mapping[str, int]) -> str:
    return ", ".join(f"{k}={v}" for k, v in values.items())

