"""What reading and writing models raises besides `CheckpointError` and `CallError`."""

from __future__ import annotations

from texpr.support.errors import CheckpointError, ResourceError


class UnsupportedOp(CheckpointError):
    """A model uses operators that texpr does not read, or a program operators that ONNX does not have. All of them are listed."""


class MissingExtra(ResourceError, ImportError):
    """A library that is not installed with texpr is needed."""
