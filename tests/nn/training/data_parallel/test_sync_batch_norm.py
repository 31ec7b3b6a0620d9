"""Batch normalization over all ranks is that of one large batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import texpr as tx
from tests.nn.training.data_parallel.examples import X, Y, on_ranks, trainer
from texpr import nn
from texpr.distributed import Communicator


def test_what_is_no_module():
    with pytest.raises(tx.CallError) as error:
        nn.SyncBatchNorm.convert(3)  # type: ignore[type-var]
    assert str(error.value) == "error[arguments]: SyncBatchNorm.convert takes a module, not a int"


def network() -> nn.Sequential:
    nn.manual_seed(0)
    return nn.Sequential(
        nn.Linear(5, 4, dtype="f64"),
        nn.BatchNorm1d(4, dtype="f64"),
        nn.Tanh(),
        nn.BatchNorm1d(4, momentum=None, dtype="f64"),
        nn.Linear(4, 3, dtype="f64"),
    )


def fitted(comm: Communicator | None, size: int, **options: Any) -> dict[str, np.ndarray]:
    model = network() if comm is None else nn.SyncBatchNorm.convert(network())
    t = trainer(comm, model, lambda p: nn.optim.SGD(p, lr=0.5, momentum=0.9), **options)
    t.fit(X, Y, epochs=4, batch_size=size, shuffle=False, progress=False)
    found = {**model.state_dict(), "val": t.predict(X)}
    return {**found, "loss": np.array(t.history["loss"])}


def test_ranks_are_one_large_batch():
    """Batches of 19 and 18 on three ranks, one of which takes part without a batch; in f64."""
    one = fitted(None, 37)
    found = on_ranks(3, lambda comm: fitted(comm, 19))
    for name, value in one.items():
        np.testing.assert_allclose(found[0][name], value, rtol=1e-9, atol=1e-11, err_msg=name)
        assert found[0][name].tobytes() == found[1][name].tobytes() == found[2][name].tobytes(), name


def test_in_one_process_it_is_batch_normalization():
    x = np.random.default_rng(0).normal(size=(4, 3, 2, 2)).astype(np.float32)
    layers = nn.BatchNorm2d(3), nn.SyncBatchNorm(3)
    results = [layer(x) for layer in layers]
    assert results[0].tobytes() == results[1].tobytes()
    for one, other in zip(*(layer.buffers() for layer in layers)):
        assert one.data.tobytes() == other.data.tobytes()


def test_converted_models_keep_their_parameters():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Sequential(nn.BatchNorm2d(2, affine=False), nn.ReLU()))
    before = [*model.parameters(), *model.buffers()]
    assert nn.SyncBatchNorm.convert(model) is model
    assert all(a is b for a, b in zip(before, [*model.parameters(), *model.buffers()], strict=True))
    assert isinstance(model[1][0], nn.SyncBatchNorm) and model[1][0].weight is None
    alone = nn.SyncBatchNorm.convert(nn.BatchNorm1d(3, eps=0.1, momentum=None).eval())
    assert isinstance(alone, nn.SyncBatchNorm) and (alone.eps, alone.momentum, alone.training) == (
        0.1,
        None,
        False,
    )
    assert nn.SyncBatchNorm.convert(alone) is alone
