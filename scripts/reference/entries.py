"""Entries of pages: signatures and docstrings of functions, classes and their methods."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from scripts.reference.docstrings import fenced, filled, markdown, read
from scripts.reference.transcript import method_example

ALIASES = {
    "Sizes": "int | Sequence[int]",
    "Params": "Iterable[Parameter] | Iterable[dict]",
    "Betas": "tuple[float, float]",
    "Ratios": "float | Sequence[float]",
    "Filled": "Parameter | np.ndarray",
    "Activation": "str | Callable",
}
"""Names of types that a reader does not see elsewhere."""
OPEN = {"object", "Any", "Array", "Self"}
"""Annotations that say nothing."""
SAME_NAMES = {"tx.array_api", "tx.jax", "tx.torch"}
"""Packages with names that `tx` has too: pages show both parts."""
WIDTH = 86
"""Columns of a signature, which a page shows without scrolling."""


class Entry(NamedTuple):
    """A public name: where users find it, and the object."""

    name: str
    """With what stands before it, such as `nn.Linear`."""
    object: Any
    aliases: tuple[str, ...] = ()
    """Other names of the same object."""
    is_property: bool = False

    @property
    def short(self) -> str:
        front, _, name = self.name.rpartition(".")
        return f"{front.removeprefix('tx.')}.{name}" if front in SAME_NAMES else name

    @property
    def docstring(self) -> str:
        return docstring_of(self.object)


def docstring_of(found: object) -> str:
    """The docstring of an object of its own, not that of a base class."""
    if isinstance(found, type):
        return found.__dict__.get("__doc__") or ""
    return inspect.getdoc(found) or ""


def entry(each: Entry, level: int) -> str:
    """An entry with its methods, as Markdown, under a heading of a level."""
    parts = [heading(level, each.short), fenced(signature(each.name, each.object))]
    if each.aliases:
        parts.append(filled(f"Other names: {', '.join(f'`{name}`' for name in each.aliases)}."))
    parts.append(markdown(each.docstring))
    for method in methods(each):
        parts += [
            heading(level + 1, f"{each.short}.{method.short}"),
            fenced(_of_method(f"{each.short}.{method.short}", method)),
            markdown(method.docstring),
        ]
        if shown := method_example(each.name, method.short):
            parts.append(fenced(shown, "pycon"))
    return "\n\n".join(parts)


def heading(level: int, name: str) -> str:
    """A heading; two underscores would begin bold letters, and links would not find it."""
    return f"{'#' * level} " + name.replace("__", r"\_\_")


def _of_method(name: str, method: Entry) -> str:
    """The signature of a method; the name and the type of a property."""
    if not method.is_property:
        return signature(name, method.object, True)
    kind = annotation(inspect.signature(method.object).return_annotation)
    return f"{name}: {kind}" if kind else name


def methods(each: Entry) -> Iterator[Entry]:
    """Public methods and properties that a class defines, which say more than that of its base."""
    if not isinstance(each.object, type) or issubclass(each.object, BaseException):
        return
    for name, member in members(each.object).items():
        computed = isinstance(member, property)
        value = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(value) and not name.startswith("_") and is_told(each.object, name, value):
            yield Entry(f"{each.name}.{name}", value, (), computed)


def members(owner: type) -> dict[str, Any]:
    """Attributes of a class and of its bases that have no public name."""
    found: dict[str, Any] = {}
    for base in owner.__mro__:
        if base is owner or base.__name__.startswith("_"):
            found = {**base.__dict__, **found}
    return found


def is_told(owner: type, name: str, value: Any) -> bool:
    """True if a method is for users: it has a docstring, and is not the same in a base class."""
    inherited = any(name in base.__dict__ for base in owner.__mro__[1:] if not base.__name__.startswith("_"))
    foreign = not value.__module__.startswith("texpr")  # a base class of scikit-learn
    hidden = inherited or foreign or name in ("forward", "extra_repr", "constants")
    return bool(value.__doc__) and not hidden


def signature(name: str, found: Any, bound: bool = False, typed: bool = True) -> str:
    """`name(parameters)`, in lines that are short enough.

    Args:
        bound: without the first parameter.
        typed: with types; else in one line.
    """
    try:
        given = inspect.signature(found)
    except (TypeError, ValueError):
        return name
    parameters = list(given.parameters.values())[1 if bound else 0 :]
    shown = list(_parameters(parameters, typed))
    if not typed:
        return f"{name}({', '.join(shown)})"
    result = "" if isinstance(found, type) else returned(given.return_annotation)
    line = f"{name}({', '.join(shown)}){result}"
    if len(line) <= WIDTH:
        return line
    return _in_lines(name, shown, result)


def _in_lines(name: str, shown: list[str], result: str) -> str:
    lines = [""]
    for each in shown:
        if len(lines[-1]) + len(each) > WIDTH - 6:
            lines.append("")
        lines[-1] += ("" if not lines[-1] else " ") + each + ","
    return "\n".join([f"{name}(", *(f"    {line}" for line in lines), f"){result}"])


def _parameters(parameters: list[inspect.Parameter], typed: bool) -> Iterator[str]:
    starred = False
    for p in parameters:
        if p.name.startswith("_"):
            continue
        if p.kind is p.KEYWORD_ONLY and not starred:
            yield "*"
        starred |= p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = annotation(p.annotation) if typed else ""
        default = "" if p.default is p.empty else repr(p.default).replace("'", '"')
        equals = (" = " if kind else "=") + default if default else ""
        yield f"{stars}{p.name}{': ' + kind if kind else ''}{equals}"


def annotation(given: Any) -> str:
    """A type as text; nothing where it says nothing."""
    if given is inspect.Parameter.empty:
        return ""
    text = given if isinstance(given, str) else getattr(given, "__name__", str(given))
    text = re.sub(r"\b(np\.ndarray|\w+)\b", lambda m: ALIASES.get(m[0], m[0]), text)
    return "" if text.strip("'\"") in OPEN else text.replace("'", '"')


def returned(given: Any) -> str:
    text = annotation(given)
    return f" -> {text}" if text and text not in ("None", "nothing") else ""


def row(each: Entry, page: str) -> str:
    """A row of an index: the name, linked, and the first sentence."""
    return f"| [`{each.short}`]({page}#{each.short.lower().replace('.', '')}) | {cell(read(each.docstring).first)} |"


def cell(text: str) -> str:
    """Text in a cell of a table."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        p.replace("|", "\\|") if k % 2 else re.sub(r"([*<|\[\]])", r"\\\1", p) for k, p in enumerate(pieces)
    )
