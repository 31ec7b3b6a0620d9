"""Layers and losses against what was stored of PyTorch (`scripts/layers.py --record`), their
states, and what they refuse.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.nn.core.test_module import complaint
from tests.nn.layer_table import CASES, Case, first_values
from tests.nn.layers import applied, fingerprint, made
from texpr import nn
from texpr.nn.core import pytree

STORED = json.loads((Path(__file__).parents[1] / "layers.json").read_text())


def name_of(case: Case) -> str:
    return case.text.partition("(")[0]


def chosen() -> list[Case]:
    """Two constructions of every layer; `scripts/layers.py` has all of them, with gradients."""
    every: dict[str, list[Case]] = {}
    for case in CASES:
        every.setdefault(name_of(case), []).append(case)
    return [case for cases in every.values() for case in (cases[0], *cases[-1:])[: len(cases)]]


def assert_same(found: np.ndarray, stored: list, what: str) -> None:
    """The shape, and numbers that depend on all elements, to 1e-9 of the larger of them and 1."""
    shape, *numbers = fingerprint(found)
    assert shape == stored[0], what
    np.testing.assert_allclose(numbers, stored[1:], rtol=1e-9, atol=1e-9, err_msg=what)


def test_states_are_torchs():
    """Names, their order, and shapes."""
    assert set(STORED) == {case.key for case in CASES}
    for case in CASES:
        state = made(case).state_dict()
        assert {n: list(a.shape) for n, a in state.items()} == STORED[case.key]["state"], case.key
        assert list(state) == list(STORED[case.key]["state"]), case.key


@pytest.mark.parametrize("case", chosen(), ids=lambda c: c.key)
def test_layers_equal_torchs(case: Case):
    module, stored = made(case), STORED[case.key]
    state = {
        n: first_values(n, a.shape) if a.dtype.kind == "f" else a for n, a in module.state_dict().items()
    }
    module.load_state_dict(state)
    outputs = list(pytree.leaves(applied(module, case, case.arrays())))
    assert len(outputs) == len(stored["outputs"])
    for y, expected in zip(outputs, stored["outputs"]):
        assert_same(y, expected, case.key)
    changed = {
        n: a for n, a in module.state_dict().items() if not np.array_equal(a, state[n], equal_nan=True)
    }
    assert set(changed) == set(stored.get("buffers", ()))
    for name, value in changed.items():
        assert_same(value, stored["buffers"][name], f"{case.key}: {name}")


def test_every_layer_prints():
    for case in CASES:
        assert repr(made(case)).startswith(f"{name_of(case)}(")


def test_every_layer_is_in_the_table():
    others = {
        "Module",
        "ModuleList",
        "ModuleDict",
        "ParameterList",
        "ParameterDict",
        "Sequential",
        "Parameter",
        "Buffer",
        "Loss",
        "Seeded",
        "Trainer",
        "TrainingStep",
        "History",
        "EarlyStopping",
        "FeatureAlphaDropout",
        "LinearCrossEntropyLoss",  # tests/nn/test_linear_cross_entropy.py
        "SyncBatchNorm",  # tests/nn/training/data_parallel/test_sync_batch_norm.py
    }
    layers = {
        n
        for n in nn.__all__
        if n[0].isupper() and isinstance(getattr(nn, n), type) and issubclass(getattr(nn, n), nn.Module)
    }
    assert layers - others - {name_of(case) for case in CASES} == set()


REFUSED = {
    "Conv1d(3, 4, 3, padding='some')": "Conv1d: padding is 'some', expected valid or same",
    "Conv1d(3, 4, 3, stride=2, padding='same')": "Conv1d: padding is 'same' and the stride (2,), expected 1",
    "Conv3d(3, 4, (3, 3))": "Conv3d: kernel_size is (3, 3), expected an integer or 3 of them",
    "Conv2d(3, 4, 3, padding_mode='same')": "Conv2d: padding_mode is 'same', expected zeros, reflect, "
    "replicate or circular",
    "Conv2d(3, 4, 3, groups=2)": "Conv2d: 3 input and 4 output channels cannot be divided into 2 groups",
    "ConvTranspose1d(2, 2, 3, stride=2, output_padding=2)": "ConvTranspose1d: output_padding (2,) is not "
    "below the stride (2,) or the dilation (1,)",
    "ConvTranspose2d(2, 2, 3, padding_mode='reflect')": "ConvTranspose2d: padding_mode is 'reflect', "
    "expected zeros",
    "MaxPool1d(2, padding=2)": "MaxPool1d: padding 2 is more than half of the window 2",
    "AdaptiveAvgPool2d((0, 2))": "AdaptiveAvgPool2d: output_size is 0, expected an integer of at least 1",
    "BatchNorm2d(0)": "BatchNorm2d: num_features is 0, expected an integer of at least 1",
    "BatchNorm2d(3, eps=-1)": "BatchNorm2d: eps is -1, expected a finite number of at least 0",
    "GroupNorm(2, 3)": "GroupNorm: 3 channels cannot be divided into 2 groups",
    "Embedding(3, 2, padding_idx=3)": "Embedding: padding_idx is 3, there are 3 rows",
    "Embedding(3, 2, max_norm=-1.0)": "Embedding: max_norm is -1.0, expected a finite number of at least 0",
    "Embedding(3, 2, max_norm=1.0, norm_type=0)": "Embedding: norm_type is 0, expected a number above 0",
    "EmbeddingBag(3, 2, mode='max', scale_grad_by_freq=True)": "EmbeddingBag: scale_grad_by_freq with mode "
    "'max', expected sum or mean",
    "FractionalMaxPool2d(2)": "FractionalMaxPool2d: give either output_size or output_ratio",
    "FractionalMaxPool3d(2, output_ratio=(0.5, 0.5))": "FractionalMaxPool3d: output_ratio is (0.5, 0.5), "
    "expected a number or 3 of them",
    "FractionalMaxPool2d(2, output_ratio=0.0)": "FractionalMaxPool2d: output_ratio is 0.0, expected numbers "
    "above 0 and below 1",
    "EmbeddingBag(3, 2, mode='min')": "EmbeddingBag: mode is 'min', expected sum, mean or max",
    "RNN(3, 4, nonlinearity='sin')": "RNN: nonlinearity is 'sin', expected tanh or relu",
    "LSTM(3, 4, proj_size=4)": "LSTM: proj_size 4 is not below hidden_size 4",
    "GRU(3, 4, dropout=1.5)": "GRU: dropout is 1.5, expected a number from 0 to 1",
    "MultiheadAttention(6, 4)": "MultiheadAttention: 6 features cannot be divided among 4 heads",
    "TransformerEncoderLayer(6, 2, activation='sin')": "TransformerEncoderLayer: activation is 'sin', "
    "expected relu, gelu or a function of a tensor",
    "Upsample()": "Upsample: give either size or scale_factor",
    "Upsample(size=3, mode='cubic')": "Upsample: mode is 'cubic', expected nearest, nearest-exact, linear, "
    "bilinear, trilinear or bicubic",
    "Unflatten(1, (-1, -1))": "Unflatten: unflattened_size is (-1, -1), expected sizes, one of which may be "
    "-1",
    "ReflectionPad1d(-1)": "ReflectionPad1d: padding is -1, expected an integer of at least 0",
    "ZeroPad2d((1, 2))": "ZeroPad2d: padding is (1, 2), expected an integer or 4 of them",
    "Hardtanh(1.0, -1.0)": "Hardtanh: min_val 1.0 is not below max_val -1.0",
    "GELU('fast')": "GELU: approximate is 'fast', expected none or tanh",
    "KLDivLoss(reduction='avg')": "KLDivLoss: reduction is 'avg', expected mean, sum, none or batchmean",
    "MultiMarginLoss(p=3)": "MultiMarginLoss: p is 3, expected 1 or 2",
    "init.calculate_gain('sine')": "there is no gain for 'sine'\n  help: there is one for linear, conv1d, "
    "sigmoid, tanh, relu, leaky_relu, selu",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str):
    assert complaint(lambda: eval(f"nn.{text}")) == f"error[arguments]: {REFUSED[text]}"


def test_calls_that_do_not_fit():
    assert (
        complaint(lambda: nn.Conv2d(3, 4, 3)(np.ones((3, 4))))
        == """\
error[rank]: Conv2d: the input has 2 dimensions, expected 4, or 3 without a batch
    in the layer Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1))"""
    )
    assert (
        complaint(lambda: nn.BatchNorm1d(3)(np.ones((1, 3))))
        == """\
error[training]: BatchNorm1d: one value per channel has no variance to train with
    in the layer BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)"""
    )
    assert (
        complaint(lambda: nn.LayerNorm((3, 4))(np.ones((2, 4, 3))))
        == """\
error[shape]: LayerNorm: the input has shape [2, 4, 3], expected [..., 3, 4]
    in the layer LayerNorm((3, 4), eps=1e-05, elementwise_affine=True)"""
    )
    assert (
        complaint(lambda: nn.LSTM(3, 4)(np.ones((5, 2, 3)), (np.ones((1, 2, 4)),)))
        == """\
error[arguments]: LSTM: 1 states are given, expected 2
    in the layer LSTM(3, 4)"""
    )
    assert (
        complaint(lambda: nn.FractionalMaxPool2d(3, output_size=4)(np.ones((2, 5, 6))))
        == """\
error[shape]: FractionalMaxPool2d: (4, 4) windows of (3, 3) do not fit into (5, 6)
    in the layer FractionalMaxPool2d(kernel_size=(3, 3), output_size=(4, 4))"""
    )
    assert (
        complaint(lambda: nn.CTCLoss()(np.zeros((5, 2, 3)), np.array([1, 2]), [5, 5], [1, 2]))
        == """\
error[shape]: CTCLoss: the target_lengths add up to 3, and there are 2 letters"""
    )
    assert (
        complaint(lambda: nn.CTCLoss()(np.zeros((5, 2, 3)), np.zeros((2, 2, 2), int), [5, 5], [1, 2]))
        == """\
error[rank]: CTCLoss: log_probs has 3 dimensions and targets 3, expected 3 and 2, or 3 and 1 with all letters in one line
    in the layer CTCLoss()
  help: without a batch, expected 2 and 1"""
    )
    assert (
        complaint(lambda: nn.Embedding(3, 2)(np.array([0, 3])))
        == "error[range]: `x[1]` is 3, expected a value in 0..3"
    )


def test_labels_are_checked():
    logits = np.zeros((3, 4))
    for loss in (nn.CrossEntropyLoss(), nn.NLLLoss()):
        assert (
            complaint(lambda loss=loss: loss(logits, np.array([0, -1, 4])))
            == """\
error[data]: the label y[1] is -1, expected 0 to 3
    2 of 3 labels are out of range; the model has 4 outputs
  help: nn.CrossEntropyLoss(ignore_index=-1), if labels of -1 do not count"""
        )
        assert np.isnan(loss(logits, np.array([-100, -100, -100])))
    assert nn.CrossEntropyLoss(ignore_index=-1)(logits, np.array([0, -1, -1])) == pytest.approx(np.log(4))


def test_a_padding_row_gets_no_gradient():
    nn.manual_seed(0)
    model = nn.Sequential(nn.Embedding(4, 2, padding_idx=1, dtype="f64"), nn.Flatten(0))
    assert not model[0].weight.data[1].any()
    model[0].weight.data[1] = 0.5
    before = model[0].weight.data.copy()
    nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=1.0))(
        np.array([0, 1, 1, 3]), np.zeros(8)
    )
    changed = (model[0].weight.data != before).all(1)
    assert changed.tolist() == [True, False, False, True]
    assert not nn.Embedding.from_pretrained(np.ones((2, 3))).weight.requires_grad


def test_a_step_begins_at_rows_of_the_norm_that_is_asked_for():
    """Rows that are looked up twice in a step shrink once, and the gradient is that of the rows
    as they are then.
    """
    table = nn.Embedding(4, 2, max_norm=1.0, scale_grad_by_freq=True, dtype="f64")
    table.weight.data[...] = [[3, 4], [0.3, 0.4], [6, 8], [0, 2]]
    model = nn.Sequential(table, nn.Flatten(0))
    nn.TrainingStep(model, nn.MSELoss(reduction="sum"), nn.optim.SGD(model.parameters(), lr=0.1))(
        np.array([0, 1, 0]), np.zeros(6)
    )
    np.testing.assert_allclose(table.weight.data, [[0.48, 0.64], [0.24, 0.32], [6, 8], [0, 2]], rtol=1e-6)
    assert repr(table) == "Embedding(4, 2, max_norm=1.0, scale_grad_by_freq=True)"


def test_windows_are_spread_anew_by_a_seed():
    nn.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(2, 3, 9, 9)).astype(np.float32)
    pool = nn.FractionalMaxPool2d(2, output_ratio=0.6, return_indices=True)
    (first, places), (second, _) = pool(x), pool(x)
    assert first.shape == (2, 3, 5, 5) and not np.array_equal(first, second)
    np.testing.assert_array_equal(
        np.take_along_axis(x.reshape(2, 3, 81), places.reshape(2, 3, 25), 2), first.reshape(2, 3, 25)
    )


def test_copies_of_a_layer_draw_their_own_masks():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 3)
    seeds = [int(m.seed.data) for m in encoder.modules() if isinstance(m, nn.Seeded)]
    assert len(set(seeds)) == len(seeds) == 12
    first, second = (layer.linear1.weight.data for layer in (encoder.layers[0], encoder.layers[1]))
    np.testing.assert_array_equal(first, second)


def test_dropout_in_training():
    nn.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(6, 4, 8)).astype(np.float32)
    for layer in (nn.MultiheadAttention(8, 2, dropout=0.5), nn.LSTM(8, 4, 2, dropout=0.5)):
        inputs = (x, x, x) if isinstance(layer, nn.MultiheadAttention) else (x,)
        first, second = layer(*inputs)[0], layer(*inputs)[0]
        assert not np.array_equal(first, second)
        np.testing.assert_array_equal(layer.eval()(*inputs)[0], layer(*inputs)[0])
    channels = nn.Dropout2d(0.5)(np.ones((8, 8, 3, 3), np.float32))
    assert all(np.unique(c).size == 1 for sample in channels for c in sample) and set(
        np.unique(channels)
    ) == {0, 2}


def test_mixing_batch_statistics_counts_every_use():
    norm = nn.BatchNorm1d(2, momentum=None, dtype="f64")
    model = nn.Sequential(norm, norm)
    model(np.random.default_rng(0).normal(size=(5, 2)))
    assert int(norm.num_batches_tracked.data) == 2  # type: ignore[union-attr]


def moments(fill) -> tuple[float, float, float]:
    values = fill(np.zeros((300, 40, 5)))
    return float(values.mean()), float(values.std()), float(np.abs(values).max())


def test_initialisers():
    nn.manual_seed(1)
    fan_in, fan_out = 40 * 5, 300 * 5
    for fill, deviation, bound in (
        (lambda t: nn.init.uniform_(t, -2, 2), 4 / np.sqrt(12), 2),
        (lambda t: nn.init.normal_(t, 0, 3), 3, np.inf),
        (lambda t: nn.init.trunc_normal_(t, 0, 1, -1, 1), 0.54, 1),
        (nn.init.xavier_uniform_, np.sqrt(2 / (fan_in + fan_out)), np.sqrt(6 / (fan_in + fan_out))),
        (lambda t: nn.init.xavier_normal_(t, 2.0), 2 * np.sqrt(2 / (fan_in + fan_out)), np.inf),
        (
            lambda t: nn.init.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu"),
            np.sqrt(2 / fan_out),
            np.sqrt(6 / fan_out),
        ),
        (lambda t: nn.init.kaiming_normal_(t, a=1), np.sqrt(1 / fan_in), np.inf),
    ):
        mean, found, most = moments(fill)
        assert abs(mean) < 0.02 * deviation and abs(found / deviation - 1) < 0.02 and most <= bound
    q = nn.init.orthogonal_(np.zeros((3, 4, 2)), gain=2.0).reshape(3, 8)
    np.testing.assert_allclose(q @ q.T, 4 * np.eye(3), atol=1e-12)
    np.testing.assert_array_equal(nn.init.eye_(np.ones((2, 3))), np.eye(2, 3))
    assert (nn.init.sparse_(np.ones((10, 6)), 0.25) == 0).sum(0).tolist() == [3] * 6
    x = np.random.default_rng(0).normal(size=(1, 2, 5)).astype(np.float32)
    conv = nn.Conv1d(2, 2, 3, padding=1, bias=False)
    nn.init.dirac_(conv.weight)
    np.testing.assert_array_equal(conv(x), x)
    assert (
        nn.init.ones_(nn.Parameter(np.zeros(2))).data.tolist() == [1, 1]
        and nn.init.calculate_gain("tanh") == 5 / 3
    )


def test_layers_are_used_in_own_code_with_functions():
    """A loss and a layer of one's own, from operators of one's own."""
    scaled = tx.op("op scaled<T: float>(X: T[N, D], w: T[D]) -> Y: T[N, D] { Y[n, d] = X[n, d] * w[d] }")
    quartic = tx.op(
        "op quartic<T: float>(a: T[*S], b: T[*S]) -> l: T[*S] { l[*s] = (a[*s] - b[*s]) * (a[*s] - b[*s]) * "
        "(a[*s] - b[*s]) "
        "* (a[*s] - b[*s]) }"
    )

    class Scale(nn.Module):
        def __init__(self, features: int) -> None:
            super().__init__()
            self.w = nn.Parameter(np.ones(features))

        def forward(self, x):
            return scaled(x, self.w)

    class Quartic(nn.Loss):
        def each(self, input, target):
            return quartic(input, target)

    model, x = Scale(3), np.array([[1.0, 2.0, -1.0]])
    nn.TrainingStep(model, Quartic(reduction="sum"), nn.optim.SGD(model.parameters(), lr=0.1))(x, x * 2)
    np.testing.assert_allclose(model.w.data, 1 - 0.1 * 4 * (x[0] - 2 * x[0]) ** 3 * x[0])
