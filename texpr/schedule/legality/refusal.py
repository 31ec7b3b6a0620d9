"""The text of a refusal: the operator's text under a caret, and the two instances that may not
change places.
"""

from __future__ import annotations

from collections.abc import Mapping

from texpr.ir.build import compare, conjunction, integer
from texpr.ir.expr import Read, Var, index
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.shapes import value_at
from texpr.ir.traverse import walk
from texpr.passes.analysis.substitution import folded
from texpr.poly import Conflict
from texpr.schedule.legality.replay import rerun
from texpr.schedule.structure.loops import paths, span_of, text_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen_by_identity
from texpr.support.source import Span


@frozen_by_identity
class Refused:
    """The reason for a refusal: the two instances whose order the step would reverse, and the
    kernel.

    Attributes:
        after: the kernel that the step would have made, where it is known.
        at_once: the step would have run iterations at once.
        seen: nothing speaks against the example.
    """

    kernel: Kernel
    conflict: Conflict
    after: Kernel | None = None
    at_once: bool = False
    seen: bool = True


@frozen_by_identity
class About:
    """A refusal of a step that would change the answer of a store otherwise than by a
    dependence.
    """

    kernel: Kernel
    store: Store


def refused(
    kernel: Kernel,
    message: str,
    conflict: Conflict,
    why: str,
    help: str = "",
    *,
    after: Kernel | None = None,
    at_once: bool = False,
) -> ScheduleError:
    """The error for a step that would break a dependence.

    Args:
        why: what the new order does to the two instances.
        after: the kernel the step would have made; `replay()` of the error runs it.
        at_once: the step runs iterations at once.
    """
    (source, at_source), (sink, at_sink) = conflict.source, conflict.sink
    element = (
        f"{conflict.tensor.name}[{', '.join(map(str, conflict.element))}]"
        if conflict.element
        else conflict.tensor.name
    )
    sizes = f"at {_values(conflict.sizes)}: " if conflict.sizes else ""
    seen = _is_seen(kernel, conflict)
    both = "both use" if seen else "it is not disproven that both use"
    note = f"{sizes}{iteration(at_source)} runs before {iteration(at_sink)}, and {both} {element}; {why}"
    first = [f"first: {span_of(kernel, source).text.strip()}"] if source is not sink else []
    witness = {
        "sizes": dict(conflict.sizes),
        "first": dict(at_source),
        "second": dict(at_sink),
        "tensor": conflict.tensor.name,
        "element": conflict.element,
    }
    run = None if after is None else lambda: rerun(kernel, after, conflict.sizes, at_once=at_once)
    return ScheduleError(
        message,
        _place(kernel, conflict),
        code="order",
        label=_label(conflict, seen),
        notes=[note, *first],
        help=help,
        witness=witness,
        rerun=run,
        details=Refused(kernel, conflict, after, at_once, seen),
    )


def iteration(at: Mapping[str, int]) -> str:
    """`iteration (i=0, j=1)`."""
    return f"iteration ({_values(at)})" if at else "a statement outside all loops"


def _is_seen(kernel: Kernel, conflict: Conflict) -> bool:
    """True if nothing speaks against the example. Of products of sizes, their quotients and choices
    among many cases proofs know little, and take instances for possible that never run, or use
    other elements; data may be anything.
    """
    around = {id(s): above for above, s in paths(kernel)}
    sizes = {v: conflict.sizes.get(v.name, 1) for v in kernel.sizes}
    for store, at in (conflict.source, conflict.sink):
        above = around.get(id(store), ())
        values = sizes | {n.var: at[n.var.name] for n in above if isinstance(n, For) and n.var.name in at}
        asked = [compare("<", n.var, n.extent) if isinstance(n, For) else n.cond for n in above]
        nodes = (store, *(n for n in walk(store.value, *store.indices) if isinstance(n, Read)))
        used = [
            conjunction(*(compare("==", i, index(k)) for i, k in zip(n.indices, conflict.element)))
            for n in nodes
            if n.tensor is conflict.tensor
        ]
        if (
            any(value_at(c, values, 1) == 0 for c in asked)
            or used
            and all(value_at(c, values, 1) == 0 for c in used)
        ):
            return False
    return True


def _label(conflict: Conflict, seen: bool) -> str:
    who = iteration(conflict.source[1])
    if conflict.kind == "flow":
        verb, what = "updates" if _read(conflict) is None else "reads", "writes"
    else:
        verb, what = "overwrites", "reads" if conflict.kind == "anti" else "writes"
    return f"{verb} what {who} {what}" if seen else f"may {verb.removesuffix('s')} what {who} {what}"


def _place(kernel: Kernel, conflict: Conflict) -> Span:
    """The read in the operator's text if there is one, else the later statement as printed now."""
    read = _read(conflict) if conflict.kind == "flow" else None
    return text_of(kernel, conflict.sink[0] if read is None else read)


def _read(conflict: Conflict) -> Read | None:
    """The read of the element in the later statement; None if the statement only writes it."""
    sink, at = conflict.sink
    reads = [
        n for n in walk(sink.value, *sink.indices) if isinstance(n, Read) and n.tensor is conflict.tensor
    ]
    values = {v: index(at[v.name]) for r in reads for v in walk(r) if isinstance(v, Var) and v.name in at}
    exact = (r for r in reads if tuple(integer(folded(i, values)) for i in r.indices) == conflict.element)
    return next(exact, reads[0] if reads else None)


def _values(values: Mapping[str, int]) -> str:
    return ", ".join(f"{k}={v}" for k, v in values.items())
