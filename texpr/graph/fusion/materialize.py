"""Values that take longer to compute than to store: functions of elements that several equations
compute again are stored once.

The gradient of a recurrence asks for the gates of every time once more, in several of its
equations. Where storing them moves less than computing them again costs, they become tensors,
computed beside what they are functions of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from texpr.autodiff.cleanup.simplify import in_order, reads
from texpr.autoschedule.core.cost import operations
from texpr.graph.fusion.axis_points import points
from texpr.graph.fusion.producer_consumer import FLOPS_PER_BYTE, Decision, cycles, tensor_bytes
from texpr.ir.affine import linear
from texpr.ir.build import integer, sub
from texpr.ir.expr import Axis, Call, Compare, Expr, Node, Read, Reduce, Select, Tensor, Var, index, plain
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, equal, rewrite, substitute, walk
from texpr.support.frozen_dataclass import replace

QUICK = frozenset(
    {
        "sqrt",
        "rsqrt",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "round",
        "fmod",
        "copysign",
        "abs",
        "sign",
        "fma",
        "tf32",
        "detach",
        "with_slope",
    }
)
"""Functions that are an instruction or a few."""
TRANSFERS, TRANSFERS_AFAR = 2, 3
"""Number of times that a stored tensor moves: computed beside the value it is a function of, and
where that value is fetched for it.
"""

_POSITIONS = tuple(Var(f"s{d}") for d in range(16))


@dataclass(eq=False, slots=True)
class _SharedValue:
    """A function of elements, at any place.

    Attributes:
        value: at the position `_POSITIONS`.
        shape: of the tensor of all its values.
        calls: where it is computed, each with the indices there.
        times: how often that is.
    """

    value: Expr
    shape: tuple[Expr, ...]
    calls: dict[Call, tuple[Expr, ...]] = field(default_factory=dict)
    times: int = 0
    readers: dict[Tensor, None] = field(default_factory=dict)


def materialize_shared_values(program: Program) -> tuple[Program, list[Decision]]:
    """The program with such values stored, and what was decided."""
    equations: list[Equation | Invoke] = list(program.equations)
    inside = cycles(equations)
    decisions: list[Decision] = []
    names = {t.name for e in equations for t in (*e.targets, *reads(e))} | {t.name for t in program.inputs}
    for found in _shared_values(equations):
        decision, target = _decide(found, inside, names)
        if decision is not None:
            decisions.append(decision)
        if target is not None:
            axes = tuple(Axis(Var(f"i{d}"), index(0), n) for d, n in enumerate(target.shape))
            indices = tuple(a.var for a in axes)
            equations = [_read_stored(e, found, target) for e in equations]
            equations.append(
                Equation(target, indices, axes, substitute(found.value, dict(zip(_POSITIONS, indices))))
            )
    if len(equations) == len(program.equations):
        return program, decisions
    return replace(program, equations=tuple(in_order(equations))), decisions


def _decide(
    found: _SharedValue, inside: dict[Tensor, int], names: set[str]
) -> tuple[Decision | None, Tensor | None]:
    """The decision to store the values, and in which tensor."""
    sources = reads_of(found.value)
    name = f"{sources[0].tensor.name}_{found.value.function}"  # type: ignore[attr-defined]
    while name in names:
        name += "_"
    target = Tensor(name, found.value.dtype, plain(*found.shape))
    elements = points([Axis(v, index(0), n) for v, n in zip(_POSITIONS, found.shape)])
    again = operations(found.value) * (found.times - elements)
    near = all(r.tensor in inside for r in sources)
    bytes_moved = (TRANSFERS if near else TRANSFERS_AFAR) * tensor_bytes(target)
    if again <= 0:
        return None, None
    readers = tuple(t.name for t in found.readers)
    if again <= FLOPS_PER_BYTE * bytes_moved:
        reason = f"{again:,} operations that are done again cost less than {bytes_moved:,} bytes"
        return Decision("keep", name, readers, False, 0, again, reason), None
    names.add(name)
    return Decision("keep", name, readers, True, 0, 0, f"computed once: {again:,} operations less"), target


def _shared_values(equations: Sequence[Equation | Invoke]) -> list[_SharedValue]:
    """Functions of elements, with all places where they are computed."""
    found: list[_SharedValue] = []
    for e in equations:
        if not isinstance(e, Equation):
            continue
        for call, times in _computed(e):
            pattern = _pattern(call)
            if pattern is None:
                continue
            value, shape, indices = pattern
            known = next((f for f in found if equal(f.value, value) and equal(f.shape, shape)), None)
            if known is None:
                found.append(known := _SharedValue(value, shape))
            known.calls[call] = indices
            known.times += times
            known.readers[e.target] = None
    return found


def _computed(equation: Equation) -> Iterator[tuple[Call, int]]:
    """Functions in an equation, and how often they are computed: equal ones once in each case of a
    choice, a case that is chosen by one number of an axis once for it.
    """
    extents = {a.var: points([a]) for n in walk(equation.value) if isinstance(n, Reduce) for a in n.axes}
    extents |= {a.var: points([a]) for a in equation.axes}
    stack: list[tuple[Node, int, int]] = [(equation.value, points(equation.axes), 0)]
    seen: list[tuple[int, Call]] = []
    cases = 0
    while stack:
        node, times, case = stack.pop()
        if isinstance(node, Reduce):
            times *= points(node.axes)
        if isinstance(node, Select):
            cases += 2
            only = (
                node.cond.lhs
                if isinstance(node.cond, Compare)
                and node.cond.op == "=="
                and integer(node.cond.rhs) is not None
                else None
            )
            once = times // max(1, extents.get(only, 1)) if isinstance(only, Var) else times
            stack += [(node.cond, times, case), (node.then, once, cases - 1), (node.orelse, times, cases)]
            continue
        if isinstance(node, Call) and node.dtype.is_float and node.function not in QUICK:
            first = not any(at == case and equal(node, other) for at, other in seen)
            seen.append((case, node))
            yield node, times if first else 0
        stack += [(c, times, case) for c in children(node)]


def _pattern(call: Call) -> tuple[Expr, tuple[Expr, ...], tuple[Expr, ...]] | None:
    """The call at any position, the extents of positions, and at which position this one is;
    None if it is no function of elements.
    """
    reads = reads_of(call)
    if not reads or any(isinstance(n, Var | Reduce) for n in _outside_of_reads(call)):
        return None
    places: dict[Var, tuple[int, Expr, Expr]] = {}
    for read in reads:
        if read.guard is not None:
            return None
        for i, extent in zip(read.indices, read.tensor.shape):
            form = linear(i)
            if not form.terms:
                continue
            ((v, factor), *more) = form.terms
            if more or factor != 1 or not isinstance(v, Var):
                return None
            known = places.setdefault(v, (form.constant, extent, i))
            if known[0] != form.constant or not equal(known[1], extent):
                return None
    if not places or len(places) > len(_POSITIONS):
        return None
    positions = {v: sub(s, index(at)) for s, (v, (at, _, _)) in zip(_POSITIONS, places.items())}
    value = rewrite(
        substitute(call, positions),
        lambda n: (
            replace(n, indices=tuple(linear(i).expr() for i in n.indices)) if isinstance(n, Read) else None
        ),
    )
    return value, tuple(extent for _, extent, _ in places.values()), tuple(i for _, _, i in places.values())


def _outside_of_reads(value: Expr) -> Iterator[Node]:
    """The nodes of a value but those of indices."""
    stack: list[Node] = [value]
    while stack:
        node = stack.pop()
        yield node
        stack += () if isinstance(node, Read) else children(node)


def reads_of(value: Expr) -> list[Read]:
    """The elements that a value is computed from."""
    return [n for n in walk(value) if isinstance(n, Read)]


def _read_stored(equation: Equation | Invoke, found: _SharedValue, target: Tensor) -> Equation | Invoke:
    """With the stored values in the place of the calls."""
    if not isinstance(equation, Equation) or equation.target not in found.readers:
        return equation

    def rule(node: Node) -> Node | None:
        indices = found.calls.get(node) if isinstance(node, Call) else None
        return None if indices is None else Read(target, indices, dtype=node.dtype)  # type: ignore[attr-defined]

    return replace(equation, value=rewrite(equation.value, rule))  # type: ignore[arg-type]
