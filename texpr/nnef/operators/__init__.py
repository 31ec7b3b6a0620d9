"""Functions for the operations of NNEF, by subject. Importing this package fills
`texpr.nnef.operation_table`.
"""

from texpr.nnef.operators import (  # noqa: F401
    element_operations,
    product_operations,
    reduction_operations,
    region_operations,
    shape_operations,
    tract_operations,
    tract_scan,
    window_operations,
)
