"""Awkward arguments: integer targets, losses of one example, probabilities of 1, norms without a
bias, means of many numbers in 16 bits.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops

THIRD = np.log(np.full((4, 1, 3), 1 / 3))


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8"])
def test_class_numbers_of_all_integers(dtype: str):
    """The values of torch 2.13."""
    x, y = np.eye(3), np.array([0, 1, 1], dtype)
    found = [
        nn.CrossEntropyLoss()(x, y),
        nn.NLLLoss()(x, y),
        nn.MultiMarginLoss()(x, y),
        ops.cross_entropy(x, y).mean(),
    ]
    assert found == pytest.approx([0.8847780, -2 / 3, 1 / 3, 0.8847780], abs=1e-6)
    letters, lengths = np.array([[1, 2]], dtype), (np.array([4], dtype), np.array([2], dtype))
    assert nn.CTCLoss()(THIRD, letters, *lengths) == pytest.approx(0.8431995, abs=1e-6)
    assert nn.CTCLoss()(THIRD, letters.ravel(), *lengths) == pytest.approx(0.8431995, abs=1e-6)
    lazy = tx.tensor(x, requires_grad=True)
    nn.CrossEntropyLoss()(lazy, tx.tensor(y)).backward()
    assert lazy.grad.numpy()[2] == pytest.approx([0.0706472, -0.2626861, 0.1920390], abs=1e-6)
    model = nn.Linear(3, 3, dtype="f64")
    assert np.isfinite(
        nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters())).fit(x, y, progress=False)[
            "loss"
        ][0]
    )


def test_ignored_labels_that_are_no_number_of_the_type():
    y = np.array([0, 1, 1])
    assert nn.CrossEntropyLoss()(np.eye(3), y.astype("u1")) == nn.CrossEntropyLoss(ignore_index=255)(
        np.eye(3), y
    )
    counted = nn.CrossEntropyLoss(ignore_index=255)(np.eye(3), np.array([0, 255, 255], "u1"))
    assert counted == pytest.approx(np.log(np.e + 2) - 1)


@pytest.mark.parametrize(
    "loss",
    [
        nn.MSELoss(),
        nn.L1Loss(),
        nn.SmoothL1Loss(),
        nn.HuberLoss(),
        nn.SoftMarginLoss(),
        nn.HingeEmbeddingLoss(),
        nn.BCELoss(),
        nn.BCEWithLogitsLoss(),
        nn.PoissonNLLLoss(),
        nn.KLDivLoss(),
        nn.MultiLabelSoftMarginLoss(),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["i4", "i8", "?"])
def test_targets_of_integers_are_floats(loss: nn.Loss, dtype: str):
    x, y = np.full((2, 2), 0.3), np.array([[1, 0], [1, 1]])
    assert loss(x, y.astype(dtype)) == loss(x, y.astype(float))


def test_pairs_with_targets_of_integers():
    x, z, y = np.ones((2, 3)), np.array([[1.0, 0, 0], [0, 2, 0]]), np.array([1, -1], "i4")
    assert nn.MarginRankingLoss()(x[:, 0], z[:, 0], y) == nn.MarginRankingLoss()(
        x[:, 0], z[:, 0], y.astype(float)
    )
    loss = nn.CosineEmbeddingLoss(reduction="none")
    assert (
        loss(x, z, y).tolist()
        == loss(x, z, y.astype(float)).tolist()
        == pytest.approx([1 - 3**-0.5, 3**-0.5])
    )
    assert loss(x, z, np.array([0, 2])).tolist() == [0, 0], "as torch has it"


def test_one_example_and_many_axes():
    """torch 2.13: 0.7, 0.7, 0.785184; the mean over 2 x 3 rows of 4 classes is 0.318496."""
    x = np.array([0.1, 0.2, 0.4])
    assert (
        nn.MultiMarginLoss()(x, np.array(1))
        == pytest.approx(0.7)
        == nn.MultiLabelMarginLoss()(x, np.array([1, -1, 0]))
    )
    assert nn.MultiLabelSoftMarginLoss()(x, np.array([1, 0, 0])) == pytest.approx(0.7851836)
    rows = nn.MultiLabelSoftMarginLoss(reduction="none")(
        np.arange(24.0).reshape(2, 3, 4) / 10, np.ones((2, 3, 4))
    )
    assert rows.shape == (2, 3) and rows.mean() == pytest.approx(0.3184960)


@pytest.mark.parametrize("layer", [nn.Dropout(1.0), nn.Dropout1d(1.0), nn.AlphaDropout(1.0)], ids=str)
def test_everything_may_be_dropped(layer: nn.Module):
    x = tx.tensor(np.ones((2, 3, 4)), requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert not y.numpy().any() and not x.grad.numpy().any()
    with pytest.raises(tx.CallError, match="p is 1.5, expected a number from 0 to 1"):
        type(layer)(1.5)


@pytest.mark.parametrize(
    "make",
    [
        lambda **o: nn.BatchNorm1d(3, **o),
        lambda **o: nn.GroupNorm(1, 3, **o),
        lambda **o: nn.InstanceNorm1d(3, affine=True, **o),
    ],
)
def test_norms_without_a_bias(make):
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    layer = make(bias=False)
    assert [n for n, _ in layer.named_parameters()] == ["weight"] and layer.bias is None
    np.testing.assert_array_equal(layer(x), make()(x))


def test_a_maximum_by_lbfgs():
    layer = nn.Linear(2, 1, bias=False, dtype="f64")
    optimizer = nn.optim.LBFGS(layer.parameters(), line_search_fn="strong_wolfe", maximize=True)

    def closure():
        optimizer.zero_grad()
        far = layer(tx.tensor(np.eye(2))) - 1
        height = -(far * far).sum()
        height.backward()
        return height

    assert optimizer.step(closure) < closure() and layer.weight.data == pytest.approx(1, abs=1e-6)


def test_a_model_is_no_list_of_parameters():
    with pytest.raises(tx.CallError) as caught:
        nn.optim.SGD(nn.Linear(1, 1), lr=0.1)  # type: ignore[arg-type]
    assert (
        str(caught.value)
        == """\
error[arguments]: SGD: params is one Linear, expected model.parameters() or a list
  help: write SGD(model.parameters())"""
    )


def test_means_of_many_numbers_in_16_bits():
    """70,000 is no number of f16."""
    x = np.ones((70000, 1), np.float16)
    assert ops.mean_all(x) == ops.reduce_mean(x)[0] == ops.global_avgpool(x.reshape(1, 1, -1))[0, 0] == 1
    assert [float(v[0]) for v in ops.batch_norm_training(2 * x)[1:]] == [2, 0]
    model = nn.Linear(1, 2).half()
    assert float(nn.CrossEntropyLoss()(model(x), np.zeros(70000, int))) > 0.01


@pytest.mark.parametrize("layer", [nn.Softmax, nn.LogSoftmax, nn.Softmin])
def test_softmax_of_nothing_and_of_one_number(layer):
    """The values of torch 2.13."""
    for shape, dim in (((2, 0), 1), ((0, 2), 0), ((0, 2), -1), ((0,), 0), ((2, 0, 3), 1)):
        x = tx.tensor(np.zeros(shape), requires_grad=True)
        assert (
            layer(dim)(np.zeros(shape)).shape
            == layer(dim)(x).shape
            == x.softmax(dim).shape
            == x.log_softmax(dim).shape
            == shape
        )
        layer(dim)(x).sum().backward()
        assert x.grad.shape == shape
    one = 0.0 if layer is nn.LogSoftmax else 1.0
    assert [float(layer(dim)(np.float64(3))) for dim in (-1, 0)] == [one, one]
    assert (float(tx.tensor(3.0).softmax()), float(tx.tensor(3.0).log_softmax(0))) == (1, 0)
    none = np.zeros((2, 0))
    for call in (
        lambda: layer(2)(none),
        lambda: layer(1)(np.float64(3)),
        lambda: tx.tensor(none).softmax(2).numpy(),
    ):
        with pytest.raises(tx.CallError, match="axis"):
            call()


@pytest.mark.parametrize(
    ("layer", "shape"),
    [(nn.BatchNorm1d, (0, 3)), (nn.BatchNorm1d, (2, 3, 0)), (nn.BatchNorm2d, (0, 3, 2, 2))],
)
@pytest.mark.parametrize("momentum", [0.1, None])
def test_batches_of_nothing_leave_the_statistics(layer, shape, momentum):
    """As in torch 2.13, which counts the batch all the same."""
    m = layer(3, momentum=momentum)
    assert m(np.zeros(shape, "f4")).shape == shape
    state = m.state_dict()
    assert (
        (state["running_mean"] == 0).all()
        and (state["running_var"] == 1).all()
        and state["num_batches_tracked"] == 1
    )


@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear"])
def test_corners_of_one_element(mode):
    """A size of 1 is the first corner; an image of one element is everywhere the same. As in
    torch 2.13.
    """
    rank = {"linear": 1, "trilinear": 3}.get(mode, 2)
    x = np.arange(1.0, 1 + 3**rank).reshape(1, 1, *[3] * rank)
    assert nn.Upsample(size=1, mode=mode, align_corners=True)(x).ravel().tolist() == [1]
    wide = nn.Upsample(size=4, mode=mode, align_corners=True)(x[(..., *[slice(0, 1)] * rank)])
    assert wide.shape == (1, 1, *[4] * rank) and np.allclose(wide, 1, rtol=0, atol=1e-15)


def test_distances_broadcast():
    """The values of torch 2.13."""
    a, b = np.array([[1.0, 2], [3, 4], [0, 1]]), np.array([[1.0, 0]])
    likeness = [1 / 5**0.5, 0.6, 0]
    assert nn.CosineSimilarity()(a, b) == pytest.approx(likeness, abs=1e-9)
    assert nn.CosineSimilarity()(b, a) == pytest.approx(likeness, abs=1e-9)
    away = np.hypot(*(a - b + 1e-6).T)
    assert nn.PairwiseDistance()(a, b[0]) == pytest.approx(away, abs=1e-12)
    assert nn.PairwiseDistance(keepdim=True)(b[0], a).shape == (3, 1)
    assert nn.PairwiseDistance(float("inf"))(a, b) == pytest.approx([2, 4, 1], abs=2e-6)
    with pytest.raises(tx.CallError, match="shape"):
        nn.PairwiseDistance()(a, np.ones((2, 2)))


@pytest.mark.parametrize(
    "arguments",
    [
        {"scale_factor": 0},
        {"scale_factor": -1.0},
        {"scale_factor": np.nan},
        {"scale_factor": np.inf},
        {"scale_factor": "a"},
        {"scale_factor": 0.1},
        {"scale_factor": (2.0,)},
        {"size": 0},
        {"size": 2.5},
        {"size": (2,)},
        {"size": (2, 3, 4)},
    ],
)
def test_sizes_that_no_image_has(arguments):
    with pytest.raises(tx.CallError, match=f"Upsample: {list(arguments)[0]}"):
        nn.Upsample(**arguments)(np.ones((1, 1, 3, 4)))


ALONG = {
    "Softmax": nn.Softmax,
    "Softmin": nn.Softmin,
    "LogSoftmax": nn.LogSoftmax,
    "GLU": nn.GLU,
    "Unflatten": lambda dim: nn.Unflatten(dim, (2, 2)),
    "Flatten": lambda dim: nn.Flatten(0, dim),
    "CosineSimilarity": nn.CosineSimilarity,
}


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize(
    ("dim", "complaint"),
    [
        (2, "there is no axis 2 of 2"),
        (-3, "there is no axis -3 of 2"),
        ("rows", "{name} is 'rows', expected an integer"),
        (None, "{name} is None, expected an integer"),
        (True, "{name} is True, expected an integer"),
    ],
)
def test_axes_that_there_are_not(name: str, dim: object, complaint: str):
    x = np.ones((2, 4), "f4")
    layer = ALONG[name](dim)
    with pytest.raises(tx.CallError) as caught:
        layer(*(x, x) if name == "CosineSimilarity" else (x,))
    word = "end_dim" if name == "Flatten" else "dim"
    assert caught.value.message == f"{name}: {complaint.format(name=word)}"


@pytest.mark.parametrize("dim", [1, -1, np.int64(1)])
def test_axes_count_from_both_ends(dim: int):
    x = np.random.default_rng(0).random((2, 4), np.float32)
    np.testing.assert_array_equal(nn.Softmax(dim)(x), nn.Softmax(1)(x))
