"""Values that a program computes and an operator asks something of: copies that are checked
while the program runs.
"""

from __future__ import annotations

from functools import cache

from texpr.compiler import Op, op
from texpr.ir.dtypes import DType
from texpr.ir.extern import register_extern

_NAME = "checked_values"


@cache
def checked(name: str, dtype: DType, rank: int, value_range: tuple[int, int] | None, distinct: bool) -> Op:
    """The operator that copies a tensor and raises CallError where values are not what an
    operator's input `name` takes.

    It is one that a kernel calls (`extern op`), whose results are checked against what is declared
    of them.

    Args:
        value_range: the smallest value, and the first that is too large; None for any.
        distinct: True if rows hold each value once.
    """
    register_extern(_NAME, lambda values: values)
    within = "" if value_range is None else f" in {value_range[0]}..{value_range[1]}"
    typed = f"{dtype}[{', '.join(f'N{k}' for k in range(rank))}]" if rank else str(dtype)
    return op(
        f"extern op {_NAME}(values: {typed}) -> {name}: {typed}{within}{' distinct' if distinct else ''}"
    )
