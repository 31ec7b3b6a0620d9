"""A kernel run instance by instance over terms: what each statement touches, and what every element
is made of.

Integers and conditions are computed; floats are terms, numbered as they appear, so that two kernels
compute the same float exactly if they give it one number. Nothing here asks isl, rounds, or knows a
step: it is the judge of those that do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np

from texpr.ir.dtypes import BOOL, I64, DType, int_range, most
from texpr.ir.expr import (
    Add,
    And,
    Call,
    Cast,
    Compare,
    Const,
    Div,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Pow,
    Read,
    Select,
    Sub,
    Tensor,
    Var,
)
from texpr.ir.loop import (
    Alloc,
    Barrier,
    Commit,
    CommitProducts,
    For,
    If,
    Kernel,
    Poll,
    Prefetch,
    Stmt,
    Store,
    Wait,
    WaitProducts,
)
from texpr.ir.shapes import evaluate_size, flat_shape
from texpr.ir.traverse import children, walk
from texpr.support.frozen_dataclass import frozen_by_identity

Element = tuple[str, tuple[int, ...]]
Value = Callable[[dict[Var, int]], int]
_Run = Callable[[dict[Var, int]], None]
POISON = 10**15 + 7
"""The value of an integer that nobody has written."""


class TooLarge(Exception):
    """More instances would run than were permitted."""


class Outside(Exception):
    """An access outside its array."""


@frozen_by_identity
class Event:
    """An instance of a store.

    Attributes:
        name: the same in every order of the same statements.
        loops: the loops around it with their iterations, outermost first.
        reads: what it reads, and what the conditions and the ranges around it do.
    """

    name: tuple[object, ...]
    store: Store
    loops: tuple[tuple[Var, int], ...]
    reads: frozenset[Element]
    writes: Element

    @property
    def touches(self) -> frozenset[Element]:
        return self.reads | {self.writes}


@dataclass(slots=True)
class Terms:
    """Numbers for terms, the same for equal ones.

    Attributes:
        loose: sums and products of floats have no order, so a term of them is the bag of what is in
            it; factors that are rounded for tensor cores are what they were.
        distributed: products have no order either, those of sums are sums of products, and 0 times
            anything is 0.
    """

    loose: bool = False
    distributed: bool = False
    numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    bags: dict[int, tuple[str, tuple[int, ...]]] = field(default_factory=dict)

    def __call__(self, *parts: object) -> int:
        return self.numbers.setdefault(parts, len(self.numbers))

    def chance(self, *parts: object) -> bool:
        """The result of a comparison of floats: anything, but the same of the same floats."""
        return bool((self(*parts) * 0x9E3779B97F4A7C15 >> 40) & 1)

    def joined(self, operation: str, a: int, b: int, largest: float = float("inf")) -> int:
        """`a operation b` where neither order nor grouping matters; for max and min no repetition
        does either.

        Args:
            largest: value of their type, for those that have no infinity.
        """
        if self.distributed and operation == "mul":
            sums = [[m for m in self._members("add", term) if m != self("const", 0.0)] for term in (a, b)]
            if not all(len(each) == 1 for each in sums):
                return reduce(
                    partial(self.joined, "add"),
                    (self.joined("mul", x, y) for x in sums[0] for y in sums[1]),
                    self("const", 0.0),
                )
        bag = [*self._members(operation, a), *self._members(operation, b)]
        neutral = [
            self("const", value)
            for value in _NEUTRAL.get(operation, (largest if operation == "min" else -largest,))
        ]
        bag = [m for m in bag if m not in neutral]
        members = tuple(sorted(set(bag) if operation in ("max", "min") else bag))
        if len(members) <= 1:
            return members[0] if members else neutral[0]
        made = self(operation, members)
        self.bags[made] = operation, members
        return made

    def _members(self, operation: str, term: int) -> tuple[int, ...]:
        kind, members = self.bags.get(term, ("", ()))
        return members if kind == operation else (term,)


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_BINARY: dict[type, Callable[[int, int], int]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    Max: max,
    Min: min,
    FloorDiv: lambda a, b: a // b if b else 0,
    Mod: lambda a, b: a % b if b else 0,
}
_NEUTRAL = {"add": (0.0, -0.0), "mul": (1.0,)}
_UPDATE: dict[str, type] = {"add": Add, "mul": Mul, "max": Max, "min": Min}
_SYMBOL: dict[type, str] = {
    Add: "add",
    Sub: "sub",
    Mul: "mul",
    Div: "div",
    FloorDiv: "floordiv",
    Mod: "mod",
    Pow: "pow",
}


@dataclass(slots=True, eq=False)
class Machine:
    """Runs one kernel at given sizes.

    Attributes:
        data: integers of the inputs, by name; floats are terms.
        asked: what the conditions and the ranges around have read.
        most: how many instances may run.
        events: the instances that ran, in order, if they are `watched`.
    """

    kernel: Kernel
    sizes: Mapping[Var, int]
    data: Mapping[str, np.ndarray]
    terms: Terms
    watched: bool = False
    most: int = 20_000
    events: list[Event] = field(default_factory=list)
    memory: dict[Tensor, dict[tuple[int, ...], int]] = field(default_factory=dict)
    shapes: dict[Tensor, tuple[int, ...]] = field(default_factory=dict)
    reads: set[Element] = field(default_factory=set)
    asked: list[frozenset[Element]] = field(default_factory=list)
    loops: list[tuple[Var, int]] = field(default_factory=list)
    count: int = 0

    def run(self) -> dict[Element, int]:
        """The terms of all elements of the outputs.

        Raises:
            TooLarge: more than `most` instances would run.
            Outside: an access outside its array.
        """
        for t in (*self.kernel.inputs, *self.kernel.outputs, *self.kernel.temporaries):
            self._place(t)
        self._body(self.kernel.body)(dict(self.sizes))
        return {
            (t.name, at): self._element(t, at)
            for t in self.kernel.outputs
            for at in np.ndindex(*self.shapes[t])
        }

    def _place(self, tensor: Tensor) -> None:
        self.shapes[tensor] = flat_shape(tensor, self.sizes)
        self.memory[tensor] = {}

    def _element(self, tensor: Tensor, at: tuple[int, ...]) -> int:
        held = self.memory[tensor].get(at)
        if held is not None:
            return held
        if tensor in self.kernel.inputs:
            return (
                int(self.data[tensor.name][at])
                if not tensor.dtype.is_float
                else self.terms("input", tensor.name, at)
            )
        return self.terms("poison") if tensor.dtype.is_float else POISON

    def _inside(self, tensor: Tensor, at: tuple[int, ...]) -> None:
        if not all(0 <= i < n for i, n in zip(at, self.shapes[tensor], strict=True)):
            raise Outside(f"{tensor.name}[{', '.join(map(str, at))}], which has shape {self.shapes[tensor]}")

    # Statements.

    def _body(self, body: Sequence[Stmt]) -> _Run:
        parts = [self._statement(s) for s in body]
        if len(parts) == 1:
            return parts[0]

        def run(env: dict[Var, int]) -> None:
            for part in parts:
                part(env)

        return run

    def _statement(self, s: Stmt) -> _Run:
        match s:
            case For():
                return self._loop(s)
            case If(cond, body):
                holds, inside = self.value(cond), self._body(body)
                return self._under(cond, lambda env: inside(env) if holds(env) else None)
            case Store():
                return self._store(s)
            case Alloc(tensor):
                self.shapes[tensor] = ()
                return lambda env: self._renew(tensor, env)
            case Prefetch(_, indices):
                addresses = [self.value(i) for i in indices]
                return lambda env: [address(env) for address in addresses].clear()
            case Poll() | Barrier() | Commit() | CommitProducts() | Wait() | WaitProducts():
                return lambda env: None
        raise AssertionError(f"no meaning for {type(s).__name__}")

    def _renew(self, tensor: Tensor, env: dict[Var, int]) -> None:
        self.shapes[tensor] = tuple(evaluate_size(n, env) for n in tensor.shape)
        self.memory[tensor] = {}

    def _loop(self, loop: For) -> _Run:
        extent, inside, var, around = self.value(loop.extent), self._body(loop.body), loop.var, self.loops

        def run(env: dict[Var, int]) -> None:
            for k in range(extent(env)):
                env[var] = k
                around.append((var, k))
                inside(env)
                around.pop()

        return self._under(loop.extent, run)

    def _under(self, e: Expr, run: _Run) -> _Run:
        """A run under a condition or in a range, whose instances have also read the tensors that it
        reads.
        """
        if not any(isinstance(n, Read) for n in walk(e)):
            return run
        value = self.value(e)

        def asked(env: dict[Var, int]) -> None:
            self.reads = set()
            value(env)
            self.asked.append(frozenset(self.reads))
            run(env)
            self.asked.pop()

        return asked

    def _store(self, s: Store) -> _Run:
        indices, value, at = (
            [self.value(i) for i in s.indices],
            self.value(s.value),
            [self.value(e) for e in s.at],
        )
        tensor, update, combined = s.tensor, s.update, None
        if update is not None:
            combined = (
                self._joining(update, tensor.dtype)
                if self._free(s)
                else self._binary(_UPDATE[update], tensor.dtype)
            )
        cast = self._cast(s.value.dtype, tensor.dtype)
        # Sums begin with +0, so terms past the end, which are +0, leave every bit as it is.
        kept = self.terms("const", 0.0) if update == "add" and tensor.dtype.is_float else None

        def run(env: dict[Var, int]) -> None:
            self.count += 1
            if self.count > self.most:
                raise TooLarge
            self.reads = set()
            new = cast(value(env))
            place = tuple([i(env) for i in indices])
            self._inside(tensor, place)
            if combined is not None:
                self.reads.add((tensor.name, place))
                old = self._element(tensor, place)
                new = old if new == kept else combined(old, new)
            self.memory[tensor][place] = new
            if self.watched:
                name = (s.equation, tensor.name, s.is_start, update, tuple([e(env) for e in at]))
                reads = frozenset(self.reads).union(*self.asked)
                self.events.append(Event(name, s, tuple(self.loops), reads, (tensor.name, place)))

        return run

    def _free(self, s: Store) -> bool:
        """The updates have no order, as the terms see it."""
        return s.tensor.dtype.is_float and s.update in ("add", "mul") and (self.terms.loose or s.reassoc)

    def _joining(self, update: str, t: DType) -> Callable[[int, int], int]:
        return lambda a, b: self.terms.joined(update, a, b, most(t))

    # Expressions.

    def value(self, e: Expr) -> Value:
        """Computes an expression from the values of variables."""
        match e:
            case Const(value):
                made = self.terms("const", float(value)) if e.dtype.is_float else int(value)
                return lambda env: made
            case Var():
                return lambda env: env[e]
            case Read():
                return self._read(e)
            case Select(cond, a, b):
                holds, yes, no = self.value(cond), self.value(a), self.value(b)
                return lambda env: yes(env) if holds(env) else no(env)
            case And(a, b) | Or(a, b):
                return self._logic(isinstance(e, And), self.value(a), self.value(b))
            case Not(a):
                inner = self.value(a)
                return lambda env: not inner(env)
            case Compare(operator, a, b):
                return self._compare(operator, self.value(a), self.value(b), a.dtype.is_float)
            case Cast(a):
                inner, cast = self.value(a), self._cast(a.dtype, e.dtype)
                return lambda env: cast(inner(env))
            case Neg(a):
                inner, wrapped = self.value(a), self._cast(I64, e.dtype) if e.dtype.is_int else None
                return (
                    (lambda env: self.terms("neg", inner(env)))
                    if wrapped is None
                    else (lambda env: wrapped(-inner(env)))
                )
            case Call("tf32", (operand,)) if self.terms.loose:
                return self.value(operand)
            case Call(function, args):
                return self._call(function, [self.value(a) for a in args], e.dtype.is_float)
        left, right = (self.value(a) for a in children(e) if isinstance(a, Expr))
        operation = self._binary(type(e), e.dtype)
        return lambda env: operation(left(env), right(env))

    def _read(self, e: Read) -> Value:
        indices, tensor = [self.value(i) for i in e.indices], e.tensor

        def value(env: dict[Var, int]) -> int:
            at = tuple([i(env) for i in indices])
            self._inside(tensor, at)
            self.reads.add((tensor.name, at))
            return self._element(tensor, at)

        return value

    def _logic(self, both: bool, left: Value, right: Value) -> Value:
        return (lambda env: left(env) and right(env)) if both else (lambda env: left(env) or right(env))

    def _compare(self, operator: str, left: Value, right: Value, floats: bool) -> Value:
        if not floats:
            compare = _COMPARE[operator]
            return lambda env: compare(left(env), right(env))
        symbol, swapped, negated = (
            {">": "<", ">=": "<=", "!=": "=="}.get(operator, operator),
            operator in (">", ">="),
            operator == "!=",
        )

        def value(env: dict[Var, int]) -> bool:
            a, b = left(env), right(env)
            return self.terms.chance(symbol, *((b, a) if swapped else (a, b))) != negated

        return value

    def _binary(self, kind: type, t: DType) -> Callable[[int, int], int]:
        if kind in (Max, Min) and t.is_float:
            return self._joining("max" if kind is Max else "min", t)
        if not t.is_float:
            exact, wrapped = _BINARY[kind], self._cast(I64, t) if t.is_int else None
            return exact if wrapped is None or t == I64 else lambda a, b: wrapped(exact(a, b))
        if kind is Mul and self.terms.distributed:
            return self._joining("mul", t)
        symbol = _SYMBOL[kind]
        return lambda a, b: self.terms(symbol, a, b)

    def _call(self, function: str, args: list[Value], floats: bool) -> Value:
        if function == "abs" and not floats:
            return lambda env: abs(args[0](env))
        return lambda env: self.terms("call", function, *[a(env) for a in args])

    def _cast(self, source: DType, target: DType) -> Callable[[int], int]:
        if source == target or not source.is_float and target.is_int and _contains(target, source):
            return lambda x: x
        if target.is_float:
            zero = (
                self.terms("const", 0.0) if source.is_float else None
            )  # what pads are made of stays neutral
            return lambda x: x if x == zero else self.terms("cast", str(source), str(target), x)
        if target == BOOL:
            return (lambda x: self.terms.chance("!=", x, 0)) if source.is_float else (lambda x: x != 0)
        low, high = int_range(target)
        if source.is_float:
            return lambda x: (
                low
                + (self.terms("cast", str(target), x) * 0x9E3779B97F4A7C15 >> 20) % min(high - low + 1, 1000)
            )
        return lambda x: (x - low) % (high - low + 1) + low


def _contains(wide: DType, narrow: DType) -> bool:
    if narrow == BOOL:
        return True
    (low, high), (least, most) = int_range(wide), int_range(narrow)
    return low <= least and most <= high
