"""Formats of files with models and trainings: a small valid file of each, and what reads it."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from texpr import nn
from texpr.nn.checkpoint import require_safetensors
from texpr.support.errors import Error
from texpr.support.frozen_dataclass import frozen

FORMATS = {
    "pt2": "",
    "nnef": "",
    "skriptnd": "",
    "onnx": "onnx",
    "onnx-data": "onnx",
    "safetensors": "safetensors",
    "folder": "safetensors",
    "training": "safetensors",
}
"""The package that reads each format."""
MODEL, DATA = "m.onnx", "m.data"
"""Names of the two files of a model whose data lie beside it."""


@frozen
class Format:
    """A format of files.

    Attributes:
        suffix: of files, with its dot.
        make: the bytes of a small valid one.
        read: reads a path.
        kind: of a container, `zip` or `tar`, of which one part may be changed; empty for others.
        several: the container stands for several files, and is no format itself.
    """

    suffix: str
    make: Callable[[], bytes]
    read: Callable[[Path], object]
    kind: str = ""
    several: bool = False


def _network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))


def _written(write: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "valid"
        write(path)
        return path.read_bytes()


def _onnx(path: Path) -> None:
    from texpr import onnx

    onnx.save(_network(), path, np.zeros((1, 4), np.float32))


def _read_onnx(path: Path) -> object:
    from texpr import onnx

    return onnx.load(path)


def _with_data() -> bytes:
    """A model of ONNX and the file of its data, as one archive."""
    from texpr import onnx
    from texpr.onnx.onnx_package import library

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / MODEL
        onnx.save(_network(), path, np.zeros((1, 4), np.float32))
        helper = library().external_data_helper
        model = library().load(path)
        helper.convert_model_to_external_data(model, location=DATA, size_threshold=0)
        library().save(model, path)
        return joined("tar", {name: (Path(folder) / name).read_bytes() for name in (MODEL, DATA)})


def _read_with_data(path: Path) -> object:
    from texpr import onnx

    return onnx.load(_laid_out(path) / MODEL)


def _laid_out(path: Path) -> Path:
    """The folder of an archive with its files beside it."""
    for name, data in parts_of("tar", path.read_bytes()).items():
        (path.parent / name).write_bytes(data)
    return path.parent


LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 6,
    "hidden_size": 8,
    "intermediate_size": 3,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 8,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4, "factor": 2.0, "low_freq_factor": 1.0}
    | {"high_freq_factor": 4.0, "original_max_position_embeddings": 4},
    "tie_word_embeddings": False,
}


def _folder() -> bytes:
    """A folder of Hugging Face whose weights lie in two files."""
    from safetensors.numpy import save

    from texpr.nn.pretrained.decoders import Llama

    arrays = Llama(LLAMA).state_dict()
    names = sorted(arrays)
    files = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    table = {name: file for file, own in files.items() for name in own}
    parts = {file: save({n: np.asarray(arrays[n]) for n in own}) for file, own in files.items()}
    texts = {"config.json": LLAMA, "model.safetensors.index.json": {"weight_map": table}}
    return joined("tar", {**parts, **{name: json.dumps(each).encode() for name, each in texts.items()}})


def _read_folder(path: Path) -> object:
    return nn.load(_laid_out(path))


@cache
def _trainer() -> nn.Trainer:
    """A training that has been at work, with every kind of state."""
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 2))
    optimizer = nn.optim.Adam(list(model.parameters()), lr=0.1)
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), optimizer, metrics=["accuracy"])
    x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
    trainer.fit(x, np.array([0, 1, 0, 1]), batch_size=2, progress=False)
    return trainer


def _read_training(path: Path) -> None:
    """Take the state of a training; where it is refused, the state that was there must stay."""
    trainer = _trainer()
    before = _states(trainer)
    try:
        trainer.load(path)
    except Error:
        if changed := [n for n, a in _states(trainer).items() if not np.array_equal(before[n], a, True)]:
            raise AssertionError(f"refused, and {changed} are others") from None
        raise


def _states(trainer: nn.Trainer) -> dict[str, np.ndarray]:
    states = {**trainer.model.state_dict(), **trainer.optimizer.state_dict()}
    return {n: np.array(a) for n, a in states.items() if isinstance(a, np.ndarray)}


def _graph() -> bytes:
    """A model of NNEF with a quantized result."""
    from texpr import nnef

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.tar"
        nnef.save(_network(), path, np.zeros((1, 4), np.float32), outputs=["y"])
        quantized = b'"y": linear_quantize(min = -2.0, max = [1.5], bits = 8);\n'
        return joined("tar", {**parts_of("tar", path.read_bytes()), "graph.quant": quantized})


def _read_graph(path: Path) -> object:
    from texpr import nnef

    return nnef.load(path)


def _read_archive(path: Path) -> object:
    from texpr import pt2

    return pt2.load(path)


def _tensor(*sizes: int) -> dict[str, object]:
    strides = [int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))]
    return {
        "dtype": 7,
        "sizes": [{"as_int": n} for n in sizes],
        "requires_grad": True,
        "device": {"type": "cpu", "index": None},
        "strides": [{"as_int": n} for n in strides],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def archive() -> bytes:
    """An archive of PyTorch: y = x W^T + b."""
    types = {"w": _tensor(3, 4), "b": _tensor(3), "x": _tensor(2, 4), "y": _tensor(2, 3)}
    named: dict[str, Any] = {name: {"as_tensor": {"name": name}} for name in types}
    leaf = {"type": None, "context": None, "children_spec": []}
    inputs = {"type": "builtins.tuple", "context": "null", "children_spec": [leaf]}
    options = {"type": "builtins.dict", "context": "[]", "children_spec": []}
    both = {"type": "builtins.tuple", "context": "null", "children_spec": [inputs, options]}
    node = {
        "target": "torch.ops.aten.linear.default",
        "inputs": [
            {"name": name, "arg": named[short], "kind": 1}
            for name, short in (("input", "x"), ("weight", "w"), ("bias", "b"))
        ],
        "outputs": [named["y"]],
        "metadata": {},
    }
    whole = {"in_spec": json.dumps([1, both]), "out_spec": json.dumps([1, leaf]), "forward_arg_names": ["x"]}
    program = {
        "schema_version": {"major": 8, "minor": 20},
        "range_constraints": {},
        "graph_module": {
            "graph": {
                "inputs": [named[n] for n in "wbx"],
                "outputs": [named["y"]],
                "nodes": [node],
                "tensor_values": types,
            },
            "signature": {
                "input_specs": [
                    {"parameter": {"arg": {"name": "w"}, "parameter_name": "weight"}},
                    {"parameter": {"arg": {"name": "b"}, "parameter_name": "bias"}},
                    {"user_input": {"arg": named["x"]}},
                ],
                "output_specs": [{"user_output": {"arg": named["y"]}}],
            },
            "module_call_graph": [{"fqn": "", "signature": whole}],
        },
    }
    table = {
        full: {"path_name": f"weight_{k}", "is_param": True, "use_pickle": False, "tensor_meta": types[short]}
        for k, (full, short) in enumerate((("weight", "w"), ("bias", "b")))
    }
    return joined(
        "zip",
        {
            "m/archive_format": b"pt2",
            "m/byteorder": b"little",
            "m/data/weights/weight_0": np.ones((3, 4), "<f4").tobytes(),
            "m/data/weights/weight_1": np.ones(3, "<f4").tobytes(),
            "m/data/weights/model_weights_config.json": json.dumps({"config": table}).encode(),
            "m/models/model.json": json.dumps(program).encode(),
        },
    )


def joined(kind: str, parts: dict[str, bytes]) -> bytes:
    """Files as a container."""
    found = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(found, "w") as file:
            for name, data in parts.items():
                file.writestr(zipfile.ZipInfo(name), data)
    else:
        with tarfile.open(fileobj=found, mode="w") as tar:
            for name, data in parts.items():
                about = tarfile.TarInfo(name)
                about.size = len(data)
                tar.addfile(about, io.BytesIO(data))
    return found.getvalue()


def parts_of(kind: str, data: bytes) -> dict[str, bytes]:
    """The files of a container that was made here."""
    if kind == "zip":
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            return {n: file.read(n) for n in file.namelist()}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        found = {member.name: tar.extractfile(member) for member in tar}
        return {name: file.read() for name, file in found.items() if file is not None}


SKRIPTND = b"""operator pool {
    @attrib { size: int..(d) = [2, 2]; edge: optional int; perm: int..(3) = [2:-1:-1]; scale: real = 1.5; }
    @input { x: real[b,c,s..(d)]; xs: real[n,4]..(k); }
    @constant { w: real[4] = real(i) * 0.5, i < 4; v: real[2,2] = [1.0, 2.0, 3.0, 4.0]; }
    @using { e = edge ?? 1; o = (s + 2 * e - size) / 1 + 1; parts = [0, size..] + ...; }
    @output { y: real[b,c,o..]; z: real[n,4]; t: real[3,4]; }
    @assert { size > 0: "size is {size}", size; perm != ..; }
    @lower {
        y[i,j,a..] >?= scale * x[i,j,|a + r - e|..], i < b, j < c, a < o, r < size;
        z[i,j] += xs[q][i,j] * w[j,], q < k, i < n, j < 4;
        t[:,j] = [v[0,1], v[1,0], w[j,] ** 2.0], j < 4;
    }
}
"""


def _read_skriptnd(path: Path) -> object:
    from texpr import nnef

    return [each.text(4, [2, 2]) for each in nnef.load_skriptnd(path)]


@cache
def formats() -> dict[str, Format]:
    """The formats whose libraries are installed."""
    known = {
        "pt2": Format(".pt2", archive, _read_archive, "zip"),
        "nnef": Format(".nnef.tar", _graph, _read_graph, "tar"),
        "safetensors": Format(
            ".safetensors",
            lambda: _written(lambda p: nn.save(_network(), p)),
            lambda p: nn.load(_network(), p),
        ),
        "onnx": Format(".onnx", lambda: _written(_onnx), _read_onnx),
        "skriptnd": Format(".sknd", lambda: SKRIPTND, _read_skriptnd),
        "onnx-data": Format(".onnx.tar", _with_data, _read_with_data, "tar", several=True),
        "folder": Format(".folder.tar", _folder, _read_folder, "tar", several=True),
        "training": Format(".training.safetensors", lambda: _written(_trainer().save), _read_training),
    }
    return {name: known[name] for name, package in FORMATS.items() if not package or find_spec(package)}


def require(name: str) -> None:
    """Refuse a format whose package is not installed.

    Raises:
        MissingExtra: it is not.
    """
    if FORMATS[name] == "onnx":
        from texpr.onnx.onnx_package import library

        library()
    elif FORMATS[name]:
        require_safetensors(f"fuzz --format {name}")
