"""Operators and their Programs from the disk cache: the same as those of their texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr import lang
from texpr.ir.traverse import equal

TWICE = """# Twice the input.
op once<T: float>(X: T[N]) -> Y: T[N] { Y[i] = X[i] }
op twice<T: float>(X: T[N]; factor = 2) -> Y: T[N] {
    Z = once(X)
    Y[i] = factor * Z[i] + 0.5
}
"""
HEADS = [
    TWICE,
    "use ops: softmax\nop f(X: f32[N, M]) -> Y: f32[N, M] { Y = softmax(X) }",
    "op g(X: i32[N] in 0..K, B: f32[K]) -> Y: f32[N] require N <= 2 * K { Y[i] = B[X[i]] }",
    "op h(X: f32[*A:axis, D, *B], S: f32[D] = 1; axis = 0) -> Y: f32[*A, D, *B] {"
    " Y[*a, d, *b] = X[*a, d, *b] * S[d] }",
]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """How often texts are parsed and Programs are made, with an empty disk cache."""
    counts = {"parse": 0, "elaborate": 0}
    for name in counts:
        made = getattr(lang, name)
        monkeypatch.setattr(lang, name, partial(_counted, counts, name, made))
    with tx.options(cache_dir=tmp_path / "cache"):
        yield counts


def _counted(counts: dict[str, int], name: str, made: Callable[..., object], *arguments: object) -> object:
    counts[name] += 1
    return made(*arguments)


@pytest.mark.parametrize("text", HEADS)
def test_an_operator_from_disk_is_that_of_its_text(text: str, parsed: dict[str, int]):
    first, second = tx.op(text), tx.op(text)
    assert parsed["parse"] == 1
    assert (str(first), first.signature, first.__doc__) == (str(second), second.signature, second.__doc__)
    assert first.source == second.source and first.__signature__ == second.__signature__
    a, b = first.program(), second.program()
    assert parsed["parse"] == 1 and parsed["elaborate"] <= 2
    assert a is not b and equal(a, b) and str(a.span) == str(b.span)
    assert [str(e.span) for e in a.equations] == [str(e.span) for e in b.equations]


def test_an_error_from_disk_shows_the_place_in_the_text(parsed: dict[str, int]):
    text = "op count(X: i32[N]) -> Y: i32[N] { Y[i] = X[i] + 1 }"
    errors = []
    for _ in range(2):
        with pytest.raises(tx.CheckError) as caught:
            tx.grad(tx.op(text)).program()
        errors.append(str(caught.value))
    assert errors[0] == errors[1] and "op count" in errors[0] and parsed["parse"] == 1


def test_other_texts_dtypes_and_constants_are_other_programs(parsed: dict[str, int]):
    x = np.ones(3, np.float64)
    for _ in range(2):
        twice = tx.op(TWICE)
        assert (twice(x) == 2.5).all() and (twice(x, factor=3) == 3.5).all()
        assert (twice(x.astype("f4"), factor=2.5) == 3).all()
        assert (tx.op(TWICE.replace("0.5", "1.5"))(x) == 3.5).all()
    assert parsed["parse"] == 2


def test_mistakes_are_found_again(parsed: dict[str, int]):
    for _ in range(2):
        with pytest.raises(tx.CheckError, match="outside its shape"):
            tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] }")
    assert parsed["elaborate"] == 2


def test_damaged_records_count_as_absent(parsed: dict[str, int], tmp_path: Path, monkeypatch):
    from texpr.runtime import disk_cache

    tx.op(TWICE)
    for damage in (b"", b"[]", b"[1, 2]", b"{}", b"[[[], [], []]]", b"\xff"):
        with monkeypatch.context() as m:
            m.setattr(disk_cache.DiskCache, "get", lambda self, key, damage=damage: damage)
            assert (tx.op(TWICE)(np.zeros(2, "f4")) == 0.5).all(), damage


def test_texts_that_use_files_are_read_again(parsed: dict[str, int], tmp_path: Path):
    (tmp_path / "b.tx").write_text("op one(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }")
    (tmp_path / "a.tx").write_text('use "b.tx": one\nop two(X: f32[N]) -> Y: f32[N] { Y = one(X) }')
    assert (tx.load(tmp_path / "a.tx").two(np.zeros(2, "f4")) == 1).all()
    (tmp_path / "b.tx").write_text("op one(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 5 }")
    assert (tx.load(tmp_path / "a.tx").two(np.zeros(2, "f4")) == 5).all()
