"""`nn.functional`: what modules compute, with parameters as arguments; attention, padding, one-hot."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.nn import functional as F  # noqa: N812

R = np.random.default_rng(0)
X = R.standard_normal((2, 4, 6)).astype("f4")
IMAGE = R.standard_normal((2, 4, 8, 8)).astype("f4")
LABELS = np.array([2, 0])


def array(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype("f4")


STATELESS = [
    (F.leaky_relu(X, 0.2), nn.LeakyReLU(0.2), (X,)),
    (F.gelu(X, approximate="tanh"), nn.GELU("tanh"), (X,)),
    (F.log_softmax(X, 1), nn.LogSoftmax(1), (X,)),
    (F.max_pool2d(IMAGE, 3, 2, 1), nn.MaxPool2d(3, 2, 1), (IMAGE,)),
    (F.interpolate(IMAGE, scale_factor=2), nn.Upsample(scale_factor=2), (IMAGE,)),
    (
        F.cross_entropy(X[:, 0], LABELS, reduction="sum"),
        nn.CrossEntropyLoss(reduction="sum"),
        (X[:, 0], LABELS),
    ),
    (F.mse_loss(X, X * 2), nn.MSELoss(), (X, X * 2)),
]


@pytest.mark.parametrize(("found", "module", "inputs"), STATELESS)
def test_functions_are_what_modules_compute(found, module, inputs):
    assert (found == module(*inputs)).all()


LAYERS = [
    (F.linear, nn.Linear(6, 3), X, {}),
    (F.linear, nn.Linear(6, 3, bias=False), X, {}),
    (F.conv1d, nn.Conv1d(4, 2, 3, padding="same"), X, {"padding": "same"}),
    (F.conv2d, nn.Conv2d(4, 6, 3, 2, 1, groups=2), IMAGE, {"stride": 2, "padding": 1, "groups": 2}),
    (F.conv_transpose2d, nn.ConvTranspose2d(4, 6, 2, 2, groups=2), IMAGE, {"stride": 2, "groups": 2}),
    (F.layer_norm, nn.LayerNorm((4, 6)), X, {"normalized_shape": (4, 6)}),
    (F.rms_norm, nn.RMSNorm(6), X, {"normalized_shape": (6,)}),
    (F.group_norm, nn.GroupNorm(2, 4), X, {"num_groups": 2}),
    (F.prelu, nn.PReLU(4), X, {}),
]


@pytest.mark.parametrize(("function", "module", "x", "settings"), LAYERS)
def test_layers_with_parameters_as_arguments(function, module, x, settings):
    values = {name: array(*p.shape) for name, p in module.named_parameters()}
    module.load_state_dict(values)
    expected = module(x)
    assert np.allclose(function(x, **values, **settings), expected, atol=1e-6)
    given = {name: nn.Parameter(v) for name, v in values.items()}
    (function(tx.tensor(x), **given, **settings) ** 2).sum().backward()
    (module(tx.tensor(x)) ** 2).sum().backward()
    for name, p in module.named_parameters():
        assert np.allclose(given[name].grad.numpy(), p.grad.numpy(), rtol=1e-4, atol=1e-4)


def expected_attention(q, k, v, mask=None, scale=None):
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


Q, K, V = array(2, 2, 3, 4), array(2, 2, 5, 4), array(2, 2, 5, 4)
CAUSAL = np.tri(3, 5, dtype=bool)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {}),
        ({"is_causal": True}, {"mask": CAUSAL}),
        ({"attn_mask": CAUSAL}, {"mask": CAUSAL}),
        ({"attn_mask": CAUSAL * np.float32(2)}, {"mask": CAUSAL * np.float32(2)}),
        ({"attn_mask": (b := array(2, 1, 3, 5)), "scale": 0.3}, {"mask": b, "scale": 0.3}),
    ],
)
def test_attention(settings, expected):
    found = F.scaled_dot_product_attention(Q, K, V, **settings)
    assert np.allclose(found, expected_attention(Q, K, V, **expected), atol=1e-5)


def test_attention_of_groups_and_its_dropout():
    q = array(2, 4, 3, 4)
    found = F.scaled_dot_product_attention(q, K, V, enable_gqa=True)
    assert np.allclose(found, expected_attention(q, K.repeat(2, 1), V.repeat(2, 1)), atol=1e-5)
    assert (F.scaled_dot_product_attention(Q, K, V, dropout_p=1.0) == 0).all()


def test_padding_one_hot_norms_and_tables():
    assert (F.pad(X, (1, 2)) == np.pad(X, ((0, 0), (0, 0), (1, 2)))).all()
    assert (
        F.pad(X, (0, 1, 2, -1), value=3.0) == np.pad(X[:, :-1], ((0, 0), (2, 0), (0, 1)), constant_values=3)
    ).all()
    assert (F.pad(X, (2, 1), mode="reflect") == np.pad(X, ((0, 0), (0, 0), (2, 1)), "reflect")).all()
    one_hot = F.one_hot(tx.tensor(LABELS), 4)
    assert one_hot.dtype == np.int64 and one_hot.tolist() == np.eye(4)[LABELS].tolist()
    for p in (1.0, 2.0):
        norm = np.linalg.norm(X, p, axis=-1, keepdims=True)
        assert np.allclose(F.normalize(X, p, dim=-1), X / norm, atol=1e-6)
    w = nn.Parameter(array(5, 3))
    F.embedding(tx.tensor([1, 1, 4]), w, padding_idx=-1).sum().backward()
    assert w.grad.tolist() == [[0] * 3, [2] * 3, [0] * 3, [0] * 3, [0] * 3]


def test_norms_by_statistics():
    mean, variance = array(4), abs(array(4)) + 1
    expected = (X - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5)
    assert np.allclose(F.batch_norm(X, mean, variance), expected, atol=1e-6)
    assert np.allclose(F.instance_norm(X, mean, variance, use_input_stats=False), expected, atol=1e-6)
    own = (X - X.mean((0, 2), keepdims=True)) / np.sqrt(X.var((0, 2), keepdims=True) + 1e-5)
    assert np.allclose(F.batch_norm(X, None, None, training=True), own, atol=1e-5)
    own = (X - X.mean(2, keepdims=True)) / np.sqrt(X.var(2, keepdims=True) + 1e-5)
    assert np.allclose(F.instance_norm(X), own, atol=1e-5)


def test_dropout_follows_the_seed():
    masks = []
    for _ in range(2):
        nn.manual_seed(3)
        masks.append([F.dropout(np.ones(64, "f4")) for _ in range(2)])
    assert (masks[0][0] == masks[1][0]).all() and (masks[0][1] == masks[1][1]).all()
    assert (masks[0][0] != masks[0][1]).any() and set(masks[0][0]) == {0, 2}
    assert (F.dropout(np.ones(4, "f4"), training=False) == 1).all()


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(array(3, 6))

    def forward(self, x):
        return F.linear(F.dropout(F.relu(x), 0.1, self.training), self.w)


def test_in_forward_in_a_trainer_and_in_traced_functions():
    m = Small()
    x = X[:, 0]
    assert np.allclose(m.eval()(x), np.maximum(x, 0) @ m.w.numpy().T, atol=1e-6)
    trainer = nn.Trainer(m, F.cross_entropy, nn.optim.SGD(m.parameters(), 0.5))
    losses = trainer.fit(x, LABELS, epochs=3, batch_size=2, progress=False)["loss"]
    assert losses[-1] < losses[0]
    found = tx.jit(lambda a: F.softmax(a, dim=1))(x)
    assert np.allclose(found, np.exp(x) / np.exp(x).sum(1, keepdims=True), atol=1e-6)


def test_parameters_give_tensors():
    """A function or module of a parameter keeps the gradient."""
    w = nn.Parameter(array(3, 6))
    assert isinstance(F.relu(w), tx.Tensor) and isinstance(nn.ReLU()(w), tx.Tensor)
    (F.relu(w) * 2).sum().backward()
    assert (w.grad.numpy() == 2 * (w.numpy() > 0)).all()


def test_signatures_are_torchs():
    named = {n: list(inspect.signature(getattr(F, n)).parameters) for n in F.__all__}
    assert named["dropout"] == ["input", "p", "training", "inplace"]
    assert named["relu"] == ["input", "inplace"]
    assert named["max_unpool2d"] == ["input", "indices", "kernel_size", "stride", "padding", "output_size"]
    assert named["conv2d"] == ["input", "weight", "bias", "stride", "padding", "dilation", "groups"]
    assert pickle.loads(pickle.dumps(F.relu)) is F.relu and "conv2d(input" in repr(F.conv2d)


COMPLAINTS = {
    "F.relu()": "nn.functional.relu: missing a required argument: 'input'; F.relu(input, inplace=False)",
    "F.relu(X, slope=1)": "nn.functional.relu: got an unexpected keyword argument 'slope'; "
    "F.relu(input, inplace=False)",
    "F.one_hot(LABELS)": "one_hot without num_classes: the shape would depend on data; "
    "F.one_hot(target, num_classes=10)",
    "F.batch_norm(X, X[0, :, 0], X[0, :, 0], training=True)": "batch_norm by statistics of the input would "
    "change the running ones; the module, such as nn.BatchNorm2d, keeps them; without them give None",
    "F.batch_norm(X, None, None)": "batch_norm by statistics that are not given; "
    "give running_mean and running_var, or take those of the input",
    "F.scaled_dot_product_attention(Q, K, V, CAUSAL, is_causal=True)": "attention has attn_mask and "
    "is_causal; give one of them",
    "F.pad(X, (1, 2, 3))": "pad has 3 numbers; two for each axis",
}


@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(text: str):
    with pytest.raises(tx.CallError) as caught:
        eval(text)
    assert f"{caught.value.message}; {caught.value.help}" == COMPLAINTS[text]


def test_names_that_are_not_here():
    with pytest.raises(AttributeError, match="no memory is written over: leave the `_` out"):
        F.relu_  # noqa: B018
