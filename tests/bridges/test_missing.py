"""What bridges say where the other library is not installed."""

from __future__ import annotations

import sys

import pytest

import texpr as tx


def test_torch_is_named(monkeypatch: pytest.MonkeyPatch):
    for name in [n for n in sys.modules if n.startswith("texpr.bridges.torch.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    op = tx.op("op twice(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
    with pytest.raises(tx.MissingExtra) as caught:
        tx.torch.op(op)
    assert str(caught.value) == (
        'error[import]: an operator inside PyTorch needs torch\n  help: pip install "texpr[torch]"'
    )


def test_jax_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    op = tx.op("op twice(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
    with pytest.raises(tx.MissingExtra) as caught:
        tx.jax.op(op)
    assert str(caught.value) == 'error[import]: tx.jax needs jax\n  help: pip install "texpr[jax]"'


def test_what_is_no_operator_is_refused_before_jax_is_looked_for():
    with pytest.raises(tx.CallError, match="found a function where an operator belongs"):
        tx.jax.op(lambda x: x)
