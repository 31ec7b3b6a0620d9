"""texpr: the operators of `operators.tx` with their default schedules, called as users call
them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version as installed
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import texpr as tx
from bench.x86.candidate import Candidate, Columns, channels_first, channels_last, in_panels, weights_last
from bench.x86.rows import Arrays, Row, widened

TEXT = Path(__file__).parents[1] / "operators.tx"
KINDS = (
    "gemm",
    "gemm_batched",
    "gemm_bf16",
    "gemm_int8",
    "conv",
    "depthwise",
    "softmax",
    "layernorm",
    "rms_norm",
    "gelu",
    "gelu_tanh",
    "bias_relu",
    "transpose",
    "total",
    "row_sums",
    "column_sums",
    "blur",
    "attention",
    "attention_causal",
)
LAST = ("conv", "depthwise")
PANEL = 32
"""Channels of the output beside each other where weights lie in panels."""


def columns(threads: int) -> Columns:
    """Images with channels first and with channels last have a column each, and so have weights
    in panels.
    """
    tx.options(threads=threads)
    return {
        "texpr": dict.fromkeys(KINDS, plain) | {"rms_norm_gradient": gradient, "add": add},
        "texpr nhwc": dict.fromkeys(LAST, last),
        "texpr panels": {"conv": panels},
    }


def version() -> str:
    """Of the library."""
    return installed("texpr")


def operators() -> SimpleNamespace:
    """The operators, new ones for each row: those that have seen many shapes serve others by a
    symbolic kernel at first.
    """
    return tx.load(TEXT)


def plain(row: Row, arrays: Arrays) -> Candidate:
    """On the arrays as they are."""
    run = _call(getattr(operators(), row.kind), tuple(arrays.values()), row)
    return Candidate(run, widened) if row.dtype == "bf16" else Candidate(run)


def gradient(row: Row, arrays: Arrays) -> Candidate:
    """Of both inputs, by the operator that is derived from the other one."""
    operator, inputs = (
        tx.grad(getattr(operators(), row.kind.removesuffix("_gradient"))),
        tuple(arrays.values()),
    )
    out = operator(*inputs)
    return Candidate(partial(operator, *inputs, out=out), lambda results: results[0])


def add(_: Row, arrays: Arrays) -> Candidate:
    """Into an array that is there; written out, as handing on what is named takes Python longer
    than the call.
    """
    operator, (a, b) = operators().add, arrays.values()
    out = np.empty_like(a)
    return Candidate(lambda: operator(a, b, out=out))


def last(row: Row, arrays: Arrays) -> Candidate:
    """On images and weights with channels last."""
    X, F = arrays.values()
    run = _call(getattr(operators(), f"{row.kind}_last"), (channels_last(X), weights_last(F)), row)
    return Candidate(run, channels_first)


def panels(row: Row, arrays: Arrays) -> Candidate | None:
    """On images with channels last and weights in panels."""
    X, F = arrays.values()
    if F.shape[0] % PANEL:
        return None
    return Candidate(
        _call(operators().conv_panels, (channels_last(X), in_panels(F, PANEL)), row), channels_first
    )


def _call(operator: tx.Op, inputs: tuple[np.ndarray, ...], row: Row) -> Callable[[], object]:
    out = operator(*inputs, **row.constants)
    assert isinstance(out, np.ndarray)
    return partial(operator, *inputs, out=out, **row.constants)
