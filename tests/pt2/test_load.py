"""Programs that PyTorch has exported, read without it: results are PyTorch's."""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from tests.pt2.programs import NAMES, archive, calls, differences, leaves
from texpr import nn, ops

BOUND = 1e-4
"""Relative and absolute: sums of f32 in another order."""


@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_pytorch(name):
    args, kwargs, wanted = calls(name)
    found = leaves(tx.pt2.load(archive(name))(*args, **kwargs))
    assert differences(found, wanted, BOUND) == []


def nested():
    args, kwargs, _ = calls("nested")
    return tx.pt2.load(archive("nested")), args, kwargs


def test_tied_weights_are_one_parameter():
    model, args, kwargs = nested()
    assert list(model.state_dict()) == ["embed.weight", "out.weight"]
    assert [n for n, _ in model.named_parameters()] == ["embed.weight"]
    before = model(*args, **kwargs)["logits"]
    state = model.state_dict()
    model.load_state_dict({n: 2 * a for n, a in state.items()})
    assert np.allclose(model.state_dict()["out.weight"], 2 * state["embed.weight"])
    assert not np.allclose(model(*args, **kwargs)["logits"], before)


def test_sizes_vary():
    model, _, kwargs = nested()
    for length in (1, 5, 64):
        found = model(np.zeros((2, length), np.int64), 3.0, **kwargs)
        assert found["logits"].shape == (2, length, 10)
        assert found["rest"][1][1] == 2 * length
        assert found["rest"][2] is None


def test_arguments_by_name():
    model, (tokens, scale), kwargs = nested()
    by_place = model(tokens, scale, **kwargs)["logits"]
    assert np.array_equal(model(tokens, scale=scale, **kwargs)["logits"], by_place)
    assert np.array_equal(model(scale=scale, tokens=tokens, **kwargs)["logits"], by_place)


@pytest.mark.parametrize(
    "change, text",
    [
        (
            lambda t, k: ((t, 2.0), k),
            "error[arguments]: `scale` was 3.0 when the program was exported and is 2.0\n"
            "  help: numbers, texts and None are part of a program; export it with the other value",
        ),
        (
            lambda t, k: ((t,), k),
            "error[arguments]: the program needs `scale`\n  help: its arguments: tokens, scale, more",
        ),
        (
            lambda t, k: ((t,), {**k, "scales": 3.0}),
            "error[arguments]: the program needs `scale`, and got scales\n"
            "  help: its arguments: tokens, scale, more",
        ),
        (
            lambda t, k: ((t[0], 3.0), k),
            "error[shape]: input `tokens` has shape [5], the program declares [2, s0]\n  help: give it 2 axes",
        ),
        (lambda t, k: ((t, 3.0, 1), k), "error[arguments]: the program takes 2 arguments and got 3"),
        (
            lambda t, k: ((t, 3.0), {}),
            "error[arguments]: arguments by name are not those of the program: more\n"
            "  help: its arguments: tokens, scale, more",
        ),
        (
            lambda t, k: ((t, 3.0), {"more": {"p": 1}}),
            "error[arguments]: `more` was a dict of q when the program was exported",
        ),
        (
            lambda t, k: ((t[:1], 3.0), k),
            "error[shape]: input `tokens` has shape [1, 5], the program declares [2, s0]\n"
            "  help: export with dynamic_shapes for extents that vary",
        ),
        (
            lambda t, k: ((np.zeros((2, 65), int), 3.0), k),
            "error[shape]: dimension s0 of `tokens` is 65; the program was exported for 0 to 64",
        ),
        (
            lambda t, k: ((t * 1.5, 3.0), k),
            "error[dtype]: input `tokens` is f64, the program declares i64\n"
            '  help: convert it: x.astype("int64")',
        ),
    ],
)
def test_arguments_that_do_not_fit(change, text):
    model, args, kwargs = nested()
    args, kwargs = change(args[0], kwargs)
    with pytest.raises(tx.CallError) as found:
        model(*args, **kwargs)
    assert re.sub(r"\bs\d+", "s0", str(found.value)) == text  # PyTorch numbers symbols as it likes


def test_training_state_goes_on():
    """Running statistics and a counter change with each call, as they do in PyTorch."""
    for name in ("in_place", "in_place_core"):
        args, _, wanted = calls(name)
        model = tx.pt2.load(archive(name))
        first, second = model(*args), model(*args)
        assert first[2] == wanted["/2"] == 1 and second[2] == 2
        state = model.state_dict()
        assert state["calls"] == 2 and state["n.num_batches_tracked"] == 2
        x = args[0]
        mean = 0.2 * x.mean((0, 2, 3))
        assert np.allclose(state["n.running_mean"], mean + 0.8 * mean, atol=1e-6)


def test_parts_of_buffers_are_kept():
    """A write into a view of a buffer reaches the buffer."""
    for name in ("kept", "kept_core"):
        (x,), _, wanted = calls(name)
        model = tx.pt2.load(archive(name))
        assert np.allclose(model(x), wanted[""])
        rows = np.zeros((3, 4), np.float32)
        rows[1:, 2] = x
        assert np.array_equal(model.state_dict()["rows"], rows)


def test_fine_tuning():
    """A loss of the outputs falls; every parameter has a gradient."""
    args, _, _ = calls("layers")
    model = tx.pt2.load(archive("layers"))

    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            return ops.mean_all(ops.square(self.model(x)["s"]))

    network = Loss()
    optimizer = nn.optim.Adam(network.parameters(), lr=0.05)
    losses = []
    for _ in range(3):
        loss = network(tx.tensor(args[0]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[2] < losses[1] < losses[0]


def test_weights_are_saved_and_read(tmp_path):
    args, _, _ = calls("layers")
    model = tx.pt2.load(archive("layers"))
    nn.save(model, tmp_path / "w.safetensors")
    model.load_state_dict({n: 0 * a for n, a in model.state_dict().items()})
    other = tx.pt2.load(archive("layers"))
    assert nn.load(model, tmp_path / "w.safetensors") == ([], [])
    assert np.array_equal(model(*args)["s"], other(*args)["s"])


def test_inside_of_another_program():
    """On lazy tensors and in traced functions, a program is a part of what is computed."""
    model, (tokens, scale), kwargs = nested()
    wanted = model(tokens, scale, **kwargs)["logits"]
    more = {"q": tx.ones(2)}
    assert np.allclose(model(tx.tensor(tokens), scale, more=more)["logits"].numpy(), wanted)
    traced = tx.jit(lambda t, q: model(t, 3.0, more={"q": q})["logits"] + 1)
    assert np.allclose(traced(tx.tensor(tokens), tx.ones(2)).numpy(), wanted + 1, atol=1e-5)


def test_path_and_name_of_the_program(tmp_path):
    path = tmp_path / "m.pt2"
    path.write_bytes(archive("nested"))
    assert tx.pt2.load(path, "model").arguments == ("tokens", "scale", "more")
    with pytest.raises(tx.CallError) as found:
        tx.pt2.load(path, "other")
    assert str(found.value) == f"error[arguments]: {path} has no program `other`, but model"
    assert repr(tx.pt2.load(path)).startswith("ExportedModule(tokens, scale, more, ")
