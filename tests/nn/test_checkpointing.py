"""Activation checkpointing: the same numbers from less memory."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn

X = np.random.default_rng(0).normal(size=(64, 16)).astype("f4")


def block(kind: str) -> nn.Module:
    parts = {
        "plain": lambda: [nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16), nn.LayerNorm(16)],
        "random": lambda: [nn.Linear(16, 64), nn.Dropout(0.3), nn.ReLU(), nn.Linear(64, 16)],
        "statistics": lambda: [nn.Linear(16, 64), nn.BatchNorm1d(64), nn.Tanh(), nn.Linear(64, 16)],
    }
    return nn.Sequential(*parts[kind]())


def trained(kind: str, depth: int, on: bool, **options: object) -> tuple[nn.TrainingStep, list[float], int]:
    """A step, its losses, and the bytes of intermediate tensors."""
    nn.manual_seed(0)
    model = nn.Sequential(*(nn.utils.checkpoint(block(kind), on) for _ in range(depth)))
    step = nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1), **options)  # type: ignore[arg-type]
    losses = [step(X, X) for _ in range(3)]
    plan = step.plan((X.shape, tx.ir.dtypes.F32), (X.shape, tx.ir.dtypes.F32))
    return step, losses, plan.arena.size


@pytest.mark.parametrize("options", [{}, {"accumulate": 2}, {"precision": "bf16"}], ids=str)
@pytest.mark.parametrize("kind", ["plain", "random", "statistics"])
def test_numbers_are_the_same(kind: str, options: dict):
    (kept, losses, _), (again, found, _) = (
        trained(kind, 2, False, **options),
        trained(kind, 2, True, **options),
    )
    assert found == pytest.approx(losses, rel=1e-6)
    state = again.model.state_dict()
    assert list(state) == list(kept.model.state_dict())
    for name, value in kept.model.state_dict().items():
        # Kernels may be fused in other ways: roundings of f32, or of bf16, in other places.
        assert np.allclose(state[name], value, atol=1e-2 if options.get("precision") else 1e-6), name


def test_a_deep_network_takes_less_memory():
    _, losses, kept = trained("plain", 10, False)
    _, found, again = trained("plain", 10, True)
    assert found == losses and again <= 0.4 * kept


def test_weights_change_where_they_lie():
    nn.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)) for _ in range(3)]
    x = np.random.default_rng(0).normal(size=(256, 64)).astype("f4")
    in_place = []
    for on in (False, True):
        model = nn.Sequential(*(nn.utils.checkpoint(b, on) for b in blocks))
        step = nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        plan = step.plan((x.shape, tx.ir.dtypes.F32), (x.shape, tx.ir.dtypes.F32))
        in_place.append(sum(d.saved for d in plan.decisions if d.kind == "over" and d.fused))
        reasons = {d.reason for d in plan.decisions if d.kind == "epilogue" and not d.fused}
        waits = "a new value waits for its gradient, which takes memory that is free by then"
        assert (waits in reasons) == on
    assert in_place[0] < in_place[1] and in_place[1] >= 6 * 64 * 256 * 4


def test_the_last_block_is_not_computed_again():
    launches = []
    for depth in (1, 2, 3):
        kept, again = (trained("plain", depth, on)[0] for on in (False, True))
        products = [
            sum("product" in n.program.name for n in s.plan(*[(X.shape, tx.ir.dtypes.F32)] * 2).launches)
            for s in (kept, again)
        ]
        launches.append(products[1] - products[0])
    assert launches[0] == 0 and launches[2] - launches[1] == 2


def test_blocks_in_blocks_and_networks_that_are_evaluated():
    nn.manual_seed(0)
    inner = nn.utils.checkpoint(nn.Sequential(nn.Linear(16, 16), nn.Tanh()))
    model = nn.utils.checkpoint(nn.Sequential(inner, nn.Linear(16, 16), nn.utils.checkpoint(nn.Tanh())))
    plain = nn.Sequential(nn.Sequential(nn.Linear(16, 16), nn.Tanh()), nn.Linear(16, 16), nn.Tanh())
    plain.load_state_dict(model.state_dict())
    for each in (model, plain):
        nn.TrainingStep(each, nn.MSELoss(), nn.optim.SGD(each.parameters(), lr=0.5))(X, X)
    for name, value in plain.state_dict().items():
        assert np.allclose(model.state_dict()[name], value, atol=1e-6)
    assert np.allclose(model.eval()(X), plain.eval()(X), atol=1e-6)


def test_attention_and_lazy_tensors():
    layers = []
    for on in (False, True):
        nn.manual_seed(0)
        layers.append(
            nn.utils.checkpoint(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), on)
        )
    x = X.reshape(4, 16, 16)
    for layer in layers:
        (layer(tx.tensor(x)) ** 2).mean().backward()
    for p, q in zip(*(layer.parameters() for layer in layers)):
        assert np.allclose(p.grad.numpy(), q.grad.numpy(), atol=1e-6)
    for layer in layers:
        nn.TrainingStep(layer, nn.MSELoss(), nn.optim.SGD(layer.parameters(), lr=0.5))(x, np.zeros_like(x))
    for p, q in zip(*(layer.parameters() for layer in layers)):
        assert np.allclose(p.data, q.data, atol=1e-6)


def test_it_is_for_modules():
    with pytest.raises(tx.CallError) as caught:
        nn.utils.checkpoint(3)  # type: ignore[type-var]
    assert str(caught.value) == "error[arguments]: checkpoint: 3 is no module"
