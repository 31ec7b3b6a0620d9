"""The class of tensors: its methods in tables, with examples that are computed."""

from __future__ import annotations

import inspect
from collections import defaultdict
from typing import Any

import numpy as np

import texpr as tx
from scripts.reference.docstrings import fenced, filled, markdown, read
from scripts.reference.entries import signature
from scripts.reference.tensor_examples import EXAMPLES, FIRST, SECOND

INNER = frozenset(
    "detach_users engine forget_users index kept node own own_spec owner recorded_arithmetic recorded_call "
    "set_value spec stops users value".split()
)
"""Names of the implementation: methods of lazy tensors as their recorder sees them."""
SLOTS = {
    "shape": "The extents, a tuple; known without computing.",
    "dtype": "The dtype, one of texpr; known without computing.",
    "grad": "The derivatives that `backward()` has added up; None before.",
    "requires_grad": "True if `backward()` computes the derivative in this tensor.",
}
"""Attributes that have no docstring of their own."""
GROUPS = {
    "Tensor": "Values, gradients, devices",
    "TensorValues": "Values, gradients, devices",
    "Shaped": "Values, gradients, devices",
    "ArrayMethods": "Methods with NumPy's names",
    "TorchMethods": "Methods with PyTorch's names",
    "InPlaceMethods": "Methods that give the tensor another value",
    "TorchDtypes": "Conversions",
    "Elementary": "Functions of each element",
    "SortingMethods": "Order",
}
OPERATORS = (
    ("+ - * / // % **", "Arithmetic, element by element; operands broadcast and are promoted."),
    ("@", "Matrix product over the last two axes, vectors as in NumPy."),
    ("== != < <= > >=", "Comparison, element by element."),
    ("& | ^ ~ << >>", "Bits of integers, logic of truth values."),
    ("x[...]", "Indices, slices, masks and arrays of indices, as in NumPy; the result is no view."),
    (
        "x[...] = v, x += y",
        "The tensor gets another value; tensors made from it before keep theirs. At places that are one, the last value counts.",
    ),
    ("len(x), iter(x), float(x), bool(x)", "Shapes and values as Python's; a value is computed first."),
)


def members() -> dict[str, tuple[str, Any]]:
    """Public methods and properties of a tensor, with the class that defines each."""
    found = {}
    for name in sorted(dir(tx.Tensor), key=str.lower):
        if not name.startswith("_") and name not in INNER:
            owner = next(c for c in tx.Tensor.__mro__ if name in c.__dict__)
            found[name] = (owner.__name__, owner.__dict__[name])
    return found


def tensor_class() -> str:
    """The entry of the class."""
    groups: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for name, (owner, member) in members().items():
        groups[GROUPS[owner]].append((name, member))
    parts = [
        "## The class of tensors",
        fenced("tx.Tensor"),
        markdown(tx.Tensor.__doc__),
        "### Operators",
        table(("operator", "meaning"), [(f"`{code}`".replace("|", "\\|"), text) for code, text in OPERATORS]),
        filled("The examples below are computed from these tensors:"),
        fenced(f"{FIRST}\n{SECOND}", "py"),
    ]
    for group in dict.fromkeys(GROUPS.values()):
        parts += [f"### {group}", *_group(groups[group])]
    return "\n\n".join(parts)


def _group(found: list[tuple[str, Any]]) -> list[str]:
    """A list of definitions, one a method; behind it the methods that have more to say."""
    parts = [_definition(name, member) for name, member in found]
    for name, member in found:
        if has_more(name, member):
            shown = fenced(signature(f"Tensor.{name}", member, True))
            parts += [f"#### Tensor.{name}", shown, markdown(_docstring(name, member))]
    return parts


def has_more(name: str, member: Any) -> bool:
    """True if a method has sections, such as its errors."""
    return bool(read(_docstring(name, member)).sections)


def _definition(name: str, member: Any) -> str:
    call = name if _function(member) is None else signature(name, member, True, typed=False)
    text = " ".join(read(_docstring(name, member)).text.split())
    example = EXAMPLES[name]
    return f"`{call}`\n" + filled(f"{text} Example: `{example}` gives `{result(example)}`.", ": ")


def _function(member: Any) -> Any:
    return member if inspect.isfunction(member) else None


def _docstring(name: str, member: Any) -> str:
    return SLOTS.get(name) or inspect.getdoc(member.fget if isinstance(member, property) else member) or ""


def result(example: str) -> str:
    """The value of an example, as a reader sees it."""
    names: dict[str, Any] = {"tx": tx}
    exec(f"{FIRST}\n{SECOND}", names)
    return shown(eval(example, names))


def shown(value: Any) -> str:
    """A value in digits that every machine agrees on."""
    if isinstance(value, tx.Tensor):
        value = value.detach().numpy()
    if isinstance(value, np.ndarray | np.generic):
        rounded = np.round(value.astype(np.float64), 3) + 0.0 if value.dtype.kind == "f" else value
        return str(rounded.tolist())
    return str(value)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)
