"""Errors of reading and writing models, besides `CheckpointError` and `CallError`."""

from __future__ import annotations

from texpr.support.errors import CheckpointError


class UnsupportedOp(CheckpointError):
    """A model uses operators that texpr does not read, or a program operators that ONNX does not
    have. All of them are listed.
    """
