"""Arguments as torch takes them: types that are converted, and mistakes that are named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.nn import functional as F

X = np.random.default_rng(0).normal(size=(8, 4)).astype("f4")
LABELS = np.arange(8) % 4
HOT = np.eye(4)[LABELS]
OF_LABELS = [nn.CrossEntropyLoss, nn.NLLLoss, nn.MultiMarginLoss]
OF_ELEMENTS = [
    nn.L1Loss,
    nn.MSELoss,
    nn.SmoothL1Loss,
    nn.HuberLoss,
    nn.PoissonNLLLoss,
    nn.BCEWithLogitsLoss,
    nn.SoftMarginLoss,
    nn.HingeEmbeddingLoss,
    nn.MultiLabelSoftMarginLoss,
]


def complaint(run: Callable[[], object]) -> str:
    with pytest.raises(tx.CallError) as caught:
        run()
    return str(caught.value)


@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "u4"])
@pytest.mark.parametrize("loss", OF_LABELS)
def test_labels_of_any_integers(loss: type[nn.Loss], kind: str):
    wanted = loss()(X, LABELS)
    assert loss()(X, LABELS.astype(kind)) == wanted
    given = tx.tensor(X, requires_grad=True)
    value = loss()(given, tx.tensor(LABELS.astype(kind)))
    value.backward()
    assert value.item() == pytest.approx(wanted, abs=1e-6) and given.grad.shape == (8, 4)


@pytest.mark.parametrize("kind", ["i4", "i8", "u1", "?", "f8", "f2"])
@pytest.mark.parametrize("loss", OF_ELEMENTS)
def test_targets_become_the_dtype_of_the_output(loss: type[nn.Loss], kind: str):
    wanted = float(loss()(X, HOT.astype("f4")))
    given = tx.tensor(X, requires_grad=True)
    value = loss()(given, tx.tensor(HOT.astype(kind)))
    value.backward()
    assert value.dtype == given.dtype and value.item() == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("weight", [[1, 2, 3, 4], np.array([1.0, 2.0, 3.0, 4.0])])
def test_weights_become_the_dtype_of_the_output(weight: object):
    same = np.float32([1, 2, 3, 4])
    pairs = [
        (nn.CrossEntropyLoss(weight), nn.CrossEntropyLoss(same), LABELS),
        (nn.CrossEntropyLoss(weight), nn.CrossEntropyLoss(same), HOT),
        (nn.MultiMarginLoss(weight=weight), nn.MultiMarginLoss(weight=same), LABELS),
        (nn.BCEWithLogitsLoss(pos_weight=weight), nn.BCEWithLogitsLoss(pos_weight=same), HOT),
        (nn.BCEWithLogitsLoss(weight), nn.BCEWithLogitsLoss(same), HOT),
    ]
    for loss, other, target in pairs:
        found = loss(tx.tensor(X), tx.tensor(target))
        assert str(found.dtype) == "f32" and found.item() == pytest.approx(float(other(X, target)), rel=1e-6)


def test_losses_of_numbers():
    total = (tx.tensor(X, requires_grad=True) * 2).sum()
    assert nn.MSELoss()(3.0, 1.0) == 4.0 and nn.MSELoss()(3.0, 1) == 4.0
    assert nn.MSELoss()(total, 1.0).item() == pytest.approx((2 * X.sum(dtype="f8") - 1) ** 2, rel=1e-4)
    assert nn.GaussianNLLLoss()(tx.tensor(X), tx.tensor(HOT), 1.0).shape == ()


@pytest.mark.parametrize("kind", [nn.Dropout, nn.AlphaDropout, nn.FeatureAlphaDropout, nn.Dropout1d])
def test_a_probability_of_one(kind: type[nn.Dropout]):
    x = tx.tensor(np.ones((2, 3, 4)), requires_grad=True)
    y = kind(1.0)(x)
    y.sum().backward()
    assert not y.numpy().any() and not x.grad.numpy().any()


def test_optimizers_take_named_parameters():
    model = nn.Linear(4, 2)
    optimizer = nn.optim.Adam(model.named_parameters())
    assert optimizer.parameters == tuple(model.parameters())


def fit(loss: nn.Loss, y: np.ndarray, x: np.ndarray = X, model: nn.Module | None = None) -> object:
    model = nn.Linear(x.shape[-1], 4) if model is None else model
    return nn.Trainer(model, loss, nn.optim.SGD(model.parameters())).fit(x, y, progress=False)


CE = nn.CrossEntropyLoss()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            lambda: fit(CE, LABELS[:, None]),
            "CrossEntropyLoss: the targets have shape [8, 1], expected [8], for outputs [8, 4] with the classes "
            "on axis 1\n    in the layer CrossEntropyLoss()\n  help: take the axis of length 1 away: y.squeeze(1)",
        ),
        (
            lambda: fit(CE, HOT.astype(int)),
            "CrossEntropyLoss: the targets have shape [8, 4], expected [8], for outputs [8, 4] with the classes "
            "on axis 1\n    in the layer CrossEntropyLoss()\n  help: class numbers: y.argmax(1); or "
            "probabilities: y.astype(np.float32)",
        ),
        (
            lambda: fit(CE, np.zeros((8, 5), int), np.ones((8, 5, 3), "f4")),
            "CrossEntropyLoss: the targets have shape [8, 5], expected [8, 4], for outputs [8, 5, 4] with the "
            "classes on axis 1\n    in the layer CrossEntropyLoss()\n  help: the classes lie on axis 1: let the "
            "model end in output.permute(0, 2, 1)",
        ),
        (
            lambda: CE(np.ones((2, 4, 5, 3)), np.zeros((2, 3, 5), int)),
            "CrossEntropyLoss: the targets have shape [2, 3, 5], expected [2, 5, 3], for outputs [2, 4, 5, 3] "
            "with the classes on axis 1\n    in the layer CrossEntropyLoss()\n  help: the axes of the targets are "
            "in another order: y.transpose(...)",
        ),
        (
            lambda: CE(np.ones((2, 4, 5)), np.ones((2, 5, 4)) / 4),
            "CrossEntropyLoss: the target has shape [2, 5, 4], expected that of the output, [2, 4, 5]\n    in the "
            "layer CrossEntropyLoss()\n  help: the axes are in another order: y.transpose(...)",
        ),
        (
            lambda: fit(nn.MSELoss(), np.ones(8), model=nn.Linear(4, 1)),
            "MSELoss: the target has shape [8], expected that of the output, [8, 1]\n    in the layer MSELoss()\n"
            "  help: give the target an axis: y[:, None]",
        ),
        (
            lambda: nn.L1Loss()(np.ones((8, 4)), np.ones((8, 1))),
            "L1Loss: the target has shape [8, 1], expected that of the output, [8, 4]\n    in the layer L1Loss()\n"
            "  help: losses do not broadcast: repeat the target, such as by np.broadcast_to",
        ),
    ],
)
def test_shapes_of_targets(run: Callable[[], object], message: str):
    assert complaint(run) == f"error[shape]: {message}"


MODEL = nn.Linear(4, 4)
ADAM = nn.optim.Adam(MODEL.parameters())


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            lambda: nn.Trainer(nn.MSELoss(), MODEL, ADAM),
            "the model is a loss, MSELoss()\n  help: the order is Trainer(model, loss, optimizer)",
        ),
        (
            lambda: nn.Trainer(lambda a, b: a, MODEL, ADAM),  # type: ignore[arg-type]
            "the model is a function, expected a module\n  help: the order is Trainer(model, loss, optimizer)",
        ),
        (
            lambda: nn.Trainer(MODEL, MODEL, ADAM),
            "the loss is the model\n  help: pass a loss such as nn.CrossEntropyLoss()",
        ),
        (
            lambda: nn.Trainer(MODEL, ADAM, nn.MSELoss()),  # type: ignore[arg-type]
            "the loss is Adam(lr=0.001, 2 parameters, 0 steps), expected a function such as "
            "nn.CrossEntropyLoss()\n  help: the order is Trainer(model, loss, optimizer)",
        ),
        (
            lambda: nn.Trainer(nn.Linear(4, 4), CE, ADAM),
            "the optimizer has 2 parameters, none of which is the model's\n  help: make it of this model: "
            "nn.optim.Adam(model.parameters())",
        ),
        (
            lambda: nn.optim.Adam(MODEL),  # type: ignore[arg-type]
            "Adam: params is one Linear, expected model.parameters() or a list\n  help: write "
            "Adam(model.parameters())",
        ),
        (lambda: nn.optim.AveragedModel(3), "AveragedModel: the model is 3, expected a module"),  # type: ignore[arg-type]
        (
            lambda: nn.optim.AveragedModel(nn.Linear),  # type: ignore[arg-type]
            "AveragedModel: the model is <class 'texpr.nn.modules.linear.Linear'>, expected a module\n  help: make "
            "one: Linear(...)",
        ),
    ],
)
def test_swapped_parts(run: Callable[[], object], message: str):
    assert complaint(run) == f"error[arguments]: {message}"


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", np.float32])
@pytest.mark.parametrize("kind", [nn.Parameter, nn.Buffer])
def test_variables_are_made_in_a_dtype(kind: type, dtype: object):
    made = kind([1, 2.5], dtype=dtype)
    assert made.dtype == tx.zeros(1, dtype=dtype).dtype and (made * 2).tolist() == [2, 5]


def test_a_dtype_that_is_not_there_is_named():
    with pytest.raises(tx.CallError, match="'quux' is no dtype that texpr has"):
        nn.Parameter([1.0], dtype="quux")


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1.0, "f32"),
        ([1.0, 2], "f32"),
        ([[1, 2], (3, 4.5)], "f32"),
        (np.float64(1.0), "f64"),
        ([np.float64(1.0)], "f64"),
        (np.ones(2), "f64"),
        (tx.tensor(1.0), "f64"),
        (tx.ones(2), "f32"),
        (np.float16(1.0), "f16"),
    ],
    ids=str,
)
def test_parameters_of_numbers_of_python_are_f32(data: object, dtype: str):
    parameter = nn.Parameter(data)
    assert parameter.dtype.name == dtype and np.array_equal(parameter.numpy(), np.asarray(data, dtype=float))


def test_losses_and_functions_of_numbers():
    assert F.mse_loss(1.0, 3.0) == nn.MSELoss()(1.0, 3.0) == 4
    assert F.l1_loss([1.0, 2.0], [3.0, 5.0]) == 2.5 and F.mse_loss(input=1.0, target=3.0) == 4
    assert F.mse_loss(tx.tensor(1.0), 3.0).item() == 4


@pytest.mark.parametrize("name", ["normal_", "zeros_", "kaiming_uniform_"])
def test_what_cannot_be_filled(name: str):
    with pytest.raises(tx.CallError) as caught:
        getattr(nn.init, name)(3)
    assert (caught.value.message, caught.value.help) == (
        f"{name} fills a parameter or an array, got 3",
        f"nn.init.{name}(model.weight)",
    )


def test_layers_are_called_by_their_own_names():
    with pytest.raises(tx.CallError, match="Conv2d is called without what it needs: .*'kernel_size'"):
        nn.Conv2d(3, 4)
    with pytest.raises(tx.CallError, match="Conv1d is called without"):
        type("Mine", (nn.Conv1d,), {"__init__": lambda self: nn.Conv1d.__init__(self, 3)})()


@pytest.mark.parametrize("betas", [0.9, (0.9,), (0.9, 0.99, 0.999)])
def test_betas_are_two(betas: object):
    with pytest.raises(tx.CallError) as caught:
        nn.optim.Adam(nn.Linear(2, 1).parameters(), betas=betas)
    assert caught.value.message == f"Adam: betas is {betas!r}, expected two numbers"
    assert caught.value.help == "betas=(0.9, 0.999)"
