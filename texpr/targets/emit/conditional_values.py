"""Values under conditions: branches where the condition is one value, masks where lanes differ."""

from __future__ import annotations

from texpr.ir.build import negation
from texpr.ir.dtypes import BOOL
from texpr.ir.expr import Call, Const, Expr, Read, Select, Var
from texpr.ir.traverse import children
from texpr.targets.emit.function import Value, constant, lanes_suffix
from texpr.targets.emit.value_builder import ValueBuilder


class ConditionalValues(ValueBuilder):
    """Adds conditionals whose sides read memory, and slow paths."""

    def _branches(self, e: Expr) -> bool:
        """True if an operand is computed in a branch, where it is needed."""
        return (
            isinstance(e, Select)
            and self._loads(e.then, e.orelse)
            or isinstance(e, Call)
            and e.function == "rarely"
        )

    def _loads(self, *roots: Expr) -> bool:
        """True if some expression below reads a value that is not known yet."""
        stack, seen = list(roots), set()
        while stack:
            e = stack.pop()
            if id(e) in seen or isinstance(e, Const | Var) or self._known(e) is not None:
                continue
            if isinstance(e, Read):
                return True
            seen.add(id(e))
            stack += [c for c in children(e) if isinstance(c, Expr)]
        return False

    def _conditional(self, e: Select) -> Value:
        """A conditional whose sides read memory: a branch where the condition is one value,
        masks where lanes differ.
        """
        c = self.value(e.cond)
        if c.lanes:
            flipped = self._pure(f"xor {c}, {constant(True, BOOL, c.lanes).text}", BOOL, c.lanes)
            with self.enclosing.where(e.cond, True):
                then = self._value_under(self.mask_and(self.mask, c), e.then)
            with self.enclosing.where(negation(e.cond), True):
                return self.select(c, then, self._value_under(self.mask_and(self.mask, flipped), e.orelse))
        f = self.function
        sides = [f.fresh("then"), f.fresh("else"), f.fresh("join")]
        f.emit(f"br {c}, label %{sides[0]}, label %{sides[1]}")
        results: list[tuple[Value, str]] = []
        lanes = self.lanes if self.differs(e.then, e.orelse) else 0
        for label, side, cond in zip(sides, (e.then, e.orelse), (e.cond, negation(e.cond))):
            f.start(label)
            with f.region(), self.enclosing.where(cond, False):
                v = self._value_under(self.mask, side)
                results.append((self.broadcast(v, lanes) if lanes else v, f.block))
            f.branch(sides[2])
        f.start(sides[2])
        incoming = ", ".join(f"[ {v.text}, %{block} ]" for v, block in results)
        v = results[0][0]
        return self._pure(f"phi {v.type} {incoming}", v.dtype, v.lanes)

    def _with_slow_path(self, e: Call) -> Value:
        """The value of the common side, and of the slow path under a branch that is taken if any
        lane needs it.
        """
        cond, rare, usual = e.args
        c, near = self._unify_lanes(self.value(cond), self.value(usual))
        f = self.function
        some = (
            c.text
            if not c.lanes
            else self.intrinsic(f"llvm.vector.reduce.or.{lanes_suffix(c.lanes)}i1", "i1", str(c))
        )
        before, inside, join = f.block, f.fresh("rare"), f.fresh("join")
        f.emit(f"br i1 {some}, label %{inside}, label %{join}")
        f.start(inside)
        with f.region():
            far = self.select(c, *self._unify_lanes(self.outlined_slow_path(rare), near))
        last = f.block
        f.branch(join)
        f.start(join)
        return self._pure(
            f"phi {near.type} [ {near.text}, %{before} ], [ {far.text}, %{last} ]", near.dtype, near.lanes
        )

    def outlined_slow_path(self, e: Expr) -> Value:
        """Outline a value that is seldom needed."""
        return self._value_under(self.mask, e)

    def _value_under(self, mask: Value | None, e: Expr) -> Value:
        before, self.mask = self.mask, mask
        with self.known.scope():
            result = self.value(e)
        self.mask = before
        return result
