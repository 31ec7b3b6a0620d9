"""Converters of ATen's operators, by subject. Importing this package fills
`texpr.pt2.converters_of_aten`.
"""

from texpr.pt2.aten import (  # noqa: F401
    aten_attention,
    aten_copies,
    aten_elements,
    aten_layers,
    aten_places,
    aten_recurrences,
    aten_reductions,
    aten_shapes,
    aten_sizes,
    aten_windows,
    aten_writes,
)
