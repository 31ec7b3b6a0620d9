"""Arrays have at most 64 dimensions, and the interpreter takes 32 indices at once."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx


def indices(count: int) -> str:
    return ", ".join(f"i{k}" for k in range(count))


@pytest.mark.parametrize("place", ["input", "output", "let", "intermediate"])
def test_more_dimensions_than_arrays_have(place):
    sizes, ranges = ", ".join("N" * 65), ", ".join(f"i{k} in 0..N" for k in range(65))
    text = {
        "input": f"op f(X: f32[{sizes}]) -> y: f32 {{ y = 0 }}",
        "output": f"op f(X: f32[N]) -> Y: f32[{sizes}] {{ Y[{indices(65)}] = 0 }}",
        "let": f"op f(X: f32[N]) -> y: f32 {{ let T: f32[{sizes}]  T[{indices(65)}] = 0  y = 0 }}",
        "intermediate": f"op f(X: f32[N]) -> y: f32 {{ T[{indices(65)}] = 0 for {ranges}  y = 0 }}",
    }[place]
    with pytest.raises(tx.CheckError, match="has 65 dimensions; an array has at most 64"):
        tx.op(text)


def test_64_dimensions():
    f = tx.op(f"op f(X: f32[N]) -> Y: f32[{', '.join('N' * 64)}] {{ Y[{indices(64)}] = X[i0] }}")
    assert f(np.ones(1, "f4")).shape == (1,) * 64
    with pytest.raises(tx.ResourceError) as e:
        tx.interpret(f, np.ones(1, "f4"))
    assert (
        str(e.value).splitlines()[0]
        == "error[size]: f: `Y` has 64 indices at once, and the interpreter takes 32"
    )


def test_directories_that_no_file_system_has():
    for path in ("/tmp/" + "x" * 10_000, "a\0b", __file__):
        with pytest.raises(tx.CallError, match="expected a directory"):
            tx.options(cache_dir=path)
