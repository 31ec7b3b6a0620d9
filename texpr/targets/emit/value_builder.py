"""Values in LLVM IR at the current place: constants, variables, lanes, calls of intrinsics."""

from __future__ import annotations

import re

from texpr.ir.dtypes import BOOL, DType
from texpr.ir.expr import Const, Expr, Var
from texpr.ir.traverse import walk
from texpr.targets.emit.active_lanes import EnclosingStatements
from texpr.targets.emit.function import (
    Function,
    Scoped,
    Value,
    constant,
    lanes_suffix,
    register_type,
    vector_type,
)

_TYPE = re.compile(r"(<[^>]*>|ptr(?: addrspace\(\d+\))?|\w+)")


class ValueBuilder:
    """Values at the current place of the current function, and how they are combined.

    `variables` holds the scalar value of each variable in scope; `lane` is the variable of the
    vector loop around, if any, and `mask` the lanes that run; `enclosing` has the loops and
    conditions that say so. `known` are the values of this statement, by node identity.
    """

    function: Function
    fma: str

    def __init__(self) -> None:
        self.variables: dict[Var, Value] = {}
        self.lane: Var | None = None
        self.lanes = 0
        self.lane_values: Value | None = None
        self.mask: Value | None = None
        self.enclosing = EnclosingStatements()
        # The node is kept beside its value: an id is only unique while its object lives.
        self.known: Scoped[int, tuple[Expr, Value]] = Scoped()
        self.constants: dict[int, tuple[Const, Value]] = {}
        self.declared: dict[str, str] = {}

    def value(self, root: Expr) -> Value:
        """The value of an expression."""
        raise NotImplementedError

    def _known(self, e: Expr) -> Value | None:
        if isinstance(e, Var):
            return self._variable(e)
        if isinstance(e, Const):
            found = self.constants.get(id(e))
            if found is None:
                found = self.constants[id(e)] = e, constant(e.value, e.dtype)
            return found[1]
        known = self.known.entries.get(id(e))
        return None if known is None else known[1]

    def _variable(self, var: Var) -> Value:
        if var is self.lane:
            assert self.lane_values is not None
            return self.lane_values
        return self.variables[var]

    def differs(self, *roots: Expr) -> bool:
        """True if some of these expressions differ between lanes."""
        return self.lane is not None and any(n is self.lane for n in walk(*roots))

    def _pure(self, instruction: str, dtype: DType, lanes: int) -> Value:
        return Value(self.function.pure(instruction), dtype, lanes)

    def intrinsic(self, name: str, result: str, *args: str, flags: str = "") -> str:
        """Call `common.llvm_backend.name`, declared on first use; each argument is `type text`."""
        if name not in self.declared:
            types = ", ".join(_TYPE.match(a)[1] for a in args)  # type: ignore[index]
            self.declared[name] = f"declare {result} @{name}({types})"
        call = f"call {flags}{result} @{name}({', '.join(args)})"
        if result == "void":
            self.function.emit(call)
            return ""
        return self.function.define(call)

    @staticmethod
    def suffix(a: Value) -> str:
        """The type part of an overloaded intrinsic's name."""
        scalar = {"half": "f16", "float": "f32", "double": "f64"}.get(
            register_type(a.dtype), register_type(a.dtype)
        )
        return lanes_suffix(a.lanes) + scalar

    def broadcast(self, a: Value, lanes: int) -> Value:
        """A scalar in every lane."""
        if a.lanes == lanes:
            return a
        assert a.lanes == 0
        if not a.text.startswith("%"):
            return Value(f"splat ({a.type} {a.text})", a.dtype, lanes)
        t = vector_type(register_type(a.dtype), lanes)
        first = self.function.pure(f"insertelement {t} poison, {a}, i64 0")
        return self._pure(
            f"shufflevector {t} {first}, {t} poison, <{lanes} x i32> zeroinitializer", a.dtype, lanes
        )

    def _unify_lanes(self, *values: Value) -> list[Value]:
        lanes = max(v.lanes for v in values)
        return [self.broadcast(v, lanes) for v in values] if lanes else list(values)

    def select(self, c: Value, t: Value, o: Value) -> Value:
        if c.lanes or t.lanes or o.lanes:
            lanes = max(c.lanes, t.lanes, o.lanes)
            t, o = self.broadcast(t, lanes), self.broadcast(o, lanes)
        return self._pure(f"select {c}, {t}, {o}", t.dtype, t.lanes)

    def mask_and(self, mask: Value | None, c: Value) -> Value:
        """The lanes of `mask` for which `c` holds as well."""
        if mask is None:
            return c
        return self._pure(f"and {mask}, {c.text}", BOOL, c.lanes)
