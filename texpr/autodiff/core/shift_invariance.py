"""Maxima that only keep exponentials small: shifting them changes no output, so they need no
gradient.

`softmax` subtracts the maximum m before `exp`. In real arithmetic the outputs do not depend on m,
hence its cotangent is 0, and neither
it nor where the maximum is found has to be computed. This is found by following how every tensor answers to m -> m + t: not at all,
by adding `k * t`, or by a factor `exp(k * t)`, for the element of t at some of its own indices.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.autodiff.core.activity import components
from texpr.ir.expr import (
    Add,
    Call,
    Cast,
    Compare,
    Const,
    Div,
    Expr,
    Mul,
    Neg,
    Node,
    Pow,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
)
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import children, tensors
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Answer:
    """The effect of m -> m + t on a value: `kind` is `same`, `shift` (plus k * t[at]), `scale`
    (times exp(k * t[at])) or `unknown`.

    `at` holds variables for an expression and positions of dimensions for a tensor.
    """

    kind: str
    k: float = 0.0
    at: tuple[object, ...] = ()


MOST_ROUNDS = 8
SAME, UNKNOWN, ZERO = Answer("same"), Answer("unknown"), Answer("zero")


def irrelevant(
    equations: Sequence[Equation | Invoke],
    inputs: Sequence[Tensor],
    active: set[Tensor],
    outputs: Sequence[Tensor],
) -> set[Tensor]:
    """The active maxima and minima, or what is taken of them where they are finite, whose value
    does not matter to `outputs`.
    """
    definitions: dict[Tensor, list[Equation | Invoke]] = {}
    for equation in equations:
        for target in equation.targets:
            definitions.setdefault(target, []).append(equation)
    extremes = [t for t in active if t not in outputs and _is_extreme(definitions.get(t, []))]
    if not extremes:
        return set()
    order = [*reversed(components((*inputs, *definitions), equations, active))]
    return {m for m in extremes if _matters_not(m, definitions, order, outputs)}


def _is_extreme(definition: Sequence[Equation | Invoke]) -> bool:
    match definition:
        case [Equation(value=Reduce(op="max" | "min"))]:
            return True
        case [Equation(value=Select(then=Read(), orelse=Const()))]:
            return True  # the maximum where it is finite
    return False


def _matters_not(
    m: Tensor,
    definitions: dict[Tensor, list[Equation | Invoke]],
    order: Sequence[Sequence[Tensor]],
    outputs: Sequence[Tensor],
) -> bool:
    """True if outputs stay the same. Tensors of a recurrence are asked until their answers agree with
    each other: then they hold for each element, since they hold for those that it is made of.
    """
    first = next(k for k, component in enumerate(order) if m in component)
    later = order[first:]
    tensors_after = [t for component in later for t in component if t is not m]
    answers = {m: Answer("shift", 1.0, tuple(range(m.rank)))}
    recurrent = any(
        len(component) > 1 or any(t in _reads(e) for t in component for e in definitions.get(t, []))
        for component in later
    )
    for _ in range(MOST_ROUNDS if recurrent else 1):
        before = dict(answers)
        for tensor in tensors_after:
            answers[tensor] = _of_tensor(definitions.get(tensor, []), answers)
        if not recurrent or before == answers:
            return all(answers.get(t, SAME) == SAME for t in outputs)
    return False


def _of_tensor(definition: Sequence[Equation | Invoke], answers: dict[Tensor, Answer]) -> Answer:
    if all(answers.get(t, SAME) == SAME for e in definition for t in _reads(e)):
        return SAME
    if len(definition) != 1 or not isinstance(definition[0], Equation):
        return SAME if all(_is_same(e, answers) for e in definition) else UNKNOWN
    equation = definition[0]
    found = _of_value(equation.value, answers)
    if found.kind in ("same", "unknown"):
        return found
    places = {i: n for n, i in enumerate(equation.indices) if isinstance(i, Var)}
    if equation.where is not None or any(v not in places for v in found.at):
        return UNKNOWN
    return replace(found, at=tuple(places[v] for v in found.at))  # type: ignore[index]


def _is_same(equation: Equation | Invoke, answers: dict[Tensor, Answer]) -> bool:
    """True if an equation defines the same elements as before."""
    if not isinstance(equation, Equation):
        return all(answers.get(t, SAME) == SAME for t in equation.args)
    around = [*equation.indices, *([] if equation.where is None else [equation.where])]
    places = tensors(*around, *equation.axes)
    return all(answers.get(t, SAME) == SAME for t in places) and _of_value(equation.value, answers) in (
        SAME,
        ZERO,
    )


def _reads(equation: Equation | Invoke) -> Sequence[Tensor]:
    return equation.args if isinstance(equation, Invoke) else tuple(tensors(equation))


def _of_value(root: Expr, answers: dict[Tensor, Answer]) -> Answer:
    done: dict[int, Answer] = {}
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            done[id(node)] = _of_node(node, [done[id(child)] for child in children(node)], answers)
        elif id(node) not in done:
            stack.append((node, True))
            stack += [(child, False) for child in children(node)]
    return done[id(root)]


def _of_node(node: Node, below: list[Answer], answers: dict[Tensor, Answer]) -> Answer:
    match node:
        case Read():
            return _of_read(node, below, answers)
        case Const(value) if node.dtype.is_float and value == 0:
            return ZERO
        case Reduce(op=op, axes=axes):
            inner = below[-1]
            bound = {axis.var for axis in axes}
            passes = (inner.kind == "scale" and op in ("sum", "max", "min")) or (
                inner.kind == "shift" and op in ("max", "min")
            )
            if passes and not bound & set(inner.at) and all(a in (SAME, ZERO) for a in below[:-1]):
                return inner
        case Select():
            if below[0] == SAME:
                return _alike(below[1], below[2])
        case Cast() if node.dtype.is_float and below[0].kind in ("shift", "scale"):
            return below[0]
        case Compare() if below[0] == below[1] and below[0].kind in ("shift", "scale"):
            return SAME
        case Add() | Sub() | Mul() | Div() | Neg() | Pow() | Call():
            found = _arithmetic(node, below)
            if found is not None:
                return found
    return SAME if all(a in (SAME, ZERO) for a in below) else UNKNOWN


def _of_read(node: Read, below: list[Answer], answers: dict[Tensor, Answer]) -> Answer:
    found = answers.get(node.tensor, SAME)
    if any(a not in (SAME, ZERO) for a in below):
        return UNKNOWN
    if found.kind not in ("shift", "scale"):
        return found
    at = tuple(node.indices[n] for n in found.at)  # type: ignore[index]
    return replace(found, at=at) if node.guard is None and all(isinstance(v, Var) for v in at) else UNKNOWN


def _arithmetic(node: Node, below: list[Answer]) -> Answer | None:
    """The laws of exp, log, sums and products; None where none applies."""
    a, b = below[0], below[-1]
    match node:
        case Neg() if a.kind in ("shift", "scale"):
            return replace(a, k=-a.k) if a.kind == "shift" else a
        case Add() | Sub():
            sign = 1 if isinstance(node, Add) else -1
            if "scale" in (a.kind, b.kind):
                return _alike(a, b)
            return _combined("shift", a, b, sign)
        case Mul() | Div() if "shift" not in (a.kind, b.kind):
            return _combined("scale", a, b, 1 if isinstance(node, Mul) else -1)
        case Pow(rhs=Const(value)) if a.kind == "scale":
            return replace(a, k=a.k * value)
        case Call(function="exp") if a.kind == "shift":
            return replace(a, kind="scale")
        case Call(function="log") if a.kind == "scale":
            return replace(a, kind="shift")
        case Call(function="sqrt" | "rsqrt") if a.kind == "scale":
            return replace(a, k=a.k * (0.5 if node.function == "sqrt" else -0.5))
    return None


def _combined(kind: str, a: Answer, b: Answer, sign: int) -> Answer | None:
    """k * t[at] of both put together, where they are about the same element of t."""
    if not {a.kind, b.kind} <= {kind, "same", "zero"} or kind not in (a.kind, b.kind):
        return None
    if a.kind == kind and b.kind == kind and a.at != b.at:
        return UNKNOWN
    k = (a.k if a.kind == kind else 0.0) + sign * (b.k if b.kind == kind else 0.0)
    return Answer(kind, k, a.at if a.kind == kind else b.at) if k else SAME


def _alike(a: Answer, b: Answer) -> Answer:
    """The common effect on two values that become one; 0 stays 0 however it is scaled."""
    if a == b:
        return a
    if {a.kind, b.kind} == {"scale", "zero"}:
        return a if a.kind == "scale" else b
    return SAME if {a.kind, b.kind} <= {"same", "zero"} else UNKNOWN
