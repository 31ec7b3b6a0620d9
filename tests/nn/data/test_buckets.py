"""Few shapes for many lengths."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from texpr import nn
from texpr.nn.training import step

SIZES = np.arange(1, 51)
RANDOM = np.random.default_rng(0)
SEQUENCES = [RANDOM.integers(1, 20, n) for n in SIZES]


def padding(lengths: list[int], bounds: tuple[int, ...] | list[int]) -> int:
    return sum(min(b for b in bounds if b >= n) - n for n in lengths)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.integers(1, 4))
def test_bounds_need_the_least_padding(lengths: list[int], count: int):
    bounds = nn.data.bucket_bounds(lengths, count)
    known = sorted(set(lengths))
    assert len(bounds) <= count and bounds == sorted(set(bounds)) and bounds[-1] == max(lengths)
    others = ((*c, known[-1]) for k in range(min(count, len(known))) for c in combinations(known[:-1], k))
    assert padding(lengths, bounds) == min(padding(lengths, o) for o in others)


class Examples(nn.data.Dataset):
    def __len__(self) -> int:
        return len(SEQUENCES)

    def __getitem__(self, k: int) -> tuple[np.ndarray, int]:
        return SEQUENCES[k], int(SIZES[k] % 3)


class Reader(nn.Module):
    """The mean of the embeddings that are no padding: what is padded changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(20, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, x: tx.Tensor) -> tx.Tensor:
        there = (x > 0).astype("f32")
        total = (self.rows(x) * there.reshape(*x.shape, 1)).sum(axis=1)
        return self.last(total / there.sum(axis=1, keepdims=True))


def trained(loader: object, monkeypatch: pytest.MonkeyPatch) -> tuple[nn.Trainer, int]:
    """A training, and how many programs it has compiled."""
    made = []

    class Counted(step.LossPlan):
        def __init__(self, *given: object) -> None:
            made.append(given)
            super().__init__(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(step, "LossPlan", Counted)
    nn.manual_seed(0)
    model = Reader()
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.1))
    trainer.fit(loader, epochs=2, progress=False)
    return trainer, len(made)


def test_fifty_lengths_are_three_programs(monkeypatch: pytest.MonkeyPatch):
    bounds = nn.data.bucket_bounds(SIZES, 3)
    sampler = nn.data.LengthBatchSampler(SIZES, 8, pool=2)
    pad = nn.data.PadToBuckets(bounds, batch_size=8)
    loader = nn.data.DataLoader(Examples(), batch_sampler=sampler, collate_fn=pad)
    trainer, programs = trained(loader, monkeypatch)
    assert programs <= 3 and len(set(SIZES.tolist())) == 50

    class Once(nn.data.PadToBuckets):
        """Each batch as long as its longest sequence, and no example added."""

        def __call__(self, examples: list) -> tuple:
            return nn.data.PadToBuckets([max(len(x) for x, _ in examples)])(examples)

    plain = nn.data.DataLoader(
        Examples(), batch_sampler=nn.data.LengthBatchSampler(SIZES, 8, pool=2), collate_fn=Once([50])
    )
    other, many = trained(plain, monkeypatch)
    assert many > 3
    for name, value in other.model.state_dict().items():
        assert np.allclose(value, trainer.model.state_dict()[name], atol=1e-5), name
    assert np.allclose(other.history["loss"], trainer.history["loss"], atol=1e-5)


def test_targets_are_padded_with_their_sequences():
    pad = nn.data.PadToBuckets([4], batch_size=3)
    x, y, weight = pad([(np.ones((2, 5)), np.array([1, 2])), (np.ones((3, 5)), np.array([3, 4, 5]))])
    assert x.shape == (3, 4, 5) and weight.tolist() == [1, 1, 0]
    assert y[:2].tolist() == [[1, 2, -100, -100], [3, 4, 5, -100]]


def test_a_sequence_that_fits_nowhere():
    with pytest.raises(tx.CallError) as caught:
        nn.data.PadToBuckets([2, 4])([(np.ones(5), 0)])
    assert str(caught.value) == (
        "error[data]: PadToBuckets: a sequence has length 5, the last bound is 4\n"
        "  help: bounds=nn.data.bucket_bounds(lengths, 3) fit all sequences"
    )
