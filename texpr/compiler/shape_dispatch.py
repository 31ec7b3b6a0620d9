"""Choice of the kernel for the shapes of a call: one of constant sizes for the first few, then one
of symbolic sizes, until that has cost more.

The results are the same, bit for bit: a shape whose own kernel would add sums in another order than
the symbolic one gets its own at once.

Whether a shape will come back is not known. So it is served by the symbolic kernel until its calls
have taken as long as compiling a kernel of its own takes: at most twice the time of one who knows
the future (the rule for "rent or buy").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any

from texpr.compiler.kernels.compiled_kernel import MOST_SHAPES, CompiledKernel
from texpr.ir.expr import Var
from texpr.ir.shapes import Shape
from texpr.ir.tensor import Program
from texpr.support.forks import held_over_forks
from texpr.support.late import late
from texpr.support.options import current

if TYPE_CHECKING:
    from texpr.compiler import accumulation_order
else:
    accumulation_order = late("texpr.compiler.accumulation_order")

Compile = Callable[[Program, Mapping[Var, int]], CompiledKernel]
Call = Callable[..., object]
Numbers = tuple[int, ...]


@dataclass(slots=True)
class _Usage:
    """Cost so far of a shape without a kernel of its own.

    Attributes:
        price: seconds that compiling takes.
    """

    price: float
    spent: float = 0.0


@dataclass(slots=True)
class Kernels:
    """The kernels of one operator.

    Attributes:
        made: by the program and its sizes in order, without sizes for the symbolic ones; those that
            were asked for last come last.
    """

    compile: Compile
    made: dict[tuple[Program, Numbers], CompiledKernel] = field(default_factory=dict)
    _prices: dict[Program, float] = field(default_factory=dict)
    _usage: dict[tuple[Program, Numbers], _Usage] = field(default_factory=dict)
    _orders: dict[tuple[Program, Numbers], accumulation_order.Order] = field(default_factory=dict)
    _lock: Any = field(default_factory=lambda: held_over_forks(RLock()))
    """Of what kernels are made: two threads that want the same one compile it once."""

    def kernel_for(
        self, program: Program, sizes: Mapping[Var, int], shapes: Sequence[Shape]
    ) -> CompiledKernel:
        """The kernel for a call on inputs of these shapes, compiled if it is the first that
        needs it.
        """
        own = (program, tuple(sizes[v] for v in program.sizes))
        with self._lock:
            if own in self.made:
                return self.made.setdefault(own, self.made.pop(own))
            return self._new_kernel_for(own, program, sizes, shapes)

    def _new_kernel_for(
        self,
        own: tuple[Program, Numbers],
        program: Program,
        sizes: Mapping[Var, int],
        shapes: Sequence[Shape],
    ) -> CompiledKernel:
        if self._deserves_own_kernel(own) or self._order(program, sizes) != self._order(program, {}):
            return self._compiled(own, sizes, shapes)
        shared = (program, ())
        if shared not in self.made:
            self.made[shared] = self.compile(program, {})
        return self.made[shared]

    def _compiled(
        self, own: tuple[Program, Numbers], sizes: Mapping[Var, int], shapes: Sequence[Shape]
    ) -> CompiledKernel:
        start = perf_counter()
        kernel = self.made[own] = self.compile(own[0], sizes)
        kernel.prepare(tuple(shapes))
        self._prices[own[0]] = perf_counter() - start
        self._usage.pop(own, None)
        if len(self.made) > MOST_SHAPES:
            self.made.pop(next((key for key in self.made if key[1]), own))
        return kernel

    def _order(self, program: Program, sizes: Mapping[Var, int]) -> accumulation_order.Order:
        key = (program, tuple(sizes[v] for v in program.sizes if v in sizes))
        if key not in self._orders:
            if len(self._orders) >= MOST_SHAPES:
                self._orders.clear()
            self._orders[key] = accumulation_order.accumulation_order_of(program, sizes)
        return self._orders[key]

    def _deserves_own_kernel(self, own: tuple[Program, Numbers]) -> bool:
        kept = sum(1 for other, numbers in self.made if other is own[0] and numbers)
        usage = self._usage.get(own)
        return (
            kept < current().specializations
            or usage is not None
            and usage.spent > usage.price
            and kept < MOST_SHAPES
        )

    def timed_call(
        self, call: Call, program: Program, sizes: Mapping[Var, int], earned: Callable[[], None]
    ) -> Call:
        """A call of the symbolic kernel whose time counts; `earned` is called once the shape has
        earned a kernel of its own.
        """
        own = (program, tuple(sizes[v] for v in program.sizes))
        if len(self._usage) >= MOST_SHAPES:
            self._usage.clear()
        usage = self._usage.setdefault(own, _Usage(self._prices.get(program, 0.0)))

        def timed(*arrays: object, **options: object) -> object:
            start = perf_counter()
            result = call(*arrays, **options)
            usage.spent += perf_counter() - start
            if usage.spent > usage.price:
                earned()
            return result

        return timed
