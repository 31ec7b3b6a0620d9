"""`ops.einsum` against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import ops

SIZES = {"a": 2, "b": 3, "c": 4, "i": 3, "j": 5, "k": 2, "t": 2, "Y": 3}


@pytest.mark.parametrize(
    "text",
    [
        "ij,jk->ik",
        "ij,jk",
        "bij,bjk->bik",
        "ii",
        "ii->i",
        "ij->ji",
        "ij->",
        "i,j->ij",
        "i,i",
        "ij,ij->i",
        "...ij,...jk->...ik",
        "a...->...a",
        "ab,bc,ca->abc",
        "tYi,Yt->iY",
        "ijk->k",
        "ba",
    ],
)
def test_it_is_numpys(text: str):
    random = np.random.default_rng(0)
    arrays = [
        random.integers(
            -4, 5, [n for c in term.replace("...", "*") for n in ((2, 3) if c == "*" else (SIZES[c],))]
        ).astype("f4")
        for term in text.split("->")[0].split(",")
    ]
    expected = np.einsum(text, *arrays)
    np.testing.assert_array_equal(ops.einsum(text, *arrays), expected)
    np.testing.assert_array_equal(tx.interpret(ops.einsum_op(text), *arrays), expected)


def test_its_gradient_is_another():
    random = np.random.default_rng(0)
    tx.check_grad(ops.einsum_op("bij,bjk->bik"), random.normal(size=(2, 3, 4)), random.normal(size=(2, 4, 5)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "ij;jk->ik",
            "error[arguments]: einsum: `ij;jk->ik` is no sum of products\n  help: letters, commas and `->`: "
            '"ij,jk->ik"',
        ),
        ("ij->k", "error[arguments]: einsum: the result of `ij->k` has `k` from nowhere"),
        ("ij->ii", "error[arguments]: einsum: the result of `ij->ii` has `i` twice"),
        ("ij->...", "error[arguments]: einsum: the result of `ij->...` has `...` from nowhere"),
    ],
)
def test_texts_that_are_none(text: str, said: str):
    with pytest.raises(tx.CallError) as e:
        ops.einsum(text, np.ones((2, 2)))
    assert str(e.value) == said


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("...ij,...jk->...ik", [(5, 2, 3), (1, 3, 4)]),
        ("ij,ij->i", [(2, 3), (2, 1)]),
        ("...i,...i->...", [(5, 2, 3), (2, 3)]),
        ("i...,i...->...i", [(3, 2, 2), (3, 1, 2)]),
        ("...,...", [(2, 3), (3,)]),
        ("i,i,i->i", [(3,), (1,), (3,)]),
        ("...,", [(2, 3), ()]),
        ("ij,ij->ij", [(1, 3), (2, 1)]),
        ("...a,...a->...", [(1, 4, 3), (5, 1, 3)]),
        ("ab,b->a", [(2, 3), (1,)]),
        ("...", [()]),
        ("...j,j", [(3,), (1,)]),
        ("i,i->", [(0,), (1,)]),
    ],
)
def test_dimensions_of_one_are_repeated(text, shapes):
    rng = np.random.default_rng(0)
    for t in (np.float64, np.int64):
        arrays = [rng.integers(-4, 5, s).astype(t) for s in shapes]
        found, wanted = ops.einsum(text, *arrays), np.einsum(text, *arrays)
        assert np.shape(found) == np.shape(wanted) and np.array_equal(found, wanted)


def test_extents_that_do_not_fit():
    with pytest.raises(tx.CallError, match="axis 0 of `A1` has extent 2, expected Nj = 3"):
        ops.einsum("ij,jk", np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(tx.CallError, match="`A0` has 3 dimensions, expected 2"):
        ops.einsum("ij", np.ones((2, 3, 4)))
