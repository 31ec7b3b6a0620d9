"""Operators that the tests of the compiler share, so that each is proven and compiled once per
process.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import texpr as tx


@lru_cache
def operators() -> dict[str, tx.Op]:
    """Those of `operators.tx`, by name."""
    return vars(tx.load(Path(__file__).with_name("operators.tx")))
