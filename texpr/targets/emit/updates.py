"""Stores and updates of elements: sums, products and extremes, with multiply-adds where the
kernel permits them.
"""

from __future__ import annotations

from texpr.ir.dtypes import F32
from texpr.ir.expr import Add, Max, Min, Mul, Read
from texpr.ir.loop import Kernel, Store
from texpr.ir.store_kind import NONTEMPORAL
from texpr.targets.emit.fma_contraction import adds_terms, continues
from texpr.targets.emit.function import Value
from texpr.targets.emit.slow_paths import SlowPaths

_UPDATES = {"add": Add, "mul": Mul, "max": Max, "min": Min}


class Updates(SlowPaths):
    """Adds stores to expressions and accesses.

    Attributes:
        kernel: whose code is emitted.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.kernel = kernel
        self.fma, self.inputs = kernel.fma, frozenset(kernel.inputs)

    def assignment(self, s: Store) -> None:
        value = self.stored_value(s)
        if s.update is None:
            self.store(s.tensor, s.indices, value, nontemporal=s.mode is NONTEMPORAL)
            return
        some = self.any_lane_active() if self.stores_one_element(s) else None
        if some is None:
            self._update_element(s, s.update, value)
            return
        f, before = self.function, self.checked_mask
        inside, after = f.fresh("if"), f.fresh("fi")
        f.emit(f"br i1 {some}, label %{inside}, label %{after}")
        f.start(inside)
        self.checked_mask = self.mask
        with f.region(), self.known.scope():
            self._update_element(s, s.update, value)
        self.checked_mask = before
        f.branch(after)
        f.start(after)

    def _update_element(self, s: Store, update: str, value: Value) -> None:
        self.store(s.tensor, s.indices, self._updated_element(s, update, value), uniform=True)

    def stored_value(self, s: Store) -> Value:
        """The value that a store writes or adds; a product that is added to a sum may be joined
        with it.
        """
        e = s.value
        if self.fma == "sums" and e.dtype.is_float and continues(self.kernel, s):
            assert isinstance(e, Add) and isinstance(e.lhs, Mul)
            a, b = self._unify_lanes(self._contractible_product(e.lhs), self.value(e.rhs))
            return self._pure(f"fadd contract {a}, {b.text}", a.dtype, a.lanes)
        if (
            self.fma != "sums"
            or not isinstance(e, Mul)
            or not e.dtype.is_float
            or not adds_terms(self.kernel, s)
        ):
            return self.value(e)
        return self._contractible_product(e)

    def _contractible_product(self, e: Mul) -> Value:
        """A product that may be joined with what it is added to."""
        a, b = self._unify_lanes(self.value(e.lhs), self.value(e.rhs))
        return self._pure(f"fmul contract {a}, {b.text}", a.dtype, a.lanes)

    def _updated_element(self, s: Store, update: str, value: Value) -> Value:
        """The new value of an element under an update; of types that NumPy lacks by way of f32,
        rounded once.
        """
        by_way = F32 if s.tensor.dtype.as_bits else s.tensor.dtype
        value = self.cast(value, by_way)
        if self.lane is not None and self.stores_one_element(s):
            value = self.reduce_lanes(update, value)
        old = self.cast(self.load(Read(s.tensor, s.indices)), by_way)
        new = (
            self.extreme(update, old, value) if update in ("max", "min") else self._accumulate(s, old, value)
        )
        return self.cast(new, s.tensor.dtype)

    def stores_one_element(self, s: Store) -> bool:
        """True if a statement of a vector loop writes one element for all lanes."""
        return not self.differs(*s.indices)

    def _accumulate(self, s: Store, old: Value, value: Value) -> Value:
        """The sum or product of old and value; where the kernel permits it, the backend may fuse it
        with the product in `value`.
        """
        old, value = self._unify_lanes(old, value)
        operation = _UPDATES[s.update or ""]
        if not old.dtype.is_float:
            return self._pure(
                f"{'add' if operation is Add else 'mul'} {old}, {value.text}", old.dtype, old.lanes
            )
        flags = " contract" if self.fma == "all" or self.fma == "sums" and adds_terms(self.kernel, s) else ""
        return self._pure(
            f"{'fadd' if operation is Add else 'fmul'}{flags} {old}, {value.text}", old.dtype, old.lanes
        )
