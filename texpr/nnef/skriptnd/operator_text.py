"""The text of an operator of the language, while it is made: names, declarations, equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from texpr.ir.dtypes import DTYPES
from texpr.ir.functions import FUNCTIONS
from texpr.ir.printing.types import MARKS, RESERVED, unused
from texpr.nnef.skriptnd.expression_evaluation import index_text
from texpr.nnef.skriptnd.runtime_terms import AllOf, AnyOf, Tensor, Term, Unsure
from texpr.nnef.skriptnd.scalar_terms import Refusal, condition_text
from texpr.nnef.skriptnd.size_polynomials import (
    IndexName,
    Size,
    Whole,
    bounds_of_size,
    has_index,
    names_of,
    text_of,
    unsteady,
)
from texpr.support.errors import ResourceError

MOST_EQUATIONS = 4096
"""Of an operator."""
_WORDS = {*RESERVED, *MARKS, *FUNCTIONS, "max", "min", "abs", "sign", "clamp", "uniform", "normal"}
TAKEN = {*_WORDS, *DTYPES}
"""Words that are no names of tensors and sizes."""


class Unified(Exception):
    """A size must be another one: everything is done again with that one."""

    def __init__(self, name: str, size: Whole) -> None:
        super().__init__(name)
        self.name, self.size = name, size


class Unranged(Exception):
    """An integer input that is an index of several dimensions: everything is done again without a range
    of its values.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass
class Declared:
    """A tensor of the text.

    Attributes:
        groups: factors of dimensions that are written as groups.
        default: of an optional input.
        range: values of an integer input are below it.
    """

    name: str
    kind: str
    shape: list[Whole]
    default: str = ""
    range: Whole | None = None
    groups: dict[int, list[Whole]] = field(default_factory=dict)


@dataclass
class Equation:
    """`name[left] operator value for ranges`

    Attributes:
        left: an index for each dimension.
        ranges: indices with their extents.
        drops: what lies outside is left out.
        also: further tensors that are defined beside it.
    """

    name: str
    left: list[Any]
    operator: str
    value: str
    ranges: list[tuple[IndexName, Whole]]
    drops: bool = False
    also: tuple[str, ...] = ()


@dataclass
class OperatorText:
    """Parts of an operator's text.

    Attributes:
        dtypes: of `real`, `int` and `bool`.
        equal: sizes that stand for names.
        loops: indices of the loops around what is written, with their extents.
        conditions: what is required of sizes.
        used: names of tensors and sizes.
        kept: names of sizes that the caller gave.
        unranged: integer inputs whose values are not said to be in a range.
        indices, here: names of indices, and those of the equation that is being written.
    """

    name: str
    dtypes: Mapping[str, str]
    equal: dict[str, Whole] = field(default_factory=dict)
    inputs: list[Declared] = field(default_factory=list)
    outputs: dict[str, Declared] = field(default_factory=dict)
    others: dict[str, Declared] = field(default_factory=dict)
    equations: list[Equation] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    loops: list[tuple[IndexName, Whole]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    unranged: frozenset[str] = frozenset()
    kept: set[str] = field(default_factory=set)
    indices: set[str] = field(default_factory=set)
    here: set[str] = field(default_factory=set)

    def fresh(self, base: str) -> str:
        """A name that nothing has."""
        name = unused(base, {*self.used, *self.indices, *TAKEN})
        self.used.add(name)
        return name

    def index(self, base: str) -> Size:
        """An index that is new in the equation."""
        name = unused(base, {*self.used, *self.here, *_WORDS, *(n for n, _ in self.loops)})
        self.indices.add(name)
        self.here.add(name)
        return Size({(IndexName(name),): 1})

    def given(self, name: str, kind: str, shape: list[Whole], default: str = "") -> Tensor:
        """A new input."""
        held = Declared(self.fresh(name), kind, shape, default)
        self.inputs.append(held)
        return Tensor(held.name, kind, shape, given=True)

    def tensor(self, name: str, kind: str, shape: list[Whole], final: bool = False) -> Tensor:
        """A new tensor, with the dimensions of the loops around before its own; an output if it is
        final.
        """
        prefix: list[Whole] = [] if final else [Size.of(n) for n, _ in self.loops]
        whole = [] if final else [extent for _, extent in self.loops]
        held = Declared(self.fresh(name) if not final else name, kind, [*whole, *shape])
        (self.outputs if final else self.others)[held.name] = held
        return Tensor(held.name, kind, shape, prefix)

    def define(
        self,
        tensor: Tensor,
        left: list[Any],
        value: str,
        ranges: list[tuple[IndexName, Whole]],
        operator: str = "=",
        drops: bool = False,
        also: tuple[str, ...] = (),
    ) -> None:
        """An equation.

        Raises:
            ResourceError: there are too many.
            Refusal: an index is no whole number.
        """
        if len(self.equations) >= MOST_EQUATIONS:
            raise ResourceError(
                f"`{self.name}` has more than {MOST_EQUATIONS} equations",
                code="skriptnd",
                help="a pack with fewer items, or a size without a number",
            )
        whole = [*tensor.prefix, *left]
        names = names_of_all(whole)
        ranges = [*((n, e) for n, e in self.loops if n in names), *ranges]
        whole = [
            self.grouped(tensor.name, k, i, dict(ranges)) if unsteady(i) else i for k, i in enumerate(whole)
        ]
        for index in whole:
            index_text(index)  # refused here, where the place is known
        self.equations.append(Equation(tensor.name, whole, operator, value, ranges, drops, also))

    def require(self, condition: Any) -> bool:
        """Take a condition on sizes: False where it never holds.

        Raises:
            Unified: it says what a size is.
        """
        if isinstance(condition, bool):
            return condition
        if isinstance(condition, AllOf):
            return all([self.require(p) for p in condition.parts])
        if isinstance(condition, Unsure):
            if condition.operator == "==":
                _unify(condition.x, condition.y, self.kept)
        elif not isinstance(condition, AnyOf):
            raise Refusal("a condition on sizes may not depend on data")
        text = condition_text(condition)
        if text not in self.conditions:
            self.conditions.append(text)
        return True

    def in_range(self, name: str, extent: Whole) -> bool:
        """Say that the values of an integer input are below an extent; False if that cannot be said.

        Raises:
            Unranged: it was said that they are below another one.
        """
        for each in self.inputs:
            if (
                each.name == name
                and each.kind == "int"
                and name not in self.unranged
                and not has_index(extent)
            ):
                if each.range is not None and each.range != extent:
                    raise Unranged(name)
                each.range = extent
                return True
        return False

    def grouped(self, name: str, at: int, index: Size, ranges: Mapping[IndexName, Whole]) -> Any:
        """An index as a group of indices, where it is one: then the dimension is written as one too."""
        held = next(
            (d for d in [*self.inputs, *self.outputs.values(), *self.others.values()] if d.name == name), None
        )
        digits = digits_of(index, held.shape[at], ranges) if held is not None else None
        if held is None or digits is None:
            return index
        sizes = [ranges[n] for n, _ in digits]
        if held.groups.setdefault(at, sizes) != sizes:
            raise Refusal(
                f"`{name}` is reshaped in two ways for sizes that are open", "give numbers for its sizes"
            )
        return Term(f"({', '.join(n for n, _ in digits)})", "int")

    def text(self, name: str = "") -> str:
        """The whole text."""
        inputs = ", ".join(self._input(d) for d in self.inputs)
        outputs = ", ".join(self._typed(d) for d in self.outputs.values())
        outputs = f"({outputs})" if len(self.outputs) != 1 else outputs
        require = f" require {', '.join(self.conditions)}" if self.conditions else ""
        lines = [f"  let {self._typed(d)}" for d in self.others.values()]
        lines += [f"  {self._equation(e)}" for e in self.equations]
        body = "\n".join(lines)
        return f"op {name or self.name}({inputs}) -> {outputs}{require} {{\n{body}\n}}\n"

    def _typed(self, held: Declared) -> str:
        dims = [
            f"({', '.join(text_of(e) for e in held.groups[k])})" if k in held.groups else text_of(d)
            for k, d in enumerate(held.shape)
        ]
        shape = f"[{', '.join(dims)}]" if dims else ""
        return f"{held.name}: {self.dtypes[held.kind]}{shape}"

    def _input(self, held: Declared) -> str:
        range_ = f" in 0..{text_of(held.range, tight=True)}" if held.range is not None else ""
        return self._typed(held) + range_ + (f" = {held.default}" if held.default else "")

    def _equation(self, each: Equation) -> str:
        left = ", ".join(index_text(i) for i in each.left)
        left = f"[{left}{' | drop' if each.drops else ''}]" if each.left else ""
        held = self.outputs.get(each.name) or self.others[each.name]
        bare = {
            name: extent
            for i, extent in zip(each.left, held.shape)
            if isinstance(i, Size) and (name := i.single()) and not each.drops
        }
        loose = [(n, e) for n, e in each.ranges if n not in bare or bare[n] != e]
        ranges = ", ".join(f"{n} in 0..{text_of(e, tight=True)}" for n, e in loose)
        names = ", ".join(f"{name}{left}" for name in (each.name, *each.also))
        return f"{names} {each.operator} {each.value}" + (f"  for {ranges}" if ranges else "")


def names_of_all(values: list[Any]) -> set[str]:
    """Names in sizes; texts have none that is asked for."""
    return {n for v in values if isinstance(v, Size) for n in v.names()}


def digits_of(
    index: Size, extent: Whole, ranges: Mapping[IndexName, Whole]
) -> list[tuple[IndexName, Whole]] | None:
    """Indices with what they are multiplied by, the first one first, of an index that counts through a
    dimension in row-major order; None where it is another thing.
    """
    weights: dict[IndexName, Whole] = {}
    for product, factor in index.terms.items():
        held = [a for a in product if isinstance(a, IndexName)]
        if len(held) != 1 or held[0] not in ranges or held[0] in weights:
            return None
        rest = list(product)
        rest.remove(held[0])
        weight: Whole = factor
        for atom in rest:
            weight = weight * Size({(atom,): 1})
        weights[held[0]] = weight
    found: list[tuple[IndexName, Whole]] = []
    behind: Whole = 1
    while weights:
        name = next((n for n, w in weights.items() if w == behind), None)
        if name is None:
            return None
        found.insert(0, (name, weights.pop(name)))
        behind = behind * ranges[name]
    return found if behind == extent else None


def _unify(x: Whole, y: Whole, kept: set[str]) -> None:
    """Say what a size is, if an equality says it: one on the right, and none that is kept, if there is
    a choice.

    Raises:
        Unified: it does.
    """
    difference = x - y
    assert isinstance(difference, Size)
    later = names_of(y)

    def last(term: tuple[tuple[Any, ...], int]) -> tuple[bool, bool]:
        return not kept.isdisjoint(term[0]), not later.issuperset(term[0])

    for product, factor in sorted(difference.terms.items(), key=last):
        if len(product) != 1 or abs(factor) != 1 or not isinstance(product[0], str):
            continue
        rest = -factor * (difference - Size({product: factor}))
        if product[0] not in names_of(rest) and not _may_be_small(rest):
            raise Unified(product[0], rest)


def _may_be_small(x: Whole) -> bool:
    low, _ = bounds_of_size(x)
    return low is None or low < 0
