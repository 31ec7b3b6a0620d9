"""Converters of ONNX's operators, by subject. Importing this package fills `texpr.onnx.table`."""

from texpr.onnx.operators import arithmetic, control, movement, neural, quantized, recurrent, reductions, resize, shapes, windows  # noqa: F401
