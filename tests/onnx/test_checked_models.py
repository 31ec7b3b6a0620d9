"""Files of models that were checked before are not checked again; others are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import texpr as tx
from texpr.support.errors import CheckpointError

onnx = pytest.importorskip("onnx")

from tests.onnx.models import helper, mlp, model  # noqa: E402
from texpr.onnx import read  # noqa: E402
from texpr.runtime import disk_cache  # noqa: E402


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[int]]:
    """Grows by each model that is checked."""
    found: list[int] = []
    check = read._check_all
    monkeypatch.setattr(read, "_check_all", lambda m: found.append(0) or check(m))
    with tx.options(cache_dir=tmp_path / "cache"):
        yield found


def _file(tmp_path: Path, proto: Any, name: str = "model.onnx") -> Path:
    path = tmp_path / name
    path.write_bytes(proto.SerializeToString())
    return path


def _large(side: int = 200) -> Any:
    """A product with a weight that stays in its file."""
    w = np.random.default_rng(0).normal(size=(side, side)).astype("f4")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return model(nodes, [("x", ["n", side])], [("y", None)], {"w": w})


@pytest.mark.parametrize("proto", [mlp(), _large()])
def test_a_file_is_checked_once(checks: list[int], tmp_path: Path, proto: Any):
    path = _file(tmp_path, proto)
    for _ in range(3):
        tx.onnx.load(path)
    assert len(checks) == 1
    tx.onnx.load(path.read_bytes())
    assert len(checks) == 2


def test_other_models_are_checked(checks: list[int], tmp_path: Path):
    tx.onnx.load(_file(tmp_path, mlp()))
    broken = mlp()
    broken.graph.node[1].op_type = "Nonsense"
    for _ in range(2):
        with pytest.raises(tx.onnx.UnsupportedOp, match="does not have"):
            tx.onnx.load(_file(tmp_path, broken))
    _assert_short_is_refused(mlp(), tmp_path, "needs")
    assert len(checks) == 5


def test_large_values_of_another_length_are_refused(checks: list[int], tmp_path: Path):
    tx.onnx.load(_file(tmp_path, _large()))
    _assert_short_is_refused(_large(), tmp_path, "needs 160,000 bytes and has 159,996")
    assert len(checks) == 3


def _assert_short_is_refused(model: Any, folder: Path, said: str) -> None:
    """Of a model whose first value lacks an element, each time."""
    value = model.graph.initializer[0]
    value.raw_data = value.raw_data[:-4]
    for _ in range(2):
        with pytest.raises(CheckpointError, match=said):
            tx.onnx.load(_file(folder, model))


def test_other_code_and_libraries_check_again(
    checks: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = _file(tmp_path, mlp())
    tx.onnx.load(path)
    for place, name, value in ((read, "identity", lambda: "another"), (onnx, "__version__", "0.0")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, value)
            tx.onnx.load(path)
    assert len(checks) == 3
    with tx.options(cache_dir=None):
        tx.onnx.load(path)
    assert len(checks) == 4


def test_damaged_records_and_large_models_are_checked(
    checks: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = _file(tmp_path, mlp())
    tx.onnx.load(path)
    get = disk_cache.DiskCache.get
    with monkeypatch.context() as patch:
        patch.setattr(
            disk_cache.DiskCache, "get", lambda self, key: b"x" if key[:7] == "checked" else get(self, key)
        )
        tx.onnx.load(path)
    assert len(checks) == 2
    monkeypatch.setattr(read, "MOST_DIGESTED", 10)
    tx.onnx.load(path)
    assert len(checks) == 3
