"""Sequences of several lengths: recurrent layers see each as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.nn.core.test_module import complaint
from texpr import nn
from texpr.nn.utils import rnn

X, LENGTHS = np.random.default_rng(0).normal(size=(5, 3, 4)), [3, 5, 2]


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.GRU(4, 3, bidirectional=True, dtype="f64")

    def forward(self, x, lengths):
        y, last = self.cells(rnn.pack_padded_sequence(x, lengths, batch_first=True))
        return rnn.pad_packed_sequence(y, batch_first=True, total_length=6)[0], last


def test_one_program_serves_all_lengths():
    """Whatever stands behind the ends, NaN included."""
    reader = Reader()
    for lengths in ([3, 5, 2], [1, 1, 4]):
        x = X.copy()
        for n, length in enumerate(lengths):
            x[length:, n] = np.nan
        y, last = reader(x.swapaxes(0, 1), np.array(lengths))
        for n, length in enumerate(lengths):
            alone, end = reader.cells(X[:length, n : n + 1])
            np.testing.assert_allclose(y[n, :length], alone[:, 0], atol=1e-12)
            np.testing.assert_allclose(last[:, n], end[:, 0], atol=1e-12)
            assert y.shape == (3, 6, 6) and not y[n, length:].any()
    assert len(reader._plans) == 1


def test_gradients_end_with_the_sequences():
    x = X.copy()
    x[2:, 2] = np.nan
    cells, given = nn.LSTM(4, 3, dtype="f64"), tx.tensor(x).requires_grad_()
    y, _ = cells(rnn.pack_padded_sequence(given, LENGTHS))
    rnn.pad_packed_sequence(y)[0].sum().backward()
    assert given.grad is not None and (given.grad.numpy() != 0).all(-1).sum(0).tolist() == LENGTHS
    assert all(np.isfinite(p.grad.numpy()).all() for p in cells.parameters() if p.grad is not None)


def test_packing_and_unpacking():
    pieces = [np.arange(6.0).reshape(3, 2), np.ones((1, 2)), np.full((2, 2), 7.0)]
    packed = rnn.pack_sequence(pieces)
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.data[:, 0].tolist() == [0, 7, 1, 2, 7, 4]
    for found, piece in zip(rnn.unpack_sequence(packed), pieces, strict=True):
        np.testing.assert_array_equal(found, piece)
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0)
    assert padded[1].tolist() == [[1, 1], [-1, -1], [-1, -1]] and lengths.tolist() == [3, 1, 2]
    left = rnn.pad_sequence(
        [np.array([1, 2, 3]), np.array([4])], batch_first=True, padding_value=9, padding_side="left"
    )
    assert left.tolist() == [[1, 2, 3], [9, 9, 4]]
    assert rnn.pack_padded_sequence(X, [2, 3, 1]).padded.shape == (3, 3, 4)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda: rnn.pack_padded_sequence(X, [3, 6, 2]),
            "error[range]: pack_padded_sequence: lengths[1] is 6, expected 1 to 5",
        ),
        (
            lambda: rnn.pack_padded_sequence(X, [3, 0, 2]),
            "error[range]: pack_padded_sequence: lengths[1] is 0, expected 1 to 5",
        ),
        (
            lambda: rnn.pack_padded_sequence(X, [3, 5]),
            "error[shape]: pack_padded_sequence: lengths are int64[2], expected 3 integers",
        ),
        (
            lambda: rnn.pack_padded_sequence(X[0, 0], [3]),
            "error[rank]: pack_padded_sequence: the input has 1 dimensions, expected (time, batch, ...)",
        ),
        (
            lambda: rnn.pad_sequence([np.ones((2, 3)), np.ones((2, 2))]),
            "error[shape]: pad_sequence: sequence 1 is [2, 2], the first [2, 3]: they may differ in the "
            "first axis alone",
        ),
        (
            lambda: rnn.pad_sequence([]),
            "error[arguments]: pad_sequence: expected a list of at least one tensor (time, ...)",
        ),
        (
            lambda: rnn.pad_packed_sequence(rnn.pack_padded_sequence(X, LENGTHS), total_length=4),
            "error[arguments]: pad_packed_sequence: total_length is 4, and the sequences take 5",
        ),
        (
            lambda: nn.RNN(4, 3)(rnn.pack_padded_sequence(X[..., None], LENGTHS)),
            "error[rank]: RNN: the packed sequences have 4 dimensions, expected (time, batch, input_size)\n  "
            "  in the layer RNN(4, 3)",
        ),
        (
            lambda: Reader()(X.swapaxes(0, 1), np.array([3, 6, 2])),
            "error[range]: `x1[1]` is 6, expected a value in 1..6",
        ),
    ],
)
def test_refused(call, expected):
    assert complaint(call) == expected


def test_shapes_do_not_depend_on_lengths_that_are_inputs():
    class Flat(nn.Module):
        def forward(self, x, lengths):
            return rnn.pack_padded_sequence(x, lengths).data

    assert (
        complaint(lambda: Flat()(X, np.array(LENGTHS)))
        == """\
error[symbolic]: the lengths of a packed sequence are an input of the program, and shapes do not depend on data
    in the layer Flat()
  help: use .padded and .lengths"""
    )
