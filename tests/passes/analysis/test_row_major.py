"""Addresses: the position of an element, whatever is divided in its indices; quotients of joined
loops go away.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.poly.nests import evaluate, plus, tensor, times
from tests.profiles import examples
from texpr.ir.expr import Expr, FloorDiv, Mod, Mul, Var, index
from texpr.ir.printing.expr import show
from texpr.passes.analysis.row_major import flat_index

M, N, K = (Var(v) for v in "MNK")
v, w, b = (Var(n) for n in "vwb")
VALUES = st.sampled_from(
    [v, w, b, plus(times(v, 8), w), plus(v, 1), FloorDiv(v, K), FloorDiv(v, N), Mod(v, N)]
)
DIVISORS = st.sampled_from([N, K, Mul(N, K), index(3), index(4)])


@st.composite
def accesses(draw) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Indices and a shape: numbers divided by a size, by the right one most of the time."""
    size = draw(DIVISORS)
    x = draw(VALUES)
    by = size if draw(st.booleans()) else draw(DIVISORS)
    factor = draw(st.sampled_from([1, 1, 1, 2]))
    pair = (
        times(FloorDiv(x, by), factor) if factor > 1 else FloorDiv(x, by),
        times(Mod(x, by), factor) if factor > 1 else Mod(x, by),
    )
    pair = tuple(plus(i, draw(VALUES)) if draw(st.integers(0, 3)) == 0 else i for i in pair)
    extra = draw(st.sampled_from([(), (b,)]))
    after = draw(st.sampled_from([(), (w,)]))
    return (*extra, *pair, *after), (
        *(M for _ in extra),
        M,
        size,
        *(index(5) if draw(st.booleans()) else K for _ in after),
    )


@given(accesses(), st.tuples(*[st.integers(1, 5)] * 3), st.tuples(*[st.integers(0, 20)] * 3))
@examples(75)
def test_the_position_of_an_element(access, sizes: tuple[int, ...], values: tuple[int, ...]):
    indices, shape = access
    env = dict(zip((M, N, K), sizes)) | dict(zip((v, w, b), values))
    wanted = 0
    for i, n in zip(indices, shape):
        wanted = wanted * evaluate(n, env, {}, set()) + evaluate(i, env, {}, set())
    assert evaluate(flat_index(tensor("A", *shape), indices).expr(), env, {}, set()) == wanted


X = plus(times(v, 8), w)
PICTURES = {
    "one joined loop": ((M, N), (FloorDiv(X, N), Mod(X, N)), "v * 8 + w"),
    "in a batch": ((K, M, N), (b, FloorDiv(v, N), Mod(v, N)), "b * M * N + v"),
    "three joined loops": ((M, N, K), (FloorDiv(FloorDiv(v, K), N), Mod(FloorDiv(v, K), N), Mod(v, K)), "v"),
    "joined with a pair": (
        (M, N, K),
        (FloorDiv(v, Mul(N, K)), FloorDiv(Mod(v, Mul(N, K)), K), Mod(Mod(v, Mul(N, K)), K)),
        "v",
    ),
    "a row beside": ((M, N), (plus(FloorDiv(v, N), 1), Mod(v, N)), "N + v"),
    "the element beside": ((M, N), (FloorDiv(v, N), plus(Mod(v, N), 1)), "v + 1"),
    "another size": ((M, K), (FloorDiv(v, N), Mod(v, N)), "v // N * K + v % N"),
    "transposed": ((N, M), (Mod(v, N), FloorDiv(v, N)), "v % N * M + v // N"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_what_cancels(name: str):
    shape, indices, wanted = PICTURES[name]
    assert show(flat_index(tensor("A", *shape), indices).expr()) == wanted


def test_joined_indices_give_each_position_once():
    form = flat_index(tensor("A", M, N), (FloorDiv(v, N), Mod(v, N))).expr()
    for m, n in product(range(1, 5), repeat=2):
        assert [evaluate(form, {M: m, N: n, v: k}, {}, set()) for k in range(m * n)] == list(range(m * n))
