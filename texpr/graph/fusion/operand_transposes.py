"""Layouts: how tensors lie in memory for those who read them again and again.

A product in a recurrence reads the same matrix at every time. Where its rows are terms of the sums,
each time would turn it round for its lanes; so it is turned once, before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from texpr.graph.fusion.producer_consumer import Decision, cycles, is_contraction, tensor_bytes
from texpr.ir.expr import Axis, Expr, Node, Read, Reduce, Tensor, Var, index, plain
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, rewrite, walk
from texpr.support.frozen_dataclass import replace


def transpose_recurrence_operands(program: Program) -> tuple[Program, list[Decision]]:
    """The program with matrices turned that recurrences multiply with, and what was decided."""
    inside = cycles(program.equations)
    transposed: dict[tuple[Tensor, int], Tensor] = {}
    decisions: list[Decision] = []
    names = {t.name for t in (*program.inputs, *(t for e in program.equations for t in e.targets))}
    equations: list[Equation | Invoke] = []
    for e in program.equations:
        if isinstance(e, Equation) and e.target in inside and is_contraction(e):
            for read, d in _strided_reads(e, inside):
                if (read.tensor, d) not in transposed:
                    transposed[read.tensor, d] = target = _transposed_tensor(read.tensor, d, names)
                    equations.append(_copy(read.tensor, target, d))
                    decisions.append(
                        Decision(
                            "layout",
                            read.tensor.name,
                            (e.target.name,),
                            True,
                            tensor_bytes(target),
                            0,
                            "turned round once, not at every time of the recurrence",
                        )
                    )
            e = _read_transposed(e, transposed, inside)
        equations.append(e)
    return (replace(program, equations=tuple(equations)), decisions) if transposed else (program, [])


def _strided_reads(equation: Equation, inside: Collection[Tensor]) -> Iterator[tuple[Read, int]]:
    """Reads of what others compute whose neighbours in memory are terms of a sum, while neighbours
    of the target are one of its dimensions; with that dimension.
    """
    lane = equation.indices[-1] if equation.indices else None
    stack: list[tuple[Node, frozenset[Var]]] = [(equation.value, frozenset())]
    while stack:
        node, terms = stack.pop()
        if (
            isinstance(node, Read)
            and isinstance(lane, Var)
            and (d := _dimension(node, lane, terms)) is not None
        ):
            if node.tensor not in inside:
                yield node, d
        if isinstance(node, Reduce):
            terms |= {a.var for a in node.axes}
        stack += [(c, terms) for c in children(node)]


def _dimension(read: Read, lane: Var, terms: Collection[Var]) -> int | None:
    here = [d for d, i in enumerate(read.indices) if lane in walk(i)]
    alone = len(here) == 1 and read.indices[here[0]] is lane and read.guard is None
    return here[0] if alone and read.indices[-1] in terms else None


def _transposed_tensor(tensor: Tensor, d: int, names: set[str]) -> Tensor:
    name = f"{tensor.name}_turned"
    while name in names:
        name += "_"
    names.add(name)
    return Tensor(name, tensor.dtype, plain(*_moved_to_end(tensor.shape, d)))


def _moved_to_end(parts: tuple[Expr, ...], d: int) -> tuple[Expr, ...]:
    """With the one at that place last."""
    return (*parts[:d], *parts[d + 1 :], parts[d])


def _copy(source: Tensor, target: Tensor, d: int) -> Equation:
    axes = tuple(Axis(Var(f"i{k}"), index(0), n) for k, n in enumerate(target.shape))
    indices = tuple(a.var for a in axes)
    return Equation(target, indices, axes, Read(source, (*indices[:d], indices[-1], *indices[d:-1])))


def _read_transposed(
    equation: Equation, transposed: dict[tuple[Tensor, int], Tensor], inside: Collection[Tensor]
) -> Equation:
    wanted = {id(read): d for read, d in _strided_reads(equation, inside)}

    def rule(node: Node) -> Node | None:
        d = wanted.get(id(node))
        return None if d is None else Read(transposed[node.tensor, d], _moved_to_end(node.indices, d))  # type: ignore[attr-defined]

    return rewrite(equation, rule)  # type: ignore[return-value]
