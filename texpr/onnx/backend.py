"""The interface by which `onnx.backend.test` runs its cases, and their counts."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from texpr.ir.dtypes import from_numpy
from texpr.onnx.converters import draws
from texpr.onnx.model import OnnxModel, load
from texpr.onnx.model_errors import UnsupportedOp
from texpr.onnx.onnx_package import library

REASONS = ("files of images", "texts")
"""Reasons for cases that are left out; there are no others."""
_OUT_OF_SCOPE = {"ImageDecoder": "files of images", "RegexFullMatch": "texts"}
SIGMAS = 5
"""By how many standard deviations means of random numbers may differ."""


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
    nodes = case.model.graph.node
    return next((_OUT_OF_SCOPE[n.op_type] for n in nodes if n.op_type in _OUT_OF_SCOPE), "")


def _is_random(case: Any) -> bool:
    """True if a case draws numbers, which nothing defines."""
    return any(map(draws, case.model.graph.node))


def outcome(case: Any) -> str:
    """Differences in a case's results; empty where they are as they should be."""
    compare = compare_statistics if _is_random(case) else compare_values
    try:
        prepared = Backend.prepare(case.model)
        for inputs, outputs in case.data_sets:
            given, wanted = ([value_of(v) for v in values] for values in (inputs, outputs))
            for found, right in zip(prepared.run(given), wanted, strict=True):
                compare_parts(found, right, case.rtol, case.atol, compare)
    except UnsupportedOp as error:
        return "; ".join(error.notes) or error.message
    except Exception as error:  # a case that fails must not keep others from being counted
        return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return ""


def value_of(v: Any) -> Any:
    """Results of a case, as arrays, lists of them, or None."""
    helper = library().numpy_helper
    kind = v.DESCRIPTOR.name if hasattr(v, "DESCRIPTOR") else ""
    readers = {
        "TensorProto": helper.to_array,
        "SequenceProto": helper.to_list,
        "OptionalProto": helper.to_optional,
    }
    return readers[kind](v) if kind in readers else v


def _parts(value: Any) -> list[np.ndarray]:
    """The tensors of a result: one, those of a sequence, or none where it is absent."""
    return [np.asarray(v) for v in (value if isinstance(value, list) else [value]) if v is not None]


def compare_parts(
    found: Any, right: Any, rtol: float, atol: float, compare: Callable[..., None] | None = None
) -> None:
    """Compare tensors, sequences of them, and what is absent.

    Raises:
        AssertionError, ValueError: they differ.
    """
    for y, w in zip(_parts(found), _parts(right), strict=True):
        (compare or compare_values)(y, w, rtol, atol)


def compare_statistics(found: np.ndarray, right: np.ndarray, rtol: float, atol: float) -> None:
    """Types and shapes, and means as far as so few numbers tell."""
    if (found.dtype, found.shape) != (right.dtype, right.shape):
        raise ValueError(f"{found.dtype}{list(found.shape)}, expected {right.dtype}{list(right.shape)}")
    means, spreads = zip(*((v.astype(float).mean(), v.astype(float).std()) for v in (found, right)))
    bound = SIGMAS * np.hypot(*spreads) / np.sqrt(found.size) + atol + rtol * abs(means[1])
    if not abs(means[0] - means[1]) <= bound:
        raise ValueError(f"the mean is {means[0]:g}, expected {means[1]:g} within {bound:.2g}")


def compare_values(found: np.ndarray, right: np.ndarray, rtol: float, atol: float) -> None:
    """Compare two tensors.

    Raises:
        AssertionError, ValueError: they differ.
    """
    if (found.dtype, found.shape) != (right.dtype, right.shape):
        raise ValueError(f"{found.dtype}{list(found.shape)}, expected {right.dtype}{list(right.shape)}")
    if right.dtype == object:
        texts = [v.decode() if isinstance(v, bytes) else v for v in right.ravel()]
        return np.testing.assert_array_equal(found.ravel(), np.array(texts, object))
    wide = right.dtype if from_numpy(right.dtype) else np.float64
    wide = np.float64 if right.dtype.name.startswith(("bfloat", "float8")) else wide
    np.testing.assert_allclose(found.astype(wide), right.astype(wide), rtol=rtol, atol=atol)
