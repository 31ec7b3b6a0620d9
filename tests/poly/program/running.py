"""What is wrong with a program at given sizes, found by running every instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from tests.poly.nests import evaluate
from texpr.ir.expr import Axis, Expr, Guard, Read, Reduce, Select, Tensor, Var
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import children

Element = tuple[Tensor, tuple[int, ...]]


def wrong(program: Program, sizes: Mapping[Var, int]) -> set[str]:
    """The codes of the errors that occur at these sizes."""
    run = _Run(program, sizes)
    if not run.found:
        for e in program.equations:
            assert isinstance(e, Equation)
            run.equation(e)
        run.definitions()
    return run.found


class _Run:
    def __init__(self, program: Program, sizes: Mapping[Var, int]) -> None:
        self.program, self.sizes = program, sizes
        self.found: set[str] = set()
        self.needs: dict[Element, set[Element]] = {}
        self.now: set[Element] = set()
        self.reads: set[Element] = set()
        for t in (*program.outputs, *program.temporaries):
            if any(n < 0 for n in self.shape(t)):
                self.found.add("bounds")

    def shape(self, t: Tensor) -> tuple[int, ...]:
        return tuple(evaluate(n, self.sizes, {}, set()) for n in t.shape)

    def equation(self, e: Equation) -> None:
        for values in self.instances(e.axes, dict(self.sizes)):
            if e.where is not None and not self.value(e.where, values):
                continue
            self.now = set()
            self.value(e.value, values)
            at = tuple(self.value(i, values) for i in e.indices)
            self.reads |= self.now
            if not self.inside(e.target, at):
                self.found |= set() if e.guard is not None else {"bounds"}
                continue
            if (e.target, at) in self.needs:
                self.found.add("twice")
            self.needs[e.target, at] = self.now

    def instances(self, axes: Sequence[Axis], values: dict[Var, int]) -> Iterator[dict[Var, int]]:
        if not axes:
            yield values
            return
        for n in range(self.value(axes[0].lo, values), self.value(axes[0].hi, values)):
            yield from self.instances(axes[1:], values | {axes[0].var: n})

    def value(self, e: Expr, values: Mapping[Var, int]) -> int:
        """The value of index arithmetic; reads and reductions are noted and count as 0."""
        match e:
            case Select(cond, then, orelse):
                return self.value(then if self.value(cond, values) else orelse, values)
            case Reduce(op, axes, body):
                count = 0
                for inner in self.instances(axes, dict(values)):
                    if e.where is None or self.value(e.where, inner):
                        count += 1
                        self.value(body, inner)
                self.found |= {"empty"} if op in ("max", "min") and not count else set()
                return 0
            case Read(t, indices, guard):
                self.read(t, tuple(self.value(i, values) for i in indices), guard, values)
                return 0
        if e.dtype.is_float:
            for c in children(e):
                self.value(c, values)  # type: ignore[arg-type]
            return 0
        return evaluate(e, values, {}, set())

    def read(self, t: Tensor, at: tuple[int, ...], guard: Guard | None, values: Mapping[Var, int]) -> None:
        if guard is not None and guard.mode == "value":
            if not self.inside(t, at):
                return
        elif guard is not None:
            at = tuple(_folded(i, n, guard.mode) for i, n in zip(at, self.shape(t)))
        if self.inside(t, at):
            self.now.add((t, at))
        else:
            self.found.add("bounds")

    def inside(self, t: Tensor, at: tuple[int, ...]) -> bool:
        return all(0 <= i < n for i, n in zip(at, self.shape(t)))

    def definitions(self) -> None:
        needed = self.reads | {
            (t, at) for t in self.program.outputs for at in product(*map(range, self.shape(t)))
        }
        if any(x not in self.needs for x in needed if x[0] not in self.program.inputs):
            self.found.add("coverage")
        left = {x: {n for n in reads if n in self.needs} for x, reads in self.needs.items()}
        while ready := [x for x, reads in left.items() if not reads & left.keys()]:
            for x in ready:
                del left[x]
        if left:
            self.found.add("cycle")


def _folded(i: int, n: int, mode: str) -> int:
    if mode == "clamp":
        return max(0, min(i, n - 1))
    if mode == "wrap":
        return i + n if i < 0 else i - n if i >= n else i
    return -i if i < 0 else 2 * (n - 1) - i if i >= n else i
