"""Large values of a file are read once, to where they stay."""

from __future__ import annotations

import io
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
import texpr.onnx.model
from texpr.onnx.large_values import LARGE, is_here, without_large_values
from texpr.onnx.read import array_of, read_model
from texpr.support.errors import CheckpointError

onnx = pytest.importorskip("onnx")
SIDE = 256


def _model(dtype: str = "f4", fields: str = "raw") -> Any:
    """x @ a + x @ b, between small initializers; `a` and `b` are large."""
    rng = np.random.default_rng(0)
    value = {n: (rng.normal(size=(SIDE, SIDE)) * 9).astype(dtype) for n in "ab"}
    h = onnx.helper
    tensors = [onnx.numpy_helper.from_array(v, n) for n, v in value.items()]
    if fields == "float_data":
        tensors = [h.make_tensor(n, 1, v.shape, v.ravel()) for n, v in value.items()]
    tensors.insert(1, onnx.numpy_helper.from_array(np.zeros(3, dtype), "small"))
    kind = h.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [
        h.make_node("MatMul", ["x", "a"], ["xa"]),
        h.make_node("MatMul", ["x", "b"], ["xb"]),
        h.make_node("Add", ["xa", "xb"], ["y"]),
    ]
    x, y = (h.make_tensor_value_info(n, kind, [2, SIDE]) for n in "xy")
    graph = h.make_graph(nodes, "g", [x], [y], tensors)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def _saved(tmp_path: Path, model: Any) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1"])
def test_values_are_those_of_the_file(tmp_path: Path, dtype: str):
    path = _saved(tmp_path, _model(dtype))
    found = read_model(path)
    assert [is_here(t) for t in found.graph.initializer] == [True, False, True]
    for t, expected in zip(found.graph.initializer, _model(dtype).graph.initializer):
        np.testing.assert_array_equal(array_of(t, path).array, onnx.numpy_helper.to_array(expected))


def test_a_file_and_its_bytes_are_one_model(tmp_path: Path):
    path = _saved(tmp_path, _model())
    x = np.random.default_rng(1).normal(size=(2, SIDE)).astype("f4")
    from_file, from_bytes = tx.onnx.load(path), tx.onnx.load(path.read_bytes())
    np.testing.assert_array_equal(from_file(x), from_bytes(x))
    assert list(from_file.state_dict()) == list(from_bytes.state_dict()) == ["a", "small", "b"]


def test_values_are_not_copied(tmp_path: Path):
    model = _model()
    for k in range(30):
        model.graph.initializer.append(
            onnx.numpy_helper.from_array(np.full((SIDE, SIDE), k, "f4"), f"more{k}")
        )
    path = _saved(tmp_path, model)
    del model
    tx.onnx.load(path)  # what is imported and computed once
    tracemalloc.start()
    loaded = tx.onnx.load(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1.5 * path.stat().st_size and len(loaded.state_dict()) == 33


def test_other_fields_are_read_as_before(tmp_path: Path):
    found = read_model(_saved(tmp_path, _model(fields="float_data")))
    assert not any(map(is_here, found.graph.initializer))


def _in_nodes(rows: int = SIDE) -> Any:
    """(x @ a) @ b plus the first rows of `table`, all of them `Constant` nodes; `table`, which is
    no weight, is a number of the formula.
    """
    h, rng = onnx.helper, np.random.default_rng(2)
    shapes = {"a": (SIDE, rows), "b": (rows, SIDE), "table": (SIDE, SIDE)}
    values = {n: onnx.numpy_helper.from_array(rng.normal(size=s).astype("f4"), n) for n, s in shapes.items()}
    nodes = [h.make_node("Constant", [], [n], value=v) for n, v in values.items()]
    nodes += [
        h.make_node("Add", ["x", "table"], ["more"]),
        h.make_node("MatMul", ["more", "a"], ["xa"]),
        h.make_node("MatMul", ["xa", "b"], ["y"]),
    ]
    x, y = (h.make_tensor_value_info(n, 1, [SIDE, SIDE]) for n in "xy")
    graph = h.make_graph(nodes, "g", [x], [y])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("constants", ["parameters", "fixed"])
def test_values_of_nodes_stay_in_the_file(tmp_path: Path, constants: str):
    path = _saved(tmp_path, _in_nodes())
    assert [is_here(n.attribute[0].t) for n in read_model(path).graph.node[:3]] == [True] * 3
    x = np.random.default_rng(1).normal(size=(SIDE, SIDE)).astype("f4")
    from_file, from_bytes = (tx.onnx.load(m, constants=constants) for m in (path, path.read_bytes()))
    np.testing.assert_array_equal(from_file(x), from_bytes(x))
    names = ["a", "b"] if constants == "parameters" else []
    assert list(from_file.state_dict()) == list(from_bytes.state_dict()) == names
    for name, value in from_file.state_dict().items():
        np.testing.assert_array_equal(np.asarray(value), np.asarray(from_bytes.state_dict()[name]))


def test_a_node_with_two_values_is_read_by_protobuf(tmp_path: Path):
    """Two attributes, or the attribute twice: no values are left out, and the checker has its say."""
    model = _in_nodes()
    model.graph.node[0].attribute.append(model.graph.node[1].attribute[0])
    path = _saved(tmp_path, model)
    with pytest.raises(CheckpointError, match="breaks a rule of ONNX"):
        tx.onnx.load(path)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in /proc")
def test_the_peak_of_loading_nodes(tmp_path: Path):
    """A process that loads a model has its weights in memory once."""
    small, large = tmp_path / "small.onnx", tmp_path / "large.onnx"
    small.write_bytes(_in_nodes(1).SerializeToString())
    large.write_bytes(_in_nodes(1 << 15).SerializeToString())
    peaks = [int(subprocess.check_output([sys.executable, "-c", PEAK, str(p)])) for p in (small, large)]
    assert peaks[1] - peaks[0] < 1.1 * large.stat().st_size


PEAK = """
import sys
import texpr as tx
tx.onnx.load(sys.argv[1])
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM")))
"""


def test_dimensions_that_do_not_fit(tmp_path: Path):
    model = _model()
    model.graph.initializer[0].dims[0] += 1
    with pytest.raises(
        CheckpointError, match=r"the tensor `a` of f32\[257, 256\] needs 263,168 bytes and has 262,144"
    ):
        tx.onnx.load(_saved(tmp_path, model))


def test_a_file_that_becomes_shorter_meanwhile(tmp_path: Path):
    path = _saved(tmp_path, _model())
    found = read_model(path)
    path.write_bytes(path.read_bytes()[: LARGE // 2])
    with pytest.raises(CheckpointError, match="has changed while it was read"):
        array_of(found.graph.initializer[0], path)


def test_a_file_that_is_replaced_meanwhile(tmp_path: Path):
    """Nothing is made of two files."""
    path = _saved(tmp_path, _model())
    found = read_model(path)
    (tmp_path / "other").write_bytes(path.read_bytes())
    (tmp_path / "other").replace(path)
    with pytest.raises(CheckpointError, match="has changed while it was read"):
        array_of(found.graph.initializer[0], path)


def test_a_constant_in_another_file(tmp_path: Path):
    """Large values in the file, and a node whose value is not."""
    model, value = _model(), onnx.numpy_helper.from_array(np.full(SIDE, 3, "f4"), "three")
    (tmp_path / "three.bin").write_bytes(value.raw_data)
    value.ClearField("raw_data")
    value.data_location = onnx.TensorProto.EXTERNAL
    value.external_data.add(key="location", value="three.bin")
    model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["three"], value=value))
    model.graph.node[3].input[1] = "three"
    x, (a, *_) = np.ones((2, SIDE), "f4"), map(onnx.numpy_helper.to_array, model.graph.initializer)
    np.testing.assert_allclose(tx.onnx.load(_saved(tmp_path, model))(x), x @ a + 3, rtol=1e-3, atol=1e-2)


def test_files_that_end_anywhere(tmp_path: Path):
    whole = _saved(tmp_path, _model()).read_bytes()
    cuts = [*range(0, 400, 7), *range(400, len(whole), 50_021)]
    for n in cuts:
        path = tmp_path / "cut.onnx"
        path.write_bytes(whole[:n])
        with pytest.raises(CheckpointError):
            tx.onnx.load(path)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes):
    assert without_large_values(io.BytesIO(data), len(data), "") is None


@given(st.integers(0, 400), st.integers(0, 255))
def test_any_changed_byte(place: int, byte: int):
    """What is left of it is a message where it is one, of the same initializers."""
    data = bytearray(_model().SerializeToString())
    data[place] = byte
    small = without_large_values(io.BytesIO(bytes(data)), len(data), "")
    assert small is None or _names(small) == _names(bytes(data))


def _names(data: bytes) -> list[str | bytes] | None:
    try:
        return [t.name for t in onnx.ModelProto.FromString(data).graph.initializer]
    except Exception:
        return None
