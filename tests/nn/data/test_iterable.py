"""Data sets that give examples one after the other, and batches of another size at the end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.graph import Plan
from texpr.nn.data import DataLoader, IterableDataset, TensorDataset


class Stream(IterableDataset):
    """Examples of a line."""

    def __init__(self, count: int = 10) -> None:
        self.count = count

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for k in range(self.count):
            yield np.float32([k, 1]), np.float32([2 * k])


def firsts(loader: DataLoader) -> list[list[float]]:
    return [x[:, 0].tolist() for x, _ in loader]


def test_batches_come_in_the_order_of_the_stream():
    loader = DataLoader(Stream(), batch_size=4)
    assert firsts(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert loader.epoch == 1 and loader.position == 0
    assert firsts(DataLoader(Stream(), batch_size=4, drop_last=True)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert firsts(DataLoader(Stream(0), batch_size=4)) == []
    with pytest.raises(TypeError, match="Stream has no length, and so the loader has none"):
        len(loader)


def test_a_loader_goes_on_where_another_one_was():
    loader, other = DataLoader(Stream(), 4), DataLoader(Stream(), 4)
    next(iter(loader))
    other.load_state_dict(loader.state_dict())
    assert firsts(other) == [[4, 5, 6, 7], [8, 9]] and firsts(other)[0] == [0, 1, 2, 3]


def test_a_stream_trains():
    model = nn.Linear(2, 1)
    trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), 0.01))
    losses = trainer.fit(DataLoader(Stream(), 5), epochs=20, progress=False)["loss"]
    assert losses[-1] < losses[0] / 10


@pytest.mark.parametrize(
    "options",
    [{"shuffle": True}, {"num_workers": 1}, {"sampler": range(3)}, {"shard": (0, 2)}],
    ids=lambda options: next(iter(options)),
)
def test_what_a_stream_does_not_have_is_refused(options: dict):
    with pytest.raises(tx.CallError) as caught:
        DataLoader(Stream(), **options)
    assert caught.value.message == "DataLoader: Stream gives examples one after the other"
    assert caught.value.help == (
        "leave out shuffle, sampler, num_workers and shard: the data set decides, and may mix"
    )


def test_a_last_batch_of_another_size_costs_at_most_one_compilation(monkeypatch: pytest.MonkeyPatch):
    made, first = [], Plan.__init__

    def counted(self: Plan, *args: object, **options: object) -> None:
        made.append(self)
        first(self, *args, **options)

    monkeypatch.setattr(Plan, "__init__", counted)
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), 0.01))
    x = np.ones((10, 2), "f4")
    trainer.fit(DataLoader(TensorDataset(x, x[:, :1]), 5), epochs=2, progress=False)
    alike = len(made)
    trainer.fit(DataLoader(TensorDataset(x, x[:, :1]), 4), epochs=3, progress=False)
    assert alike and len(made) <= alike + 2  # batches of 4, and the last one of 2
