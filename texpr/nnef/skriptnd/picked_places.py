"""Formulas with `:=`: the place of an extreme where their condition says so, else the last one of those
that meet.
"""

from __future__ import annotations

from typing import Any

from texpr.nnef.skriptnd.expression_evaluation import read
from texpr.nnef.skriptnd.left_sides import Scope, spread
from texpr.nnef.skriptnd.operator_text import names_of_all
from texpr.nnef.skriptnd.runtime_terms import SUM, WHOLE_DIMENSION, Edge, Tensor, Term
from texpr.nnef.skriptnd.scalar_terms import term
from texpr.nnef.skriptnd.size_polynomials import Size, Whole, text_of
from texpr.nnef.syntax import skript_tree
from texpr.support.errors import CheckError


class Picking:
    """A formula with `:=`.

    Args:
        writer: the `FormulaWriter` that meets it.
        start: the formula with `=` before it.
        fixed: indices that have values.
    """

    def __init__(
        self,
        writer: Any,
        formula: skript_tree.Formula,
        start: skript_tree.Formula | None,
        fixed: dict[Any, Any],
    ) -> None:
        self.writer, self.formula, self.fixed = writer, formula, fixed
        if start is None:
            raise writer.evaluate.refused(formula, "`:=` needs a formula with `=` before it")
        self.start = start

    def refused(self, message: str) -> CheckError:
        """The error for the formula."""
        return self.writer.evaluate.refused(self.formula, message)

    def write(self, scope: Scope, tensor: Any, left: list[Any]) -> None:
        """Write it."""
        if self.formula.condition is not None:
            self._extreme(scope, tensor, left)
        else:
            self._last(scope, tensor, left)

    def _extreme(self, scope: Scope, tensor: Any, left: list[Any]) -> None:
        """`y := k | x[k] > x[y]` is the place of an extreme."""
        condition, picked = self.formula.condition, self.writer.value(scope, self.formula)
        if not isinstance(condition, skript_tree.Infix) or condition.operator not in "<>":
            raise self.refused("`:=` under a condition that is no comparison with what was picked before")
        if not isinstance(tensor, Tensor):
            raise self.refused("`:=` into a pack of tensors under a condition")
        x = scope.evaluate.known(condition.x)
        plain = scope.evaluate.on_read

        def at_picked(read_from: Tensor, indices: list[Any]) -> Any:
            if read_from.name != tensor.name:
                return plain(read_from, indices)
            packs = [i for i, mine in zip(indices, left) if mine is WHOLE_DIMENSION or isinstance(mine, list)]
            return picked[packs[0]] if isinstance(picked, list) else picked

        scope.evaluate.on_read = at_picked
        y = scope.evaluate.known(condition.y)
        if not isinstance(x, Term) or not isinstance(y, Term) or x.text != y.text:
            raise self.refused("`:=` under a condition that compares something else than what it picks")
        word = "argmax" if condition.operator == ">" else "argmin"
        self._positions(scope, tensor, left, picked, f"{word}(%s: {x.text})")

    def _positions(self, scope: Scope, tensor: Tensor, left: list[Any], picked: Any, text: str) -> None:
        items = picked if isinstance(picked, list) else [picked]
        kept = names_of_all(left)
        over = [n for n in scope.ranges if n not in kept]
        if any(isinstance(p, Size) and p.single() not in over for p in items):
            raise self.refused("`:=` of something else than the indices that are searched")
        whole = text % ", ".join(f"{n} in 0..{text_of(scope.ranges[n], tight=True)}" for n in over)
        if not isinstance(picked, list) and len(over) == 1:
            self.writer.define(tensor, left, Term(whole, "int"), scope)
            return
        dims = [i for i in left if not (i is WHOLE_DIMENSION or isinstance(i, list))]
        shape = [e for i, e in zip(left, tensor.shape) if not (i is WHOLE_DIMENSION or isinstance(i, list))]
        places = {n: self.writer.text.tensor(f"at_{n}", "int", shape) for n in over}
        ranges = [(n, e) for n, e in scope.ranges.items() if n in kept]
        if over:
            first, *more = places.values()
            self.writer.text.define(first, dims, whole, ranges, also=tuple(t.name for t in more))
        found = [read(places[p.single()], dims) if isinstance(p, Size) else p for p in items]  # type: ignore[index]
        for one, indices, item in spread(tensor, left, found if isinstance(picked, list) else found[0]):
            self.writer.define(one, indices, item, scope)

    def _last(self, scope: Scope, tensor: Any, left: list[Any]) -> None:
        """Of elements that meet, the last one stays: its place is the largest."""
        if not isinstance(tensor, Tensor) or any(isinstance(i, (list, Edge)) for i in left):
            raise self.refused("`:=` into a pack, or outside")
        text = self.writer.text
        bare = {i.single() for i in left if isinstance(i, Size)}
        rest = [n for n in scope.ranges if n not in bare]
        place: Whole = 0
        for n in rest:
            place = place * scope.ranges[n] + Size({(n,): 1})
        left = self.writer.held_inside(tensor, left)
        last = text.tensor("last", "int", tensor.shape)
        self.writer.fill(last, "-1")
        narrow = text.dtypes["int"] != "i64" and isinstance(place, Size)
        said = f"{text.dtypes['int']}({text_of(place)})" if narrow else text_of(place)
        text.define(last, left, said, list(scope.ranges.items()), "max=")
        self._chosen(scope, tensor, left, last, rest)

    def _chosen(self, scope: Scope, tensor: Tensor, left: list[Any], last: Tensor, rest: list[Any]) -> None:
        whole, ranges = self.writer.whole(tensor)
        found = term(read(last, whole))
        at: dict[Any, Any] = dict(self.fixed)
        for mine, index in zip(left, whole):
            name = mine.single() if isinstance(mine, Size) else None
            if name in scope.bases:
                at[scope.bases[name]] = index  # type: ignore[index]
        behind: Whole = 1
        for n in reversed(rest):
            extent = scope.ranges[n]
            digit = found.text if behind == 1 else f"{found.text} // {text_of(behind, tight=True)}"
            digit = digit if n == rest[0] else f"({digit}) % {text_of(extent, tight=True)}"
            at[scope.bases[n]] = Term(f"clamp({digit}, 0, {text_of(extent - 1)})", "int")
            behind = behind * extent
        new = term(self.writer.value(self.writer.scope(self.formula, at), self.formula))
        old = term(self.writer.start_value(self.start, self.fixed, whole))
        value = f"if {found.held(SUM)} >= 0 then {new.text} else {old.text}"
        self.writer.text.define(tensor, whole, value, ranges)
