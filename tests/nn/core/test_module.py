"""Modules: registration, names, modes, calls."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops


def small() -> nn.Sequential:
    nn.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2, bias=False)))


class Residual(nn.Module):
    """x + f(x), with the weight of `f` used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4, dtype="f64")
        self.again = self.inner

    def forward(self, x):
        return x + self.again(self.inner(x))


def complaint(run, kind: type[Exception] = tx.CallError) -> str:
    with pytest.raises(kind) as caught:
        run()
    return str(caught.value)


def test_names_and_modes():
    model = small()
    assert [n for n, _ in model.named_parameters()] == ["0.weight", "0.bias", "2.0.weight"]
    assert [n for n, _ in model.named_modules()] == ["", "0", "1", "2", "2.0"]
    assert [p.shape for p in model.parameters()] == [(3, 4), (3,), (2, 3)]
    assert not any(m.training for m in model.eval().modules()) and all(
        m.training for m in model.train().modules()
    )
    seen = []
    assert model.apply(lambda m: seen.append(type(m).__name__)) is model
    assert seen[-1] == "Sequential" and sorted(seen) == [
        "Linear",
        "Linear",
        "ReLU",
        "Sequential",
        "Sequential",
    ]
    assert (
        repr(model)
        == """\
Sequential(
  (0): Linear(4, 3)
  (1): ReLU()
  (2): Sequential(
    (0): Linear(3, 2, bias=False)
  )
)"""
    )


def test_containers():
    model = small()
    assert (
        len(model) == 3
        and isinstance(model[0], nn.Linear)
        and [type(m).__name__ for m in model[:2]] == ["Linear", "ReLU"]
    )
    assert [n for n, _ in nn.Sequential({"a": nn.Linear(1, 1)}).named_parameters()] == ["a.weight", "a.bias"]
    listed = nn.ModuleList([nn.Linear(2, 2)])
    listed.append(nn.Linear(2, 2))
    assert len(list(listed.parameters())) == 4 and listed[1] is list(listed)[1]
    assert len(model.append(nn.Tanh())) == 4
    assert (
        complaint(lambda: nn.Sequential(nn.ReLU))
        == """\
error[module]: entry 0 of Sequential is a type, expected a module
  help: call it: nn.ReLU()"""
    )


def test_attributes_register_and_unregister():
    model = small()
    setattr(model, "0", nn.Identity())
    assert [n for n, _ in model.named_parameters()] == ["2.0.weight"]
    model.extra = nn.Parameter(np.zeros(2, np.float32))
    assert "extra" in dict(model.named_parameters())
    del model.extra
    assert "extra" not in dict(model.named_parameters())

    class Early(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.ReLU()

    assert (
        complaint(Early)
        == """\
error[module]: `layer` is assigned before Early is ready
  help: call super().__init__() first"""
    )


def test_a_plain_list_of_modules_is_told():
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(2, 2)]

    with pytest.warns(UserWarning) as caught:
        assert list(nn.Sequential(Listed()).parameters()) == []
    assert str(caught[0].message) == (
        "`0.layers` of Listed is a plain list of modules or parameters: they are not registered and will not "
        "be trained or saved; "
        "use nn.ModuleList or nn.Sequential"
    )


def test_a_call_on_arrays():
    model = small()
    weights = model.state_dict()
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    hidden = np.maximum(x @ weights["0.weight"].T + weights["0.bias"], 0)
    np.testing.assert_allclose(model(x), hidden @ weights["2.0.weight"].T, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(model(x.astype(np.float64)), model(x))
    np.testing.assert_array_equal(model(np.asfortranarray(x)), model(x))
    np.testing.assert_array_equal(model(x[::-1]), model(x)[::-1])


def test_a_call_sees_the_parameters_as_they_are():
    model = small()
    x = np.ones((2, 4), np.float32)
    before = model(x)
    model[2][0].weight.data *= 2  # type: ignore[index, union-attr]
    np.testing.assert_allclose(model(x), 2 * before, rtol=1e-6)
    model[2][0].weight = nn.Parameter(np.zeros((2, 3), np.float32))  # type: ignore[index, union-attr]
    assert not model(x).any()


def test_a_shared_module():
    nn.manual_seed(1)
    model = Residual()
    assert [n for n, _ in model.named_parameters()] == ["inner.weight", "inner.bias"]
    assert list(model.state_dict()) == ["inner.weight", "inner.bias", "again.weight", "again.bias"]
    x, w, b = np.ones((1, 4)), model.inner.weight.data, model.inner.bias.data
    np.testing.assert_allclose(model(x), x + ((x @ w.T + b) @ w.T + b), rtol=1e-14)


def test_a_complaint_has_one_line_for_a_layer_of_layers():
    said = complaint(lambda: nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))(np.zeros((2, 4)), mask=1))
    assert "\n    in the layer Sequential" in said and said.count("Linear") == 0


def test_a_complaint_names_the_layer():
    assert (
        complaint(lambda: small()(np.zeros((2, 5), np.float32)))
        == """\
error[shape]: linear: axis 1 of `weight` has extent 4, expected I = 5
    given: X [2, 5], weight [3, 4], bias [3]
    in the layer Linear(4, 3)"""
    )
    assert (
        complaint(lambda: small()(np.zeros((2, 4), np.int32)))
        == """\
error[dtype]: linear: `X` is i32, expected a float type
    in the layer Linear(4, 3)"""
    )


def test_no_forward():
    assert complaint(lambda: nn.Module()(np.zeros(2)), NotImplementedError) == "Module has no forward"


def test_layers_refuse_arguments():
    assert (
        complaint(lambda: nn.Linear(0, 3))
        == "error[arguments]: Linear: in_features is 0, expected an integer of at least 1"
    )
    assert (
        complaint(lambda: nn.Linear(3, 2.5))
        == "error[arguments]: Linear: out_features is 2.5, expected an integer of at least 1"
    )  # type: ignore[arg-type]
    assert complaint(lambda: nn.Linear(3, 2, dtype="i32")) == (
        "error[dtype]: Linear: dtype is 'i32', expected f32, f64, f16, bf16, f8e4m3 or f8e5m2"
    )
    assert (
        complaint(lambda: nn.Conv2d(3, 4, 3, groups=2))
        == "error[arguments]: Conv2d: 3 input and 4 output channels cannot be divided into 2 groups"
    )
    assert (
        complaint(lambda: nn.Conv2d(3, 4, (3, 3, 3)))
        == "error[arguments]: Conv2d: kernel_size is (3, 3, 3), expected an integer or a pair of them"
    )  # type: ignore[arg-type]
    assert (
        complaint(lambda: nn.MaxPool2d(2, padding=2))
        == "error[arguments]: MaxPool2d: padding (2, 2) is more than half of the window (2, 2)"
    )
    assert (
        complaint(lambda: nn.CrossEntropyLoss(reduction="avg"))
        == "error[arguments]: CrossEntropyLoss: reduction is 'avg', expected mean, sum or none"
    )


def test_first_values_are_torchs_bounds_and_repeat():
    nn.manual_seed(3)
    a, c = nn.Linear(400, 30), nn.Conv2d(4, 8, (3, 5), groups=2)
    for layer, bound in ((a, 1 / 20), (c, 1 / np.sqrt(2 * 15))):
        assert layer.bias is not None
        for p in (layer.weight, layer.bias):
            assert np.abs(p.data).max() <= bound
        assert np.abs(layer.weight.data).max() > 0.95 * bound
        np.testing.assert_allclose(layer.weight.data.std(), bound / np.sqrt(3), rtol=0.1)
    nn.manual_seed(3)
    again = nn.Linear(400, 30)
    np.testing.assert_array_equal(again.weight.data, a.weight.data)
    nn.manual_seed(3)
    np.testing.assert_allclose(nn.Linear(400, 30, dtype="f64").weight.data, a.weight.data, rtol=1e-7)
    assert (
        complaint(lambda: nn.manual_seed(-1))
        == "error[seed]: the seed is -1, expected an integer of at least 0"
    )


@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (nn.Flatten(), (2, 3, 4), (2, 12)),
        (nn.Flatten(), (2, 3), (2, 3)),
        (nn.MaxPool2d(2), (1, 2, 5, 6), (1, 2, 2, 3)),
        (nn.MaxPool2d(3, stride=1, padding=1), (1, 2, 5, 6), (1, 2, 5, 6)),
        (nn.Softmax(), (2, 3), (2, 3)),
        (nn.Tanh(), (4,), (4,)),
        (nn.Conv2d(2, 4, 3, stride=2, padding=1, dilation=2, groups=2), (1, 2, 9, 8), (1, 4, 4, 3)),
        (nn.Identity(), (3,), (3,)),
    ],
)
def test_shapes(layer: nn.Module, shape: tuple[int, ...], expected: tuple[int, ...]):
    assert layer(np.ones(shape, np.float32)).shape == expected


def test_losses():
    logits, labels = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]]), np.array([1, 0])
    each = np.log(np.exp(logits).sum(1)) - logits[[0, 1], labels]
    for reduction, expected in (("mean", each.mean()), ("sum", each.sum()), ("none", each)):
        np.testing.assert_allclose(
            nn.CrossEntropyLoss(reduction=reduction)(logits, labels), expected, rtol=1e-14
        )
    np.testing.assert_allclose(nn.MSELoss()(logits, logits + 2.0), 4.0)


def test_summary(golden):
    nn.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 16, 10)
    )
    model[0].requires_grad_(False)
    golden(
        "\n\n".join(
            [model.summary((2, 1, 8, 8)), Residual().summary((1, 4), dtype="f64"), nn.ReLU().summary((3,))]
        )
    )


RECURRENT = 5 * 2 * 4 * 4 * (8 + 4) * 2 + 5 * 2 * 4 * 4 * (8 + 4) * 2
"""Two layers in two directions: times, batch, gates, hidden, what is given (8 features, then
both directions' 4) and hidden.
"""
ATTENTION = 2 * 5 * 8 * 3 * 8 + 2 * (2 * 2 * 5 * 5 * 4) + 2 * 5 * 8 * 8
"""Projections of queries, keys and values; scores and what they weigh, of two heads; the
projection of the results.
"""


@pytest.mark.parametrize(
    ("layer", "shapes", "expected"),
    [
        (nn.LSTM(8, 4, num_layers=2, bidirectional=True, dropout=0.1), [(5, 2, 8)], RECURRENT),
        (nn.MultiheadAttention(8, 2, batch_first=True), [(2, 5, 8)] * 3, ATTENTION),
        (
            nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)),
            [(2, 5, 8)],
            ATTENTION + 2 * 2 * 5 * 8 * 16 + 2 * 80,
        ),
    ],
)
def test_summary_counts_the_products_of_layers_around_others(
    layer: nn.Module, shapes: list[tuple[int, ...]], expected: int
):
    assert layer.summary(*shapes).splitlines()[-1].split()[-1] == f"{expected:,}"
    assert layer.eval().summary(*shapes).splitlines()[-1].split()[-1] == f"{expected:,}"


def test_summary_refuses():
    assert (
        complaint(lambda: small().summary(4))
        == """\
error[arguments]: summary takes the shapes of the inputs, batch included, and a dtype
  help: for example model.summary((1, 64))"""
    )  # type: ignore[arg-type]


def test_parameters_alone_and_arrays_in_a_forward_are_trained():
    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.Parameter(np.ones((3, 2)), name="rows")
            self.project, self.shift = nn.Linear(2, 4, dtype="f64"), nn.Linear(1, 4, dtype="f64")

        def forward(self, x):
            return ops.matmul(x, self.project(ops.tanh(self.rows))) + self.shift(np.ones((5, 1)))

    model = Table()
    before = model.state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=1.0))(
            np.ones((5, 3)), np.zeros((5, 4))
        )
    assert all((model.state_dict()[name] != value).all() for name, value in before.items())
    assert model(np.ones((5, 3))).shape == (5, 4)


def test_copies_and_pickles():
    model = small()
    x = np.ones((2, 4), np.float32)
    expected = model(x)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other(x), expected)
        other[0].weight.data[...] = 0
        np.testing.assert_array_equal(model(x), expected)


CHANGES = {
    "a child in another mode": lambda m: m[2].eval(),
    "another dtype": lambda m: m.to("f64"),
    "one variable's": lambda m: m[0].to("f64"),
    "another parameter": lambda m: setattr(m[0], "weight", nn.Parameter(np.ones((3, 4), "f4"))),
    "no bias": lambda m: delattr(m[0], "bias"),
    "None": lambda m: setattr(m[0], "bias", None),
    "a buffer": lambda m: m[2].register_buffer("b", np.ones(2, "f4")),
    "one more": lambda m: m.append(nn.ReLU()),
    "one less": lambda m: m.__delitem__(1),
    "another": lambda m: m.__setitem__(1, nn.GELU()),
    "a hook": lambda m: m[2][0].register_forward_hook(lambda *_: None),
    "registries": lambda m: m._modules.update({"9": nn.Tanh()}),
    "exchanged": lambda m: m[0]._parameters.clear(),
    "taken out": lambda m: m._modules.popitem(),
    "by name": lambda m: m._modules.pop("1"),
    "joined": lambda m: m._modules.__ior__({"7": nn.Tanh()}),
    "if absent": lambda m: m[1]._modules.setdefault("7", nn.Tanh()),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_every_change_of_structure_is_noticed(change):
    """What programs depend on is looked for only when something has changed; so every change
    must say so.
    """
    model, other = small(), small()
    before = model.__texpr_structure__()
    assert model.__texpr_structure__() is before and copy.deepcopy(model).__texpr_structure__() != before
    change(other)
    assert model.__texpr_structure__() == before, "another model has changed"
    change(model)
    assert model.__texpr_structure__() != before
    assert len({id(v) for v, _ in model.__texpr_structure__()[2]}) == len(
        [*model.parameters(), *model.buffers()]
    )


def test_a_hook_that_is_removed_is_noticed():
    model = small()
    before, handle = model.__texpr_structure__(), model[0].register_forward_pre_hook(lambda *_: None)
    assert model.__texpr_structure__() != before
    handle.remove()
    assert model.__texpr_structure__() == before


def test_inputs_that_are_none():
    assert complaint(lambda: small()()) == "error[arguments]: Sequential was called without inputs"
    assert (
        complaint(lambda: small()(np.ma.masked_array(np.ones((2, 4)), mask=False)))
        == """\
error[type]: the input is a masked array, whose mask would be lost
  help: fill it: x.filled(0)"""
    )
    assert (
        complaint(lambda: small()(np.ones((2, 4), complex)))
        == """\
error[dtype]: the input has dtype complex128, which texpr does not have
  help: convert it: x.astype(...)"""
    )
    assert small()(np.ones((0, 4), np.float32)).shape == (0, 2)


def test_old_programs_are_forgotten():
    layer = nn.ReLU()
    for size in range(1, 40):
        layer(np.zeros(size, np.float32))
    assert len(layer._plans) == 32


def test_parameters_and_buffers_by_name():
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    assert model.get_parameter("0.weight") is model[0].weight
    assert model.get_buffer("1.running_mean") is model[1].running_mean
    assert complaint(lambda: model.get_parameter("0.wieght")) == (
        "error[module]: Sequential has no parameter `0.wieght`\n  help: did you mean `0.weight`?"
    )


def test_gradients_are_forgotten_by_the_model_and_the_optimizer():
    model = nn.Linear(3, 2)
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)
    for owner in (model, optimizer):
        model(tx.ones(4, 3)).sum().backward()
        owner.zero_grad(set_to_none=False)
        assert model.weight.grad.tolist() == [[0, 0, 0], [0, 0, 0]]
        owner.zero_grad()
        assert model.weight.grad is None
        owner.zero_grad(set_to_none=False)
        assert model.weight.grad is None


def test_parameters_as_text():
    p = nn.Parameter(np.float32([1, 2]))
    assert repr(p) == "Parameter(parameter: [1., 2.], f32[2])"
    assert repr(p.requires_grad_(False)) == "Parameter(parameter: [1., 2.], f32[2], requires_grad=False)"
    assert repr(nn.ParameterDict({"a": np.ones(3)})) == "ParameterDict(\n  (a): f64[3]\n)"
    assert repr(nn.ParameterList()) == "ParameterList()"
