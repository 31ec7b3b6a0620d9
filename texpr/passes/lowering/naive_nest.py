"""The naive nest of one equation."""

from __future__ import annotations

from collections.abc import Mapping

from texpr.ir.affine import Linear, linear, same_value
from texpr.ir.build import add, compare, conjunction, floordiv, literal, maximum, minimum, mod, select, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import Axis, Const, Expr, Guard, Node, Read, Reduce, Tensor, Var, index, plain
from texpr.ir.index.overflow import is_wild
from texpr.ir.loop import For, If, Stmt, Store
from texpr.ir.store_kind import START
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import rewrite
from texpr.passes.analysis.intervals import interval
from texpr.passes.analysis.iteration_ranges import longest, nested
from texpr.passes.analysis.substitution import folded
from texpr.passes.tensor.reduction_passes import identity
from texpr.support.frozen_dataclass import replace

UPDATES = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


class Nests:
    """Makes the nest of one equation after the other; collects the accumulators they need."""

    def __init__(self, program: Program) -> None:
        self.names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}
        self.labels = _labels(program)
        self.accumulators: list[Tensor] = []

    def nest(
        self,
        equation: Equation,
        number: int,
        *,
        at: tuple[Expr, ...] | None = None,
        around: Mapping[Var, Expr] | None = None,
        backward: frozenset[int] = frozenset(),
        in_turn: bool = False,
    ) -> tuple[Stmt, ...]:
        """The loops of an equation.

        Args:
            at: the instance that the stores compute, over the axes of `equation`; these themselves
                unless given.
            around: loops that the nest will stand in, with their extents.
            backward: positions of the axes that run from their end.
            in_turn: each element waits for the one before it, so that their sums take turns in one
                accumulator.
        """
        target, label = equation.target, self.labels[number]
        loops = [(replace(a.var), a) for a in nested(equation.axes)]
        values: dict[Var, Expr] = {}
        ranges = dict(around or {})
        for v, a in loops:
            lo, hi = (unguarded(folded(e, values), ranges) for e in (a.lo, a.hi))
            values[a.var] = sub(sub(hi, index(1)), v) if equation.axes.index(a) in backward else add(v, lo)
            ranges[v] = _length(lo, hi)
        instance = tuple(
            folded(e, values) for e in (at if at is not None else (a.var for a in equation.axes))
        )
        lengths = longest(
            [*(Axis(v, index(0), extent) for v, extent in (around or {}).items()), *equation.axes]
        )
        shape = {v: length for v, a in loops if not in_turn and (length := lengths[a.var]) is not None}
        used = {v.name for v in ranges}
        statements: list[Stmt] = []

        def rule(node: Node) -> Node | None:
            match node:
                case Reduce():
                    accumulator = self._accumulator(target.name, node, tuple(shape.values()))
                    here = tuple(shape)
                    statements.extend(
                        self._reduction(
                            node, Read(accumulator, here), instance, values, ranges, used, label, number
                        )
                    )
                    return Read(accumulator, here)
            return None

        # The body of a kept reduction holds no further reduction (`hoist` saw to it), so
        # children-first order is harmless.
        value = rewrite(equation.value, rule)
        value = unguarded(folded(value, values), ranges)
        indices = tuple(unguarded(folded(i, values), ranges) for i in equation.indices)
        store, inside = _store(target, indices, value, equation, ranges, number, instance)
        body = (*statements, *guarded(inside, (store,)))
        if equation.where is not None:
            body = guarded(unguarded(folded(equation.where, values), ranges), body)
        for var, _ in reversed(loops):
            body = (For(var, ranges[var], body, tensor=label),)
        return body

    def forget(self, count: int) -> None:
        """Take back the last accumulators."""
        for tensor in self.accumulators[len(self.accumulators) - count :]:
            self.names.discard(tensor.name)
        del self.accumulators[len(self.accumulators) - count :]

    def _accumulator(self, target: str, node: Reduce, shape: tuple[Expr, ...]) -> Tensor:
        name = f"{target}_acc"
        while name in self.names:
            name += "_"
        self.names.add(name)
        tensor = Tensor(name, node.dtype, plain(*shape))
        self.accumulators.append(tensor)
        return tensor

    def _reduction(
        self,
        node: Reduce,
        accumulator: Read,
        at: tuple[Expr, ...],
        values: dict[Var, Expr],
        ranges: dict[Var, Expr],
        used: set[str],
        target: str,
        number: int,
    ) -> list[Stmt]:
        binders = [(replace(a.var, name=_unused(a.var.name, used)), a) for a in node.axes]
        inner, all_ranges = dict(values), dict(ranges)
        for v, a in binders:  # a range may use the binders before it
            lo, hi = (unguarded(folded(e, inner), all_ranges) for e in (a.lo, a.hi))
            all_ranges[v] = _length(lo, hi)
            inner[a.var] = add(v, lo)
        instance = (*at, *(inner[a.var] for a in node.axes))
        body: tuple[Stmt, ...] = (
            Store(
                accumulator.tensor,
                accumulator.indices,
                unguarded(folded(node.body, inner), all_ranges),
                UPDATES[node.op],
                reassoc=not node.dtype.is_float or node.op in ("max", "min"),
                equation=number,
                at=instance,
                span=node.span,
            ),
        )
        if node.where is not None:
            body = guarded(unguarded(folded(node.where, inner), all_ranges), body)
        for var, _ in reversed(binders):
            body = (For(var, all_ranges[var], body, tensor=target),)
        start = Store(
            accumulator.tensor,
            accumulator.indices,
            identity(node.op, node.dtype),
            role=START,
            equation=number,
            at=at,
            span=node.span,
        )
        return [start, *body]


def _labels(program: Program) -> list[str]:
    """Qualifiers of the loops of each equation: the tensor, with a number where it has several
    equations.
    """
    targets = [e.target if isinstance(e, Equation) else e.targets[0] for e in program.equations]
    counted: dict[Tensor, int] = {}
    labels = []
    for t in targets:
        k = counted[t] = counted.get(t, -1) + 1
        labels.append(t.name if targets.count(t) == 1 else f"{t.name}.{k}")
    return labels


def _length(lo: Expr, hi: Expr) -> Expr:
    """Iterations from `lo` to `hi`, as short as linear arithmetic writes it. Of data that may be
    any number of 64 bits, `hi - lo` may wrap where the range ends before it begins.
    """
    if is_wild(lo) or is_wild(hi):
        hi = maximum(hi, lo)
    return linear(sub(hi, lo)).expr()


def _unused(name: str, used: set[str]) -> str:
    plain_name, count = name, 0
    while name in used:
        count += 1
        name = f"{plain_name}{count}"
    used.add(name)
    return name


def guarded(condition: Expr, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements under a condition, if it is one."""
    return body if isinstance(condition, Const) and condition.value is True else (If(condition, body),)


def _store(
    target: Tensor,
    indices: tuple[Expr, ...],
    value: Expr,
    equation: Equation,
    ranges: dict[Var, Expr],
    number: int,
    at: tuple[Expr, ...],
) -> tuple[Store, Expr]:
    """The store of an equation and the condition under which it happens."""
    inside: Expr = conjunction()
    if equation.guard is not None and equation.guard.mode == "drop":
        inside = _inside(target, indices, ranges)
    elif equation.guard is not None:
        indices = _folded_back(target, indices, equation.guard.mode, ranges)
    reassoc = equation.update is not None and (not target.dtype.is_float or equation.update in ("max", "min"))
    return Store(
        target, indices, value, equation.update, reassoc=reassoc, equation=number, at=at, span=equation.span
    ), inside


def unguarded(e: Expr, ranges: dict[Var, Expr]) -> Expr:
    """Reads without guards: a value guard becomes a lazy `if`, the others fold the index back
    inside.
    """

    def rule(node: Node) -> Node | None:
        match node:
            case Read(tensor, indices, Guard("value", value)):
                assert value is not None
                return select(_inside(tensor, indices, ranges), replace(node, guard=None), value)
            case Read(tensor, indices, Guard(mode)):
                return replace(node, indices=_folded_back(tensor, indices, mode, ranges), guard=None)
        return None

    return rewrite(e, rule, kinds=(Read,))


def _inside(tensor: Tensor, indices: tuple[Expr, ...], ranges: dict[Var, Expr]) -> Expr:
    """The condition that `indices` lie in the tensor, leaving out what the loops' ranges show."""
    return conjunction(*(c for i, size in zip(indices, tensor.shape) for c in _within(i, size, ranges)))


def _within(i: Expr, size: Expr, ranges: dict[Var, Expr]) -> list[Expr]:
    """Conditions left to check for `0 <= i < size`."""
    if isinstance(i, Var) and i in ranges and same_value(ranges[i], size):
        return []
    lowest, highest = interval(i, ranges)
    n = linear(size)
    low = [compare("<=", index(0), i)] if lowest is None or lowest < 0 else []
    return low + ([compare("<", i, size)] if highest is None or n.terms or highest >= n.constant else [])


def divided(e: Expr, factor: int, ranges: Mapping[Var, Expr]) -> tuple[Expr, Expr]:
    """e // factor and e % factor, without a division where the loops' ranges show what they are.

    (4 * a + b) // 4, (4 * a + b) % 4   ->   a, b   with b in 0..4

    Of data that may wrap, and of other types than that of indices, nothing is shown: 3 * k // 3
    need not be k there.
    """
    if e.dtype != I64 or is_wild(e):
        return floordiv(e, literal(factor, e.dtype)), mod(e, literal(factor, e.dtype))
    form = linear(e)
    whole = Linear(tuple((t, c // factor) for t, c in form.terms if c % factor == 0), form.constant // factor)
    rest = Linear(tuple((t, c) for t, c in form.terms if c % factor), form.constant % factor)
    low, high = interval(rest.expr(), dict(ranges))
    if low is not None and low >= 0 and high is not None and high < factor:
        return whole.expr(), rest.expr()
    return floordiv(e, index(factor)), mod(e, index(factor))


def _folded_back(
    tensor: Tensor, indices: tuple[Expr, ...], mode: str, ranges: dict[Var, Expr]
) -> tuple[Expr, ...]:
    folded_indices: list[Expr] = []
    for i, n in zip(indices, tensor.shape):
        if not _within(i, n, ranges):
            folded_indices.append(i)
            continue
        last = sub(n, index(1))
        match mode:
            case "clamp":
                folded_indices.append(maximum(index(0), minimum(i, last)))
            case "wrap":
                low = select(compare("<", i, index(0)), add(i, n), i)
                folded_indices.append(select(compare(">=", i, n), sub(i, n), low))
            case "reflect":
                low = select(compare("<", i, index(0)), sub(index(0), i), i)
                folded_indices.append(select(compare(">=", i, n), sub(add(last, last), i), low))
            case _:
                raise AssertionError(f"no guard {mode}")
    return tuple(folded_indices)
