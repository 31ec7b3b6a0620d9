"""Layers and losses at the edges of what they take: other integers as indices, ranks of 0,
values below an epsilon.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn


@pytest.mark.parametrize("dtype", ["u8", "i8", "i16", "i32", "i64"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_norm": 1.0},
        {"padding_idx": 1},
        {"scale_grad_by_freq": True},
        {"max_norm": 0.5, "padding_idx": 0, "scale_grad_by_freq": True},
    ],
)
@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_indices_are_integers_of_any_width(kind, options: dict, dtype: str):
    table = np.random.default_rng(0).standard_normal((5, 3)).astype("f4")
    index = np.array([[0, 1], [4, 1]])
    layers = [kind(5, 3, _weight=table.copy(), **options) for _ in range(2)]
    rows = [layer(tx.tensor(index, dtype=t)) for layer, t in zip(layers, ("i64", dtype))]
    np.testing.assert_array_equal(*map(np.asarray, rows))
    for y in rows:
        y.sum().backward()
    np.testing.assert_array_equal(*(np.asarray(layer.weight.grad) for layer in layers))
    if kind is nn.EmbeddingBag and not options:
        lines = [layers[0](tx.tensor([0, 1, 4], dtype=t), tx.tensor([0, 2], dtype=t)) for t in ("i64", dtype)]
        np.testing.assert_array_equal(*map(np.asarray, lines))


def test_a_batch_mean_of_one_number():
    loss = nn.KLDivLoss(reduction="batchmean")
    assert float(loss(tx.tensor(-1.0), tx.tensor(0.3))) == float(loss(tx.tensor([-1.0]), tx.tensor([0.3])))


def test_a_variance_below_epsilon_has_the_gradient_at_epsilon():
    """As torch has it (2.13): training does not stand still there. d/dv (log v + d^2 / v) / 2 =
    (1 - d^2 / v) / (2 v) at v = 1e-6.
    """
    v = tx.tensor([1e-9, 0.5], requires_grad=True)
    nn.GaussianNLLLoss(reduction="sum")(tx.tensor([1.0, 2.0]), tx.tensor([1.5, 2.5]), v).backward()
    at = np.array([1e-6, 0.5])
    np.testing.assert_allclose(v.grad.numpy(), (1 - 0.25 / at) / (2 * at), rtol=1e-12)


def trained(y: np.ndarray, **options: object) -> dict[str, list[float]]:
    model = nn.Linear(5, 4)
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), 0.1), **options)
    return trainer.fit(np.ones((12, 5), "f4"), y, epochs=1, batch_size=4)


def test_a_batch_whose_labels_are_all_ignored():
    with pytest.raises(tx.Error) as e:
        trained(np.full(12, -100))
    assert (
        str(e.value)
        == """\
error[nan]: no target of the batches of step 1 (epoch 1) counts
    the loss divides by 0
  help: leave such batches out, or pass on_nan='skip'"""
    )


def test_labels_below_0_may_be_meant_to_be_ignored():
    with pytest.raises(tx.CallError) as e:
        trained(np.full(12, -1))
    assert (
        str(e.value)
        == """\
error[data]: the label y[0] is -1, expected 0 to 3
    12 of 12 labels are out of range; the model has 4 outputs
  help: nn.CrossEntropyLoss(ignore_index=-1), if labels of -1 do not count"""
    )


def test_metrics_by_names_of_ones_own():
    found = trained(
        np.zeros(12, int), metrics={"right": "accuracy", "mine": lambda outputs, targets: float(len(targets))}
    )
    assert set(found) == {"loss", "right", "mine", "lr"} and found["mine"] == [4.0]


def test_what_is_no_module_is_neither_saved_nor_loaded(tmp_path):
    with pytest.raises(tx.CallError) as e:
        nn.save(nn.Linear(2, 2).state_dict(), tmp_path / "x")  # type: ignore[arg-type]
    assert (
        str(e.value) == "error[arguments]: nn.save takes a module, not a dict\n  help: nn.save(model, path)"
    )
    with pytest.raises(tx.CallError, match=r"nn.load takes a module, not a str"):
        nn.load("x", nn.Linear(2, 2))  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
