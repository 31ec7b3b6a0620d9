"""NaN tracking in loops that take extremes: a flag beside the extremes records a NaN, and is
applied when the loop is over.

An extreme that hands NaN on waits, at each step, for what tells whether the one before was NaN, and
takes three instructions. Beside a register of extremes of numbers alone, a register of flags takes
one more, and both wait for nothing but their own last step.
"""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.dtypes import BOOL, F32, F64
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import ExternCall, For, If, Store
from texpr.ir.loop_kind import VECTOR
from texpr.ir.traverse import statements, tensors
from texpr.passes.analysis.row_major import flat_index
from texpr.targets.emit.function import Value, constant, vector_type
from texpr.targets.emit.statements import Emitter

REGISTER_BITS = 512
LEAST_STEPS = 4
"""Least number of iterations of a loop for which the flags pay."""


class NanTrackingEmitter(Emitter):
    """NaN tracking for processors with registers of `REGISTER_BITS`, and an extreme of numbers that
    another class of theirs has.

    In a loop, `_flags` has the place of the flags of each register of extremes: of whose lanes all
    numbers so far were numbers.
    """

    _extremes: frozenset[Tensor] = frozenset()
    _flags: dict[tuple[Tensor, int], str]

    def extreme_of_numbers(self, which: str, a: Value, b: Value) -> Value:
        """The extreme of registers of numbers, -0 below +0; of NaN and a number it may be
        either.
        """
        raise NotImplementedError

    def _serial(self, loop: For, first: Value, stop: Value) -> None:
        f = self.function
        known = frozenset() if self._extremes else extremes(loop)  # one loop tracks for those inside
        found = frozenset(t for t in known if self.pointers.get(t) in f.stack_slots)
        if not found:
            super()._serial(loop, first, stop)
            return
        before = len(f.lines)
        self._extremes, self._flags = found, {}
        super()._serial(loop, first, stop)
        behind, f.lines = f.lines[before:], f.lines[:before]
        registers = {place: self._register_address(*place) for place in self._flags}
        for place, (address, lanes) in registers.items():
            self._store_flags(
                place, self._is_number(f.define(f"load {lanes}, ptr {address}, align 4"), lanes)
            )
        f.lines += behind
        for place, (address, lanes) in registers.items():
            value, flags = f.define(f"load {lanes}, ptr {address}, align 4"), self._load_flags(place)
            nan = constant(float("nan"), place[0].dtype, flags.lanes)
            f.emit(
                f"store {lanes} {f.define(f'select {flags}, {lanes} {value}, {nan}')}, ptr {address}, align 4"
            )
        self._extremes = frozenset()

    def _register_address(self, tensor: Tensor, at: int) -> tuple[str, str]:
        """Address and type of the register of extremes at a position."""
        element = Value("", tensor.dtype).type
        address = self.function.define(
            f"getelementptr inbounds {element}, ptr {self.pointers[tensor]}, i64 {at}"
        )
        return address, vector_type(element, REGISTER_BITS // tensor.dtype.bits)

    def _is_number(self, text: str, lanes: str) -> str:
        return self.function.define(f"fcmp ord {lanes} {text}, zeroinitializer")

    def _load_flags(self, place: tuple[Tensor, int]) -> Value:
        lanes = REGISTER_BITS // place[0].dtype.bits
        return Value(
            self.function.define(f"load <{lanes} x i1>, ptr {self._flags[place]}, align 8"), BOOL, lanes
        )

    def _store_flags(self, place: tuple[Tensor, int], text: str) -> None:
        self.function.emit(
            f"store <{REGISTER_BITS // place[0].dtype.bits} x i1> {text}, ptr {self._flags[place]}, align 8"
        )

    def _updated_element(self, s: Store, update: str, value: Value) -> Value:
        if s.tensor not in self._extremes or self.lane is None:
            return super()._updated_element(s, update, value)
        value = self.broadcast(self.cast(value, s.tensor.dtype), self.lanes)
        place = s.tensor, flat_index(s.tensor, s.indices).constant
        if place not in self._flags:
            self._flags[place] = self.function.slot(f"<{value.lanes} x i1>", 8)
        known = self._load_flags(place)
        self._store_flags(
            place, self.function.define(f"and {known}, {self._is_number(value.text, value.type)}")
        )
        return self.extreme_of_numbers(update, self.load(Read(s.tensor, s.indices)), value)


def extremes(loop: For) -> frozenset[Tensor]:
    """Tensors into which a loop takes extremes of floats, in whole registers at fixed places, and
    which it does not read.
    """
    steps = integer(loop.extent)
    if steps is not None and steps < LEAST_STEPS:
        return frozenset()
    inside = list(statements(*loop.body))
    stores = [s for s in inside if isinstance(s, Store)]
    if not any(s.update in ("max", "min") for s in stores) or any(
        isinstance(s, If | ExternCall) for s in inside
    ):
        return frozenset()
    whole = {
        id(s)
        for v in inside
        if isinstance(v, For) and v.kind == VECTOR
        for s in statements(*v.body)
        if isinstance(s, Store) and _is_register(s, v)
    }
    read = {t for s in stores for t in tensors(s.value, *s.indices)} | {
        t for n in inside if isinstance(n, For) for t in tensors(n.extent)
    }
    others = {s.tensor for s in stores if id(s) not in whole}
    return frozenset({s.tensor for s in stores} - read - others)


def _is_register(s: Store, vector: For) -> bool:
    """True if the lanes of a loop are those of one register at a fixed place, which takes extremes."""
    t = s.tensor
    if s.update not in ("max", "min") or t.dtype not in (F32, F64):
        return False
    at = flat_index(t, s.indices)
    return (integer(vector.extent) or 0) * t.dtype.bits == REGISTER_BITS and at.terms == ((vector.var, 1),)
