"""Buffers, containers of parameters, hooks, dtypes, and arguments and results that are nested."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.nn.core.test_module import complaint, small
from texpr import nn, ops

counted = tx.op("op counted(n: i64) -> m: i64 { m = n + 1 }")


class Mean(nn.Module):
    """x minus the mean of all means so far; in training, counts."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", np.zeros((), np.float64))
        self.register_buffer("count", np.int64(0))
        self.register_buffer("scratch", np.zeros(2), persistent=False)
        self.register_buffer("absent", None)

    total: nn.Buffer
    count: nn.Buffer

    def forward(self, x):
        if self.training:
            x.capture.assign(self.total, x.capture.latest(self.total) + ops.mean_all(x))
            x.capture.assign(self.count, counted(x.capture.latest(self.count)))
        return x


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean = Mean()

    def forward(self, x):
        return self.mean(self.mean(x))


def test_buffers_change_with_calls_in_training_mode():
    model = Twice()
    assert list(model.state_dict()) == ["mean.total", "mean.count"]
    assert [n for n, _ in model.named_buffers()] == ["mean.total", "mean.count", "mean.scratch"]
    assert model.mean.absent is None and not list(model.parameters())  # type: ignore[attr-defined]
    model(np.full(4, 3.0))
    model.eval()(np.full(4, 3.0))
    assert float(model.mean.total.data) == 6 and int(model.mean.count.data) == 2
    other = Twice()
    other.load_state_dict(model.state_dict())
    assert int(other.mean.count.data) == 2


def test_a_step_that_fails_leaves_buffers():
    model = nn.Sequential(nn.Linear(2, 2, dtype="f64"), Mean())
    trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.0))
    trainer.fit(np.ones((4, 2)), np.ones((4, 2)), batch_size=2, progress=False)
    assert int(model[1].count.data) == 2
    with pytest.raises(tx.Error, match="the loss is nan in step 3"):
        trainer.fit(np.full((4, 2), np.nan), np.ones((4, 2)), batch_size=2, progress=False)
    assert int(model[1].count.data) == 2


def test_a_registered_name_keeps_its_kind_and_place():
    model = small()
    linear = model[0]
    assert (
        complaint(lambda: setattr(linear, "weight", np.zeros((3, 4))))
        == """\
error[module]: `weight` of Linear is a parameter and would become a ndarray
  help: write its value: .weight.data[...] = ..."""
    )
    linear.weight = nn.Parameter(np.zeros((3, 4), np.float32))
    assert [n for n, _ in linear.named_parameters()] == ["weight", "bias"]
    linear.register_parameter("bias", None)
    assert [n for n, _ in linear.named_parameters()] == ["weight"]
    assert model.get_submodule("2.0") is model[2][0] and [n for n, _ in model.named_children()] == [
        "0",
        "1",
        "2",
    ]
    assert (
        complaint(lambda: model.get_submodule("2.x"))
        == "error[module]: Sequential has no module `2.x`: there is no `x` in Sequential"
    )


def test_dtypes():
    model = nn.Sequential(nn.Linear(3, 2), Mean()).float()
    weight, x = model[0].weight, np.ones((2, 3))
    assert model(x).dtype == np.float32
    assert model.double() is model and model[0].weight is weight and weight.data.dtype == np.float64
    assert model(x).dtype == np.float64 and model[1].count.data.dtype == np.int64
    assert model.float()(x).dtype == np.float32
    assert model.half()(x).dtype == np.float16 and model[1].count.data.dtype == np.int64
    assert model.bfloat16()(x).dtype.name in ("float32", "bfloat16")
    assert (
        complaint(lambda: model.to("i32"))
        == "error[dtype]: to: dtype is 'i32', expected f32, f64, f16, bf16, f8e4m3 or f8e5m2"
    )


def test_containers_of_parameters_and_names():
    weights = nn.ParameterList([np.ones(2), nn.Parameter(np.zeros(3))])
    assert [p.shape for p in weights] == [(2,), (3,)] and [n for n, _ in weights.named_parameters()] == [
        "0",
        "1",
    ]
    named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    assert (
        list(named) == ["a", "b"]
        and "a" in named
        and len(named) == 2
        and list(named.state_dict()) == ["b.weight", "b.bias"]
    )
    named["c"] = named.pop("a")
    assert list(named.keys()) == ["b", "c"] and isinstance(named["c"], nn.ReLU)
    del named["b"]
    assert [n for n, _ in named.items()] == ["c"]
    assert (
        complaint(lambda: nn.ModuleDict({"forward": nn.ReLU()}))
        == "error[module]: ModuleDict cannot have an entry 'forward', which is one of its methods"
    )
    assert (
        complaint(lambda: nn.ParameterList([nn.ReLU()]))
        == "error[module]: entry 0 of ParameterList is a ReLU, expected a parameter"
    )
    listed = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    listed.insert(1, nn.Sigmoid())
    del listed[0]
    assert [type(m).__name__ for m in listed] == ["Sigmoid", "Tanh"] and list(listed._modules) == ["0", "1"]
    assert len(listed[:1]) == 1 and sorted(nn.ParameterDict({"w": np.ones(1)}).state_dict()) == ["w"]


def test_hooks():
    model, seen = small().double(), []
    x = np.ones((1, 4))
    before = model(x)
    first = model[0].register_forward_hook(
        lambda module, inputs, output: seen.append((inputs[0].shape, output.shape))
    )
    second = model.register_forward_hook(lambda module, inputs, output: output * 2.0)
    third = model.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 0.0,))
    third.remove()
    np.testing.assert_allclose(model(x), 2 * before)
    assert seen == [((1, 4), (1, 3))]
    first.remove()
    second.remove()
    np.testing.assert_array_equal(model(x), before)


class Nested(nn.Module):
    def forward(self, x, pair=None, *, scale=1.0, more=None):
        y = x * scale
        if pair is None:
            return y, None
        return y, (pair[0] + pair[1], {"twice": more["z"] * 2.0 if more else y})


def test_arguments_and_results_are_trees():
    model, x = Nested(), np.arange(3.0)
    y, nothing = model(x)
    np.testing.assert_array_equal(y, x)
    assert nothing is None
    y, (total, rest) = model(x, (x, x + 1), scale=3.0, more={"z": x})
    for found, expected in ((y, 3 * x), (total, 2 * x + 1), (rest["twice"], 2 * x)):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model([1.0, 2.0])[0], [1.0, 2.0])
    assert complaint(lambda: model(x, scale={1})) == (
        "error[arguments]: an argument is a set, expected tensors, numbers, texts, or containers of them"
    )
