"""Muon against its formula in NumPy, and against torch, whose iterations are in bf16."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn

# (shape, options, p after three steps of torch 2.13.0 or newer: lr 0.1, first values linspace(-1, 1), loss
# sum((p - arange)^2))
TORCH = [
    ((2, 3), {}, [-1.1181, -0.5552, 0.0104, 0.3684, 0.7003, 1.0305]),
    (
        (4, 2),
        {"adjust_lr_fn": "match_rms_adamw", "nesterov": False},
        [-1.0415, -0.6146, -0.4355, -0.0832, 0.167, 0.4509, 0.7717, 0.9835],
    ),
    ((2, 3), {"adjust_lr_fn": "spectral_unclamped"}, [-1.0882, -0.5594, -0.0303, 0.3348, 0.6786, 1.0218]),
]
RATIOS = {
    "original": lambda rows, columns: max(1, rows / columns) ** 0.5,
    "match_rms_adamw": lambda rows, columns: 0.2 * max(rows, columns) ** 0.5,
    "spectral_unclamped": lambda rows, columns: (rows / columns) ** 0.5,
}


def by_formula(
    p: np.ndarray, gradient: np.ndarray, buffer: np.ndarray, nesterov: bool, ratio: float
) -> tuple:
    """A step of Jordan et al., 2024, with lr 0.1, weight_decay 0.1 and momentum 0.95."""
    buffer = 0.95 * buffer + 0.05 * gradient
    u = 0.95 * buffer + 0.05 * gradient if nesterov else buffer
    x = u.T if u.shape[0] > u.shape[1] else u
    x = x / max(np.linalg.norm(x), 1e-7)
    for _ in range(5):
        g = x @ x.T
        x = 3.4445 * x + (-4.7750 * g + 2.0315 * g @ g) @ x
    x = x.T if u.shape[0] > u.shape[1] else x
    return (1 - 0.1 * 0.1) * p - 0.1 * ratio * x, buffer


@pytest.mark.parametrize(("shape", "options", "torchs"), TORCH)
def test_steps(shape: tuple[int, int], options: dict, torchs: list[float]):
    target = np.arange(np.prod(shape), dtype="f8").reshape(shape)
    w = nn.Parameter(np.linspace(-1, 1, target.size).reshape(shape))
    optimizer = nn.optim.Muon([w], lr=0.1, **options)
    p, buffer = w.data.copy(), np.zeros(shape)
    ratio = RATIOS[options.get("adjust_lr_fn", "original")](*shape)
    for _ in range(3):
        optimizer.zero_grad()
        ((w - tx.tensor(target)) ** 2).sum().backward()
        optimizer.step()
        p, buffer = by_formula(p, 2 * (p - target), buffer, options.get("nesterov", True), ratio)
        assert np.allclose(w.data, p, rtol=1e-12, atol=1e-12)
    # bf16 has 8 bits: five iterations of products of numbers near 1, three steps of 0.1.
    assert np.allclose(w.data.ravel(), torchs, atol=0.01)


def test_trainings_and_their_states(tmp_path):
    def trainer() -> nn.Trainer:
        nn.manual_seed(0)
        model = nn.Linear(3, 2, bias=False)
        return nn.Trainer(model, nn.MSELoss(), nn.optim.Muon(model.parameters(), lr=0.05))

    x = np.random.default_rng(0).normal(size=(16, 3))
    whole, first, second = trainer(), trainer(), trainer()
    history = whole.fit(x, x[:, :2], epochs=4, progress=False)
    assert history["loss"][-1] < history["loss"][0]
    first.fit(x, x[:, :2], epochs=2, progress=False)
    first.save(tmp_path / "run.safetensors")
    assert second.fit(x, x[:, :2], epochs=4, progress=False, resume=tmp_path / "run.safetensors") == history


def test_adafactor_keeps_rows_and_columns():
    w = nn.Parameter(np.ones((3, 4)))
    optimizer = nn.optim.Adafactor([w, nn.Parameter(np.ones(5), name="b")])
    (w**2).sum().backward()
    optimizer.step()
    shapes = {n: np.shape(v) for n, v in optimizer.state_dict().items() if n.startswith("0.")}
    assert shapes == {"0.row_var": (3, 1), "0.col_var": (1, 4)}
    other = nn.optim.Adafactor([nn.Parameter(np.ones((3, 4))), nn.Parameter(np.ones(5))])
    other.load_state_dict(optimizer.state_dict())
    assert np.array_equal(other.state_dict()["0.row_var"], optimizer.state_dict()["0.row_var"])


def test_other_parameters_are_refused():
    with pytest.raises(tx.CallError) as caught:
        nn.optim.Muon(nn.Linear(3, 2).parameters())
    assert str(caught.value) == (
        "error[arguments]: Muon: the parameter bias has shape [2], expected a matrix\n"
        "  help: give such parameters to another optimizer, such as AdamW"
    )
