"""Addresses of elements: of one, of a run of lanes, or one for each lane."""

from __future__ import annotations

from texpr.ir.affine import Linear
from texpr.ir.build import integer, product
from texpr.ir.dtypes import I64
from texpr.ir.expr import Expr, Tensor, Var
from texpr.passes.analysis.row_major import flat_index
from texpr.targets.emit.expressions import Expressions
from texpr.targets.emit.function import Value, constant, lanes_suffix, memory_type


class Addresses(Expressions):
    """Adds addresses to expressions.

    Attributes:
        pointers: the address of each tensor's first element.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pointers: dict[Tensor, str] = {}
        self._last: tuple[Tensor, tuple[Expr, ...], Linear] | None = None

    def _flat(self, tensor: Tensor, indices: tuple[Expr, ...]) -> Linear:
        """The linear position of an element. The last one is kept: it is needed twice."""
        if self._last is None or self._last[0] is not tensor or self._last[1] is not indices:
            self._last = tensor, indices, flat_index(tensor, indices)
        return self._last[2]

    def alignment(self, tensor: Tensor, indices: tuple[Expr, ...] = ()) -> int:
        """Alignment in bytes of an element, or of the first one of a run of lanes, is a multiple.
        Arrays may stand anywhere.
        """
        return 1 if tensor.scope == "global" else tensor.dtype.bytes

    def space(self, tensor: Tensor) -> str:
        """The address space of a tensor's pointer, as it stands after `ptr`."""
        number = self.space_number(tensor)
        return f" addrspace({number})" if number else ""

    def space_number(self, tensor: Tensor) -> int:
        return 0

    def address(self, tensor: Tensor, indices: tuple[Expr, ...]) -> tuple[str, int, int]:
        """Address, lanes and stride: (scalar address, 0, 0), (lowest address of a run of lanes,
        lanes, 1 or -1), or (vector of addresses, lanes, 0)."""
        flat = self._flat(tensor, indices)
        space = self.space(tensor)
        base, element = self.pointers[tensor], memory_type(tensor.dtype)
        varying = [t for t, _ in flat.terms if t is self.lane or self._differs_between_lanes(t)]
        if not varying:
            return self._element(base, element, flat, space), 0, 0
        assert self.lane is not None
        step = flat.coefficient(self.lane)
        if varying == [self.lane] and step in (1, -1):
            first = flat.without(self.lane)
            if step == 1 and self.mask is None:
                return self._element(base, element, first, space), self.lanes, 1
            # Where the first lanes are off, this may lie in front of the tensor.
            if step == 1:
                return (
                    self.function.pure(f"getelementptr {element}, ptr{space} {base}, {self.position(first)}"),
                    self.lanes,
                    1,
                )
            # Where the last lanes are off, this may lie in front of the tensor.
            return (
                self.function.pure(
                    f"getelementptr {element}, ptr{space} {base}, {self.last_lane_position(first)}"
                ),
                self.lanes,
                -1,
            )
        offsets = self.broadcast(self.index(flat.expr()), self.lanes)
        return self.function.pure(f"getelementptr {element}, ptr{space} {base}, {offsets}"), self.lanes, 0

    def last_lane_position(self, first: Linear) -> Value:
        """The position of the last lane of a reversed run."""
        return self.position(Linear(first.terms, first.constant - (self.lanes - 1)))

    def _differs_between_lanes(self, term: Expr) -> bool:
        """True if a term of a position differs between lanes."""
        return not isinstance(term, Var) and self.differs(term)

    def _element(self, base: str, element: str, offset: Linear, space: str) -> str:
        at = self.position(offset)
        return (
            base
            if at.text == "0"
            else self.function.pure(f"getelementptr inbounds {element}, ptr{space} {base}, {at}")
        )

    def position(self, form: Linear) -> Value:
        """A linear form that is the same for all lanes, without an expression for it: its positive
        terms come first.
        """
        total: Value | None = None
        for term, c in sorted(form.terms, key=lambda tc: tc[1] < 0):
            part = self.index(term)
            if abs(c) != 1:
                part = self._pure(f"mul {part}, {abs(c)}", I64, 0)
            if total is None and c > 0:
                total = part
            else:
                total = self._pure(
                    f"{'add' if c > 0 else 'sub'} {total or constant(0, I64)}, {part.text}", I64, 0
                )
        if total is None or not form.constant:
            return total or constant(form.constant, I64)
        return self._pure(f"{'add' if form.constant > 0 else 'sub'} {total}, {abs(form.constant)}", I64, 0)

    def _is_private_run(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        """True if a run of lanes lies in a buffer of this function's own stack, lanes that are off
        as well: nobody else looks at it, so what is left alone may be written as it was, and LLVM
        keeps it in registers, which it does not under masks.
        """
        if self.pointers[tensor] not in self.function.stack_slots or self.lane is None:
            return False
        flat, size = self._flat(tensor, indices), integer(product(tensor.shape))
        first = flat.without(self.lane)
        lowest = first.constant - (self.lanes - 1 if flat.coefficient(self.lane) < 0 else 0)
        return size is not None and not first.terms and 0 <= lowest <= size - self.lanes

    def _mask(self, stride: int) -> str:
        """The mask of lanes in the order of memory."""
        assert self.mask is not None
        return (
            str(self.mask)
            if stride > 0
            else f"{self.mask.type} {self._reverse(self.mask.type, self.mask.text, self.mask.lanes)}"
        )

    def _reverse(self, t: str, text: str, lanes: int) -> str:
        """A vector with its last lane first."""
        picks = ", ".join(f"i32 {k}" for k in reversed(range(lanes)))
        return self.function.define(f"shufflevector {t} {text}, {t} poison, <{lanes} x i32> <{picks}>")

    @staticmethod
    def _memory_suffix(element: str, lanes: int) -> str:
        return (
            f"{lanes_suffix(lanes)}{ {'half': 'f16', 'float': 'f32', 'double': 'f64'}.get(element, element) }"
        )
