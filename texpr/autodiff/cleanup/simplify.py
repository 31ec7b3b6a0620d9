"""Simplification of gradients to the form of a formula in a book: equal equations once, copies and
small steps written in place, nothing dead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from texpr.ir.build import integer
from texpr.ir.expr import Axis, Expr, Node, Read, Reduce, Tensor, Var
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import children, equal, rewrite, substitute, tensors, walk
from texpr.support.frozen_dataclass import replace

Equations = list[Equation | Invoke]


def simplify(
    equations: Sequence[Equation | Invoke], outputs: Sequence[Tensor], inlinable: set[Tensor]
) -> Equations:
    """The same outputs from fewer equations.

    Args:
        inlinable: the tensors whose definition may be moved into the one place that reads it.
    """
    result = without_dead(equations, outputs)
    result = without_duplicates(result, outputs)
    result = without_copies(result, set(outputs))
    result = _inlined(result, inlinable - set(outputs))
    return in_order(without_dead(result, outputs))


def in_order(equations: Sequence[Equation | Invoke]) -> Equations:
    """Definitions before reads, and before updates of the same tensor, otherwise as they are;
    the first of a recurrence goes first.
    """
    missing: dict[Tensor, int] = {}
    for target in (t for e in equations for t in e.targets):
        missing[target] = missing.get(target, 0) + 1
    waiting, result = list(equations), []
    while waiting:
        ready = next(
            (
                e
                for k, e in enumerate(waiting)
                if not any(missing.get(t) for t in reads(e) if t not in e.targets)
                and not _continues(e, waiting[:k])
            ),
            waiting[0],
        )
        waiting.remove(ready)
        result.append(ready)
        for target in ready.targets:
            missing[target] -= 1
    return result


def _continues(equation: Equation | Invoke, before: Sequence[Equation | Invoke]) -> bool:
    """True if an equation updates a tensor that an equation before it defines or updates."""
    return (
        isinstance(equation, Equation)
        and equation.update is not None
        and any(equation.target in e.targets for e in before)
    )


def reads(equation: Equation | Invoke) -> tuple[Tensor, ...]:
    """The tensors it reads."""
    return equation.args if isinstance(equation, Invoke) else tuple(tensors(equation))


def without_dead(equations: Sequence[Equation | Invoke], outputs: Sequence[Tensor]) -> Equations:
    """Only what the outputs need."""
    producers: dict[Tensor, list[Equation | Invoke]] = {}
    for equation in equations:
        for target in equation.targets:
            producers.setdefault(target, []).append(equation)
    needed, stack = set(outputs), list(outputs)
    while stack:
        for equation in producers.get(stack.pop(), ()):
            new = [t for t in reads(equation) if t not in needed]
            needed.update(new)
            stack += new
    return [e for e in equations if any(t in needed for t in e.targets)]


def definitions(equations: Sequence[Equation | Invoke]) -> dict[Tensor, Equation]:
    """The equation of every tensor that has exactly one, a definition of all its elements in
    bare indices.
    """
    found: dict[Tensor, list[Equation | Invoke]] = {}
    for equation in equations:
        for target in equation.targets:
            found.setdefault(target, []).append(equation)
    return {
        t: es[0]
        for t, es in found.items()
        if len(es) == 1 and isinstance(es[0], Equation) and is_whole(es[0])
    }


def is_whole(equation: Equation) -> bool:
    """True if it defines all elements of its tensor, in bare indices."""
    if equation.update is not None or equation.where is not None or equation.guard is not None:
        return False
    return (
        len(equation.axes) == equation.target.rank
        and all(i is axis.var for i, axis in zip(equation.indices, equation.axes))
        and all(
            integer(axis.lo) == 0 and equal(axis.hi, size)
            for axis, size in zip(equation.axes, equation.target.shape)
        )
    )


def _replaced(
    equation: Equation | Invoke, rule: Callable[[Node], Node | None], tensor: dict[Tensor, Tensor]
) -> Equation | Invoke:
    if isinstance(equation, Invoke):
        return replace(equation, args=tuple(tensor.get(a, a) for a in equation.args))
    return rewrite(equation, rule)  # type: ignore[return-value]


def _renamed_reads(equations: Sequence[Equation | Invoke], names: dict[Tensor, Tensor]) -> Equations:
    """Every read of a key becomes a read of its value."""

    def rule(node: Node) -> Node | None:
        if isinstance(node, Read) and node.tensor in names:
            return replace(node, tensor=names[node.tensor])
        return None

    return [_replaced(e, rule, names) if any(t in names for t in reads(e)) else e for e in equations]


def without_duplicates(equations: Equations, outputs: Sequence[Tensor]) -> Equations:
    """Two temporaries with equal definitions are one; repeated, since that makes others equal."""
    while True:
        same: dict[Tensor, Tensor] = {}
        buckets: dict[tuple[object, ...], list[Equation]] = {}
        for tensor, equation in definitions(equations).items():
            key = (tensor.dtype, len(equation.axes), type(equation.value), frozenset(tensors(equation.value)))
            twin = next((e for e in buckets.get(key, ()) if _same_definition(e, equation)), None)
            if twin is None or tensor in outputs:
                buckets.setdefault(key, []).append(equation)
            else:
                same[tensor] = twin.target
        if not same:
            return equations
        equations = [e for e in _renamed_reads(equations, same) if not any(t in same for t in e.targets)]


def _same_definition(a: Equation, b: Equation) -> bool:
    return equal(replace(a, target=b.target), b)


def without_copies(equations: Equations, outputs: set[Tensor]) -> Equations:
    """`T[i] = S[i]`: readers of T read S; where T is an output and S a temporary, S is T from
    the start.
    """
    names: dict[Tensor, Tensor] = {}
    copies: set[Equation] = set()
    defined = {t for e in equations for t in e.targets}
    for tensor, equation in definitions(equations).items():
        source = _copied(equation)
        while source in names:
            source = names[source]
        if (
            source is None
            or source is tensor
            or (tensor in outputs and (source in outputs or source not in defined))
        ):
            continue
        copies.add(equation)
        names |= {tensor: source} if tensor not in outputs else {source: tensor}
    return renamed([e for e in equations if e not in copies], {t: _last(t, names) for t in names})


def renamed(equations: Sequence[Equation | Invoke], names: dict[Tensor, Tensor]) -> Equations:
    """The same equations with other tensors in the place of some."""
    return [_renamed_targets(e, names) for e in _renamed_reads(equations, names)]


def _last(tensor: Tensor, names: dict[Tensor, Tensor]) -> Tensor:
    while tensor in names:
        tensor = names[tensor]
    return tensor


def _copied(equation: Equation) -> Tensor | None:
    match equation.value:
        case Read(tensor=source, indices=indices, guard=None) if len(indices) == len(equation.axes):
            target = equation.target
            same = source.dtype == target.dtype and all(
                i is axis.var for i, axis in zip(indices, equation.axes)
            )
            return source if same and source is not target and equal(source.shape, target.shape) else None
    return None


def _renamed_targets(equation: Equation | Invoke, names: dict[Tensor, Tensor]) -> Equation | Invoke:
    if isinstance(equation, Invoke):
        return replace(equation, targets=tuple(names.get(t, t) for t in equation.targets))
    return replace(equation, target=names[equation.target]) if equation.target in names else equation


def _inlined(equations: Equations, candidates: set[Tensor]) -> Equations:
    """A temporary that one read uses, at every instance a different element, is written in place
    of the read.
    """
    once = _written_once(equations)
    whole = definitions(equations)
    ready: dict[Tensor, Equation] = {}
    gone: set[Tensor] = set()
    result: Equations = []
    for equation in in_order(equations):
        if isinstance(equation, Equation):
            movable = equation.target in candidates & once and equation.target in whole
            equation = _inline_into(equation, ready, gone)
            if movable and not any(isinstance(n, Reduce) for n in walk(equation.value)):
                ready[equation.target] = equation
        result.append(equation)
    return [e for e in result if not any(t in gone for t in e.targets)]


def _written_once(equations: Equations) -> set[Tensor]:
    """The tensors that a printed program would read in one place."""
    counts: dict[Tensor, int] = {}
    for equation in equations:
        if isinstance(equation, Invoke):
            for tensor in equation.args:
                counts[tensor] = 2
        else:
            for read, times in _occurrences(equation):
                counts[read.tensor] = counts.get(read.tensor, 0) + times
    return {t for t, n in counts.items() if n == 1}


def _occurrences(equation: Equation) -> list[tuple[Read, int]]:
    """Every read of the equation, and how many times a tree of it, which shares nothing, would
    hold it.
    """
    order: dict[int, Node] = {}
    stack: list[tuple[Node, bool]] = [(equation, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order[id(node)] = node
        elif id(node) not in order:
            stack.append((node, True))
            stack += [(child, False) for child in children(node)]
    times = {id(equation): 1}
    for node in reversed(order.values()):
        for child in children(node):
            times[id(child)] = times.get(id(child), 0) + times[id(node)]
    return [(n, times[id(n)]) for n in order.values() if isinstance(n, Read)]


def _inline_into(equation: Equation, found: dict[Tensor, Equation], done: set[Tensor]) -> Equation:
    def rule(node: Node) -> Node | None:
        if isinstance(node, Read) and node.tensor in found and node.guard is None and _covers(node, equation):
            done.add(node.tensor)
            return _at(found[node.tensor], node.indices)
        return None

    return rewrite(equation, rule)  # type: ignore[return-value]


def _covers(read: Read, equation: Equation) -> bool:
    """True if the read's indices are all the equation's axes and binders: then nothing is computed
    twice.
    """
    axes = [n for n in walk(equation) if isinstance(n, Axis)]
    return len(axes) == len(read.indices) and {id(axis.var) for axis in axes} == {id(i) for i in read.indices}


def _at(equation: Equation, indices: tuple[Expr, ...]) -> Expr:
    values: dict[Var, Expr] = {axis.var: i for axis, i in zip(equation.axes, indices)}
    return substitute(equation.value, values)
