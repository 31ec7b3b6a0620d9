"""Formulas of `@lower` become equations.

A formula that accumulates is a reduction where its left side names each element once, else an update
of elements.
"""

from __future__ import annotations

import re
from typing import Any

from texpr.nnef.skriptnd.expression_evaluation import Evaluator, NeedsUnrolling, binary, read
from texpr.nnef.skriptnd.left_sides import (
    Scope,
    inside,
    is_bare,
    is_inside,
    mixed_digits,
    neutral_text,
    remapped,
    spread,
)
from texpr.nnef.skriptnd.operator_text import OperatorText, names_of_all
from texpr.nnef.skriptnd.picked_places import Picking
from texpr.nnef.skriptnd.runtime_terms import WHOLE_DIMENSION, Edge, Stacked, Tensor, Term, is_whole
from texpr.nnef.skriptnd.scalar_terms import Refusal, chosen, converted, kind_of, logical, term
from texpr.nnef.skriptnd.size_polynomials import IndexName, Size, Whole, text_of, unsteady
from texpr.nnef.syntax import skript_tree

_REDUCTIONS = {"+=": "sum", "*=": "prod", ">?=": "max", "<?=": "min", "|=": "any", "&=": "all"}
_FOLDS = {"+=": "+", "*=": "*", ">?=": ">?", "<?=": "<?", "|=": "||", "&=": "&&"}
_UPDATES = {"+=": "+=", "*=": "*=", ">?=": "max=", "<?=": "min="}


class FormulaWriter:
    """Writes the formulas of one operator.

    Args:
        evaluate: with all names of the operator.
        text: takes the equations.
    """

    def __init__(self, evaluate: Evaluator, text: OperatorText) -> None:
        self.evaluate, self.text = evaluate, text

    def write_all(self, formulas: list[skript_tree.Formula]) -> None:
        """Write the formulas of a block.

        Raises:
            CheckError: one means nothing, or nothing that the language has, with the place.
        """
        groups: dict[str, list[skript_tree.Formula]] = {}
        for each in formulas:
            groups.setdefault(_root(each), []).append(each)
        for group in groups.values():
            self._group(group)

    def _group(self, group: list[skript_tree.Formula]) -> None:
        first, *more = group
        if len(more) > 1 or (more and (first.operator != "=" or more[0].operator == "=")):
            raise self.evaluate.refused(
                group[-1], "a tensor has one formula with `=` and one that goes on from it"
            )
        formula, start = (more[0], first) if more else (first, None)
        if formula.unrolled is None:
            self._guarded(formula, start, {})
            return
        name, count = formula.unrolled
        for k in range(self.evaluate.count(self.evaluate.known(count))):
            self._guarded(formula, start, {name: k})

    def _guarded(
        self, formula: skript_tree.Formula, start: skript_tree.Formula | None, fixed: dict[str, int]
    ) -> None:
        try:
            self._write(formula, start, fixed)
        except Refusal as refusal:
            error = self.evaluate.refused(formula.value, refusal.message, refusal.help)
        else:
            return
        raise error

    def _write(
        self, formula: skript_tree.Formula, start: skript_tree.Formula | None, fixed: dict[Any, Any]
    ) -> None:
        self.text.here = {n[1] for n in fixed if not isinstance(n, str) and not n[0]}
        scope = self._empty_scope()
        try:
            self._open(scope, formula, fixed)
            left = self._left(scope, formula)
            if formula.operator == ":=":
                Picking(self, formula, start, fixed).write(scope, *left)
            elif formula.operator == "=":
                self._assign(scope, formula, *left)
            else:
                self._accumulate(scope, formula, start, fixed, *left)
            return
        except NeedsUnrolling as needed:
            running = self._running(scope, needed)
        if formula.operator == ":=":
            self._stack_packs()
            self._write(formula, start, fixed)
            return
        for k in range(self.evaluate.count(scope.ranges[running])):
            self._write(formula, start, {**fixed, scope.bases[running]: k})
            start = None if formula.operator == "=" else start

    def scope(self, formula: skript_tree.Formula, fixed: dict[Any, Any]) -> Scope:
        """Indices of a formula as names. Indices of one value have it."""
        scope = self._empty_scope()
        self._open(scope, formula, fixed)
        return scope

    def _empty_scope(self) -> Scope:
        base = self.evaluate
        return Scope(Evaluator(base.operator, dict(base.values), base.kinds, base.dtypes))

    def _running(self, scope: Scope, needed: NeedsUnrolling) -> IndexName:
        """The index that a pack is indexed by."""
        found = sorted(n for n in needed.names if n in scope.bases)
        if not found:
            raise Refusal("a pack is indexed by an index that runs")
        return IndexName(found[0])

    def _open(self, scope: Scope, formula: skript_tree.Formula, fixed: dict[Any, Any]) -> None:
        child = scope.evaluate
        for name, bound in formula.bounds:
            if name in fixed:
                child.values[name] = fixed[name]
                continue
            extent = self._bound(child, bound, scope)
            packed = isinstance(extent, list)
            made = [
                self._index(scope, name, k, e, fixed, packed)
                for k, e in enumerate(extent if packed else [extent])
            ]
            child.values[name] = made if packed else made[0]
        for name, value in fixed.items():
            if isinstance(name, str):
                child.values.setdefault(name, value)
            elif not name[0]:
                scope.ranges[IndexName(name[1])] = value
        neutral = neutral_text(formula.operator, self.text, "real")
        child.on_read = lambda tensor, indices: self.on_read(scope, tensor, indices, neutral)

    def _bound(self, child: Evaluator, bound: Any, scope: Scope) -> Any:
        extent = child.known(bound)
        items = extent if isinstance(extent, list) else [extent]
        if not all(is_whole(e) for e in items):
            raise child.refused(bound, "a bound of an index is a whole number")
        return extent

    def _index(self, scope: Scope, name: str, k: int, extent: Whole, fixed: Any, packed: bool) -> Any:
        if (name, k) in fixed:
            return fixed[name, k]
        if extent == 1:
            return 0
        index = self.text.index(f"{name}{k}" if packed else name)
        held = IndexName(index.single() or "")
        scope.ranges[held], scope.bases[held] = extent, (name, k)
        return index

    def locals(self, scope: Scope, formula: skript_tree.Formula) -> None:
        """The values of `with`."""
        for name, value in formula.named:
            scope.evaluate.values[name] = scope.evaluate.known(value)

    def value(self, scope: Scope, formula: skript_tree.Formula) -> Any:
        """The right side. Where an index may be outside, and what is there would change more than its
        term, the condition stands before all of it.
        """
        scope.conditions.clear()
        found = self._evaluated(scope, formula)
        if not scope.conditions:
            return found
        neutral = neutral_text(formula.operator, self.text, kind_of(found))
        if isinstance(found, Term) and found.outside == neutral and neutral:
            return found
        conditions: list[Any] = []
        scope.evaluate.on_read = lambda tensor, indices: self._plain_read(conditions, tensor, indices)
        found = self._evaluated(scope, formula)
        if formula.operator not in _REDUCTIONS or isinstance(found, list):
            raise Refusal("`|index|` leaves elements out of a sum or another reduction, and this is none")
        if False in conditions:  # this place is outside for all indices, so every term is left out
            kind = kind_of(found)
            alone = Term(neutral, "int") if neutral in ("0", "1") else Term(neutral, kind)
            return converted(kind, alone, self.text.dtypes)
        if not conditions:
            return found
        together = conditions[0]
        for each in conditions[1:]:
            together = logical("&&", together, each)
        return chosen(together, found, Term(neutral, kind_of(found)))

    def _evaluated(self, scope: Scope, formula: skript_tree.Formula) -> Any:
        self.locals(scope, formula)
        return scope.evaluate.known(formula.value)

    def _plain_read(self, conditions: list[Any], tensor: Tensor, indices: list[Any]) -> Any:
        """An element whose edges are conditions of the whole term."""
        plain = []
        for index, extent in zip(indices, tensor.shape):
            if isinstance(index, Edge) and index.low is None:
                found = inside(index.index, extent)
                conditions += [found] if found is not True and found not in conditions else []
                index = index.index
            plain.append(index)
        return self.on_read(Scope(self.evaluate), tensor, plain, "")

    def on_read(self, scope: Scope, tensor: Tensor, indices: list[Any], neutral: str) -> Any:
        """An element of a tensor, whose indices may have edges."""
        plain, guarded = [], False
        for index, extent in zip(indices, tensor.shape):
            if isinstance(index, Edge) and index.low is not None:
                by_data = isinstance(index.index, Term)
                index = remapped(index, extent)
                index = self._held(index, extent) if by_data and isinstance(index, Term) else index
            elif isinstance(index, Edge):
                guarded = guarded or not is_inside(index.index, extent, scope.ranges)
                index = index.index
            elif isinstance(index, Term):
                index = self._held(index, extent)
            elif unsteady(index):
                index = self._steady(scope, tensor, len(tensor.prefix) + len(plain), index)
            plain.append(index)
        found = read(tensor, plain)
        if not guarded:
            return found
        scope.conditions.append(tensor)
        if tensor.kind == "int" and neutral.strip("-") in ("inf", ""):
            neutral = neutral_text("<?=" if neutral == "inf" else ">?=", self.text, "int")
        return Term(f"{found.text[:-1]} | {neutral or '0'}]", found.kind, outside=neutral)

    def _steady(self, scope: Scope, tensor: Tensor, at: int, index: Size) -> Any:
        """An index that is multiplied by a size: it runs through its values, or is one of a group."""
        names = unsteady(index)
        if all(isinstance(scope.ranges.get(n), int) for n in names):
            raise NeedsUnrolling(set(names))
        return self.text.grouped(tensor.name, at, index, {**scope.ranges, **dict(self.text.loops)})

    def _held(self, index: Term, extent: Whole) -> Term:
        """An index that is data: an input has it as its range, others are held inside."""
        if index.source and self.text.in_range(index.source, extent):
            return index
        if index.text.startswith("clamp("):
            return index
        return Term(f"clamp({index.text}, 0, {text_of(extent - 1)})", "int")

    def _left(self, scope: Scope, formula: skript_tree.Formula) -> tuple[Any, list[Any]]:
        """The tensor on the left and its indices."""
        self.locals(scope, formula)
        target = formula.target
        if isinstance(target, skript_tree.Index):
            raise self.evaluate.refused(
                target, "an element of a tensor of one dimension is `y[i,]`, with a comma"
            )
        if not isinstance(target, skript_tree.Access):
            raise self.evaluate.refused(target, "on the left stands an element, as in `y[i..]`")
        tensor = self._assigned(scope, target)
        if isinstance(tensor, Stacked):
            tensor = [tensor.item(k) for k in range(self.evaluate.count(tensor.count))]
        some = tensor[0] if isinstance(tensor, list) and tensor else tensor
        if not isinstance(some, Tensor):
            raise self.evaluate.refused(target, "on the left stands an element of an output")
        indices = scope.evaluate.indices(some, target.indices)
        if indices is None:
            raise self.evaluate.refused(target, "an index on the left is absent")
        return tensor, indices

    def _assigned(self, scope: Scope, target: skript_tree.Access) -> Any:
        """The tensor that a formula assigns to."""
        named = target.x
        if isinstance(named, skript_tree.Named) and named.name.partition(".")[0] not in scope.evaluate.values:
            outputs = ", ".join(o.name for o in self.evaluate.operator.block("output"))
            raise self.evaluate.refused(
                named,
                f"`{named.name}` is no output of the operator, which has {outputs}",
                "let another operator have it as its output, and call both in @compose",
            )
        return scope.evaluate.known(target.x)

    def _assign(self, scope: Scope, formula: skript_tree.Formula, tensor: Any, left: list[Any]) -> None:
        if formula.condition is not None:
            raise self.evaluate.refused(
                formula.condition, "elements that a condition selects: how many there are depends on data"
            )
        value = self.value(scope, formula)
        for one, indices, item in spread(tensor, left, value):
            names = names_of_all([*one.prefix, *indices])
            if any(isinstance(i, (Edge, Term)) for i in indices):
                raise self.evaluate.refused(formula.target, "`=` defines elements whose places are known")
            missing = [n for n in scope.ranges if n not in names]
            small = {n for i in indices for n in unsteady(i) if isinstance(scope.ranges.get(n), int)}
            if small and all(n in small for i in indices for n in unsteady(i)):
                raise NeedsUnrolling(set(small))
            if missing:
                raise self.evaluate.refused(formula.target, f"an element is defined for each `{missing[0]}`")
            self.define(one, indices, item, scope)

    def define(self, tensor: Tensor, left: list[Any], value: Any, scope: Scope) -> None:
        """An equation with `=`."""
        names = names_of_all([*tensor.prefix, *left])
        ranges = [(n, e) for n, e in scope.ranges.items() if n in names]
        self.text.define(tensor, left, self.stored(tensor, value), ranges)

    def stored(self, tensor: Tensor, value: Any) -> str:
        """A value as the text of an element of a tensor."""
        if value is None or isinstance(value, list):
            raise Refusal("an element is one number that is there")
        held = term(value)
        if held.kind != tensor.kind:
            raise Refusal(
                f"`{tensor.name}` is {tensor.kind}, the value is {held.kind}", f"{tensor.kind}(...)"
            )
        narrow = held.kind == "int" and self.text.dtypes["int"] != "i64" and isinstance(value, (Term, Size))
        return f"{self.text.dtypes['int']}({held.text})" if narrow else held.text

    def _accumulate(
        self,
        scope: Scope,
        formula: skript_tree.Formula,
        start: skript_tree.Formula | None,
        fixed: dict[Any, Any],
        tensor: Any,
        left: list[Any],
    ) -> None:
        if formula.condition is not None:
            raise self.evaluate.refused(formula.condition, "a condition on what is accumulated")
        if isinstance(tensor, list) or any(isinstance(i, list) or i is WHOLE_DIMENSION for i in left):
            raise self.evaluate.refused(formula.target, "an accumulation into a pack of elements at once")
        if not is_bare(left, tensor, scope):
            digits = mixed_digits(left, tensor, scope, self.text)
            if digits:
                self._write(formula, start, {**fixed, **digits})
                return
            self._update(scope, formula, start, tensor, left)
            return
        value = self._reduced(scope, formula, names_of_all([*tensor.prefix, *left]), fixed)
        if start is not None:
            value = self._from(start, fixed, left, value, formula.operator)
        self.define(tensor, left, value, scope)

    def _reduced(
        self, scope: Scope, formula: skript_tree.Formula, kept: set[str], fixed: dict[Any, Any]
    ) -> Any:
        """The reduction of the right side over what is not on the left."""
        try:
            value = self.value(scope, formula)
        except NeedsUnrolling as needed:
            running = self._running(scope, needed)
            if running in kept:
                raise
            return self._folded(scope, formula, kept, fixed, running)
        over = [f"{n} in 0..{text_of(e, tight=True)}" for n, e in scope.ranges.items() if n not in kept]
        if not over:
            return value
        held = term(value)
        word = _REDUCTIONS[formula.operator]
        return Term(f"{word}({', '.join(over)}: {held.text})", held.kind)

    def _folded(
        self,
        scope: Scope,
        formula: skript_tree.Formula,
        kept: set[str],
        fixed: dict[Any, Any],
        running: IndexName,
    ) -> Any:
        """A reduction over a pack: its items one by one."""
        same = {
            scope.bases[n]: Size({(n,): 1}) for n in scope.ranges if n in kept
        }  # the indices on the left stay what they are
        total = None
        for k in range(self.evaluate.count(scope.ranges[running])):
            at: dict[Any, Any] = {**fixed, **same, scope.bases[running]: k}
            value = self._reduced(self.scope(formula, at), formula, kept, at)
            total = value if total is None else binary(_FOLDS[formula.operator], total, value)
        if total is None:
            return Term(neutral_text(formula.operator, self.text, "real"), "real")
        return total

    def _from(
        self, start: skript_tree.Formula, fixed: dict[Any, Any], left: list[Any], value: Any, operator: str
    ) -> Any:
        """An accumulated value behind the one that it starts from."""
        first = self.start_value(start, fixed, left)
        held = term(first)
        if held.text in (neutral_text(operator, self.text, held.kind), "0.0" if operator == "+=" else "1.0"):
            return value
        return binary(_FOLDS[operator], first, value)

    def start_value(self, start: skript_tree.Formula, fixed: dict[Any, Any], left: list[Any]) -> Any:
        """The right side of a formula with `=`, at an element."""
        scope = self.scope(start, {n: v for n, v in fixed.items() if isinstance(n, str)})
        _, indices = self._left(scope, start)
        at: dict[Any, Any] = {n: v for n, v in fixed.items() if isinstance(n, str)}
        for mine, wanted in zip(indices, left):
            name = mine.single() if isinstance(mine, Size) else None
            if name in scope.bases:
                at[scope.bases[name]] = wanted  # type: ignore[index]
        return self.value(self.scope(start, at), start)

    def _update(
        self,
        scope: Scope,
        formula: skript_tree.Formula,
        start: skript_tree.Formula | None,
        tensor: Tensor,
        left: list[Any],
    ) -> None:
        """`+=` of elements that are named several times."""
        operator = _UPDATES.get(formula.operator)
        if operator is None:
            raise self.evaluate.refused(
                formula, f"`{formula.operator}` of elements that are named more than once"
            )
        names = names_of_all([i.index if isinstance(i, Edge) else i for i in left])
        words = {w for i in left if isinstance(i, Term) for w in re.findall(r"\w+", i.text)}
        names |= words.intersection(scope.ranges)
        value = self.stored(tensor, self._reduced(scope, formula, names, {}))
        if start is not None:
            self._write(start, None, {})
        else:
            self.fill(tensor, neutral_text(formula.operator, self.text, tensor.kind))
        drops = any(isinstance(i, Edge) for i in left)
        if any(isinstance(i, Edge) and i.low is not None for i in left):
            raise self.evaluate.refused(formula.target, "`<>` on the left")
        plain = [i.index if isinstance(i, Edge) else i for i in self.held_inside(tensor, left)]
        ranges = [(n, e) for n, e in scope.ranges.items() if n in names]
        self.text.define(tensor, plain, value, ranges, operator, drops)

    def held_inside(self, tensor: Tensor, left: list[Any]) -> list[Any]:
        """Indices on the left, those that are data held inside."""
        return [self._held(i, e) if isinstance(i, Term) else i for i, e in zip(left, tensor.shape)]

    def fill(self, tensor: Tensor, value: str) -> list[Any]:
        """Give all elements a value, which may be of the indices that are returned by `whole`."""
        left, ranges = self.whole(tensor)
        self.text.define(tensor, left, value, ranges)
        return left

    def whole(self, tensor: Tensor) -> tuple[list[Any], list[tuple[IndexName, Whole]]]:
        """Indices of all elements of a tensor, for an equation of their own."""
        self.text.here = set()
        left: list[Any] = [0 if e == 1 else self.text.index(f"i{k}") for k, e in enumerate(tensor.shape)]
        ranges = [(IndexName(i.single() or ""), e) for i, e in zip(left, tensor.shape) if isinstance(i, Size)]
        return left, ranges

    def _stack_packs(self) -> None:
        """Packs of tensors of one shape become parts of one tensor.

        Raises:
            CheckError: there is none.
        """
        values, found = self.evaluate.values, False
        for name, pack in list(values.items()):
            if isinstance(pack, list) and pack and all(isinstance(t, Tensor) for t in pack):
                if all(t.shape == pack[0].shape and t.kind == pack[0].kind for t in pack):
                    values[name], found = self.stacked(name, pack), True
        if not found:
            raise self.evaluate.refused(self.evaluate.operator, "a pack is indexed by an index that runs")

    def stacked(self, name: str, pack: list[Tensor]) -> Stacked:
        """A tensor that holds those of a pack."""
        whole = self.text.tensor(name, pack[0].kind, [len(pack), *pack[0].shape])
        for k, each in enumerate(pack):
            left, ranges = self.whole(each)
            self.text.define(whole, [k, *left], term(read(each, left)).text, ranges)
        return Stacked(whole, len(pack))


def _root(formula: skript_tree.Formula) -> str:
    part = formula.target
    while isinstance(part, (skript_tree.Access, skript_tree.Index)):
        part = part.x
    return part.name if isinstance(part, skript_tree.Named) else ""
