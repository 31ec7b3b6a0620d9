"""Errors of reading and writing models, besides `CheckpointError` and `CallError`."""

from __future__ import annotations

from texpr.support.errors import CheckpointError


class UnsupportedOp(CheckpointError):
    """A model uses operators that texpr does not read, or a program operators that ONNX does not
    have. All of them are listed.

    Example:
        >>> import onnx
        >>> some = tx.op("op some(X: f32[N], n: i64) -> y: f32 { y = sum(j in 0..clamp(n, 0, N): X[j]) }")
        >>> try:
        ...     tx.onnx.save(some, "some.onnx", (np.ones(4, "f4"), 3))
        ... except tx.onnx.UnsupportedOp as error:
        ...     print(error.notes)
        ('some: a range that is computed: 1 call',)
    """
