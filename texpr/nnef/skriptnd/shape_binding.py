"""Arguments of an operator of SkriptND: attributes, shapes, and the sizes that they say."""

from __future__ import annotations

from typing import Any

from texpr.nnef.skriptnd.expression_evaluation import Evaluator, UnknownName
from texpr.nnef.skriptnd.operator_text import OperatorText
from texpr.nnef.skriptnd.runtime_terms import Repeated, Stacked, Tensor, is_whole
from texpr.nnef.skriptnd.scalar_terms import LARGEST, compared, kind_of
from texpr.nnef.skriptnd.size_polynomials import Size, Whole, floor_quotient, text_of
from texpr.nnef.syntax import skript_tree

KINDS = {"type": ("real", "int", "bool", "str"), "arith": ("real", "int", "bool"), "num": ("real", "int")}
"""Types that a type of `@dtype` may be."""


class Binding:
    """Values of the names of a definition, from an invocation.

    Args:
        evaluate: its values are filled.
        text: what is required is taken there.
        open_sizes: the shapes are those of inputs of the text: their sizes take the names of the
            definition.
    """

    def __init__(self, evaluate: Evaluator, text: OperatorText, open_sizes: bool) -> None:
        self.evaluate, self.text, self.open_sizes = evaluate, text, open_sizes
        self.operator, self.values = evaluate.operator, evaluate.values
        self.waiting: list[tuple[skript_tree.Parameter, Any]] = []
        self.lengths: list[tuple[skript_tree.Parameter, int]] = []

    def refused(self, part: skript_tree.Part, message: str, help: str = "") -> Exception:  # noqa: A002
        """The error for a part of the definition."""
        return self.evaluate.refused(part, f"{self.operator.name}: {message}", help)

    def attributes(self, given: dict[str, Any]) -> None:
        """Take the attributes of an invocation, and constant defaults."""
        for each in self.operator.block("attrib"):
            if each.name in given:
                self._attribute(each, given[each.name])
            elif each.type.optional:
                self.values[each.name] = None
            elif each.default is None:
                raise self.refused(
                    each, f"the attribute `{each.name}` is missing", f"give it by name: {each.name}=..."
                )
            else:
                self._default(each)

    def _default(self, each: skript_tree.Parameter) -> None:
        try:
            value = self.evaluate.value(each.default)
        except UnknownName:
            self.waiting.append((each, each.default))
            return
        self._attribute(each, value)

    def _attribute(self, each: skript_tree.Parameter, value: Any) -> None:
        kind = self.evaluate.kinds.get(each.type.name, each.type.name)
        if _is_too_large(value):
            raise self.refused(each, f"the attribute `{each.name}` has more than 64 bits")
        value = _converted(kind, value)
        if value is None:
            if not each.type.optional:
                raise self.refused(each, f"the attribute `{each.name}` is missing")
            self.values[each.name] = None
            return
        for item in value if isinstance(value, list) else [value]:
            if kind in ("real", "int", "bool", "str") and kind_of(item) != kind:
                raise self.refused(each, f"the attribute `{each.name}` is {kind}; found {item!r}")
        if isinstance(value, list) and not each.type.packed:
            raise self.refused(each, f"the attribute `{each.name}` is one value; found {len(value)}")
        if each.type.packed and not isinstance(value, list):
            self.waiting.append((each, [value]))
            return
        self.values[each.name] = value
        if each.type.packed and each.type.length is not None:
            if _is_affine(each.type.length):
                self._equal(each.type.length, len(value), each)
            else:
                self.lengths.append((each, len(value)))

    def finish(self) -> None:
        """Take attributes whose defaults or lengths wait for shapes."""
        for each, value in self.waiting:
            if isinstance(value, list):
                count: Any = None if each.type.length is None else self.evaluate.known(each.type.length)
                if not is_whole(count):
                    raise self.refused(each, f"the length of `{each.name}` is not known", "give it as a list")
                many = value * count if isinstance(count, int) else Repeated(value[0], count)
                self.values[each.name] = many
            else:
                self._attribute_now(each, value)
        for each, count in self.lengths:
            self._equal(each.type.length, count, each)

    def _attribute_now(self, each: skript_tree.Parameter, default: Any) -> None:
        value = self.evaluate.known(default)
        if value is None:
            raise self.refused(each, f"the attribute `{each.name}` is missing")
        if each.type.packed and not isinstance(value, list):
            value = [value] * self.evaluate.count(self.evaluate.known(each.type.length))
        self.values[each.name] = value
        if each.type.packed and each.type.length is not None:
            self._equal(each.type.length, len(value), each)

    def shapes(self, parameters: list[skript_tree.Parameter], tensors: list[Any]) -> None:
        """Find sizes from the shapes of inputs: those that are clear first.

        Raises:
            CheckError: a shape does not fit, or none of those that are left is clear.
        """
        pairs = list(zip(parameters, tensors))
        left = [p for p in pairs if p[1] is not None]
        for parameter, tensor in left:
            some = _some(tensor)
            if parameter.type.rank is not None and some is not None:
                self._equal(parameter.type.rank, len(some.shape), parameter)
        while left:
            clear = next((p for p in left if self._is_clear(p[0])), None)
            if clear is None:
                raise self.refused(
                    left[0][0], f"the shape of `{left[0][0].name}` says its sizes in several ways"
                )
            left.remove(clear)
            self._input(*clear)
        for parameter, tensor in pairs:
            self.values[parameter.name] = tensor
            if tensor is None:
                self._absent(parameter)

    def _absent(self, parameter: skript_tree.Parameter) -> None:
        """Names that only an absent input would have said are absent too."""
        for extent in parameter.type.shape or []:
            for part in (extent.value, extent.count):
                if isinstance(part, skript_tree.Named) and "." not in part.name:
                    self.values.setdefault(part.name, None)

    def _is_clear(self, parameter: skript_tree.Parameter) -> bool:
        unknown = [e for e in parameter.type.shape or [] if e.packed and self._count(e) == "unknown"]
        return len(unknown) <= 1

    def _count(self, extent: skript_tree.Extent) -> Any:
        """The number of dimensions of an extent; `unknown` where the shape says it."""
        if not extent.packed:
            return 1
        if extent.count is None:
            value = extent.value
            held = self.values.get(value.name) if isinstance(value, skript_tree.Named) else self._tried(value)
            return len(held) if isinstance(held, list) else "unknown"
        count = self._tried(extent.count)
        return int(count) if isinstance(count, (int, bool)) else "unknown"

    def _tried(self, part: Any) -> Any:
        if part is None:
            return None
        try:
            return self.evaluate.value(part)
        except UnknownName:
            return None

    def _input(self, parameter: skript_tree.Parameter, tensor: Any) -> None:
        items = (
            tensor
            if isinstance(tensor, list)
            else [tensor.item(0) if isinstance(tensor, Stacked) else tensor]
        )
        if parameter.type.packed != isinstance(tensor, (list, Stacked)):
            wanted = "a pack of tensors" if parameter.type.packed else "one tensor"
            raise self.refused(parameter, f"`{parameter.name}` is {wanted}")
        if parameter.type.packed and parameter.type.length is not None:
            count = len(tensor) if isinstance(tensor, list) else tensor.count
            self._equal(parameter.type.length, count, parameter)
        if parameter.type.shape is None:
            return
        spread: dict[str, list[Any]] = {}
        for each in items:
            if not isinstance(each, Tensor):
                raise self.refused(parameter, f"`{parameter.name}` is a tensor")
            self._shape(parameter, each, spread)
        self.values.update(spread)

    def _shape(self, parameter: skript_tree.Parameter, tensor: Tensor, spread: dict[str, list[Any]]) -> None:
        extents, rank = parameter.type.shape or [], len(tensor.shape)
        counts = [self._count(e) for e in extents]
        known = sum(c for c in counts if c != "unknown")
        counts = [rank - known if c == "unknown" else c for c in counts]
        if sum(counts) != rank or min(counts, default=0) < 0:
            raise self.refused(
                parameter,
                f"`{parameter.name}` has {rank} dimensions; its definition has {_ranks(extents, known)}",
            )
        at = 0
        for extent, count in zip(extents, counts):
            if extent.packed and extent.count is not None and self._tried(extent.count) is None:
                self._equal(extent.count, count, extent)
            self._extent(extent, tensor.shape, at, count, spread)
            at += count

    def _extent(
        self,
        extent: skript_tree.Extent,
        shape: list[Whole],
        at: int,
        count: int,
        spread: dict[str, list[Any]],
    ) -> None:
        part = extent.value
        if isinstance(part, skript_tree.Omitted):
            return
        if extent.spread:
            held = spread.setdefault(part.name, [])
            held.append(self._named(shape, at, f"{part.name}{len(held)}", False))
            return
        value = self._tried(part)
        if value is None and isinstance(part, skript_tree.Named):
            names = [self._named(shape, k, part.name, extent.packed) for k in range(at, at + count)]
            boolean = extent.packed and isinstance(self._tried(extent.count), bool)
            single = not extent.packed or boolean
            self.values[part.name] = (names[0] if names else None) if single else names
            return
        for k in range(at, at + count):
            wanted = value[k - at] if isinstance(value, list) else value
            if wanted is None:
                self._equal(part, shape[k], extent, shape, k)
            else:
                self._match(extent, shape, k, wanted)

    def _named(self, shape: list[Whole], k: int, name: str, packed: bool) -> Whole:
        """The size of a dimension whose name is new."""
        held = shape[k]
        if self.open_sizes and _is_open(held):
            shape[k] = _replaced(Size.of(self.text.fresh(_numbered(name, packed, k))), self.text)
        return shape[k]

    def _match(self, part: skript_tree.Part, shape: list[Whole], k: int, wanted: Whole) -> None:
        """A dimension must be a size that is known."""
        if not is_whole(wanted):
            raise self.refused(part, f"a dimension is a whole number; found {wanted}")
        if self.open_sizes and _is_open(shape[k]):
            shape[k] = wanted
            return
        if not self.text.require(compared("==", shape[k], wanted)):
            raise self.refused(part, f"a dimension of {text_of(shape[k])}; expected {text_of(wanted)}")

    def _equal(
        self, part: Any, found: Whole, at: skript_tree.Part, shape: list[Whole] | None = None, k: int = 0
    ) -> None:
        """An expression must be a size: an unknown name in it is found."""
        try:
            wanted = self.evaluate.value(part)
        except UnknownName as unknown:
            self._solve(part, unknown.name, found, at, shape, k)
            return
        if wanted is None:
            raise self.refused(at, "a size that is absent")
        if isinstance(wanted, bool):
            wanted = int(wanted)
        if not self.text.require(compared("==", found, wanted)):
            raise self.refused(at, f"found {text_of(found)}, expected {text_of(wanted)}")

    def _solve(
        self, part: Any, name: str, found: Whole, at: skript_tree.Part, shape: list[Whole] | None, k: int
    ) -> None:
        self.values[name] = Size.of("?")
        try:
            value = self.evaluate.known(part)
        finally:
            del self.values[name]
        if value == Size.of("?"):
            self.values[name] = self._named(shape, k, name, False) if shape is not None else found
            return
        line = value.linear("?") if isinstance(value, Size) else None
        if line is None:
            raise self.refused(at, f"`{name}` cannot be found from this size")
        factor, rest = line
        if shape is not None and self.open_sizes and _is_open(found):
            self.values[name] = _replaced(Size.of(self.text.fresh(name)), self.text)
            shape[k] = factor * self.values[name] + rest
            return
        solved = floor_quotient(found - rest, factor)
        if not self.text.require(compared("==", factor * solved + rest, found)):
            raise self.refused(at, f"{text_of(found)} is no {factor} * {name} + {rest}")
        self.values[name] = solved


def _replaced(size: Any, text: OperatorText) -> Whole:
    return size.replaced(text.equal) if isinstance(size, Size) else size


def _some(given: Any) -> Tensor | None:
    """A tensor of what is given for an input."""
    if isinstance(given, Stacked):
        return given.item(0)
    given = given[0] if isinstance(given, list) and given else given
    return given if isinstance(given, Tensor) else None


def _is_affine(part: Any) -> bool:
    """True for an expression that may say the value of a name in it."""
    if isinstance(part, skript_tree.Infix):
        return _is_affine(part.x) and _is_affine(part.y)
    return isinstance(part, (skript_tree.Named, skript_tree.Value))


def _numbered(name: str, packed: bool, k: int) -> str:
    return f"{name}{k}" if packed else name


def _is_open(size: Whole) -> bool:
    """A dimension that has no name yet."""
    name = size.single() if isinstance(size, Size) else None
    return name is not None and name.startswith("?")


def _ranks(extents: list[skript_tree.Extent], known: int) -> str:
    return f"at least {known}" if any(e.packed for e in extents) else str(known)


def _is_too_large(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_too_large, value))
    return isinstance(value, int) and not -LARGEST <= value < LARGEST


def _converted(kind: str, value: Any) -> Any:
    """An attribute from Python: lists, and whole numbers where reals are meant."""
    if isinstance(value, (list, tuple)):
        return [_converted(kind, v) for v in value]
    if kind == "real" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value
