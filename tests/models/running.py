"""What the tests of pretrained models share."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import texpr as tx
from bench.pretrained import libraries
from bench.pretrained.packaged import PACKAGED
from texpr import nn


class Fixed(nn.Module):
    """A model with some of its inputs given once and for all; the others by position."""

    def __init__(self, model: nn.Module, fixed: Mapping[str, Any]) -> None:
        super().__init__()
        self.model, self.fixed = model, dict(fixed)

    def forward(self, *inputs: Any) -> Any:
        return self.model(
            **dict(zip([n for n in self.model.inputs if n not in self.fixed], inputs)), **self.fixed
        )


@cache
def loaded(name: str) -> Fixed:
    """A pretrained model, which takes the inputs of its example by position."""
    entry = PACKAGED[name]
    if entry.missing:
        pytest.skip(entry.missing)
    return Fixed(tx.onnx.load(entry.path), entry.fixed).eval()


@cache
def session(path: Path) -> Any:
    """ONNX Runtime's, on one thread."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: make models")
    return libraries.session(path)


def outputs(results: Any) -> list[np.ndarray]:
    """All outputs of a model, as arrays."""
    return [np.asarray(y) for y in (results if isinstance(results, tuple | list) else (results,))]


def positional(name: str, seed: int = 0) -> list[np.ndarray]:
    """The example of a model in the order of its inputs."""
    given = PACKAGED[name].example(seed)
    return [given[n] for n in loaded(name).model.inputs if n in given]


def agree(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], bound: float = 1e-4) -> None:
    """Differences are at most `bound` of the largest number, or of 1."""
    for y, w in zip(found, wanted, strict=True):
        assert y.shape == w.shape and y.dtype == w.dtype
        assert np.abs(y - w).max() <= bound * max(1.0, np.abs(w).max())


_TYPES = {"float32": "float", "int32": "int32_t", "int64": "int64_t"}
_MAIN = """
#include <stdint.h>
#include <stdio.h>
#include "net.h"
{arrays}
static int move(FILE *file, int reads, void *at, size_t bytes) {{
  return reads ? fread(at, 1, bytes, file) == bytes : fwrite(at, 1, bytes, file) == bytes;
}}
int main(void) {{
  FILE *in = fopen("in", "rb"), *out = fopen("out", "wb");
  if (!in || !out) return 3;
{reads}
  if (texpr_net_call({names}) != 0) return 2;
{writes}
  return fclose(out) != 0;
}}
"""


def run_in_c(model: nn.Module, inputs: Sequence[np.ndarray], results: Sequence[np.ndarray], folder: Path):
    """The results of a C program with the model, without Python and without an environment.

    Args:
        results: arrays of their shapes and dtypes.
    """
    nn.export(model, folder / "net.a", *inputs, header=folder / "net.h", name="net")
    arrays = {f"x{k}": a for k, a in enumerate(inputs)} | {f"y{k}": a for k, a in enumerate(results)}
    move = "  if (!move({file}, {reads}, {name}, sizeof {name})) return 3;"
    text = _MAIN.format(
        arrays="\n".join(f"static {_TYPES[a.dtype.name]} {n}[{a.size}];" for n, a in arrays.items()),
        reads="\n".join(move.format(file="in", reads=1, name=n) for n in arrays if n.startswith("x")),
        names=", ".join(f"(void *){n}" for n in arrays),
        writes="\n".join(move.format(file="out", reads=0, name=n) for n in arrays if n.startswith("y")),
    )
    (folder / "main.c").write_text(text)
    (folder / "in").write_bytes(b"".join(np.ascontiguousarray(a).tobytes() for a in inputs))
    subprocess.run(
        ["gcc", "-O1", "-Wall", "main.c", "net.a", "-lm", "-o", "net"], cwd=folder, check=True, timeout=120
    )
    subprocess.run([folder / "net"], cwd=folder, check=True, env={}, timeout=120)
    data, found, at = (folder / "out").read_bytes(), [], 0
    for a in results:
        found.append(np.frombuffer(data, a.dtype, a.size, at).reshape(a.shape))
        at += a.nbytes
    assert at == len(data)
    return found
