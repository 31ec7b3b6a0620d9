"""`python -m texpr bench onnx --models`: the models that the package onnx has of PyTorch and of its own
are read, run, saved again, and run by another runtime.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from texpr.onnx.backend import compare_parts, value_of
from texpr.onnx.model import OnnxModel, load
from texpr.onnx.model_errors import UnsupportedOp
from texpr.onnx.model_export import save
from texpr.onnx.onnx_package import library
from texpr.onnx.values import NeedsValue
from texpr.tools.arguments import part_of_all
from texpr.tools.bench.onnx_saving import find_runtime

PARTS = ("pytorch-converted", "pytorch-operator", "simple")
RTOL, ATOL = 1e-3, 1e-5
"""As onnx's own tests have them."""
_MESSAGES = {"tensor_type": "TensorProto", "sequence_type": "SequenceProto", "optional_type": "OptionalProto"}


def folders(part: str) -> list[Path]:
    """The folders of models in one part of onnx's data."""
    return sorted((Path(library().__file__).parent / "backend" / "test" / "data" / part).iterdir())


def values(folder: Path, kind: str, infos: Sequence[Any]) -> list[Any]:
    """The inputs or outputs of the first data set of a model."""
    found = []
    for k, info in enumerate(infos):
        message = getattr(library(), _MESSAGES[info.type.WhichOneof("value")])()
        message.ParseFromString((folder / "test_data_set_0" / f"{kind}_{k}.pb").read_bytes())
        found.append(value_of(message))
    return found


def nodes(proto: Any) -> int:
    """The number of a graph's nodes, constants left out."""
    return sum(n.op_type != "Constant" for n in proto.graph.node)


class Tried:
    """One model.

    Attributes:
        proto, model, given: the file, what it was read as, and inputs.
    """

    def __init__(self, folder: Path) -> None:
        self.proto = library().load(folder / "model.onnx")
        self.model: OnnxModel = load(folder / "model.onnx")
        infos = {v.name: v for v in self.proto.graph.input}
        self.given = values(folder, "input", [infos[n] for n in self.model.inputs])
        self.expected = values(folder, "output", self.proto.graph.output)

    def run(self) -> None:
        """Compare results with those of onnx's data.

        Raises:
            AssertionError, ValueError: they differ.
        """
        found = self.model(*self.given)
        for y, w in zip(found if isinstance(found, tuple) else (found,), self.expected, strict=True):
            compare_parts(y, w, RTOL, ATOL)

    def again(self, path: Path) -> int:
        """The number of nodes after it was read and saved again; another runtime computes the same.

        Raises:
            UnsupportedOp: it cannot be saved.
            AssertionError, ValueError: results differ.
        """
        save(self.model, path, tuple(self.given), inputs=list(self.model.inputs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = find_runtime()[1](path, dict(zip(self.model.inputs, self.given)))
        for y, w in zip(found, self.expected, strict=True):
            compare_parts(y, w, RTOL, ATOL)
        return nodes(library().load(path))


def bench_models(arguments: argparse.Namespace) -> int:
    """Read and save every model; print those that are not read, and the nodes before and after.

    Returns:
        1 if a model that was saved gives other results.
    """
    k, n = part_of_all(arguments.part)
    before = after = saved = wrong = 0
    for part in PARTS:
        right, chosen = 0, folders(part)[k - 1 :: n]
        for folder in chosen:
            try:
                tried = Tried(folder)
                tried.run()
                right += 1
            except Exception as error:  # a model that fails must not keep others from being counted
                print(f"{folder.name}: {_said(error)}")
                continue
            try:
                with tempfile.TemporaryDirectory() as place:
                    after += tried.again(Path(place) / "model.onnx")
                before, saved = before + nodes(tried.proto), saved + 1
            except (UnsupportedOp, NeedsValue) as error:
                print(f"{folder.name}, saved: {_said(error)}")
            except Exception as error:
                wrong += 1
                print(f"{folder.name}, saved, is wrong: {_said(error)}")
        print(f"{part}: {right} of {len(chosen)} are read and right")
    print(
        f"saved again and run by {find_runtime()[0]}: {saved}, {wrong} wrong; {before} nodes before, "
        f"{after} after: {after / max(before, 1):.2f} times"
    )
    return int(wrong > 0)


def _said(error: Exception) -> str:
    notes = "; ".join(getattr(error, "notes", ()))
    return f"{type(error).__name__}: {notes or ' '.join(str(error).split())[:160]}"
