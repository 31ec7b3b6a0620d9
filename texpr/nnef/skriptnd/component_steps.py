"""Components of `@compose`: invocations, branches and loops. A loop becomes a recurrence: what its body
makes has a further dimension, along which the carried values go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from texpr.nnef.skriptnd.expression_evaluation import Evaluator, read
from texpr.nnef.skriptnd.formula_equations import FormulaWriter
from texpr.nnef.skriptnd.operator_text import OperatorText
from texpr.nnef.skriptnd.runtime_terms import Stacked, Tensor, is_whole
from texpr.nnef.skriptnd.scalar_terms import as_tensor, chosen, kind_of, term
from texpr.nnef.skriptnd.size_polynomials import IndexName, Size, Whole
from texpr.nnef.syntax import skript_tree
from texpr.support.errors import CheckError


class Composed(Protocol):
    """An operator whose components are run.

    Attributes:
        finals, hints: names of the text's outputs, and of other tensors, by its own names.
    """

    operator: skript_tree.Operator
    find: Callable[[skript_tree.Operator, str], skript_tree.Operator | None]
    text: OperatorText
    evaluate: Evaluator
    values: dict[str, Any]
    finals: dict[str, str]
    hints: dict[str, str]

    def refused(self, part: skript_tree.Part, message: str, help: str = "") -> CheckError:  # noqa: A002
        """The error for a part of it."""
        ...

    def shape(self, parameter: skript_tree.Parameter) -> list[Whole]:
        """The shape that a declaration says."""
        ...

    def part(self, called: skript_tree.Operator, finals: dict[str, str], hints: dict[str, str]) -> Composed:
        """An operator that is invoked in it."""
        ...

    def run(self, attributes: dict[str, Any], arguments: list[Any], types: dict[str, str]) -> dict[str, Any]:
        """Its outputs."""
        ...


class ComponentRunner:
    """Runs the components of one operator.

    Args:
        owner: the operator; its values are copied.

    Attributes:
        values: names that have a value, tensors among them.
    """

    def __init__(self, owner: Composed, values: dict[str, Any] | None = None) -> None:
        self.owner, self.text = owner, owner.text
        self.values = dict(owner.values) if values is None else values
        base = owner.evaluate
        self.evaluate = Evaluator(base.operator, self.values, base.kinds, base.dtypes)
        self.writer = FormulaWriter(self.evaluate, self.text)

    def run(self, components: list[skript_tree.Component], outputs: list[str]) -> None:
        """Run components in their order.

        Args:
            outputs: names of the operator's outputs, which are not hidden.
        """
        for each in components:
            names = [
                t.name if isinstance(t, skript_tree.Target) and not t.items else "" for t in each.targets
            ]
            found = self._right(each.right, names, outputs)
            if len(found) != len(each.targets):
                if len(each.targets) == 1 and isinstance(each.targets[0], skript_tree.Target):
                    found = [found] if each.targets[0].items or each.targets[0].packed else found
                if len(found) != len(each.targets):
                    raise self.owner.refused(each, f"{len(found)} results for {len(each.targets)} names")
            for target, value in zip(each.targets, found):
                self._assign(target, value)

    def updates(self, components: list[skript_tree.Component]) -> dict[str, Any]:
        """New values of variables, by the names of outputs."""
        before = {v.name: self.values[v.name] for v in self.owner.operator.block("variable")}
        self.run(components, [])
        return {f"{n}_new": self.values[n] for n in before if self.values[n] is not before[n]}

    def _assign(self, target: Any, value: Any) -> None:
        if isinstance(target, skript_tree.Omitted):
            return
        if not target.items:
            self.values[target.name] = value
            return
        if isinstance(value, Stacked):
            value = [value.item(k) for k in range(self.evaluate.count(value.count))]
        if not isinstance(value, list) or len(value) != len(target.items):
            raise self.owner.refused(
                target, f"these are {len(target.items)} names for another number of tensors"
            )
        for name, item in zip(target.items, value):
            self._assign(name, item)

    def _right(self, right: Any, names: list[str], outputs: list[str]) -> list[Any]:
        if isinstance(right, skript_tree.Branch):
            return self._branch(right, names, outputs)
        if isinstance(right, skript_tree.Loop):
            return self._loop(right, names)
        if isinstance(right, skript_tree.Scope):
            inner = ComponentRunner(self.owner, dict(self.values))
            inner.run(right.components, [])
            return [inner.evaluate.known(v) for v in right.values]
        return self._step(right.value, names, outputs)

    def _step(self, value: Any, names: list[str], outputs: list[str]) -> list[Any]:
        called = self._called(value)
        if called is None:
            return [self.evaluate.known(value)]
        declared = [o.name for o in called.block("output")]
        finals: dict[str, str] = {}
        hints: dict[str, str] = {}
        for output, name in zip(declared, names):
            if name in outputs and name in self.owner.finals:
                finals[output] = self.owner.finals[name]
            elif name:
                hints[output] = self.owner.hints.get(name, name)
        arguments = [self._argument(a) for a in value.arguments]
        attributes = {n: self.evaluate.known(v) for n, v in value.attributes.items()}
        attributes = {n: v for n, v in attributes.items() if v is not None}
        kinds = [k.name for k in called.block("dtype")]
        types = {n: str(self.evaluate.kinds.get(t, t)) for n, t in zip(kinds, value.types)}
        found = self.owner.part(called, finals, hints).run(attributes, arguments, types)
        return [found[n] for n in declared]

    def _called(self, value: Any) -> skript_tree.Operator | None:
        if not isinstance(value, skript_tree.Invocation):
            return None
        called = self.owner.find(self.owner.operator, value.name)
        if called is None and (value.attributes or not self.evaluate.is_function(value.name)):
            raise self.owner.refused(
                value,
                f"there is no operator `{value.name}`",
                "load the folder that has its module, and import that"
                if "." in value.name
                else "operators of other files are written with their module: module.operator",
            )
        return called

    def _argument(self, part: Any) -> Any:
        value = self.evaluate.known(part)
        return [as_tensor(v) for v in value] if isinstance(value, list) else as_tensor(value)

    def _condition(self, step: Any) -> Any:
        found = self._right(step, [], [])
        return found[0] if len(found) == 1 else None

    def _branch(self, branch: skript_tree.Branch, names: list[str], outputs: list[str]) -> list[Any]:
        condition = self._condition(branch.condition)
        if isinstance(condition, bool):
            return self._right(branch.yes if condition else branch.no, names, outputs)
        if not isinstance(condition, Tensor) or condition.kind != "bool" or condition.shape:
            raise self.owner.refused(branch.condition, "a condition is a truth value, or a tensor of one")
        yes, no = (self._right(side, names, []) for side in (branch.yes, branch.no))
        return [
            self._merged(branch, condition, a, b, n) for a, b, n in zip(yes, no, [*names, *[""] * len(yes)])
        ]

    def _merged(self, branch: skript_tree.Branch, condition: Tensor, yes: Any, no: Any, name: str) -> Tensor:
        """The one or the other tensor, by data."""
        yes, no = as_tensor(yes), as_tensor(no)
        if not isinstance(yes, Tensor) or not isinstance(no, Tensor) or yes.shape != no.shape:
            raise self.owner.refused(branch, "the branches give tensors of different shapes")
        made = self.text.tensor(name or "either", yes.kind, yes.shape)
        left, ranges = self.writer.whole(made)
        value = chosen(term(read(condition, [])), read(yes, left), read(no, left))
        self.text.define(made, left, term(value).text, ranges)
        return made

    def _loop(self, loop: skript_tree.Loop, names: list[str]) -> list[Any]:
        if loop.tested:
            raise self.owner.refused(loop, "a loop that data ends: how often it runs is not known")
        scanned = [(name, self._pack(name, part)) for name, part in loop.scanned]
        count = self._loop_count(loop, scanned)
        index = self.text.index(loop.index or "step")
        held = IndexName(index.single() or "")
        carried = [
            self._first(name, kind, part, count, names, k)
            for k, (name, kind, part) in enumerate(loop.carried)
        ]
        self.text.loops.append((held, count))
        try:
            inner = ComponentRunner(self.owner, dict(self.values))
            for name, pack in scanned:
                inner.values[name] = pack.item(index)
            for (name, _, _), whole in zip(loop.carried, carried):
                inner.values[name] = Tensor(whole.name, whole.kind, whole.shape[1:], [*whole.prefix, index])
            if loop.index:
                inner.values[loop.index] = Tensor("", "int", [], value=index)
            found = inner._right(loop.body, [n and f"{n}_item" for n in names], [])
            self._carry(loop, carried, found, index)
            packs = [self._collected(loop, value, index, count) for value in found[len(carried) :]]
        finally:
            self.text.loops.pop()
        last = [Tensor(w.name, w.kind, w.shape[1:], [*w.prefix, count]) for w in carried]
        return [*last, *packs]

    def _loop_count(self, loop: skript_tree.Loop, scanned: list[tuple[str, Stacked]]) -> Whole:
        count: Any = scanned[0][1].count if scanned else None
        if loop.count is not None:
            said = self.evaluate.known(loop.count)
            if isinstance(said, Tensor):
                raise self.owner.refused(loop.count, "a loop whose count is data")
            count = count if said is None else said
        if not is_whole(count) or any(p.count != count for _, p in scanned):
            raise self.owner.refused(loop, "a loop runs over packs of one length, or has a count")
        return count

    def _pack(self, name: str, part: Any) -> Stacked:
        pack = self.evaluate.known(part)
        if isinstance(pack, list) and pack and all(isinstance(t, Tensor) for t in pack):
            if any(t.shape != pack[0].shape for t in pack):
                raise self.owner.refused(part, "a loop over tensors of different shapes")
            return self.writer.stacked(f"{name}_all", pack)
        if not isinstance(pack, Stacked):
            raise self.owner.refused(part, "a loop runs over a pack of tensors")
        return pack

    def _first(
        self, name: str, kind: skript_tree.Typed | None, part: Any, count: Whole, names: list[str], k: int
    ) -> Tensor:
        """The tensor of all values of a carried one, whose first is given."""
        value = self.evaluate.known(part)
        shape: list[Whole] = value.shape if isinstance(value, Tensor) else []
        if kind is not None and kind.shape is not None and not isinstance(value, Tensor):
            shape = self._typed_shape(kind)
        element = value.kind if isinstance(value, Tensor) else kind_of(value)
        whole = self.text.tensor(f"{name}_all", element, [count + 1, *shape])
        left, ranges = self.writer.whole(Tensor(whole.name, element, shape))
        first = read(value, left) if isinstance(value, Tensor) else value
        self.text.define(whole, [0, *left], term(first).text, ranges)
        return whole

    def _typed_shape(self, kind: skript_tree.Typed) -> list[Whole]:
        parameter = skript_tree.Parameter(kind.start, kind.stop, "", kind, None, [])
        owner = self.owner
        held, owner.evaluate.values = owner.evaluate.values, self.values
        try:
            return owner.shape(parameter)
        finally:
            owner.evaluate.values = held

    def _carry(self, loop: skript_tree.Loop, carried: list[Tensor], found: list[Any], index: Size) -> None:
        if len(found) < len(carried):
            raise self.owner.refused(loop, f"its body gives {len(found)} values, {len(carried)} are carried")
        for whole, value in zip(carried, found):
            if not isinstance(value, Tensor) or value.shape != whole.shape[1:] or value.kind != whole.kind:
                raise self.owner.refused(loop, "a carried value changes its shape or its type")
            left, ranges = self.writer.whole(Tensor(whole.name, whole.kind, whole.shape[1:]))
            self.text.define(whole, [index + 1, *left], term(read(value, left)).text, ranges)

    def _collected(self, loop: skript_tree.Loop, value: Any, index: Size, count: Whole) -> Stacked:
        """The values of all steps as a pack."""
        if not isinstance(value, Tensor):
            raise self.owner.refused(loop, "a step gives a pack")
        if value.name and value.prefix and value.prefix[-1] == index:
            return Stacked(Tensor(value.name, value.kind, [count, *value.shape], value.prefix[:-1]), count)
        made = self.text.tensor("steps", value.kind, value.shape)
        left, ranges = self.writer.whole(value)
        self.text.define(made, left, term(read(value, left)).text, ranges)
        return Stacked(Tensor(made.name, made.kind, [count, *made.shape], made.prefix[:-1]), count)
