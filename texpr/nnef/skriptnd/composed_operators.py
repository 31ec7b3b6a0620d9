"""Operators of SkriptND become parts of a text: by their formulas, or by the operators that they are
composed of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from texpr.nnef.skriptnd.component_steps import ComponentRunner
from texpr.nnef.skriptnd.expression_evaluation import Evaluator, UnknownName
from texpr.nnef.skriptnd.formula_equations import FormulaWriter
from texpr.nnef.skriptnd.operator_text import OperatorText
from texpr.nnef.skriptnd.runtime_terms import AllOf, AnyOf, Stacked, Tensor, Unsure, is_whole
from texpr.nnef.skriptnd.scalar_terms import Refusal, kind_of, term
from texpr.nnef.skriptnd.shape_binding import KINDS, Binding
from texpr.nnef.skriptnd.size_polynomials import Whole
from texpr.nnef.syntax import skript_tree
from texpr.support.errors import CheckError

DEEPEST = 40
"""Operators that are composed of others, inside each other."""
NO_FORMULA = "its definition has neither @lower nor @compose: what it computes is not said"


class Instance:
    """An operator with its arguments, while it becomes a part of a text.

    Args:
        find: gives the operator of a name in a module.
        text: takes the equations.
        finals: names of the text's outputs, by the names of this operator's.
        hints: names for tensors that are none.
        top: it is the whole operator, not a part of another one.
    """

    def __init__(
        self,
        operator: skript_tree.Operator,
        find: Callable[[skript_tree.Operator, str], skript_tree.Operator | None],
        text: OperatorText,
        finals: dict[str, str],
        hints: dict[str, str],
        depth: int = 0,
        top: bool = False,
    ) -> None:
        self.operator, self.find, self.text = operator, find, text
        self.finals, self.hints, self.depth, self.top = finals, hints, depth, top
        self.values: dict[str, Any] = {}
        self.evaluate = Evaluator(operator, self.values, {}, dict(text.dtypes))
        if depth > DEEPEST:
            raise self.refused(operator, f"operators are composed more than {DEEPEST} deep")

    def refused(self, part: skript_tree.Part, message: str, help: str = "") -> CheckError:  # noqa: A002
        """The error for a part of the definition."""
        return self.evaluate.refused(part, f"{self.operator.name}: {message}", help)

    def part(self, called: skript_tree.Operator, finals: dict[str, str], hints: dict[str, str]) -> Instance:
        """An operator that is invoked in it."""
        return Instance(called, self.find, self.text, finals, hints, self.depth + 1)

    def run(self, attributes: dict[str, Any], arguments: list[Any], types: dict[str, str]) -> dict[str, Any]:
        """Its outputs by name.

        Raises:
            CheckError: the arguments do not fit, or the definition has what the language has not.
            Unified: two sizes are one.
        """
        inputs = self.operator.block("input")
        arguments = self._arguments(inputs, arguments)
        self._types(inputs, arguments, attributes, types)
        binding = Binding(self.evaluate, self.text, self.top)
        known = {a.name for a in self.operator.block("attrib")}
        for name in attributes:
            if name not in known:
                raise self.refused(self.operator, f"it has no attribute `{name}`", _list(known))
        binding.attributes(attributes)
        self._early_helpers()
        given = [None if isinstance(a, _Default) else a for a in arguments]
        binding.shapes(inputs, given)
        binding.finish()
        self._helpers()
        for each, argument in zip(inputs, arguments):
            if isinstance(argument, _Default):
                value = self.evaluate.known(each.default)
                self.values[each.name] = Tensor("", kind_of(value), self.shape(each), value=value)
        self._variables()
        if "lower" in self.operator.blocks:
            return self._lowered()
        if "compose" in self.operator.blocks:
            return self._composed()
        raise self.refused(self.operator, NO_FORMULA)

    def _arguments(self, inputs: list[skript_tree.Parameter], arguments: list[Any]) -> list[Any]:
        if len(arguments) > len(inputs):
            raise self.refused(
                self.operator,
                f"it takes {len(inputs)} inputs; found {len(arguments)}",
                _list(i.name for i in inputs),
            )
        found = [*arguments, *[None] * (len(inputs) - len(arguments))]
        for k, each in enumerate(inputs):
            if found[k] is None and not each.type.optional:
                if each.default is None:
                    raise self.refused(each, f"the input `{each.name}` is missing")
                found[k] = _Default()
        return found

    def _types(
        self,
        inputs: list[skript_tree.Parameter],
        arguments: list[Any],
        attributes: dict[str, Any],
        types: dict[str, str],
    ) -> None:
        """Find what generic types are, and check the types of tensors."""
        kinds = self.evaluate.kinds
        declared = {k.name: k for k in self.operator.block("dtype")}
        kinds.update({n: t for n, t in types.items() if n in declared})
        for each, argument in zip(inputs, arguments):
            for item in argument if isinstance(argument, list) else [argument]:
                held = item.whole if isinstance(item, Stacked) else item
                if isinstance(held, Tensor):
                    self._kind(each, held.kind)
        for each in self.operator.block("attrib"):
            value = attributes.get(each.name)
            value = value[0] if isinstance(value, (list, tuple)) and value else value
            if each.type.name in declared and value is not None and not isinstance(value, (list, tuple)):
                kinds.setdefault(each.type.name, kind_of(value))
        for name, kind in declared.items():
            kinds.setdefault(name, kind.default or "real")
            if kinds[name] not in KINDS.get(kind.base, (kind.base,)):
                raise self.refused(kind, f"`{name}` is {kind.base}; found {kinds[name]}")

    def _kind(self, parameter: skript_tree.Parameter, kind: str) -> None:
        name = parameter.type.name
        generic = any(k.name == name for k in self.operator.block("dtype"))
        wanted = self.evaluate.kinds.setdefault(name, kind) if generic else name
        if wanted != kind:
            raise self.refused(parameter, f"`{parameter.name}` is {wanted}; found {kind}")

    def kind(self, parameter: skript_tree.Parameter) -> str:
        """The type of a parameter's elements."""
        kind = self.evaluate.kinds.get(parameter.type.name, parameter.type.name)
        if kind == "str":
            raise self.refused(parameter, "tensors of texts")
        return kind

    def _early_helpers(self) -> None:
        """Evaluate those of `@using` that attributes alone say: the shapes of inputs may need them."""
        for each in self.operator.block("using"):
            if isinstance(each.target, skript_tree.Named):
                try:
                    self.values[each.target.name] = self.evaluate.value(each.value)
                except UnknownName:
                    continue

    def _helpers(self) -> None:
        """`@using` and `@assert`: a condition as soon as its names are known."""
        waiting = list(self.operator.block("assert"))
        for each in self.operator.block("using"):
            waiting = [a for a in waiting if not self._holds(a)]
            self._bind(each.target, self.evaluate.known(each.value))
        for each in waiting:
            self._holds(each)

    def _bind(self, target: Any, value: Any) -> None:
        if isinstance(target, skript_tree.Named):
            self.values[target.name] = value
            return
        if not isinstance(value, list):
            raise self.refused(target, "names for items need a pack")
        packed = [t for t in target.items if isinstance(t, skript_tree.Expand)]
        if len(packed) > 1 or (not packed and len(target.items) != len(value)):
            raise self.refused(target, f"{len(value)} items for {len(target.items)} names")
        rest = len(value) - (len(target.items) - len(packed))
        at = 0
        for each in target.items:
            if isinstance(each, skript_tree.Expand) and isinstance(each.x, skript_tree.Zip):
                columns = len(each.x.items)
                for k, name in enumerate(each.x.items):
                    self.values[name.name] = value[at : at + rest][k::columns]
                at += rest
            elif isinstance(each, skript_tree.Expand):
                self.values[each.x.name] = value[at : at + rest]
                at += rest
            else:
                self.values[each.name] = value[at]
                at += 1

    def _holds(self, assertion: skript_tree.Assertion) -> bool:
        """False if a name in it is not known yet.

        Raises:
            CheckError: it does not hold.
        """
        try:
            found = self.evaluate.value(assertion.condition)
        except UnknownName:
            return False
        for each in found if isinstance(found, list) else [found]:
            if each is None:
                continue
            if not isinstance(each, (bool, Unsure, AllOf, AnyOf)):
                raise self.refused(assertion, "a condition is a truth value of sizes")
            if not self.text.require(each):
                said = self.evaluate.formatted(assertion.message) or "its condition does not hold"
                shown = [self._shown(p) for p in assertion.shown]
                raise self.refused(assertion, said + (f"; {', '.join(shown)}" if shown else ""))
        return True

    def _shown(self, part: skript_tree.Part) -> str:
        source = self.operator.source.text[part.start : part.stop]
        return f"{source} is {self.evaluate.formatted('{' + source + '}')}"

    def shape(self, parameter: skript_tree.Parameter) -> list[Whole]:
        """The shape that a declaration says."""
        found: list[Whole] = []
        for extent in parameter.type.shape or []:
            if isinstance(extent.value, skript_tree.Omitted) or (
                extent.bound is not None and self._is_new(extent)
            ):
                raise self.refused(extent, "how large an output is depends on data")
            value = self.evaluate.known(extent.value)
            if extent.count is not None and not isinstance(value, list):
                count = self.evaluate.known(extent.count)
                value = [value] * (int(count) if isinstance(count, bool) else self.evaluate.count(count))
            items = value if isinstance(value, list) else [] if value is None else [value]
            for each in items:
                if not is_whole(each) or (isinstance(each, int) and each < 0):
                    raise self.refused(extent, f"a dimension is a whole number of at least 0; found {each}")
            found += items
        return found

    def _is_new(self, extent: skript_tree.Extent) -> bool:
        return isinstance(extent.value, skript_tree.Named) and extent.value.name not in self.values

    def _variables(self) -> None:
        for each in self.operator.block("variable"):
            self.values[each.name] = self.text.given(each.name, self.kind(each), self.shape(each))
        for each in self.operator.block("constant"):
            if each.default is None:
                raise self.refused(each, f"the constant `{each.name}` has no value", "write it behind `=`")
            try:
                self.values[each.name] = self._constant(each)
            except Refusal as refusal:
                error = self.refused(each, refusal.message, refusal.help)
            else:
                continue
            raise error

    def _constant(self, each: skript_tree.Parameter) -> Tensor:
        shape = self.shape(each)
        if not each.bounds:
            value = self.evaluate.known(each.default)
            if not isinstance(value, list):
                return Tensor("", self.kind(each), shape, value=value)
        tensor = self.text.tensor(each.name, self.kind(each), shape)
        if not each.bounds:
            self._listed(each, tensor, value)
            return tensor
        formula = skript_tree.Formula(
            each.start, each.stop, None, [], each.default, "=", each.default, each.bounds, None
        )
        writer = FormulaWriter(self.evaluate, self.text)
        scope = writer.scope(formula, {})
        left = scope.evaluate.entries([_expanded(n, scope.evaluate.values, each) for n, _ in each.bounds])
        writer.define(tensor, left, writer.value(scope, formula), scope)
        return tensor

    def _listed(self, each: skript_tree.Parameter, tensor: Tensor, value: list[Any]) -> None:
        elements = math.prod(self.evaluate.count(extent) for extent in tensor.shape)
        if elements != len(value):
            raise self.refused(each, f"{len(value)} values for {elements} elements")
        places = product(*(range(self.evaluate.count(extent)) for extent in tensor.shape))
        for place, item in zip(places, value):
            self.text.define(tensor, list(place), term(item).text, [])

    def _lowered(self) -> dict[str, Any]:
        found = {}
        for each in self.operator.block("output"):
            found[each.name] = self.values[each.name] = self._output(each)
        FormulaWriter(self.evaluate, self.text).write_all(self.operator.block("lower"))
        return {n: self.values[n] for n in found}

    def _output(self, each: skript_tree.Parameter) -> Any:
        kind = self.kind(each)
        if not each.type.packed:
            return self._made(each.name, kind, self.shape(each))
        count = self.evaluate.known(each.type.length) if each.type.length is not None else None
        spread = [e for e in each.type.shape or [] if e.spread]
        if not is_whole(count):
            raise self.refused(each, "how many tensors a pack has is not said")
        if spread or each.name in self.finals:
            shapes = self._shapes(each, spread, self.evaluate.count(count))
            if each.name not in self.finals and all(s == shapes[0] for s in shapes) and shapes:
                return self._pack(each.name, kind, count, shapes[0])
            return [self._made(each.name, kind, s, k) for k, s in enumerate(shapes)]
        return self._pack(each.name, kind, count, self.shape(each))

    def _pack(self, name: str, kind: str, count: Any, shape: list[Whole]) -> Stacked:
        whole = self.text.tensor(self.hints.get(name, name), kind, [count, *shape])
        return Stacked(whole, count)

    def _shapes(
        self, each: skript_tree.Parameter, spread: list[skript_tree.Extent], count: int
    ) -> list[list[Whole]]:
        packs = {e.value.name: self.evaluate.known(e.value) for e in spread}
        found = []
        for k in range(count):
            held = {n: self.values.get(n) for n in packs}
            self.values.update({n: p[k] if isinstance(p, list) else p for n, p in packs.items()})
            found.append(self.shape(each))
            self.values.update(held)
        return found

    def _made(self, name: str, kind: str, shape: list[Whole], k: int | None = None) -> Tensor:
        suffix = "" if k is None else f"_{k}"
        if name in self.finals and not self.text.loops:
            final = self.finals[name] + suffix
            self.text.used.add(final)
            return self.text.tensor(final, kind, shape, final=True)
        return self.text.tensor(self.hints.get(name, name) + suffix, kind, shape)

    def _composed(self) -> dict[str, Any]:
        runner = ComponentRunner(self)
        names = [o.name for o in self.operator.block("output")]
        runner.run(self.operator.block("compose"), names)
        for name in names:
            if name not in runner.values:
                raise self.refused(self.operator, f"@compose gives no `{name}`")
        found = {n: runner.values[n] for n in names}
        if self.top:
            found.update(runner.updates(self.operator.block("update")))
        return found


class _Default:
    """An input that takes its default."""


def _list(names: Any) -> str:
    return f"it has {', '.join(f'`{n}`' for n in sorted(names))}" if names else ""


def _expanded(name: str, values: dict[str, Any], at: skript_tree.Part) -> skript_tree.Part:
    named = skript_tree.Named(at.start, at.stop, name)
    return skript_tree.Expand(at.start, at.stop, named, None) if isinstance(values[name], list) else named
