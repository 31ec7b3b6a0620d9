"""Sweeps: tensors that are computed by the same formula, element by element, share one loop over
the elements of all of them.

The updates of an optimizer are such tensors: one for each parameter, of different shapes. A sweep
is one kernel over one size, which runs on pieces of all of them in one region of threads. Tensors
may join it that are results of the program and that nothing else reads: then no other kernel waits
for it, and it runs once the last of its sources is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from texpr.graph.fusion.kernel_groups import Group
from texpr.graph.fusion.producer_consumer import Decision
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.expr import Axis, Expr, Node, Read, Reduce, Tensor, Var, index, plain
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import children, equal, rewrite
from texpr.support.frozen_dataclass import replace

_SIZE, _ELEMENT = Var("n"), Var("i")


def merge_elementwise(groups: Sequence[Group], outputs: set[Tensor]) -> tuple[list[Group], list[Decision]]:
    """The groups, those joined whose tensors are computed alike; and what was decided.

    Args:
        outputs: of the program.
    """
    read = {t for g in groups for t in g.sources}
    alike: list[tuple[Program, list[Group]]] = []
    for group in groups:
        if (
            group.targets.keys() <= outputs
            and not read & group.targets.keys()
            and (found := elementwise_program(group)) is not None
        ):
            known = next((members for program, members in alike if equal(program, found)), None)
            if known is None:
                alike.append((found, [group]))
            else:
                known.append(group)
    sweeps = {members[0]: _merge_groups(members) for _, members in alike if len(members) > 1}
    joined = {g for members in sweeps for g in sweeps[members].parts}
    left = [sweeps.get(g, g) for g in groups if g in sweeps or g not in joined]
    return left, [_decision(part, sweep) for sweep in sweeps.values() for part in sweep.parts[1:]]


def _merge_groups(members: Sequence[Group]) -> Group:
    whole = Group(tuple(e for g in members for e in g.equations))
    whole.parts = tuple(members)
    whole.predecessors = set().union(*(g.predecessors for g in members))
    whole.ancestors = set().union(*(g.ancestors for g in members))
    return whole


def _decision(part: Group, sweep: Group) -> Decision:
    names = ", ".join(t.name for t in part.targets), tuple(t.name for t in sweep.parts[0].targets)
    elements = sum(map(length_of, sweep.parts))
    return Decision(
        "sweep", *names, True, 0, 0, f"one loop over all {elements:,} elements of {len(sweep.parts)} such"
    )


def length_of(group: Group) -> int:
    """Elements of each tensor that a part of a sweep computes."""
    return prod(shape_of(next(iter(group.targets))))


def elementwise_program(group: Group) -> Program | None:
    """A group's computation as a program of tensors in one dimension, of any size, named by
    position; None if its elements are not computed each from elements at the same place, and
    scalars.
    """
    shape = shape_of(next(iter(group.targets)))
    if (
        not shape
        or 0 in shape
        or not all(isinstance(e, Equation) and _is_plain(e, shape) for e in group.equations)
    ):
        return None
    sources, targets = tuple(group.sources), tuple(group.targets)
    names = {t: _flat_tensor(t, f"X{k}") for k, t in enumerate(sources)} | {
        t: _flat_tensor(t, f"Y{k}") for k, t in enumerate(targets)
    }
    axes = (Axis(_ELEMENT, index(0), _SIZE),)
    equations = tuple(
        Equation(names[e.target], (_ELEMENT,), axes, _flat_value(e.value, names))  # type: ignore[union-attr]
        for e in group.equations
    )
    return Program(
        "sweep",
        tuple(map(names.__getitem__, sources)),
        tuple(map(names.__getitem__, targets)),
        equations,
        (_SIZE,),
    )


def _is_plain(equation: Equation, shape: tuple[int, ...]) -> bool:
    """True if it gives every element of a tensor of this shape a value of elements at its place."""
    here = tuple(a.var for a in equation.axes)
    if (
        equation.update is not None
        or equation.where is not None
        or equation.guard is not None
        or shape_of(equation.target) != shape
    ):
        return False
    if len(equation.indices) != len(here) or not all(i is v for i, v in zip(equation.indices, here)):
        return False
    stack: list[Node] = [equation.value]
    while stack:
        node = stack.pop()
        if isinstance(node, Read):
            same = shape_of(node.tensor) == shape and all(i is v for i, v in zip(node.indices, here))
            if node.guard is not None or not (same or not node.tensor.dims):
                return False
        elif isinstance(node, Reduce | Var):
            return False
        else:
            stack += children(node)
    return True


def _flat_tensor(tensor: Tensor, name: str) -> Tensor:
    return replace(tensor, name=name, dims=plain(_SIZE) if tensor.dims else (), value_range=None)


def _flat_value(value: Expr, names: dict[Tensor, Tensor]) -> Expr:
    def rule(node: Node) -> Node | None:
        if not isinstance(node, Read) or node.tensor not in names:
            return None
        return replace(node, tensor=names[node.tensor], indices=(_ELEMENT,) if node.indices else ())

    return rewrite(value, rule)  # type: ignore[return-value]
