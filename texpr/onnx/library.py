"""The library `onnx`: the format's own reader, checker and definitions. It is imported when a model is read or written."""

from __future__ import annotations

from typing import Any

from texpr.onnx.errors import MissingExtra


def library() -> Any:
    """The module `onnx` with the parts that are used here.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import onnx
        import onnx.checker
        import onnx.defs
        import onnx.helper
        import onnx.numpy_helper
        import onnx.shape_inference
    except ImportError:
        raise MissingExtra("models in ONNX need the library onnx", code="import", help="pip install texpr[onnx]") from None
    return onnx
