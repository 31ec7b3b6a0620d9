"""How each library loads a network and calls it: by column, a function that gives a call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.models.networks import torch_module

Call = Callable[[np.ndarray], np.ndarray]


def with_texpr(name: str, file: Path, threads: int) -> dict[str, Callable[[], Call]]:
    """`texpr.onnx.load`."""

    def load() -> Call:
        import texpr as tx
        import texpr.onnx

        tx.options(threads=threads)
        model: Any = texpr.onnx.load(file)
        return lambda x: np.asarray(_first(model(x)))

    return {"texpr": load}


def with_onnxruntime(name: str, file: Path, threads: int) -> dict[str, Callable[[], Call]]:
    """An `InferenceSession` with all optimizations."""

    def load() -> Call:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        return lambda x: session.run(None, {"x": x})[0]

    return {"onnxruntime": load}


def with_torch(name: str, file: Path, threads: int) -> dict[str, Callable[[], Call]]:
    """torch.compile of the module itself."""

    def load() -> Call:
        import torch

        torch.set_num_threads(threads)
        compiled = torch.compile(torch_module(name))

        def call(x: np.ndarray) -> np.ndarray:
            with torch.inference_mode():
                return compiled(torch.from_numpy(x)).numpy()

        return call

    return {"torch.compile": load}


def _first(result: Any) -> Any:
    """The first of several results."""
    return result[0] if isinstance(result, tuple | list) else result


LIBRARIES = {"texpr": with_texpr, "onnxruntime": with_onnxruntime, "torch": with_torch}
