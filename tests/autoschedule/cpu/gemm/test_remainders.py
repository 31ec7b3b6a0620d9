"""Products of which no size is a multiple of anything: what is left over of the lanes needs no
more registers than there are.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from bench.inner.assembly import inner_loops, kept

TEXTS = {
    "product": "op f(A: f32[N, K], B: f32[K, M]) -> Y: f32[N, M] { Y[i, j] = sum(k: A[i, k] * B[k, j]) }",
    "many products": "op f(A: f32[B, N, K], X: f32[B, K, M]) -> Y: f32[B, N, M] { Y[b, i, j] = sum(k: A[b, "
    "i, k] * X[b, k, j]) }",
    "an epilogue": "op f(A: f32[N, K], B: f32[K, M], c: f32[M]) -> Y: f32[N, M] { Y[i, j] = max(sum(k: A[i, "
    "k] * B[k, j]) + c[j], 0) }",
    "rows that lie apart": "op f(X: f32[B, K, M], A: f32[K, N]) -> Y: f32[B, N, M] { Y[b, i, j] = sum(k: "
    "X[b, k, j] * A[k, i]) }",
    "two products": """op f(A: f32[N, K], B: f32[K, M], C: f32[M, L]) -> Y: f32[N, L] {
      T[i, j] = max(sum(k: A[i, k] * B[k, j]), 0)
      Y[i, l] = sum(j: T[i, j] * C[j, l])
    }""",
}
EXTENTS = (23, 31, 43, 47, 63, 79, 95, 131)


def sizes_of(operator: tx.Op, n: int) -> dict[str, int]:
    return {v.name: 3 if v.name == "B" else n for v in operator.program().sizes}


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("n", EXTENTS)
@pytest.mark.parametrize("name", TEXTS)
def test_all_sums_stay_in_registers(name: str, n: int, target: str):
    operator = tx.op(TEXTS[name])
    loops = inner_loops(tx.schedule(operator, **sizes_of(operator, n)).auto(target).compile(target).asm)
    assert any(sum("vfm" in line for line in loop) >= 4 for loop in loops) and not any(map(kept, loops))


@pytest.mark.parametrize("n", [*EXTENTS, 16, 17, 33, 48])
@pytest.mark.parametrize("name", TEXTS)
def test_elements_that_are_computed_twice_are_the_same(name: str, n: int):
    operator = tx.op(TEXTS[name])
    sizes = sizes_of(operator, n)
    s = tx.schedule(operator, **sizes).auto()
    assert s.certificate()
    arrays = [
        np.random.default_rng(k).standard_normal([sizes[str(e.sizes[0].name)] for e in t.dims], dtype="f4")
        for k, t in enumerate(operator.program().inputs)
    ]
    expected = tx.interpret(operator, *arrays) if n < 24 else _reference(name, *arrays)
    np.testing.assert_allclose(s.compile()(*arrays), expected, rtol=1e-3, atol=1e-3)


def _reference(name: str, a: np.ndarray, b: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    match name:
        case "an epilogue":
            return np.maximum(a @ b + rest[0], 0)
        case "rows that lie apart":
            return b.T @ a
        case "two products":
            return np.maximum(a @ b, 0) @ rest[0]
    return a @ b
