"""The texpr column of tables of correspondences: its names and named arguments exist."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields

import texpr as tx
from tests.repo.test_prose import FENCE
from texpr import nn, ops
from texpr.compiler.kernels.compiled_kernel import CompiledKernel
from texpr.compiler.schedule import Schedule
from texpr.graph.arrays.argument_names import NUMPY_NAMES
from texpr.poly.certificate.certify import Certificate
from texpr.schedule.steps.registry import aliases
from texpr.support.options import Options

ROOTS: dict[str, object] = {
    "tx": tx,
    "nn": nn,
    "ops": ops,
    "x": tx.Tensor,
    "loss": tx.Tensor,
    "s": Schedule,
    "op": tx.op("op same(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }"),
    "model": nn.Module,
    "trainer": nn.Trainer,
    "kernel": CompiledKernel,
    "certificate": Certificate,
}
"""What the first part of a dotted name stands for."""
SIZES = set("BCHKMNW")
DOTTED = re.compile(rf"(?<![\w.])({'|'.join(ROOTS)})((?:\.\w+)+)")


def spans(text: str) -> Iterator[str]:
    """The code in the columns of tables whose head is `texpr`."""
    columns: list[int] | None = None
    for line in FENCE.sub("\n", text).splitlines():
        if not line.startswith("|"):
            columns = None
            continue
        cells = [c.strip() for c in line.replace(r"\|", "\0").split("|")[1:-1]]
        if columns is None:
            columns = [k for k, c in enumerate(cells) if c == "texpr"]
            continue
        for k in columns:
            yield from (s.replace("\0", "|") for s in cells[k].split("`")[1::2])


def faults(span: str) -> Iterator[str]:
    """What does not exist in a piece of code: names, and names of arguments."""
    for root, rest in DOTTED.findall(span):
        if not _exists(ROOTS[root], rest[1:].split(".")):
            yield root + rest
    for call in _calls(span):
        yield from _unknown_arguments(call)


def _exists(value: object, names: list[str]) -> bool:
    """True if the attributes are there, and no step has an older name."""
    for name in names:
        if (value is Schedule and name in aliases()) or not hasattr(value, name):
            return False
        value = getattr(value, name)
    return True


def _calls(span: str) -> Iterator[ast.Call]:
    for text in (span, span + " pass"):
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        yield from (n for n in ast.walk(tree) if isinstance(n, ast.Call))


def _unknown_arguments(call: ast.Call) -> Iterator[str]:
    match = DOTTED.fullmatch(ast.unparse(call.func))
    if match is None or not call.keywords:
        return
    function = ROOTS[match[1]]
    for name in match[2][1:].split("."):
        function = getattr(function, name, None)
    names = [k.arg for k in call.keywords if k.arg and function is not Schedule.annotate]
    for name in names:
        size = name in SIZES and function in (tx.schedule, tx.tune, Schedule.specialize)
        if not size and name not in _parameters(function):
            yield f"{match[0]}({name}=...)"


def _parameters(function: object) -> set[str]:
    """Names of arguments that a call may give."""
    if function is tx.options:
        return {f.name for f in fields(Options)}
    if isinstance(function, tx.Op):
        return {p.name for p in (*function.signature.inputs, *function.signature.constants)}
    known = set(inspect.signature(function).parameters)  # type: ignore[arg-type]
    return known | {name for name, own in NUMPY_NAMES.items() if own in known}
