"""Weights in files: round trips, damaged files, files of other models."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from struct import pack

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.nn.checkpoint import read_arrays, write_arrays

safetensors = pytest.importorskip("safetensors.numpy")
safe_open = pytest.importorskip("safetensors").safe_open


def made(seed: int = 0, dtype: str = "f32") -> nn.Sequential:
    nn.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 3, dtype=dtype), nn.ReLU(), nn.Linear(3, 2, dtype=dtype))


def file_of(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return pack("<Q", len(text)) + text + data


def same(a: nn.Module, b: nn.Module) -> bool:
    return all(
        np.array_equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    )


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_round_trip(tmp_path: Path, dtype: str):
    model, other, path = made(1, dtype), made(2, dtype), tmp_path / "m.safetensors"
    nn.save(model, path)
    assert not same(model, other)
    assert nn.load(other, path) == ([], []) and same(model, other)
    assert list(safetensors.load_file(path)) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert [p.name for p in tmp_path.iterdir()] == ["m.safetensors"]


def test_a_file_that_others_wrote(tmp_path: Path):
    model = made()
    safetensors.save_file({n: a + 1 for n, a in model.state_dict().items()}, tmp_path / "m.safetensors")
    before = model.state_dict()
    nn.load(model, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(model.state_dict()["0.weight"], before["0.weight"] + 1)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch):
    path = tmp_path / "m.safetensors"
    nn.save(made(1), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        nn.save(made(2), path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


ENTRY = {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}


class Canary:
    """Fails the test when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("the pickle ran",)


DAMAGED = {
    "empty": b"",
    "short": b"\1\0\0",
    "header of 2^62 bytes": pack("<Q", 1 << 62) + b"{}",
    "pickle": pickle.dumps(Canary()),
    "no json": file_of(b"{nonsense}"),
    "no utf-8": file_of(b'{"\xff\xfe": 1}'),
    "a list": file_of([1, 2]),
    "an entry that is none": file_of({"0.weight": 3}),
    "nested": file_of(b"[" * 5000 + b"]" * 5000),
    "a name twice": file_of(
        b'{"0.weight": %s, "0.weight": %s}' % ((json.dumps(ENTRY).encode(),) * 2), bytes(48)
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files(tmp_path: Path, name: str):
    (tmp_path / "m.safetensors").write_bytes(DAMAGED[name])
    model, untouched = made(), made()
    with pytest.raises(tx.CheckpointError, match=r"m\.safetensors is no intact safetensors file: ") as caught:
        nn.load(model, tmp_path / "m.safetensors")
    assert same(model, untouched)
    if name == "a name twice":
        assert str(caught.value).endswith("its header is not valid (`0.weight` comes twice)")


@pytest.mark.parametrize(
    "change", ["truncated", "hole", "overlap", "offsets", "longer", "negative", "unknown dtype", "huge shape"]
)
def test_headers_that_lie(tmp_path: Path, change: str):
    model, untouched, path = made(), made(), tmp_path / "m.safetensors"
    nn.save(model, path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    entry = header["2.weight"]
    match change:
        case "truncated":
            body = body[:-4]
        case "hole":
            entry["data_offsets"] = [n + 4 for n in entry["data_offsets"]]
            body += bytes(4)
        case "overlap":
            entry["data_offsets"] = header["0.weight"]["data_offsets"]
        case "offsets":
            entry["data_offsets"] = [1 << 60, (1 << 60) + 24]
        case "longer":
            body += bytes(8)
        case "negative":
            entry["shape"] = [-2, -3]
        case "unknown dtype":
            entry["dtype"] = "F7"
        case "huge shape":
            entry["shape"] = [1 << 40, 1 << 40]
    path.write_bytes(file_of(header, body))
    with pytest.raises(tx.CheckpointError):
        nn.load(model, path)
    assert same(model, untouched)


def test_every_cut_is_noticed(tmp_path: Path):
    model, path = made(), tmp_path / "m.safetensors"
    nn.save(model, path)
    data = path.read_bytes()
    for end in range(0, len(data), 7):
        path.write_bytes(data[:end])
        with pytest.raises(tx.CheckpointError):
            nn.load(model, path)


def test_a_file_of_another_model(tmp_path: Path):
    path = tmp_path / "m.safetensors"
    nn.save(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 5, dtype="f64"), nn.Linear(5, 1)), path)
    model, untouched = made(), made()
    with pytest.raises(tx.CheckpointError) as caught:
        nn.load(model, path, strict=False)
    assert (
        str(caught.value)
        == f"""\
error[checkpoint]: {path} is of another model
    2.weight is float64[5, 3], expected float32[2, 3]
    2.bias is float64[5], expected float32[2]"""
    )
    assert same(model, untouched)
    nn.save(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False), nn.Linear(5, 1)), path)
    with pytest.raises(tx.CheckpointError) as caught:
        nn.load(model, path)
    assert (
        str(caught.value)
        == f"""\
error[checkpoint]: {path} is of another model
    missing: 2.bias
    unexpected: 3.bias, 3.weight
  help: strict=False ignores missing and unexpected names"""
    )
    assert nn.load(model, path, strict=False) == (["2.bias"], ["3.bias", "3.weight"])


def test_values_that_are_not_finite(tmp_path: Path):
    model, path = made(), tmp_path / "m.safetensors"
    model[0].bias.data[1] = np.nan
    nn.save(model, path)
    with pytest.raises(tx.CheckpointError) as caught:
        nn.load(made(), path, check_finite=True)
    assert str(caught.value) == f"error[checkpoint]: {path}: not all values are finite in 0.bias"
    other = made()
    nn.load(other, path)
    assert np.isnan(other[0].bias.data[1])


def test_state_dicts_are_copies_and_strict():
    model = made()
    state = model.state_dict()
    state["0.weight"][...] = 7
    assert not (model.state_dict()["0.weight"] == 7).any()
    assert model.load_state_dict(state) == ([], [])
    assert (model[0].weight.data == 7).all()
    del state["2.bias"]
    state["x"] = np.zeros(2)
    with pytest.raises(tx.CheckpointError) as caught:
        model.load_state_dict(state)
    assert (
        str(caught.value)
        == """\
error[checkpoint]: the values do not fit Sequential
    missing: 2.bias
    unexpected: x
  help: strict=False ignores missing and unexpected names"""
    )
    assert model.load_state_dict(state, strict=False) == (["2.bias"], ["x"])


def test_state_dicts_of_another_dtype_say_how_to_convert():
    layer = nn.Linear(2, 1)
    state = {name: value.astype("f8") for name, value in layer.state_dict().items()}
    with pytest.raises(tx.CheckpointError) as caught:
        layer.load_state_dict(state)
    assert (
        str(caught.value)
        == """\
error[checkpoint]: the values do not fit Linear
    weight is float64[1, 2], expected float32[1, 2]
    bias is float64[1], expected float32[1]
  help: convert the module before: .float(), .double(), .half()"""
    )
    assert layer.double().load_state_dict(state) == ([], [])


def test_without_safetensors(tmp_path: Path, monkeypatch):
    nn.save(made(), tmp_path / "m.safetensors")
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(tx.MissingExtra) as caught:
        nn.load(made(), tmp_path / "m.safetensors")
    assert isinstance(caught.value, ImportError) and isinstance(caught.value, tx.Error)
    assert (
        str(caught.value)
        == 'error[import]: reading weights needs safetensors\n  help: pip install "texpr[checkpoint]"'
    )


def test_a_checkpoint_asks_for_its_library_before_the_training(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    for made_without in (
        lambda: nn.callbacks.Checkpoint(tmp_path / "run"),
        lambda: nn.save(made(), tmp_path / "m"),
    ):
        with pytest.raises(ImportError, match="writing weights needs safetensors"):
            made_without()
    assert not list(tmp_path.iterdir())


def test_narrow_floats_without_the_library_of_their_dtypes(tmp_path: Path, monkeypatch):
    model, path = made().to("bf16"), tmp_path / "m.safetensors"
    nn.save(model, path)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError) as caught:
        nn.save(model, tmp_path / "other")
    assert (
        str(caught.value)
        == 'error[import]: writing bf16 needs ml_dtypes\n  help: pip install "texpr[checkpoint]"'
    )
    other = made(2).to("bf16")
    nn.load(other, path)
    assert same(model, other)


ARRAYS = {
    "scalar": np.float32(2.5).reshape(()),
    "number": np.float64(2.5),
    "empty": np.zeros((0, 3), np.float32),
    "empty, of rank 1": np.zeros(0, np.int64),
    "bools": np.array([True, False, True]),
    "bytes": np.arange(5, dtype=np.uint8),
    "half": np.linspace(-2, 2, 7, dtype=np.float16).reshape(1, 7),
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "big-endian": np.arange(3, dtype=">i4"),
    'a name with \u00e9 and "': np.arange(2, dtype=np.uint64),
}


def test_the_library_reads_what_is_written(tmp_path: Path):
    path = tmp_path / "arrays.safetensors"
    write_arrays(path, ARRAYS, {"steps": 3, "name": "\u00e9"})
    with safe_open(path, "np") as file:
        assert json.loads(file.metadata()["texpr"]) == {"steps": 3, "name": "\u00e9"}
        assert set(file.keys()) == set(ARRAYS)
        for name, array in ARRAYS.items():
            found = file.get_tensor(name)
            assert (found.shape, found.dtype) == (array.shape, array.dtype.newbyteorder("=")), name
            np.testing.assert_array_equal(found, array)


def test_what_the_library_writes_is_read(tmp_path: Path):
    path = tmp_path / "arrays.safetensors"
    given = {n: np.asarray(a, order="C") for n, a in ARRAYS.items()}
    safetensors.save_file(given, path, {"texpr": "[1, null]", "other": "text"})
    arrays, about = read_arrays(path)
    assert about == [1, None] and arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (arrays[name].shape, arrays[name].dtype) == (array.shape, array.dtype.newbyteorder("=")), name
        np.testing.assert_array_equal(arrays[name], array)


def test_a_file_without_metadata_is_no_state_of_a_training(tmp_path: Path):
    for metadata in (None, {}, {"format": "np"}):
        safetensors.save_file({"x": np.zeros(2)}, tmp_path / "m", metadata)
        with pytest.raises(tx.CheckpointError, match="holds arrays, but no state of a training"):
            read_arrays(tmp_path / "m")


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8e4m3", "f8e5m2"])
def test_narrow_floats_that_the_library_wrote(tmp_path: Path, dtype: str):
    """The same bytes from both sides."""
    pytest.importorskip("ml_dtypes")
    model, other = made(1).to(dtype), made(2).to(dtype)
    nn.save(model, tmp_path / "ours")
    safetensors.save_file(model.state_dict(), tmp_path / "theirs", {"format": "np"})
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    nn.load(other, tmp_path / "theirs")
    assert same(model, other)


KILLED = """
import sys
import numpy as np
from texpr import nn
model = nn.Linear(400, 400, bias=False)
value = 0
while True:
    model.weight.data[...] = value
    nn.save(model, sys.argv[1])
    if value == 0:
        print("saved", flush=True)
    value += 1
"""


def test_a_save_that_is_killed_leaves_a_whole_file(tmp_path: Path):
    path, model = tmp_path / "m.safetensors", nn.Linear(400, 400, bias=False)
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"saved\n"
    for _ in range(20):
        nn.load(model, path)  # while it is being replaced
        assert len(np.unique(model.weight.data)) == 1, "all values are of one save"
    process.kill()
    process.wait()
    nn.load(model, path)
    assert len(np.unique(model.weight.data)) == 1


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8e4m3", "f8e5m2"])
def test_narrow_floats(tmp_path: Path, dtype: str):
    model = made().to(dtype)
    before = [v.data.copy() for v in model.parameters()]
    nn.save(model, tmp_path / "m.safetensors")
    entry = json.loads((tmp_path / "m.safetensors").read_bytes()[8:].split(b"}}")[0] + b"}}")["0.weight"]
    assert entry["dtype"] == {"f8e4m3": "F8_E4M3", "f8e5m2": "F8_E5M2"}.get(dtype, dtype.upper())
    other = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).to(dtype)
    nn.load(other, tmp_path / "m.safetensors")
    for own, value in zip(other.parameters(), before):
        np.testing.assert_array_equal(own.data, value)
    other.load_state_dict(model.state_dict())


@pytest.mark.parametrize(("kind", "count"), [("C64", 1), ("F8_E8M0", 8), ("F8_E4M3FNUZ", 8)])
def test_tensors_of_other_types_that_are_not_asked_for(tmp_path: Path, kind: str, count: int):
    """They are looked at where they are the model's, or all names must be."""
    path, model = tmp_path / "m.safetensors", made()
    nn.save(model, path)
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    end = max(e["data_offsets"][1] for n, e in header.items() if n != "__metadata__")
    header["other"] = {"dtype": kind, "shape": [count], "data_offsets": [end, end + 8]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :] + bytes(8))
    other = made(1)
    assert nn.load(other, path, strict=False) == ([], ["other"])
    assert same(other, model)
    with pytest.raises(tx.CheckpointError):
        nn.load(other, path)
