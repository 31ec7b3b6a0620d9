"""A packaged model in texpr and in ONNX Runtime, on one thread: a function that gives a call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.pretrained.packaged import PACKAGED

Call = Callable[[], list[Any]]


def with_texpr(name: str) -> Call:
    """`texpr.onnx.load`; weights in `Constant` nodes are parameters, as by default."""
    import texpr as tx
    import texpr.onnx

    tx.options(threads=1)
    entry = PACKAGED[name]
    model = texpr.onnx.load(entry.path)
    given = {**entry.example(), **entry.fixed}

    def call() -> list[Any]:
        found = model(**given)
        return list(found) if isinstance(found, tuple) else [found]

    return call


def with_onnxruntime(name: str) -> Call:
    """An `InferenceSession` with all optimizations."""
    entry = PACKAGED[name]
    opened, given = session(entry.path), {**entry.example(), **entry.fixed}
    return lambda: opened.run(None, given)


def session(path: Path) -> Any:
    """ONNX Runtime's session of a file, on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


LIBRARIES = {"texpr": with_texpr, "onnxruntime": with_onnxruntime}
