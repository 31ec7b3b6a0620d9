"""Models with a file `graph.quant`: rounded tensors, and variables whose integers stand for numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.nnef.models import folder, graph, tensor
from texpr.support.errors import CheckpointError

RNG = np.random.default_rng(5)
X = RNG.uniform(-3, 3, (2, 4)).astype("f4")
WHOLE = RNG.integers(0, 256, (3, 4))
NET = "w = variable(shape = [3, 4], label = 'w'); z = matmul(x, w, transposeB = true); y = z + 1.0;"
STATED = "'w': linear_quantize(min = -1.0, max = 2.0, bits = 8);"
QUANTIZED_UNSIGNED, QUANTIZED = 2, 3


def model(place: Path, entries: str, w: np.ndarray | bytes, text: str = NET) -> tx.nnef.NnefModel:
    """A model of one product with these entries."""
    folder(place, graph(text, x=[2, 4]), {"w": w})
    (place / "graph.quant").write_text(entries)
    return tx.nnef.load(place)


STORED = {
    "linear_quantize(min = -1.0, max = 2.0, bits = 8)": lambda q: q * (3 / 255) - 1,
    "min_max_linear_quantize(min = -1.0, max = 2.0, bits = 8, signed = true, symmetric = false)": lambda q: (
        (q + 128) * (3 / 255) - 1
    ),
    "min_max_linear_quantize(min = -1.0, max = 1.0, bits = 8, signed = true, symmetric = true)": lambda q: (
        (q + 127) * (2 / 254) - 1
    ),
    "zero_point_linear_quantize(zero_point = 3, scale = 0.5, bits = 8, signed = true, symmetric = false)": (
        lambda q: (q - 3) * 0.5
    ),
    "zero_point_linear_quantize(zero_point = [1, 2, 3], scale = [0.5, 1.0, 2.0], bits = 8, signed = true, "
    "symmetric = true)": lambda q: (q - np.array([[1], [2], [3]])) * np.array([[0.5], [1], [2]]),
    "linear_quantize(min = [[-1.0, -2.0, -3.0, 0.0]], max = [[2.0]], bits = 8)": lambda q: (
        q * (2 - np.array([-1, -2, -3, 0])) / 255 + np.array([-1, -2, -3, 0])
    ),
}


@pytest.mark.parametrize("entry", STORED)
def test_integers_of_variables_stand_for_numbers(tmp_path, entry):
    signed = "signed = true" in entry
    q = (WHOLE - 128 * signed).astype("i1" if signed else "u1")
    data = tensor(q, kind=QUANTIZED if signed else QUANTIZED_UNSIGNED)
    found = model(tmp_path / "net", f"# weights\n'w': {entry};", data)
    np.testing.assert_allclose(found.state_dict()["w"], STORED[entry](q.astype("f8")), 1e-6, 1e-7)
    np.testing.assert_allclose(found(X), X @ found.state_dict()["w"].T + 1, 1e-5, 1e-5)


ROUNDED = {
    "linear_quantize(min = -2.0, max = 2.0, bits = 4)": lambda x: (
        np.round((np.clip(x, -2, 2) + 2) / 4 * 15) / 15 * 4 - 2
    ),
    "zero_point_linear_quantize(zero_point = 1, scale = 0.25, bits = 4, signed = true, symmetric = false)": (
        lambda x: (np.clip(np.round(x / 0.25) + 1, -8, 7) - 1) * 0.25
    ),
    "logarithmic_quantize(max = 4.0, bits = 3)": lambda x: (
        np.sign(x) * 2.0 ** np.round(np.clip(np.log2(np.abs(x)), 2 - 7, 2))
    ),
}


@pytest.mark.parametrize("entry", ROUNDED)
def test_tensors_are_rounded_where_they_are_made(tmp_path, entry):
    """Inputs, inner tensors and outputs."""
    w = RNG.uniform(-1, 1, (3, 4)).astype("f4")
    rounded = ROUNDED[entry]
    x = X.astype("f8")
    for names, wanted in (
        ("x", rounded(x) @ w.T + 1),
        ("z", rounded(x @ w.T) + 1),
        ("y", rounded(x @ w.T + 1)),
        ("xy", rounded(rounded(x) @ w.T + 1)),
    ):
        found = model(tmp_path / names, "".join(f'"{n}": {entry};' for n in names), w)
        np.testing.assert_allclose(found(X), wanted, 1e-5, 1e-5)


def test_tensors_are_rounded_by_channels(tmp_path):
    low = np.array([-2, -1, -3, 0], "f4")
    entry = "'x': linear_quantize(min = [[-2.0, -1.0, -3.0, 0.0]], max = 2.0, bits = 4);"
    w = np.eye(3, 4, dtype="f4")
    wanted = np.round((np.clip(X, low, 2) - low) / (2 - low) * 15) / 15 * (2 - low) + low
    np.testing.assert_allclose(model(tmp_path / "net", entry, w)(X), wanted[:, :3] + 1, 1e-5, 1e-5)
    with pytest.raises(CheckpointError, match="an array of arrays of several lengths") as error:
        model(tmp_path / "ragged", entry.replace("[[-2.0", "[[1.0], [-2.0"), w)(X)
    assert str(error.value.span).endswith("graph.quant:1:28")


def test_a_fragment_of_the_file_rounds(tmp_path):
    text = graph(NET, x=[2, 4]).replace(
        "graph net",
        "fragment halves(t: tensor<scalar>) -> (r: tensor<scalar>) { r = round(t * 2.0) / 2.0; }\ngraph net",
    )
    place = folder(tmp_path / "net", text, {"w": np.ones((3, 4), "f4")})
    (place / "graph.quant").write_text("'x': halves();")
    np.testing.assert_allclose(
        tx.nnef.load(place)(X), np.repeat(np.round(X * 2).sum(1, keepdims=True) / 2, 3, 1) + 1
    )


def test_a_quantized_model_is_saved_with_floats(tmp_path):
    data = tensor(WHOLE.astype("u1"), kind=QUANTIZED_UNSIGNED)
    found = model(tmp_path / "net", STATED + "'y': linear_quantize(min = -2.0, max = 2.0, bits = 4);", data)
    tx.nnef.save(found, tmp_path / "again")
    text = (tmp_path / "again" / "graph.quant").read_text()
    assert text == '"y": linear_quantize(min = -2.0, max = 2.0, bits = 4);\n'
    again = tx.nnef.load(tmp_path / "again")
    assert np.array_equal(again(X), found(X)) and np.array_equal(
        again.state_dict()["w"], found.state_dict()["w"]
    )


REFUSED = {
    "the graph has no tensor `ww`": STATED.replace("'w'", "'ww'"),
    "`w` is quantized twice": STATED * 2,
    "there is no operation `squeezed`": "'w': squeezed(bits = 8);",
    "`add` needs `y`": "'w': add();",
    "`split` does not make one tensor of one": "'w': external(shape = [1]);",
    "arguments are given by name, and the tensor itself is not given": "'w': linear_quantize(0.0, 1.0, 8);",
    "`linear_quantize` has no parameter `x`; it has min, max, bits": STATED.replace("min", "x = 1.0, min"),
    "`linear_quantize` has no parameter `size`; it has min, max, bits": STATED.replace("bits", "size"),
    "`linear_quantize` needs `max`": "'w': linear_quantize(min = 0.0, bits = 8);",
    "integers of `logarithmic_quantize` are not read; export floats": (
        "'w': logarithmic_quantize(max = 1.0, bits = 8);"
    ),
    "arguments are numbers, or arrays of them that fit [3, 4]": STATED.replace("-1.0", "[0.0, 0.0]"),
    "arguments are numbers, or arrays of them that fit [3, 4] ": STATED.replace(
        "-1.0", "[[0.0], [0.0, 1.0], [0.0]]"
    ),
    "its numbers are not finite": STATED.replace("-1.0", "inf"),
    "bits of an integer are 1 to 64": STATED.replace("8", "99999"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_entries_that_do_not_fit_are_refused(tmp_path, message):
    data = tensor(WHOLE.astype("u1"), kind=QUANTIZED_UNSIGNED)
    with pytest.raises(CheckpointError) as error:
        model(tmp_path / "net", REFUSED[message], data)
    assert error.value.message == message.replace("split", "external").strip()
    assert str(error.value.span).endswith(("graph.quant:1:6", "graph.quant:1:7")) or message.startswith(
        "`w` is"
    )


def test_quantized_integers_need_an_entry(tmp_path):
    place = folder(tmp_path / "net", graph(NET, x=[2, 4]), {"w": tensor(WHOLE.astype("u1"), kind=2)})
    with pytest.raises(CheckpointError) as error:
        tx.nnef.load(place)
    assert error.value.message == "its file `w.dat` holds quantized integers"
    assert error.value.help == "an entry of `graph.quant` says what they stand for"


def test_integers_are_not_rounded(tmp_path):
    text = NET.replace("y = z + 1.0;", "y = argmax_reduce(z, axes = [1]);")
    entries = "'y': linear_quantize(min = 0.0, max = 1.0, bits = 8);"
    found = model(tmp_path / "net", entries, np.ones((3, 4), "f4"), text)
    with pytest.raises(CheckpointError, match="`y` is no tensor of floats"):
        found(X)
