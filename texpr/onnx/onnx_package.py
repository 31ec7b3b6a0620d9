"""The library `onnx`: the format's own reader, checker and definitions. It is imported when a
model is read or written.
"""

from __future__ import annotations

from typing import Any

from texpr.support.extras import needs


def library() -> Any:
    """The module `onnx` with the parts that are used here.

    Raises:
        MissingExtra: it is not installed.
    """
    with needs("onnx", "a model in ONNX"):
        import onnx
        import onnx.checker
        import onnx.defs
        import onnx.helper
        import onnx.numpy_helper
        import onnx.shape_inference
    return onnx
