"""Groups of equations that share a kernel, and each group as a Program."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from texpr.autodiff.cleanup.simplify import reads
from texpr.graph.fusion.attention_pattern import find_attentions
from texpr.graph.fusion.joined_parts import Part, placements
from texpr.graph.fusion.producer_consumer import (
    Decision,
    first_axis,
    is_contraction,
    is_reduction,
    points,
    tensor_bytes,
)
from texpr.graph.passes.flatten_calls import viewed
from texpr.ir.expr import Read, Reduce, Tensor
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import walk
from texpr.passes.analysis.equation_cycles import in_cycles
from texpr.passes.analysis.substitution import over_tensors
from texpr.support.frozen_dataclass import replace

Equations = tuple[Equation | Invoke, ...]
MOST_EQUATIONS = 12
"""Of a kernel that several tensors share: compiling takes longer with each."""
MUCH_SMALLER = 16
"""One part of so many that is used beside does not push what is near out of the caches."""


@dataclass(eq=False, slots=True)
class Group:
    """Equations of one kernel, or a view, which is none.

    Attributes:
        predecessors: the groups that compute what this one reads.
        ancestors: all groups that must run before.
        targets: what it computes.
        sources: what it reads of others.
        view_of: what it is a view of, if it is one.
        isolated: it shares its kernel with no other.
        has_reduction: one of its equations has a reduction.
        parts: of a sweep, the groups whose elements it computes in one loop (`horizontal`).
        joined: tensors that lie in the memory of the one that it joins them to.
    """

    equations: Equations
    predecessors: set[Group] = field(default_factory=set)
    ancestors: set[Group] = field(default_factory=set)
    targets: dict[Tensor, None] = field(init=False)
    sources: dict[Tensor, None] = field(init=False)
    view_of: Tensor | None = field(init=False)
    isolated: bool = field(init=False)
    has_reduction: bool = field(init=False)
    parts: tuple[Group, ...] = ()
    joined: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        self.targets = dict.fromkeys(t for e in self.equations for t in e.targets)
        self.sources = dict.fromkeys(t for e in self.equations for t in reads(e) if t not in self.targets)
        self.view_of = viewed(self.equations[0]) if len(self.equations) == 1 else None
        self.isolated = bool(self.joined) or not all(
            isinstance(e, Equation) and _is_joinable(e) for e in self.equations
        )
        self.has_reduction = any(isinstance(e, Equation) and is_reduction(e) for e in self.equations)

    def take(self, equations: Equations) -> None:
        """Let it have these equations, too."""
        self.equations = (*self.equations, *equations)
        self.__post_init__()


def group_equations(program: Program, join: bool, alignment: int = 1) -> tuple[list[Group], list[Decision]]:
    """The kernels of a program, in no order.

    Args:
        join: tensors may share a kernel; else each has its own, those aside that need each other.
        alignment: bytes, at multiples of which tensors have to begin.
    """
    outputs = set(program.outputs)
    decisions: list[Decision] = []
    groups = _groups_of_tensors(program)
    for equations in find_attentions(program.equations, outputs) if join else []:
        groups = _merge_into_one(groups, equations)
        decisions.append(_attention_decision(equations))
    maker: dict[Tensor, Group] = {}
    result: list[Group] = []
    joins = placements(program, alignment) if join else {}
    for group in groups:
        if len(group.targets) == 1 and (parts := joins.get(next(iter(group.targets)))) is not None:
            group.joined, group.isolated = parts, True
        group.predecessors = {maker[t] for t in group.sources if t in maker}
        group.ancestors = group.predecessors.union(*(g.ancestors for g in group.predecessors))
        into = _best_partner(group, result, decisions) if join and group.view_of is None else None
        if into is None:
            result.append(group)
        else:
            _merge(into, group, result)
            group = into
        maker |= dict.fromkeys(group.targets, group)
    return result, decisions


def _groups_of_tensors(program: Program) -> list[Group]:
    """The equations of each tensor; those of tensors that need each other together."""
    equations = program.equations
    found: dict[Tensor, Group] = {}
    order: list[Group] = []
    for positions in in_cycles(equations):
        mine = tuple(equations[k] for k in positions)
        # What several tensors begin with may stand in groups of its own so far.
        for known in dict.fromkeys(found[t] for e in mine for t in e.targets if t in found):
            order.remove(known)
            mine = (*known.equations, *mine)
        group = Group(mine)
        order.append(group)
        found |= dict.fromkeys(group.targets, group)
    return order


def _merge_into_one(groups: Sequence[Group], equations: Sequence[Equation]) -> list[Group]:
    """The groups, those of these equations as one, where the last of them stood."""
    ours = [g for g in groups if any(e in equations for e in g.equations)]
    whole = Group(tuple(e for g in ours for e in g.equations))
    return [whole if g is ours[-1] else g for g in groups if g is ours[-1] or g not in ours]


def _attention_decision(equations: Sequence[Equation]) -> Decision:
    """The decision about an attention."""
    *inside, end = equations
    saved = 2 * sum(tensor_bytes(e.target) for e in inside)
    return Decision(
        "together",
        inside[0].target.name,
        (end.target.name,),
        True,
        saved,
        0,
        "scores are for the sums that they weight alone",
    )


def _best_partner(group: Group, groups: Sequence[Group], decisions: list[Decision]) -> Group | None:
    """The group that this one shares most with, of those that it may join."""
    best, most, kept = None, 0, None
    for other in reversed(groups):
        shared = [] if other.view_of else _shared(other, group)
        if not shared or any(other in g.ancestors for g in group.predecessors if g is not other):
            continue
        saved = sum(tensor_bytes(t) for t in shared)
        reason = _reason_to_merge(other, group)
        if reason and saved > most:
            best, most = other, saved
            names = ", ".join(t.name for t in group.targets), tuple(t.name for t in other.targets)
            kept = Decision("together", *names, True, saved, 0, reason)
    if kept is not None:
        decisions.append(kept)
    return best


def _shared(first: Group, second: Group) -> list[Tensor]:
    """Tensors that the second group need not fetch again."""
    have = first.targets | first.sources
    return [t for t in second.sources if t in have and t.dims]


def _reason_to_merge(first: Group, second: Group) -> str:
    """The reason to merge two groups; empty if there is none."""
    equations = [e for e in (*first.equations, *second.equations) if isinstance(e, Equation)]
    if len(equations) > MOST_EQUATIONS or first.isolated or second.isolated:
        return ""
    extents = [tuple(points([a]) for a in e.axes) for e in equations]
    if (
        not first.has_reduction
        and not second.has_reduction
        and len(set(extents)) == 1
        and _element_by_element(first, second)
    ):
        return "the same elements are computed"
    if len({x[0] for x in extents}) == 1 and extents[0][0] > 1 and _row_by_row(first, second):
        return "the same rows are read"
    return ""


def _is_joinable(equation: Equation) -> bool:
    """True if an equation can share a kernel with others."""
    return (
        equation.update is None
        and first_axis(equation) is not None
        and not _recurrent(equation)
        and not is_contraction(equation)
    )


def _recurrent(equation: Equation) -> bool:
    return equation.target in reads(replace(equation, update=None)) and any(
        isinstance(n, Read) and n.tensor is equation.target for n in walk(equation.value)
    )


def _element_by_element(first: Group, second: Group) -> bool:
    """True if the second group reads of the first group only the element that it computes."""
    made = first.targets
    for e in second.equations:
        assert isinstance(e, Equation)
        for n in walk(e.value):
            if isinstance(n, Read) and n.tensor in made:
                if len(n.indices) != len(e.axes) or not all(i is a.var for i, a in zip(n.indices, e.axes)):
                    return False
    return True


def _row_by_row(first: Group, second: Group) -> bool:
    """True if both groups read shared tensors only at the row that they compute."""
    shared = {*_shared(first, second)}
    for e in (*first.equations, *second.equations):
        assert isinstance(e, Equation)
        for n in walk(e.value):
            if (
                isinstance(n, Read)
                and n.tensor in shared
                and (not n.indices or n.indices[0] is not first_axis(e))
            ):
                return False
            if isinstance(n, Reduce) and n.op in ("argmax", "argmin", "any", "all"):
                return False
    return True


def _merge(into: Group, group: Group, groups: list[Group]) -> None:
    into.take(group.equations)
    into.predecessors |= group.predecessors - {into}
    into.ancestors |= group.ancestors - {into}
    for other in groups:
        if into in other.ancestors:
            other.ancestors |= into.ancestors


def order_groups(groups: Sequence[Group]) -> list[Group]:
    """Producers first; where there is a choice, the group that shares most memory with the one
    before it, for it is near then: first of all sums of that alone, which leave it there for the
    next one. What a sweep alone reads is computed last where that needs less memory: it is near
    then, too.
    """
    readers = _readers(groups)
    done: set[Group] = set()
    result: list[Group] = []
    waiting = list(groups)
    cached: set[Tensor] = set()
    while waiting:
        ready = [g for g in waiting if g.predecessors <= done]
        ready = [g for g in ready if not _should_wait(g, readers, done)] or ready
        sums = [g for g in ready if g.has_reduction and _keeps_cache(g, cached)]
        best = max(sums or ready, key=lambda g: sum(tensor_bytes(t) for t in g.sources if t in cached))
        waiting.remove(best)
        done.add(best)
        result.append(best)
        cached = {*(cached if sums else ()), *best.sources, *best.targets}
    return result


def _keeps_cache(group: Group, cached: Collection[Tensor]) -> bool:
    """True if a group reads cached tensors, and so little beside them that they are cached
    afterwards, too.
    """
    there, elsewhere = (
        sum(tensor_bytes(t) for t in group.sources if (t in cached) == wanted) for wanted in (True, False)
    )
    return MUCH_SMALLER * (elsewhere + sum(map(tensor_bytes, group.targets))) <= there


def _readers(groups: Sequence[Group]) -> dict[Tensor, list[Group]]:
    """Groups that read each tensor of other groups."""
    found: dict[Tensor, list[Group]] = {t: [] for g in groups for t in g.targets}
    for g in groups:
        for t in g.sources:
            if t in found:
                found[t].append(g)
    return found


def _should_wait(group: Group, readers: Mapping[Tensor, Sequence[Group]], done: Collection[Group]) -> bool:
    """True if a sweep alone reads what a group computes, which takes more memory than is free again
    once it has run.
    """
    if group.parts or not all(readers[t] and all(g.parts for g in readers[t]) for t in group.targets):
        return False
    freed = [t for t in group.sources if t in readers and all(g is group or g in done for g in readers[t])]
    return sum(map(tensor_bytes, group.targets)) > sum(map(tensor_bytes, freed))


def as_program(
    group: Group, needed: Collection[Tensor]
) -> tuple[Program, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A group as a program of its own, with its inputs and outputs among the tensors of the graph.

    Its tensors are named by position, so that groups of one structure are equal programs and share
    a kernel.

    Args:
        needed: tensors that others read.
    """
    inputs = tuple(group.sources)
    outputs = tuple(t for t in group.targets if t in needed)
    inside = [t for t in group.targets if t not in needed]
    if len(group.equations) == 1 and isinstance(group.equations[0], Invoke):
        call = group.equations[0]
        return call.program, call.args, call.targets
    names = {t: replace(t, name=f"X{k}") for k, t in enumerate(inputs)} | {
        t: replace(t, name=f"Y{k}") for k, t in enumerate(outputs)
    }
    names |= {t: replace(t, name=f"T{k}") for k, t in enumerate(inside)}
    program = Program(_kernel_name(group), inputs, outputs, group.equations)
    return over_tensors(program, names), inputs, outputs


def _kernel_name(group: Group) -> str:
    """Name of a kernel."""
    equations = [e for e in group.equations if isinstance(e, Equation)]
    product = next((e for e in equations if is_contraction(e)), None)
    if product is not None:
        return "product" if isinstance(product.value, Reduce) else "product_ended"
    reductions = dict.fromkeys(n.op for e in equations for n in walk(e.value) if isinstance(n, Reduce))
    return "_".join([*reductions, *(["map"] if not all(map(is_reduction, equations)) else [])]) or "map"
