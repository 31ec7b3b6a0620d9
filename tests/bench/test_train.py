"""The bench of training steps: its networks, and what it says of times."""

from __future__ import annotations

import numpy as np
import pytest

from bench.train.__main__ import _table
from bench.train.floor import operations
from bench.train.modules import module
from bench.train.nets import NETS, Net, parameters_of
from bench.train.steps import with_texpr
from bench.x86.parent import Found
from texpr import nn


@pytest.mark.parametrize("name", NETS)
def test_first_weights_are_those_of_the_module(name):
    model = module(nn, NETS[name])
    given = [value.shape for layer in NETS[name].weights() for value in layer]
    assert [p.shape for p in model.parameters()] == given


@pytest.mark.parametrize(
    "layers,shape,words",
    [
        (
            (("conv_norm_relu", 3, 4), ("block", 4, 8, 2), ("block", 8, 8, 1), ("mean",), ("linear", 8, 3)),
            (2, 3, 6, 6),
            0,
        ),
        ((("lstm", 3, 4), ("linear", 4, 3)), (2, 5, 3), 0),
        ((("embedding", 5, 4), ("encoder", 4, 2, 6), ("tokens",), ("linear", 4, 3)), (2, 3), 5),
    ],
    ids=("blocks", "lstm", "transformer"),
)
def test_steps_of_every_kind_of_layer_make_the_loss_less(layers, shape, words):
    (make,) = with_texpr(Net("small", layers, shape, 3, "adam", 1e-2, 1.0, words), 1).values()
    step = make()
    losses = [step() for _ in range(8)]
    assert losses[-1] < losses[0] and np.isfinite(losses).all()


@pytest.mark.parametrize("name", ["digits-mlp", "mlp", "mlp-one", "cnn"])
def test_the_least_arithmetic_is_that_of_the_summary(name):
    net = NETS[name]
    forward = int(str(module(nn, net).summary(net.shape)).split()[-1].replace(",", ""))
    first = net.shape[0] * (
        9 * 32 * 26 * 26 if name == "cnn" else parameters_of(net.layers[0])[0][0][0] * net.shape[1]
    )
    assert operations(net) == 2 * (3 * forward - first if net.optimizer else forward)


def test_the_least_arithmetic_counts_every_kind_of_layer():
    blocks = Net(
        "",
        (("conv_norm_relu", 3, 4), ("block", 4, 8, 2), ("mean",), ("linear", 8, 3)),
        (2, 3, 6, 6),
        3,
        "sgd",
        0.1,
        1.0,
    )
    first, rest = 2 * 36 * 3 * 4 * 9, 2 * 9 * (9 * 4 * 8 + 9 * 8 * 8 + 4 * 8) + 2 * 8 * 3
    assert operations(blocks) == 2 * (2 * first + 3 * rest)
    recurrent = Net("", (("lstm", 3, 4), ("linear", 4, 3)), (2, 5, 3), 3, "sgd", 0.1, 1.0)
    assert operations(recurrent) == 2 * (2 * 2 * 5 * 16 * 3 + 3 * (2 * 5 * 16 * 4 + 2 * 4 * 3))
    words = Net(
        "",
        (("embedding", 5, 4), ("encoder", 4, 2, 6), ("tokens",), ("linear", 4, 3)),
        (2, 3),
        3,
        "sgd",
        0.1,
        1.0,
        5,
    )
    assert operations(words) == 2 * 3 * (6 * (3 * 16 + 2 * 3 * 4 + 16 + 2 * 24) + 6 * 12)


def test_a_table_says_what_is_within_its_bar():
    found = Found(
        "mlp",
        {"texpr": 0.004, "torch": 0.008, "jax.jit": 0.016},
        {
            "texpr": {"first": 2.0, "warm": 0.25, "losses": [2.5, 2.25]},
            "torch": {"first": 0.5, "losses": [2.5, 2.25]},
            "torch.compile": {"failed": "no compiler"},
            "jax.jit": {"first": 1.0, "losses": [2.5, 2.25]},
        },
    )
    assert (
        _table("mlp", found, 102.7e9)
        == """\
step of mlp        ms  first s  warm s           losses
texpr           4.000     2.00    0.25  2.50000 2.25000
torch           8.000     0.50          2.50000 2.25000
torch.compile  failed                       no compiler
jax.jit        16.000     1.00          2.50000 2.25000
mlp: 0.50 of the best other's time; bar 0.80
mlp: 1.00 of the least time of its products, 4.00 ms; or bar 1.20
mlp, first step: 2.00 of jax.jit's first; bar 2.00
mlp, warm step: 0.25 of jax.jit's first; bar 0.20"""
    )
