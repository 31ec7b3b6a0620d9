"""The blocks of a page: operators, Python, and the outputs and errors that a block gives."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np

import texpr as tx
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor
from texpr.ir.shapes import caller_shape, evaluate_size
from texpr.ir.tensor import Program

BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RESULTS = ("output", "error")


class Block(NamedTuple):
    """A fenced block with the output and the error that follow it, if they do."""

    line: int
    kind: str
    options: dict[str, int]
    text: str
    error: str | None
    output: str | None = None


def blocks(path: Path, every: bool = False) -> list[Block]:
    """The operator and Python blocks of a page, in order.

    Args:
        every: with those marked `no-run`, which need a package that texpr does not.
    """
    text = path.read_text(encoding="utf-8")
    found = list(BLOCK.finditer(text))
    result = []
    for k, match in enumerate(found):
        kind, options, body = match.groups()
        if kind in RESULTS or (options.strip() == "no-run" and not every):
            continue
        pairs = (item.split("=") for item in options.replace("no-run", "").split())
        given = {name: int(value) for name, value in pairs}
        shown = _results(text, found[k:])
        line = text.count("\n", 0, match.start()) + 1
        result.append(Block(line, kind, given, body, shown.get("error"), shown.get("output")))
    return result


def _results(text: str, found: list[re.Match[str]]) -> dict[str, str]:
    """The texts of the blocks of results that follow the first block without other text between."""
    shown: dict[str, str] = {}
    for before, match in zip(found, found[1:]):
        if match[1] not in RESULTS or text[before.end() : match.start()].strip():
            break
        shown[match[1]] = match[3].rstrip("\n")
    return shown


def run_operators(block: Block) -> None:
    """Make the operators of a block; if they are right, compare compiled with interpreted on small
    arrays.

    Raises:
        tx.Error: they are wrong.
    """
    operator = tx.op(block.text.rstrip("\n"))
    program = operator.program(operator.signature.bind_dtypes({}), block.options)
    inputs = list(small_inputs(program))
    assert inputs, f"line {block.line}: no sizes were found that the operator allows"
    for arrays in inputs:
        compiled, interpreted = (
            operator(*arrays, **block.options),
            tx.interpret(operator, *arrays, **block.options),
        )
        for c, i in zip(as_tuple(compiled), as_tuple(interpreted), strict=True):
            assert c.dtype == i.dtype
            np.testing.assert_allclose(c, i, rtol=1e-5, atol=1e-6)


def run(page: Path, every: bool = False) -> dict[str, object]:
    """Run the operators and the Python of a page, block by block, comparing outputs and errors with
    those shown; the names that the page defines. With `every`, blocks marked `no-run` too.
    """
    names: dict[str, object] = {}
    for block in blocks(page, every):
        if block.kind == "python":
            run_python(block, names)
        elif block.kind == "texpr":
            _compare(block, lambda block=block: run_operators(block))
    return names


def run_python(block: Block, names: dict[str, object]) -> None:
    """Run a block of Python. It prints the output shown behind it, if one is shown, and gives the
    error that is shown, or none.
    """
    _compare(block, lambda: exec(compile(block.text, "example.py", "exec"), names))


def _compare(block: Block, action: Callable[[], object]) -> None:
    printed, error = io.StringIO(), None
    try:
        with redirect_stdout(printed):
            action()
    except tx.Error as e:
        error = str(e)
    assert error == block.error, f"line {block.line}"
    if block.output is not None:
        assert _stripped(printed.getvalue()) == _stripped(block.output), f"line {block.line}"


def _stripped(text: str) -> list[str]:
    """Lines without spaces at their ends, and without empty lines at the end."""
    return [line.rstrip() for line in text.rstrip().split("\n")]


def as_tuple(result: object) -> tuple[np.ndarray, ...]:
    return tuple(map(np.asarray, result)) if isinstance(result, tuple) else (np.asarray(result),)


def small_inputs(program: Program) -> Iterator[list[np.ndarray]]:
    """Random inputs for a few choices of sizes that the program allows."""
    random = np.random.default_rng(0)
    for start, step in ((1, 0), (2, 1), (5, 1), (7, 0)):
        sizes = {v: start + step * k for k, v in enumerate(program.sizes)}
        if all(evaluate_size(r, sizes) for r in program.requires):
            yield [_random(t, sizes, random) for t in program.inputs]


def _random(t: Tensor, sizes: dict, random: np.random.Generator) -> np.ndarray:
    shape = caller_shape(t, sizes, {v: (n,) for v, n in sizes.items() if v.pack})
    dtype = numpy_dtype(t.dtype)
    if t.dtype.is_float:
        return np.asarray(random.standard_normal(shape), dtype)
    lo, hi = (evaluate_size(b, sizes) for b in t.value_range) if t.value_range else (0, 2)
    return random.integers(lo, hi, shape).astype(dtype)
