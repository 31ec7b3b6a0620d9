"""Facts about operators of the library: gradients, operators of ONNX, names in NumPy and torch."""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import texpr as tx
from tests.ops.test_values import FIRST
from texpr import ops
from texpr.compiler import Op
from texpr.ir.printing.tensor import show_program
from texpr.support.errors import CheckError, Error

ROOT = Path(__file__).parents[2]
SHORT, WIDE = 4, 110
"""Equations and columns of a gradient that is shown whole."""
MANY = 4
"""Operators of ONNX that are listed; of more, the number is."""
TABLES = ("scripts/peers/torch_operators.py", "scripts/peers/torch_tables.py")
PREFIXES = {"np": "numpy", "torch": "torch", "F": "torch.nn.functional"}


def gradient(name: str) -> tuple[str, str]:
    """A sentence about the gradient of an operator, and its text if it is short, else an empty one.

    Constants without a default have the values of the first case of the tests, if there is one.
    """
    operator = getattr(ops, name)
    if not operator.signature.inputs:
        return "none: it has no inputs.", ""
    needed = [c.name for c in operator.signature.constants if c.required]
    constants = {c: FIRST[name].constants[c] for c in needed} if name in FIRST else {}
    try:
        text = _shown(tx.grad(operator), constants)
    except CheckError as error:
        return f"none: {error.message}.", ""
    given = f" with {', '.join(f'`{c} = {v}`' for c, v in constants.items())}" if constants else ""
    count = sum(bool(re.match(r"  [^ ].* (\w*[-+*/]?=) ", line)) for line in text.splitlines())
    if count <= SHORT and max(map(len, text.splitlines())) <= WIDE:
        return given and f"{given[1:]}:", text
    equations = "1 equation" if count == 1 else f"{count} equations"
    command = "" if constants else f": `print(tx.grad(ops.{name}))`"
    return f"yes, {equations}{given}{command}.", ""


def _shown(operator: Op, constants: dict[str, object]) -> str:
    """The text of an operator; that of an instance where constants have no default."""
    if not constants:
        return str(operator).rstrip()
    return show_program(operator.program(operator.signature.bind_dtypes({}), constants)).rstrip()


def in_onnx(name: str) -> str:
    """The operators of ONNX that `tx.onnx.save` writes for the first case of the tests."""
    case = FIRST.get(name)
    if case is None:
        return "integer operators, which give the numbers of the seed."
    arrays = case.arrays(case.dtypes[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        try:
            tx.onnx.save(
                lambda *given: getattr(ops, name)(*given, **case.constants),
                path,
                tuple(arrays),
                inputs=[f"x{k}" for k in range(len(arrays))],
            )
        except Error as error:
            return f"none: {_reason(error)}."
        return _written(path)


def elsewhere(name: str) -> list[str]:
    """The functions of NumPy and torch that tests and `make peers` compare an operator with."""
    return [f"`{found[name]}`" for found in (_numpy_names(), _torch_names()) if name in found]


def _reason(error: Error) -> str:
    """A reason without the name and the number of calls: `recurrence: a recurrence: 1 call`."""
    return f"ONNX lacks {error.notes[0].split(': ')[1]}"


def _written(path: Path) -> str:
    """The kinds of nodes, in the order of their first use; constants are none."""
    import onnx

    kinds = [node.op_type for node in onnx.load(path).graph.node if node.op_type != "Constant"]
    different = list(dict.fromkeys(kinds))
    if not kinds:
        return "an input as it is."
    if len(different) <= MANY:
        return ", ".join(f"`{kind}`" for kind in different) + "."
    return f"{len(kinds)} nodes of {len(different)} kinds."


@cache
def _numpy_names() -> dict[str, str]:
    files = sorted((ROOT / "tests" / "ops").glob("*_cases.py"))
    return {name: found for path in files for name, found in _named(path) if found.startswith("numpy.")}


@cache
def _torch_names() -> dict[str, str]:
    return {name: found for path in TABLES for name, found in _named(ROOT / path)}


def _named(path: Path) -> Iterator[tuple[str, str]]:
    """Operators and functions that stand beside each other: entries of tables, and of cases."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values)
            case ast.Call(func=ast.Name("Case"), args=[first, _, third, *_]):
                pairs = zip([first], [third])
            case ast.DictComp(key=ast.Name(), value=ast.Call(func=ast.Name("getattr"))):
                pairs = _listed(node)
            case _:
                continue
        for key, value in pairs:
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and (name := _function(value)):
                yield key.value, name


def _listed(node: ast.DictComp) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The entries of `{name: getattr(torch, name) for name in (...)}`."""
    names = node.generators[0].iter
    assert isinstance(names, ast.Tuple)
    for name in names.elts:
        assert isinstance(name, ast.Constant)
        yield name, ast.Attribute(ast.Name("torch"), str(name.value))


def _function(value: ast.expr) -> str:
    """A function of a library by its whole name; empty for formulas."""
    match value:
        case ast.Attribute():
            return _dotted(value)
        case ast.Lambda(body=ast.Call(func=ast.Attribute() as f, args=[ast.Name(), *rest])):
            plain = all(isinstance(a, ast.Name | ast.Tuple | ast.Constant) for a in rest)
            return _dotted(f) if plain else ""
        case ast.Call(func=ast.Name("convolution" | "transposed" | "each"), args=[ast.Attribute() as f]):
            return _dotted(f)
    return ""


def _dotted(node: ast.Attribute) -> str:
    parts = ast.unparse(node).split(".")
    return ".".join([PREFIXES[parts[0]], *parts[1:]]) if parts[0] in PREFIXES else ""
