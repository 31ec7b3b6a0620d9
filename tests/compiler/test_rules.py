"""The rules of the language, clause by clause: compiled and interpreted agree at all sizes, zero
among them, and printing is exact.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr.ir.dtypes import BF16, numpy_dtype
from texpr.ir.expr import Tensor, Var
from texpr.ir.printing.tensor import show_program
from texpr.ir.shapes import Shape, caller_shape, evaluate_size

OPS = vars(tx.load(Path(__file__).with_name("rules.tx")))
EXTENTS = (0, 1, 3, 7)


def value(t: Tensor, shape: Shape, sizes: dict[Var, int], random: np.random.Generator) -> np.ndarray | None:
    """Values of all sizes that a type has, and what the declaration allows; None where it allows
    nothing.
    """
    dtype = numpy_dtype(t.dtype)
    if t.value_range is not None:
        lo, hi = (evaluate_size(e, sizes) for e in t.value_range)
        if t.distinct:
            return random.permutation(shape[-1]).astype(dtype)
        return (
            random.integers(lo, hi, shape).astype(dtype)
            if lo < hi
            else np.zeros(shape, dtype)
            if 0 in shape
            else None
        )
    if t.dtype == BF16:
        return (random.standard_normal(shape).astype("f4").view("u4") >> 16).astype("u2")
    if t.dtype.is_float:
        return np.asarray(random.standard_normal(shape) * 300).astype(dtype)
    if t.dtype.kind == "bool":
        return random.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    far, near = (
        random.integers(info.min, info.max, shape, dtype, endpoint=True),
        random.integers(-40 if info.min else 0, 40, shape),
    )
    return np.where(random.integers(0, 2, shape) == 0, far, near.astype(dtype)).astype(dtype)


def arguments(op: tx.Op, n: int) -> list[np.ndarray] | None:
    random = np.random.default_rng(n)
    program = op.program()
    packs = {v: (n,) if v.name == "A" else (2, n) for v in program.sizes if v.pack}
    sizes = {
        v: int(np.prod(packs[v])) if v in packs else n + k if n else 0 for k, v in enumerate(program.sizes)
    }
    found = [value(t, caller_shape(t, sizes, packs), sizes, random) for t in program.inputs]
    return None if any(a is None for a in found) else found  # type: ignore[return-value]


def outcome(call, given: list[np.ndarray]) -> tuple[np.ndarray, ...] | str:
    try:
        results = call(*given)
    except tx.CallError as error:
        return str(error)
    return tuple(map(np.asarray, results)) if isinstance(results, tuple) else (np.asarray(results),)


@pytest.mark.parametrize("name", OPS)
def test_compiled_is_interpreted(name):
    op, compared = OPS[name], 0
    for n in EXTENTS:
        given = arguments(op, n)
        if given is None:
            continue
        expected, found = outcome(lambda *a: tx.interpret(op, *a), given), outcome(op, given)
        if isinstance(expected, str) or isinstance(found, str):
            assert expected == found
            continue
        compared += 1
        for e, f, t in zip(expected, found, op.program().outputs, strict=True):
            assert (e.dtype, e.shape) == (f.dtype, f.shape)
            if t.dtype == BF16:
                e, f = ((a.astype("u4") << 16).view("f4") for a in (e, f))
            if e.dtype.kind == "f":
                np.testing.assert_allclose(
                    f, e, rtol=1e-2 if t.dtype == BF16 else 2e-3 if t.dtype.bits == 16 else 2e-5, atol=1e-3
                )
            else:
                np.testing.assert_array_equal(f, e)
    assert compared


@pytest.mark.parametrize("name", OPS)
def test_printed_parses_back(name):
    shown = show_program(OPS[name].program(), with_callees=True)
    assert show_program(tx.op(shown, OPS[name].program().name).program(), with_callees=True) == shown
