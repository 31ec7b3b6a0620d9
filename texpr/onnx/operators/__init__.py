"""Converters of ONNX's operators, by subject. Importing this package fills `texpr.onnx.converters`."""

from texpr.onnx.operators import (  # noqa: F401
    arithmetic,
    control,
    fourier,
    ml,
    movement,
    neural,
    quantized,
    recurrent,
    reductions,
    resize,
    sampling,
    shapes,
    windows,
)
