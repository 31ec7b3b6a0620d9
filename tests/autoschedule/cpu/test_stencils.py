"""Stencils of stencils at every kind of edge: the default schedule computes producers where they
are used, and its loops are certified.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from bench.inner.assembly import inner_loops
from tests.profiles import examples
from tests.properties.schedule.fused import BLUR, HARRIS, UNSHARP

GUARDS = ["clamp", "wrap", "reflect", "0", "1"]


@st.composite
def chains(draw: st.DrawFn) -> str:
    """An operator of up to four stages along one dimension, each of one or two reads of the
    stage before at some guard.
    """
    last, lines = "X", []
    for name in ["a", "b", "c"][: draw(st.integers(0, 3))] + ["Y"]:
        reads = [
            f"{last}[i {draw(st.sampled_from(['-', '+']))} {draw(st.integers(0, 2))} | "
            f"{draw(st.sampled_from(GUARDS))}]"
            for _ in range(draw(st.integers(1, 2)))
        ]
        lines.append(f"  {name}[i] = {' * '.join(reads)} for i in 0..N")
        last = name
    return "\n".join(["op chain(X: f32[N]) -> Y: f32[N] require N > 2 {", *lines, "}"])


@given(chains(), st.sampled_from([None, 3, 4, 9, 40]))
@examples(40)
def test_chains_are_certified_and_computed(text: str, size: int | None):
    operator = tx.op(text)
    s = tx.schedule(operator, **({} if size is None else {"N": size})).auto()
    assert s.certificate()
    x = np.arange(2, 2 + (size or 17)).astype("f4")
    np.testing.assert_array_equal(s.compile()(x), tx.interpret(operator, x))


@pytest.mark.parametrize("sizes", [{}, {"M": 1, "N": 1}, {"M": 3, "N": 2}, {"M": 40, "N": 70}], ids=str)
@pytest.mark.parametrize("text, inlined", [(BLUR, "h"), (UNSHARP, "v s r"), (HARRIS, "dx dy sxx syy sxy")])
def test_images_are_inlined_at_their_edges(text: str, inlined: str, sizes: dict[str, int]):
    operator = tx.op(text)
    s = tx.schedule(operator, **sizes).auto()
    assert set(f'inline("{name}")' for name in inlined.split()) <= set(s.script().splitlines())
    assert s.certificate()
    x = np.random.default_rng(0).standard_normal((sizes.get("M", 9), sizes.get("N", 33))).astype("f4")
    expected = np.asarray(tx.interpret(operator, x))
    # Differences of products, as large as the largest result, lose what these have in common.
    atol = max(1e-5, np.finfo(np.float32).eps * float(np.max(abs(expected))))
    np.testing.assert_allclose(np.asarray(s.compile()(x)), expected, rtol=1e-5, atol=atol)


def test_long_vectors_with_a_peeled_edge_are_shared():
    """The loops peeled off are shorter than a vector: how many iterations there are to share is
    what the longest loop says.
    """
    s = tx.schedule(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i - 1 | 0] * X[i] }"), N=1 << 20).auto()
    assert 'peel("Y.i", 1, 0)' in s.script() and 'parallel("Y.ioo")' in s.script()
    x = np.random.default_rng(0).standard_normal(1 << 20).astype("f4")
    np.testing.assert_array_equal(s.compile()(x), np.concatenate([[np.float32(0)], x[:-1]]) * x)


@pytest.mark.parametrize("guard", ["wrap", "reflect"])
def test_windows_that_come_round_are_as_those_that_stop(guard: str):
    """Away from the edges, nothing is asked and nothing gathered."""
    operator = tx.op(f"""op window(X: f32[N, M], w: f32[3, 3]) -> Y: f32[N, M] require N >= 2, M >= 2 {{
      Y[i, j] = sum(a, b: X[i + a - 1, j + b - 1 | {guard}] * w[a, b]) for i in 0..N, j in 0..M
    }}""")
    s = tx.schedule(operator, N=65, M=131).auto("x86-64-v4")
    assert s.certificate()
    products = [
        n for n in inner_loops(s.compile("x86-64-v4").asm) if sum("vfmadd" in line for line in n) >= 9
    ]
    assert products and not any("vgather" in line for n in products for line in n)
    x, w = (
        np.random.default_rng(k).standard_normal(n, dtype="f4") for k, n in enumerate(((65, 131), (3, 3)))
    )
    p = np.pad(x, 1, mode=guard)
    expected = sum(w[a, b] * p[a : a + 65, b : b + 131] for a in range(3) for b in range(3))
    np.testing.assert_allclose(s.compile()(x, w), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("by", [-5, 5, 40])
def test_a_roll_is_two_copies(by: int):
    operator = tx.op(f"op roll(X: f32[N]) -> Y: f32[N] require N >= 50 {{ Y[i] = X[i - {by} | wrap] }}")
    s = tx.schedule(operator, N=1000).auto("x86-64-v4")
    assert f'peel("Y.i", {max(by, 0)}, {max(-by, 0)})' in s.script()
    x = np.arange(1000, dtype="f4")
    np.testing.assert_array_equal(s.compile()(x), np.roll(x, by))


def test_a_reflected_edge_is_apart():
    operator = tx.op("""op pad(X: f32[N]) -> Y: f32[N + 5] require N >= 50 {
      Y[i] = X[N - 1 - abs(N - 1 - abs(i - 2))]
    }""")
    s = tx.schedule(operator, N=1000).auto("x86-64-v4")
    assert 'peel("Y.i", 2, 3)' in s.script() and s.certificate()
    assert not any("vgather" in line for n in inner_loops(s.compile("x86-64-v4").asm) for line in n)
    x = np.arange(1000, dtype="f4")
    np.testing.assert_array_equal(s.compile()(x), np.pad(x, (2, 3), mode="reflect"))
