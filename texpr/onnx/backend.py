"""The interface by which `onnx.backend.test` runs its cases, and their counts."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from texpr.onnx.element_types import FROM_ONNX, OTHERS
from texpr.onnx.model import OnnxModel, load
from texpr.onnx.model_errors import UnsupportedOp
from texpr.onnx.onnx_package import library

REASONS = ("dtype not supported", "out of scope", "random op", "string/sequence/optional type")
"""Reasons for cases that are left out; there are no others."""
_RANDOM = {
    "Bernoulli",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Multinomial",
}
_OUT_OF_SCOPE = {"ImageDecoder"}


class Backend:
    """A backend for `onnx.backend.base.Backend`. Models that are not read raise their own error."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **_: Any) -> Backend.Prepared:
        """A model that can be run."""
        return cls.Prepared(load(model))

    @classmethod
    def run_model(cls, model: Any, inputs: Sequence[Any], device: str = "CPU", **_: Any) -> tuple[Any, ...]:
        """The outputs of a model."""
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True if models run there."""
        return device == "CPU"

    class Prepared:
        """A model that was read."""

        def __init__(self, model: OnnxModel) -> None:
            self.model = model

        def run(self, inputs: Sequence[Any], **_: Any) -> tuple[Any, ...]:
            """The outputs for inputs by position."""
            found = self.model(*inputs)
            return found if isinstance(found, tuple) else (found,)


def is_ours(name: str) -> bool:
    """True if a case is used here; a quarter is left to checks from outside."""
    return int(hashlib.sha1(name.encode()).hexdigest(), 16) % 4 != 0


def cases() -> Iterator[Any]:
    """The node tests of ONNX that are used here, in their order."""
    library()
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)  # type: ignore[arg-type]
    return (case for case in found if is_ours(case.name))


def left_out(case: Any) -> str:
    """One of `REASONS`, or nothing for a case that must pass."""
    graph = case.model.graph
    kinds = [v.type for v in (*graph.input, *graph.output)]
    if any(not k.HasField("tensor_type") or k.tensor_type.elem_type == 8 for k in kinds):
        return "string/sequence/optional type"
    types = {k.tensor_type.elem_type for k in kinds} | {t.data_type for t in graph.initializer}
    types |= {a.i for n in graph.node if n.op_type == "Cast" for a in n.attribute if a.name == "to"}
    types |= {a.t.data_type for n in graph.node for a in n.attribute if a.HasField("t")}
    if types & set(OTHERS) or types - {0} - set(FROM_ONNX):
        return "dtype not supported"
    names = {n.op_type for n in graph.node}
    return "random op" if names & _RANDOM else "out of scope" if names & _OUT_OF_SCOPE else ""


def outcome(case: Any) -> str:
    """Differences in a case's results; empty where they are as they should be."""
    to_array = library().numpy_helper.to_array
    try:
        prepared = Backend.prepare(case.model)
        for inputs, outputs in case.data_sets:
            given, wanted = (
                [to_array(v) if hasattr(v, "dims") else v for v in values] for values in (inputs, outputs)
            )
            for found, right in zip(prepared.run(given), map(np.asarray, wanted), strict=True):
                _compare(np.asarray(found), right, case.rtol, case.atol)
    except UnsupportedOp as error:
        return "; ".join(error.notes) or error.message
    except Exception as error:  # a case that fails must not keep others from being counted
        return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return ""


def _compare(found: np.ndarray, right: np.ndarray, rtol: float, atol: float) -> None:
    if (found.dtype, found.shape) != (right.dtype, right.shape):
        raise ValueError(f"{found.dtype}{list(found.shape)}, expected {right.dtype}{list(right.shape)}")
    wide = np.float64 if right.dtype.name.startswith(("bfloat", "float8")) else right.dtype
    np.testing.assert_allclose(found.astype(wide), right.astype(wide), rtol=rtol, atol=atol)
