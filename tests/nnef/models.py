"""Models of NNEF as the tests make them: folders and archives, with files of tensors written here."""

from __future__ import annotations

import io
import struct
import tarfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import texpr as tx
from texpr.graph import Capture
from texpr.ir.dtypes import F32, from_numpy
from texpr.ir.interpreter.tensor import interpret

KINDS = {"f": 0, "u": 1, "i": 4, "b": 5}


def tensor(array: np.ndarray, **changed: int) -> bytes:
    """A file of a tensor, by the words of the specification; `changed` are fields that lie."""
    bits = array.dtype.itemsize * 8 if array.dtype != bool else 1
    data = np.packbits(array).tobytes() if bits == 1 else array.tobytes()
    about = {"rank": array.ndim, "length": len(data), "bits": bits, "kind": KINDS[array.dtype.kind]} | changed
    extents = list(array.shape) + [0] * (8 - array.ndim)
    extents = [changed.get(f"extent{k}", n) for k, n in enumerate(extents)]
    head = b"N\xef" + struct.pack("<BB", 1, 0) + struct.pack("<II", about["length"], about["rank"])
    head += struct.pack("<8I", *extents) + struct.pack("<II", about["bits"], about["kind"]) + bytes(76)
    return head + data


def folder(path: Path, text: str, tensors: Mapping[str, np.ndarray | bytes] | None = None) -> Path:
    """A model as a folder."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "graph.nnef").write_text(text, encoding="utf-8")
    for label, a in (tensors or {}).items():
        place = path / f"{label}.dat"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(a if isinstance(a, bytes) else tensor(a))
    return path


def archive(path: Path, files: Mapping[str, bytes], mode: str = "w:gz") -> Path:
    """Files as an archive of tar."""
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            tar.addfile(about, io.BytesIO(data))
    return path


def graph(body: str, **inputs: object) -> str:
    """The text of a graph whose inputs have these shapes, or declarations; its output is `y`."""
    lines = [
        f"{n} = {d if isinstance(d, str) else f'external(shape = {list(d)})'};" for n, d in inputs.items()
    ]  # type: ignore[call-overload]
    return f"version 1.0;\ngraph net({', '.join(inputs)}) -> (y)\n{{\n{' '.join(lines)}\n{body}\n}}\n"


def run(path: Path, body: str, tensors: Mapping[str, np.ndarray] | None = None, **inputs: np.ndarray):
    """The outputs of a graph whose inputs are these arrays, by the interpreter."""
    declared = {}
    for n, a in inputs.items():
        kind = {"f": "scalar", "i": "integer", "b": "logical"}[a.dtype.kind]
        declared[n] = f"external<{kind}>(shape = {list(a.shape)})"
    model = tx.nnef.load(folder(path, graph(body, **declared), tensors))
    capture = Capture()
    with capture:
        given = [capture.input(n, a.shape, from_numpy(a.dtype) or F32) for n, a in inputs.items()]
        result = capture.own_result(model(*given))
    values = [*inputs.values(), *(v.held() for v in capture.variables), *capture.constants.values()]
    return interpret(capture.program([result.tensor]), values)[0]
