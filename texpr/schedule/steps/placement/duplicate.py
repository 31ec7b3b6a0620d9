"""A tensor for each place that reads it, so that each can have it in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr.ir.expr import Node, Read, Tensor, Var
from texpr.ir.loop import For, Kernel, Stmt
from texpr.ir.traverse import rewrite, walk
from texpr.passes.analysis.substitution import over_tensors, with_fresh_variables
from texpr.schedule.steps.placement.producer import (
    Production,
    check_pure,
    find_production,
    find_tensor,
    readers,
    replaced,
)
from texpr.schedule.structure.loops import all_loops, qualified, replace_loops, span_of
from texpr.schedule.structure.tensors import unused_name
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


def copied(kernel: Kernel, name: str, loops: Sequence[For]) -> tuple[Kernel, list[tuple[str, Var]]]:
    """The kernel with a tensor for each of the loops that read one, and which has which; others
    that read it keep it as it is.

    for i: T[i] = f;  Y: ... T ...;  Z: ... T ...   ->   for i: T[i] = f;  for i: T_Y[i] = f;  Y: ... T_Y ...;  Z: ... T ...

    Raises:
        ScheduleError: no loop reads it, one computes it, or it cannot be computed anew.
    """
    tensor = find_tensor(kernel, name, "compute_at")
    production = find_production(kernel, tensor, "compute_at")
    own = next((n for n in loops if any(m is n for s in production.statements for m in walk(s))), None)
    if own is not None:
        raise ScheduleError(
            f"`{qualified(own)}` is a loop of `{name}` itself",
            span_of(kernel, own),
            code="compute_at",
            help="name a loop of a tensor that reads it",
        )
    reading = [n for n in loops if any(isinstance(m, Read) and m.tensor is tensor for m in walk(*n.body))]
    if not reading:
        raise ScheduleError(
            f"nothing in `{qualified(loops[0])}` reads `{name}`", span_of(kernel, loops[0]), code="compute_at"
        )
    kept = tensor in kernel.outputs or any(
        s not in production.stores and not any(n is m for n in above for m in reading)
        for above, s in readers(kernel, tensor)
    )
    alone = [] if kept else reading[:1]
    places = [(name, n.var) for n in alone]
    if len(reading) > len(alone):
        check_pure(kernel, production, "compute_at")
    for n in reading[len(alone) :]:
        kernel, copy = _copied(kernel, tensor, n.var)
        places.append((copy.name, n.var))
    return kernel, places


def _copied(kernel: Kernel, tensor: Tensor, at: Var) -> tuple[Kernel, Tensor]:
    """The kernel with another production of the tensor, which the loop reads."""
    production = find_production(kernel, tensor, "compute_at")
    loop = next(n for n in all_loops(kernel) if n.var is at)
    own = _names(kernel, production, f"{tensor.name}_{loop.tensor.partition('.')[0]}")
    copies = tuple(
        _labelled(over_tensors(with_fresh_variables(s), own), tensor, own[tensor])
        for s in production.statements
    )
    last = production.statements[-1]
    after = replaced(kernel, production.above, (last,), {id(last): (last, *copies)})
    reads = [n for n in all_loops(after) if n.var is at]
    after = replace_loops(after, reads, lambda n: over_tensors(n, {tensor: own[tensor]}))
    return replace(after, temporaries=(*after.temporaries, *own.values())), own[tensor]


def _names(kernel: Kernel, production: Production, name: str) -> dict[Tensor, Tensor]:
    """Tensors like those of the production, under names of their own."""
    tensor = production.tensor
    own = {tensor: replace(tensor, name=unused_name(kernel, name))}
    taken = replace(kernel, temporaries=(*kernel.temporaries, own[tensor]))
    for t in sorted(production.private, key=lambda t: t.name):
        own[t] = replace(t, name=unused_name(taken, own[tensor].name + t.name.removeprefix(tensor.name)))
        taken = replace(taken, temporaries=(*taken.temporaries, own[t]))
    return own


def _labelled(s: Stmt, old: Tensor, new: Tensor) -> Stmt:
    """The loops of a copy named after its tensor."""
    names: Mapping[str, str] = {
        n.tensor: new.name + n.tensor.removeprefix(old.name)
        for n in walk(s)
        if isinstance(n, For) and n.tensor.partition(".")[0] == old.name
    }

    def rule(node: Node) -> Node | None:
        return (
            replace(node, tensor=names[node.tensor])
            if isinstance(node, For) and node.tensor in names
            else None
        )

    return rewrite(s, rule)  # type: ignore[return-value]
