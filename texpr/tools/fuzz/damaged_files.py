"""Files of models with a few bytes changed, read in child processes: they are read, or refused with a
reasoned error, without much memory and without a look at other files.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import sys
import sysconfig
import tarfile
import tempfile
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from texpr import nn
from texpr.support.errors import Error
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import current
from texpr.tools.fuzz.damaged_models import changed
from texpr.tools.fuzz.part import Part, alone, batched, file_name
from texpr.tools.fuzz.trial import Finding

MODEL, DATA = "m.onnx", "m.data"
"""Names of the two files of a model whose data lie beside it."""
MOST_MEMORY = 1 << 18
"""KB that a child may grow by while it reads a file of a few KB."""
NUMBERS = (
    b"-1",
    b"0",
    b"1",
    b"255",
    b"65536",
    b"2147483648",
    b"9223372036854775807",
    b"1e308",
    b"99999999999999999999",
)
NAMES = (b"../weights", b"/etc/passwd", b"", b"a/b", b"\\\\host\\a", b"weight_0")


@frozen
class Format:
    """A format of files.

    Attributes:
        suffix: of files, with its dot.
        make: the bytes of a small valid one.
        read: reads a path.
        kind: of a container, `zip` or `tar`, of which one part may be changed; empty for others.
    """

    suffix: str
    make: Callable[[], bytes]
    read: Callable[[Path], object]
    kind: str = ""


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
        return _joined("tar", {name: (Path(folder) / name).read_bytes() for name in (MODEL, DATA)})


def _read_with_data(path: Path) -> object:
    from texpr import onnx

    for name, data in _parts("tar", path.read_bytes()).items():
        (path.parent / name).write_bytes(data)
    return onnx.load(path.parent / MODEL)


def _graph() -> bytes:
    """A model of NNEF with a quantized result."""
    from texpr import nnef

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.tar"
        nnef.save(_network(), path, np.zeros((1, 4), np.float32), outputs=["y"])
        quantized = b'"y": linear_quantize(min = -2.0, max = [1.5], bits = 8);\n'
        return _joined("tar", {**_parts("tar", path.read_bytes()), "graph.quant": quantized})


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
    return _joined(
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


def _joined(kind: str, parts: dict[str, bytes]) -> bytes:
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


def _parts(kind: str, data: bytes) -> dict[str, bytes]:
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
        "onnx and data": Format(".onnx.tar", _with_data, _read_with_data, "tar"),
    }
    needed = {"onnx": "onnx", "onnx and data": "onnx", "safetensors": "safetensors"}
    return {name: f for name, f in known.items() if name not in needed or find_spec(needed[name])}


@cache
def _valid(name: str) -> bytes:
    return formats()[name].make()


def file_of(seed: int, number: int) -> tuple[str, bytes]:
    """The format and the bytes of trial `number`."""
    r = Random(f"{seed}:{number}")
    name = r.choice(sorted(formats()))
    data, kind = _valid(name), formats()[name].kind
    if kind and (name == "onnx and data" or r.random() < 0.7):  # a part: checksums and headers are right
        return name, _with_part(r, kind, data)
    return name, _damaged(r, f"m{formats()[name].suffix}", data)


def _damaged(r: Random, file: str, data: bytes) -> bytes:
    """A file with bytes changed, or fields of what it says."""
    if file.endswith(".onnx") and r.random() < 0.6:
        return changed(r, data)
    return spoilt(r, data)


def _with_part(r: Random, kind: str, data: bytes) -> bytes:
    parts = _parts(kind, data)
    name = r.choice(sorted(parts, key=lambda n: len(parts[n]))[-4:])
    return _joined(kind, {**parts, name: _damaged(r, name, parts[name])})


def spoilt(r: Random, data: bytes) -> bytes:
    """Data with bytes changed, cut, repeated, or with other numbers and names in its texts."""
    found = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 4))):
        how, k = r.random(), r.randrange(len(found) + 1)
        if how < 0.35:
            found[k : k + 1] = bytes([r.randrange(256)])
        elif how < 0.45:
            del found[k : k + r.choice((1, 8, 64))]
        elif how < 0.5:
            del found[k:]
        elif how < 0.6:
            found[k:k] = found[k : k + r.choice((1, 8, 64))]
        elif how < 0.85:
            _replace(r, found, rb"-?\d+", NUMBERS)
        else:
            _replace(r, found, rb'(?<=")[a-z_0-9.]+(?=")', NAMES)
    return bytes(found)


def _replace(r: Random, data: bytearray, pattern: bytes, words: tuple[bytes, ...]) -> None:
    """Another word in the place of one that the pattern finds."""
    places = [m.span() for m in re.finditer(pattern, bytes(data))]
    if places:
        first, last = r.choice(places)
        data[first:last] = r.choice(words)


class ModelFiles(Part):
    """The part of the fuzzer that tries files of models."""

    what, size, seconds = "files", 200, (120.0, 20.0)

    def request(self, numbers: list[int]) -> tuple[object, ...]:
        return f"{__name__}:batch", self.seed, numbers

    def write(self, folder: Path, number: int, finding: Finding) -> Path:
        """The file as it was tried, and a file about it."""
        name, data = file_of(self.seed, number)
        stem = file_name(finding, repr(data))
        (folder / f"{stem}.txt").write_text(
            f"{finding.kind}\nseed {self.seed}, file {number}\n\n{finding.detail}\n"
        )
        path = folder / f"{stem}{formats()[name].suffix}"
        path.write_bytes(data)
        return path


def replayed(path: Path) -> Finding | None:
    """Read a file in a child process."""
    return alone(f"{__name__}:one", str(path), seconds=ModelFiles.seconds[1])


def one(path: str) -> list[str] | None:
    """Runs in a child."""
    fitting = [n for n, f in formats().items() if path.endswith(f.suffix)]
    name = max(fitting, key=lambda n: len(formats()[n].suffix))
    finding = trial(name, Path(path).read_bytes(), Counter())
    return None if finding is None else [finding.kind, finding.detail]


def batch(seed: int, numbers: list[int]) -> list[Any]:
    """Runs in a child."""
    return batched(numbers, lambda number, counts: trial(*file_of(seed, number), counts))


def trial(name: str, data: bytes, counts: Counter[str]) -> Finding | None:
    """Read the bytes as a file of a format: what went wrong, or nothing."""
    known = formats()[name]
    _watch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"m{known.suffix}"
        path.write_bytes(data)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        _OPENED.clear()
        try:
            known.read(path)
            counts[f"{name} | read"] += 1
        except Error as error:
            counts[f"{name} | refused"] += 1
            if not str(error):
                return Finding(f"{name}: an error without words", repr(error))
        except Exception as error:
            return Finding(f"{name}: {type(error).__name__}", traceback.format_exc())
        others = [p for p in _OPENED if is_foreign(p, folder)]
    if others:
        return Finding(f"{name}: another file is opened", "\n".join(others))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return Finding(f"{name}: memory", f"{grown:,} KB") if grown > MOST_MEMORY else None


_OPENED: list[str] = []
"""Paths that were opened since the trial began."""


@cache
def _watch() -> None:
    """Note every file that this process opens."""
    sys.addaudithook(lambda event, given: _OPENED.append(str(given[0])) if event == "open" else None)


def is_foreign(path: str, folder: str) -> bool:
    """True for a file that is neither in the folder nor a part of Python, its packages, or texpr's
    cache.
    """
    own = (
        folder,
        sys.prefix,
        sys.base_prefix,
        *sysconfig.get_paths().values(),
        str(Path(__file__).parents[3]),
        *([str(cache)] if (cache := current().cache_dir) else []),
    )
    return not path.isdigit() and not os.path.abspath(path).startswith((*own, "/proc/", "/sys/", "/dev/null"))
