"""Models that are written in NNEF and read again."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.nnef.models import folder
from tests.nnef.test_nnef_load import CONVOLUTION, WEIGHTS
from texpr import nn, ops
from texpr.support.errors import CheckpointError

R = np.random.default_rng(2)


def test_a_loaded_model_is_written_as_it_was_with_its_values_of_now(tmp_path):
    model = tx.nnef.load(folder(tmp_path / "net", CONVOLUTION, WEIGHTS))
    model.load_state_dict({n: a * 2 for n, a in model.state_dict().items()})
    x = R.normal(size=(1, 3, 9, 8)).astype("f4")
    for name in ("again", "again.tgz", "again.tar", "again.tar.gz"):
        tx.nnef.save(model, tmp_path / name)
        again = tx.nnef.load(tmp_path / name)
        assert again._files.document.source.text == CONVOLUTION
        assert all(np.array_equal(a, WEIGHTS[n] * 2) for n, a in again.state_dict().items())
        assert all(np.array_equal(a, b) for a, b in zip(again(x), model(x)))


def test_integers_and_logical_values_are_written_as_they_were(tmp_path):
    text = """version 1.0; graph g(x) -> (y) { x = external(shape = [3]);
    a = variable<integer>(shape = [3], label = 'a'); b = variable<logical>(shape = [3], label = 'deep/b');
    y = select(b, x * cast<scalar>(a), x); }"""
    values = {"a": np.array([1, -2, 3], "i2"), "deep/b": np.array([True, False, True])}
    tx.nnef.save(tx.nnef.load(folder(tmp_path / "a", text, values)), tmp_path / "b")
    for name in ("a.dat", "deep/b.dat"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert tx.nnef.load(tmp_path / "b")(np.ones(3, "f4")).tolist() == [1, 1, 3]


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x).tanh() + x * 2
        return tx.ops.concat([y, y.transpose(1, 0)[1:3]], axis=0)


MODELS = {
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, stride=2),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2, padding=1),
            nn.Conv2d(8, 8, 3, groups=8),
            nn.ELU(),
            nn.AvgPool2d(2, 1, 1),
            nn.ConvTranspose2d(8, 4, 3, 2, 1, 1),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(4, 5),
            nn.Softmax(-1),
        ),
        (2, 3, 15, 15),
    ),
    "one axis": (
        lambda: nn.Sequential(nn.Conv1d(3, 4, 3, dilation=2), nn.MaxPool1d(2), nn.LeakyReLU(0.2)),
        (2, 3, 13),
    ),
    "functions": (
        lambda: nn.Sequential(
            nn.Linear(6, 6), nn.GELU(), nn.LayerNorm(6), nn.SiLU(), nn.Softplus(), nn.LogSoftmax(1)
        ),
        (4, 6),
    ),
    "groups": (lambda: nn.Sequential(nn.GroupNorm(2, 4), nn.Hardtanh(), nn.Softsign()), (2, 4, 3, 3)),
    "three axes": (lambda: nn.Linear(6, 3), (2, 5, 6)),
    "joined": (Residual, (4, 4)),
}


@pytest.mark.parametrize("name", MODELS)
def test_modules_are_written_and_read_again(tmp_path, name):
    make, shape = MODELS[name]
    nn.manual_seed(3)
    model, x = make(), R.normal(size=shape).astype("f4")
    for p in model.buffers():
        if p.dtype.is_float:
            p.data[...] = R.uniform(0.5, 1.5, size=p.shape)
    tx.nnef.save(model, tmp_path / "net.tgz", x)
    again, state = tx.nnef.load(tmp_path / "net.tgz"), model.eval().state_dict()
    assert all(np.array_equal(a, state[n]) for n, a in again.state_dict().items())
    assert set(state) - set(again.state_dict()) <= {n for n in state if "num_batches" in n}
    assert np.allclose(again(x), model(x), atol=2e-6)  # sums of up to 27 products in another order
    tx.nnef.save(again, tmp_path / "again.tgz")
    assert np.array_equal(tx.nnef.load(tmp_path / "again.tgz")(x), again(x))


def test_functions_are_written_with_names(tmp_path):
    tx.nnef.save(
        lambda a, b: (a @ b, a.sum(1)),
        tmp_path / "f",
        (np.zeros((2, 3), "f4"), np.zeros((3, 4), "f4")),
        inputs=["left", "right"],
        outputs=["product", "total"],
    )
    model = tx.nnef.load(tmp_path / "f")
    assert (model.inputs, model.outputs) == (("left", "right"), ("product", "total"))
    a, b = R.normal(size=(2, 3)).astype("f4"), R.normal(size=(3, 4)).astype("f4")
    product, total = model(a, b)
    assert np.allclose(product, a @ b, atol=1e-6) and np.allclose(total, a.sum(1), atol=1e-6)


def test_the_whole_text(tmp_path):
    tx.nnef.save(lambda x: ops.relu(x) * 2.0, tmp_path / "f", np.zeros((2, 3), "f4"))
    assert (tmp_path / "f" / "graph.nnef").read_text() == (
        "version 1.0;\n\n"
        "graph model(x) -> (y)\n"
        "{\n"
        "    x = external<scalar>(shape = [2, 3]);\n"
        "    relu_0 = relu(x);\n"
        "    mul_1 = mul(relu_0, 2.0);\n"
        "    y = copy(mul_1);\n"
        "}\n"
    )


def test_what_nnef_does_not_have_is_listed(tmp_path):
    with pytest.raises(CheckpointError) as error:
        tx.nnef.save(lambda x: ops.lgamma(ops.cumsum(ops.lgamma(x))), tmp_path / "f", np.ones(3, "f4"))
    assert error.value.message == "the program has what NNEF has no operations for"
    assert "lgamma: the function lgamma: 1 call" in error.value.notes and not (tmp_path / "f").exists()
    assert list(tmp_path.iterdir()) == []


def test_folders_that_are_there_and_arguments_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(FileExistsError):
        tx.nnef.save(lambda x: x + 1.0, tmp_path, np.ones(3, "f4"))
    for given, message in (
        ({"example": None}, "a module or a function of tensors is saved with an example"),
        ({"inputs": ["a", "b"]}, "the example has 1 arguments, and the inputs are a, b"),
        ({"outputs": ["x"]}, "the program has 1 outputs, and their names are x"),
    ):
        with pytest.raises(tx.CallError, match=message):
            tx.nnef.save(lambda x: x + 1.0, tmp_path / "f", **({"example": np.ones(3, "f4")} | given))
