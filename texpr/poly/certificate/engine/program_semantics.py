"""The semantics of a program: a definition for each element, without guards, whose reductions
are terms of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from texpr.ir.build import add, compare, conjunction, fold, maximum, minimum, select, sub
from texpr.ir.dtypes import DType, int_range
from texpr.ir.expr import Axis, Const, Expr, Guard, Node, Read, Reduce, Tensor, Var, index
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import rewrite, tensors, walk
from texpr.support.frozen_dataclass import frozen_by_identity, node, replace
from texpr.support.once import once

UPDATES = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


@node
class Total(Expr):
    """The result of the reduction of an equation, for values of its axes."""

    parts: ClassVar = ("axes",)
    equation: int
    axes: tuple[Expr, ...]


@frozen_by_identity
class Definition:
    """An equation as conditions and values over its axes.

    Attributes:
        element: which element of the target an instance defines or folds into.
        domain: which instances there are; `stored` which of them store, where a write outside is
            dropped.
        reduction: the reduction in `value`, if there is one; `body` and `reduction_domain` are its
            body and condition over axes and binders.
    """

    number: int
    equation: Equation
    axes: tuple[Var, ...]
    element: tuple[Expr, ...]
    domain: Expr
    stored: Expr
    value: Expr
    reduction: Reduce | None
    binders: tuple[Var, ...]
    body: Expr | None
    reduction_domain: Expr

    @property
    def is_fold(self) -> bool:
        return self.equation.update is not None


_MOST_LEVELS = 4
"""Definitions within definitions that are looked into, as in
`texpr.poly.constraints.integer_intermediates`.
"""


class Semantics:
    """The definitions of a program, by the position of their equations."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.definitions = {
            k: _definition(k, e) for k, e in enumerate(program.equations) if isinstance(e, Equation)
        }
        self.by_target: dict[Tensor, list[Definition]] = {}
        for d in self.definitions.values():
            self.by_target.setdefault(d.equation.target, []).append(d)
        self.ragged = {k for k, d in self.definitions.items() if self.can_inline(d.reduction_domain)}
        """Equations whose terms are in ranges that are intermediates: their definitions are
        spelled out, in statements too.
        """
        for k in self.ragged:
            d = self.definitions[k]
            self.definitions[k] = replace(
                d,
                domain=self.fully_inlined(d.domain),
                reduction_domain=self.fully_inlined(d.reduction_domain),
            )
            self.by_target[d.equation.target] = [
                self.definitions[e.number] for e in self.by_target[d.equation.target]
            ]

    def inlinable_definition(self, e: Node) -> Definition | None:
        """The definition of the element that is read: the only equation of its tensor, without a
        reduction.
        """
        match e:
            case Read(tensor) if (
                len(found := self.by_target.get(tensor, ())) == 1
                and not found[0].is_fold
                and found[0].reduction is None
            ):
                return found[0]
        return None

    def can_inline(self, e: Expr) -> bool:
        """True if `inlined` changes an expression."""
        return any(self._inline_read(n) is not None for n in walk(e))

    def inlined(self, e: Expr) -> Expr:
        """`e` with the definitions of what it reads in the place of the reads, one level of them,
        and arithmetic folded as in loops; recurrences are left as they are.
        """
        return substitute_and_fold(rewrite(e, self._inline_read), {})

    def fully_inlined(self, e: Expr) -> Expr:
        """Inline definitions, up to a few levels."""
        for _ in range(_MOST_LEVELS):
            if not self.can_inline(e):
                break
            e = self.inlined(e)
        return e

    def _inline_read(self, e: Node) -> Expr | None:
        d = self.inlinable_definition(e)
        if d is None or d.equation.target in self._recurrent or set(d.element) != set(d.axes):
            return None
        assert isinstance(e, Read), "what is defined is read"
        return at_instance(d.value, d.element, e.indices)  # type: ignore[arg-type]

    @once
    def tensors(self) -> set[Tensor]:
        """All tensors of the program: each of their elements has one value."""
        return {*self.program.inputs, *(t for e in self.program.equations for t in e.targets)}

    @once
    def _recurrent(self) -> set[Tensor]:
        """Tensors that are computed from themselves."""
        below = {t: {u for d in ds for u in tensors(d.equation)} for t, ds in self.by_target.items()}
        found = set()
        for t in below:
            reached: set[Tensor] = set()
            stack = [t]
            while stack:
                new = below.get(stack.pop(), set()) - reached
                reached |= new
                stack += new
            found |= {t} & reached
        return found


def at_instance(e: Expr, variables: Sequence[Var], values: Sequence[Expr]) -> Expr:
    """Substitute values for the variables of `e`."""
    return substitute_and_fold(e, dict(zip(variables, values)))


def substitute_and_fold(e: Expr, values: Mapping[Var, Expr]) -> Expr:
    """Substitute values for variables and fold arithmetic of integers."""
    return rewrite(e, lambda n: values.get(n) if isinstance(n, Var) else fold(n))  # type: ignore[return-value]


def _definition(number: int, equation: Equation) -> Definition:
    axes = tuple(a.var for a in equation.axes)
    reductions: list[Reduce] = []

    def rule(node: Node) -> Node | None:
        match node:
            case Read(_, _, Guard()):
                return _apply_guard(node)
            case Reduce():
                reductions.append(node)
                return Total(number, axes, dtype=node.dtype)
        return fold(node)

    value: Expr = rewrite(equation.value, rule)
    assert len(reductions) <= 1, "one reduction per equation is left by the tensor passes"
    element = tuple(rewrite(i, rule) for i in equation.indices)

    def conditions(axes: tuple[Axis, ...], where: Expr | None) -> Expr:
        return conjunction(
            *(rewrite(c, rule) for c in (*_ranges(axes), *([where] if where is not None else [])))
        )

    stored: Expr = conjunction()
    if equation.guard is not None and equation.guard.mode == "drop":
        stored = index_in_bounds(element, equation.target.shape)
    elif equation.guard is not None:
        element = tuple(
            _guarded_index(i, n, equation.guard.mode) for i, n in zip(element, equation.target.shape)
        )
    reduction = reductions[0] if reductions else None
    reduction_domain = conjunction() if reduction is None else conditions(reduction.axes, reduction.where)
    return Definition(
        number,
        equation,
        axes,
        element,
        conditions(equation.axes, equation.where),
        stored,
        value,
        reduction,
        tuple(a.var for a in reduction.axes) if reduction is not None else (),
        reduction.body if reduction is not None else None,
        reduction_domain,
    )


def _ranges(axes: tuple[Axis, ...]) -> list[Expr]:
    return [c for a in axes for c in (compare("<=", a.lo, a.var), compare("<", a.var, a.hi))]


def index_in_bounds(indices: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
    """The condition that a tensor of this shape has the element."""
    return conjunction(
        *(c for i, n in zip(indices, shape) for c in (compare("<=", index(0), i), compare("<", i, n)))
    )


def _apply_guard(node: Read) -> Expr:
    guard = node.guard
    assert guard is not None
    plain = replace(node, guard=None)
    if guard.mode == "value":
        assert guard.value is not None
        return select(index_in_bounds(node.indices, node.tensor.shape), plain, guard.value)
    return replace(
        plain,
        indices=tuple(_guarded_index(i, n, guard.mode) for i, n in zip(node.indices, node.tensor.shape)),
    )


def _guarded_index(i: Expr, n: Expr, mode: str) -> Expr:
    """The index that a guard gives for an index outside, applied once as in the language."""
    last = sub(n, index(1))
    match mode:
        case "clamp":
            return maximum(index(0), minimum(i, last))
        case "wrap":
            return select(compare("<", i, index(0)), add(i, n), select(compare(">=", i, n), sub(i, n), i))
        case "reflect":
            return select(
                compare("<", i, index(0)),
                sub(index(0), i),
                select(compare(">=", i, n), sub(add(last, last), i), i),
            )
    raise AssertionError(f"no guard {mode}")


def is_identity(op: str | None, e: Expr) -> bool:
    """True if `e` is the identity of an operation; False without an operation."""
    return isinstance(e, Const) and repr(e.value) == repr(_identity(op, e.dtype))


def is_neutral(op: str | None, e: Expr) -> bool:
    """True if folding `e` into any value changes no bit of it: -0.0 + 0.0 is 0.0."""
    return (
        repr(getattr(e, "value", None)) == "-0.0" if op == "add" and e.dtype.is_float else is_identity(op, e)
    )


def _identity(op: str | None, dtype: DType) -> int | float | None:
    kind = float if dtype.is_float else int
    low, high = (float("-inf"), float("inf")) if dtype.is_float else int_range(dtype)
    return {"add": kind(0), "mul": kind(1), "max": low, "min": high}.get(op or "")
