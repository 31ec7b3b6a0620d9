"""Models in NNEF: what they compute, what their parameters are, what calls of them refuse."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.nnef.models import archive, folder, graph, tensor
from texpr import nn, ops

R = np.random.default_rng(5)
CONVOLUTION = """version 1.0;
# A network of images.
graph net( image ) -> ( output, pooled )
{
    image = external<scalar>(shape = [0, 3, 9, 8]);
    filter = variable<scalar>(shape = [4, 3, 3, 3], label = 'conv/filter');
    bias = variable<scalar>(shape = [1, 4], label = "conv/bias");
    mean = variable<scalar>(shape = [1, 4], label = 'bn/mean');
    variance = variable<scalar>(shape = [1, 4], label = 'bn/variance');
    offset = variable<scalar>(shape = [1, 4], label = 'bn/offset');
    scale = variable<scalar>(shape = [1, 4], label = 'bn/scale');
    conv1 = conv(image, filter, bias, padding = [(1, 1), (1, 1)], stride = [2, 1]);
    norm = batch_normalization(conv1, mean, variance, offset, scale, epsilon = 1e-3);
    pooled = max_pool(relu(norm), size = [1, 1, 2, 2], stride = [1, 1, 2, 2], padding = [(0, 0), (0, 0), (0, 0), (0, 0)]);
    weight = variable(shape = [5, 32], label = 'linear/weight');
    output = softmax(linear(reshape(pooled, shape = [0, -1]), weight));
}
"""
WEIGHTS = {
    "conv/filter": R.normal(size=(4, 3, 3, 3)).astype("f4"),
    "conv/bias": R.normal(size=(1, 4)).astype("f4"),
    "bn/mean": R.normal(size=(1, 4)).astype("f4"),
    "bn/variance": R.uniform(0.5, 2, size=(1, 4)).astype("f4"),
    "bn/offset": R.normal(size=(1, 4)).astype("f4"),
    "bn/scale": R.normal(size=(1, 4)).astype("f4"),
    "linear/weight": R.normal(size=(5, 32)).astype("f4"),
}


def expected(x):
    w = {n: tx.tensor(a.reshape(-1) if a.shape[0] == 1 else a) for n, a in WEIGHTS.items()}
    h = ops.conv2d(tx.tensor(x), w["conv/filter"], w["conv/bias"], PH=1, PW=1, SH=2)
    h = ops.batch_norm(h, w["bn/mean"], w["bn/variance"], w["bn/scale"], w["bn/offset"], eps=1e-3)
    pooled = ops.maxpool2d(ops.relu(h))
    return ops.softmax(ops.linear(pooled.reshape(x.shape[0], 32), w["linear/weight"])).numpy(), pooled.numpy()


def test_a_small_convolutional_network_is_what_its_text_says(tmp_path):
    x = R.normal(size=(2, 3, 9, 8)).astype("f4")
    files = {"graph.nnef": CONVOLUTION.encode(), **{f"{n}.dat": tensor(a) for n, a in WEIGHTS.items()}}
    places = [
        folder(tmp_path / "net", CONVOLUTION, WEIGHTS),
        archive(tmp_path / "net.tgz", files),
        archive(tmp_path / "net.tar", {f"./{n}": d for n, d in files.items()}, "w"),
        archive(tmp_path / "inner.tgz", {f"net/{n}": d for n, d in files.items()}),
    ]
    for place in places:
        model = tx.nnef.load(place)
        assert (model.inputs, model.outputs) == (("image",), ("output", "pooled"))
        for found, wanted in zip(model(x), expected(x)):
            assert found.shape == wanted.shape and np.allclose(
                found, wanted, atol=1e-6
            )  # sums of 27 and 32 terms
        assert np.array_equal(model(image=x)[0], model(x)[0])


def test_variables_are_parameters_by_their_labels(tmp_path):
    model = tx.nnef.load(folder(tmp_path / "net", CONVOLUTION, WEIGHTS))
    state = model.state_dict()
    assert set(state) == set(WEIGHTS) and all(np.array_equal(state[n], a) for n, a in WEIGHTS.items())
    assert {n for n, _ in model.named_buffers()} == {"bn/mean", "bn/variance"}
    again = tx.nnef.load(folder(tmp_path / "zero", CONVOLUTION, {n: a * 0 for n, a in WEIGHTS.items()}))
    again.load_state_dict(state)
    x = R.normal(size=(1, 3, 9, 8)).astype("f4")
    assert np.array_equal(again(x)[0], model(x)[0])


def test_a_model_is_trained_as_any_other(tmp_path):
    model = tx.nnef.load(folder(tmp_path / "net", CONVOLUTION, WEIGHTS))
    x, wanted = R.normal(size=(4, 3, 9, 8)).astype("f4"), np.array([0, 1, 2, 3])
    optimizer = nn.optim.Adam(model.parameters(), lr=0.01)

    def loss():
        return -(model(tx.tensor(x))[0][np.arange(4), wanted].clip(1e-6, 1)).log().mean()

    first = loss()
    for _ in range(5):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert float(loss()) < float(first)
    assert np.array_equal(model.state_dict()["bn/mean"], WEIGHTS["bn/mean"])


def test_values_of_attributes_may_be_variables_and_are_buffers(tmp_path):
    body = """e = variable(shape = [], label = 'e');
              y = softabs(x, epsilon = e);"""
    model = tx.nnef.load(folder(tmp_path / "net", graph(body, x=[3]), {"e": np.float32(4).reshape(())}))
    x = np.array([0, 1, -2], "f4")
    assert np.allclose(model(x), np.sqrt(x * x + 4), rtol=1e-6)
    assert [n for n, _ in model.named_buffers()] == ["e"] and not list(model.parameters())
    model.load_state_dict({"e": np.float32(9).reshape(())})
    assert np.allclose(model(x), np.sqrt(x * x + 9), rtol=1e-6)


def test_updates_change_variables(tmp_path):
    body = """count = variable(shape = [2], label = 'count');
              y = update(count, count + x);"""
    model = tx.nnef.load(folder(tmp_path / "net", graph(body, x=[2]), {"count": np.zeros(2, "f4")}))
    for _ in range(3):
        model(np.array([1, 2], "f4"))
    assert model.state_dict()["count"].tolist() == [3, 6]


def test_floats_of_inputs_are_those_of_the_parameters(tmp_path):
    w = R.normal(size=3)
    text = graph("w = variable(shape = [3], label = 'w'); y = x * w;", x=[3])
    for dtype in ("f2", "f4", "f8"):
        model = tx.nnef.load(folder(tmp_path / dtype, text, {"w": w.astype(dtype)}))
        y = model(np.ones(3))
        assert y.dtype == dtype and np.array_equal(y, w.astype(dtype))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
def test_constants_of_all_types_are_read(tmp_path, dtype):
    values = np.array([[1, 0, 1], [0, 0, 1]]).astype(dtype)
    kind = "logical" if dtype == "?" else "integer"
    body = f"c = variable<{kind}>(shape = [2, 3], label = 'c'); y = select({'c' if dtype == '?' else 'c > 0'}, x, 0.0);"
    model = tx.nnef.load(folder(tmp_path / "net", graph(body, x=[2, 3]), {"c": values}))
    x = R.normal(size=(2, 3)).astype("f4")
    assert np.array_equal(model(x), np.where(values, x, 0)) and not model.state_dict()


def test_calls_that_do_not_fit_are_refused(tmp_path):
    model = tx.nnef.load(folder(tmp_path / "net", CONVOLUTION, WEIGHTS))
    x = np.zeros((1, 3, 9, 8), "f4")
    cases = [
        ((), {}, "the model takes image, and got 0 by position"),
        ((x, x), {}, "the model takes image, and got 2 by position"),
        ((x,), {"other": x}, "the model takes image, and got 1 by position and other"),
        ((x[0],), {}, "input `image` has shape [3, 9, 8], the model declares scalar[?, 3, 9, 8]"),
        ((x.astype(int),), {}, "input `image` is int64, the model takes f32"),
    ]
    for given, named, message in cases:
        with pytest.raises(tx.CallError) as error:
            model(*given, **named)
        assert error.value.message == message


def test_symbols_of_tract_stand_for_extents_of_inputs(tmp_path):
    text = """version 1.0;
    extension tract_registry tract_core;
    extension tract_symbol B;
    graph net(x) -> (y) {
        x = tract_core_external(shape = [B, 2, 3], datum_type = 'f32');
        n = tract_core_shape_of(x);
        y = reshape(x, shape = [n[0] if false else B, 6]) if true else x;
    }"""
    model = tx.nnef.load(folder(tmp_path / "net", text))
    for b in (1, 4):
        assert model(np.zeros((b, 2, 3), "f4")).shape == (b, 6)
