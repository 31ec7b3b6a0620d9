"""The page about tensors: the names that it lists are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import texpr as tx
from texpr.graph.arrays.promotion import promoted
from texpr.graph.lazy import Tensor
from texpr.graph.lazy.computation_cache import FEWEST, MOST, MOST_BYTES
from texpr.graph.lazy.lazy_tensor import MOST_WAITING
from texpr.ir.dtypes import DTYPES

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "tensors.md"
TEXT = PAGE.read_text(encoding="utf-8")
KINDS = ("arithmetic", "shape", "parts", "reductions", "order", "each element", "activations", "dtype")


@pytest.mark.parametrize("kind", KINDS)
def test_methods_are_there(kind: str):
    (row,) = re.findall(rf"^\| {kind} \|(.*)\|$", TEXT, re.MULTILINE)
    words = [w for code in re.findall(r"`([^`]*)`", row) for w in code.split() if w.isidentifier()]
    assert words and all(hasattr(Tensor, w) or w in ("abs", "divmod") for w in words)


def test_functions_are_there():
    assert all(hasattr(tx, name) for name in re.findall(r"\btx\.(\w+)", TEXT))


def test_limits_are_those_of_the_program():
    assert f"After {MOST_WAITING} operators" in TEXT
    assert f"Above {MOST} programs or {MOST_BYTES >> 20} MB" in TEXT and f"last {FEWEST} stay" in TEXT


def test_dtypes_follow_the_table():
    """Every row whose result has a name, for all dtypes that its cells name."""
    kinds = {
        "float": ["f16", "bf16", "f32", "f64"],
        "8-bit integer": ["i8", "u8"],
        "16-bit integer": ["i16", "u16"],
        "integer of 32 or 64 bits": ["i32", "u32", "i64", "u64"],
    }
    checked = 0
    for left, right, result in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", TEXT, re.MULTILINE):
        first = kinds.get(left, [w for w in re.split(r", | or ", left) if w in DTYPES])
        second = kinds.get(right, [w for w in re.split(r", | or ", right) if w in DTYPES])
        for a, b in ((a, b) for a in first for b in second):
            expected = a if result == "the float" else result
            if expected in DTYPES:
                assert promoted(DTYPES[a], DTYPES[b]) == DTYPES[expected], (a, b)
                checked += 1
    assert checked > 30
