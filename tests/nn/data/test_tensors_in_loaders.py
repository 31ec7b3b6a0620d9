"""Batches are tensors where examples are, arrays where examples are arrays."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn

X, Y = np.arange(24, dtype="f4").reshape(8, 3), np.arange(8) % 2


def kinds(loader: nn.data.DataLoader) -> list[type]:
    return [type(part) for part in next(iter(loader))]


@pytest.mark.parametrize("workers", [0, 2])
def test_of_a_tensor_dataset_and_its_parts(workers: int):
    tensors = nn.data.TensorDataset(tx.tensor(X), tx.tensor(Y))
    loader = nn.data.DataLoader(tensors, batch_size=3, num_workers=workers)
    assert kinds(loader) == [tx.Tensor] * 2
    assert np.concatenate([x.numpy() for x, y in loader]).tolist() == X.tolist()
    part = nn.data.DataLoader(nn.data.Subset(tensors, [1, 5]), batch_size=2, num_workers=workers)
    assert kinds(part) == [tx.Tensor] * 2 and next(iter(part))[0].tolist() == X[[1, 5]].tolist()
    mixed = nn.data.TensorDataset(tx.tensor(X), Y)
    assert kinds(nn.data.DataLoader(mixed, batch_size=3)) == [tx.Tensor, np.ndarray]
    assert [type(part) for part in mixed[0]] == [tx.Tensor, np.int64]


def test_dtypes_that_numpy_lacks():
    half = nn.data.TensorDataset(tx.tensor(X, dtype="bf16"))
    for part in (half, nn.data.Subset(half, [0, 1])):
        (batch,) = next(iter(nn.data.DataLoader(part, batch_size=2)))
        assert batch.dtype.name == "bf16" and batch.float().tolist() == X[:2].tolist()


def test_the_loop_that_people_write():
    class Examples(nn.data.Dataset):
        def __len__(self) -> int:
            return 8

        def __getitem__(self, k: int) -> tuple[tx.Tensor, int]:
            return tx.tensor(X[k]), int(Y[k])

    model = nn.Linear(3, 2)
    optimizer, before = nn.optim.SGD(model.parameters(), lr=0.1), model.weight.numpy().copy()
    for x, y in nn.data.DataLoader(Examples(), batch_size=4):
        loss = nn.CrossEntropyLoss()(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (model.weight.numpy() != before).any()


def test_a_trainer_takes_them():
    def trained(*data: object) -> dict[str, np.ndarray]:
        nn.manual_seed(0)
        model = nn.Linear(3, 2)
        loader = nn.data.DataLoader(nn.data.TensorDataset(*data), batch_size=3)
        trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        trainer.fit(loader, epochs=2, progress=False)
        return model.state_dict()

    arrays, tensors = trained(X, Y), trained(tx.tensor(X), tx.tensor(Y))
    assert all((arrays[name] == tensors[name]).all() for name in arrays)
