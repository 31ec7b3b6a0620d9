"""Converters of ONNX's operators, by subject. Importing this package fills
`texpr.onnx.converters`.
"""

from texpr.onnx.operators import (  # noqa: F401
    control,
    elementwise_operators,
    fourier,
    image_regions,
    ml,
    ml_models,
    movement,
    neural,
    ngrams,
    quantized,
    random_nodes,
    recurrent_operators,
    reduction_operators,
    resize,
    sampling,
    shape_operators,
    text_operators,
    training_operators,
    tree_ensembles,
    windows,
)
