"""Constants of the library that make no sense are refused with their names; sums of small
integers come in the operands' type.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops

LINE, IMAGE = np.ones((1, 2, 8)), np.ones((1, 2, 8, 8))
WEIGHT = {1: np.ones((2, 2, 2)), 2: np.ones((2, 2, 2, 2))}
REFUSED = [
    (lambda: ops.conv1d(LINE, WEIGHT[1], DW=-1), "DW >= 1"),
    (lambda: ops.conv1d(LINE, WEIGHT[1], DW=0), "DW >= 1"),
    (lambda: ops.conv1d(LINE, WEIGHT[1], PW=-1), "PW >= 0"),
    (lambda: ops.conv2d(IMAGE, WEIGHT[2], PH=-1), "PH >= 0"),
    (lambda: ops.conv3d(IMAGE[:, :, None], WEIGHT[2][:, :, None], PU=-1), "PU >= 0"),
    (lambda: ops.conv_transpose1d(LINE, WEIGHT[1], SW=0), "SW >= 1"),
    (lambda: ops.conv_transpose1d(LINE, WEIGHT[1], EW=-1), "EW >= 0"),
    (lambda: ops.unfold2d(IMAGE, R=0, Q=1), "R >= 1"),
    (lambda: ops.avgpool2d(IMAGE, R=0), "R >= 1"),
    (lambda: ops.maxpool2d(IMAGE, PH=5), r"PH <= DH\*\(R - 1\)"),
    (lambda: ops.maxpool1d(LINE, PW=2), r"PW <= DW\*\(Q - 1\)"),
    (lambda: ops.avgpool1d(LINE, PW=2), "PW < Q"),
    (lambda: ops.avgpool1d(LINE, EW=-1), "EW >= 0"),
    (lambda: ops.maxpool2d_indices(IMAGE, PW=2), "PW < Q"),
    (lambda: ops.lppool1d(LINE, p=0.0), "0 < p"),
    (lambda: ops.adaptive_avgpool1d(LINE, V=0), "V >= 1|by zero"),
    (lambda: ops.upsample_nearest(IMAGE, R=0), "R >= 1"),
    (lambda: ops.resize_axis_nearest(LINE, M=3, scale=-1.0), "scale > 0"),
    (lambda: ops.hardtanh(LINE, lo=1.0, hi=-1.0), "lo <= hi"),
    (lambda: ops.cross_entropy_smooth(LINE[0], np.zeros(2, int), smoothing=2.0), "0 <= smoothing <= 1"),
    (lambda: ops.row_distance_p(LINE, LINE, p=0.0), "0 < p"),
    (lambda: ops.repeat(LINE, times=-1), "size is -1|times >= 0"),
    (lambda: ops.group_norm(IMAGE, G=0), "G"),
]


@pytest.mark.parametrize("k", range(len(REFUSED)))
def test_refused(k: int):
    call, words = REFUSED[k]
    with pytest.raises(tx.Error, match=words):
        call()


SMALL = {
    "matmul": lambda x: x @ x,
    "matmul_nt": lambda x: x @ x.T,
    "matmul_tn": lambda x: x.T @ x,
    "trace": lambda x: np.trace(x).astype(x.dtype),
    "reduce_sum": lambda x: x.sum(0).astype(x.dtype),
    "reduce_prod": lambda x: x.prod(0).astype(x.dtype),
    "norm1": lambda x: abs(x).sum(0).astype(x.dtype),
    "sum_square": lambda x: (x * x).sum(0).astype(x.dtype),
    "batched_matmul": lambda x: x @ x,
    "cumsum": lambda x: x.cumsum(0, dtype=x.dtype),
}


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
def test_sums_of_small_integers(dtype: str):
    """They wrap, as NumPy's products of matrices do."""
    x = np.array([[100, 3], [7, 90]]).astype(dtype)
    for name, reference in SMALL.items():
        given = x[None] if name == "batched_matmul" else x
        found = getattr(ops, name)(*[given] * (2 if "matmul" in name else 1))
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, reference(given))
        if name == "matmul":
            np.testing.assert_array_equal((tx.tensor(x) @ tx.tensor(x)).numpy(), x @ x)
            np.testing.assert_array_equal(ops.einsum("ij,jk->ik", x, x), x @ x)
    assert ops.dot(x[0], x[0]) == x[0] @ x[0] and (ops.matvec(x, x[0]) == x @ x[0]).all()
    assert ops.pairwise_manhattan(x, x).dtype == ops.pairwise_squared_distance(x, x).dtype == x.dtype


def test_variances_of_fewer_elements_than_are_taken_away():
    """As NumPy has them: over 0 where n - ddof is negative."""
    for x, correction, want in (
        ([1.0, 2.0], 5, np.inf),
        ([1.0, 2.0], 2, np.inf),
        ([1.0, 1.0], 2, np.nan),
        ([1.0, 2.0], 1, 0.5),
    ):
        np.testing.assert_equal(ops.reduce_var(np.array(x), correction=correction), want)
        np.testing.assert_equal(ops.reduce_std(np.array(x), correction=correction), np.sqrt(want))
        np.testing.assert_equal(tx.tensor(x).var(ddof=correction).item(), want)


def test_norms_of_every_order():
    x = np.array([3.0, -4.0, 0.0])
    assert [float(ops.norm_p(x, p=p).round(6)) for p in (0.0, 1.0, 2.0, np.inf)] == [2, 7, 5, 4]
    a = tx.tensor([[1.0, -2.0]], requires_grad=True)
    found = nn.PairwiseDistance(p=np.inf, eps=0.0)(a, np.zeros((1, 2)))
    found.sum().backward()
    assert found.tolist() == [2.0] and a.grad.tolist() == [[0.0, -1.0]]


def test_more_than_two_tensors():
    a = np.ones((2, 3), "f4")
    assert ops.concat(a, a, a, axis=1).shape == (2, 9) and ops.stack(a, a, a, a).shape == (4, 2, 3)
    assert ops.concat(tx.tensor(a), tx.tensor(a), tx.tensor(a)).shape == (6, 3)
