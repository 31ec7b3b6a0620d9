"""Words with a meaning of their own. The grammar has the same ones; a test compares them."""

from __future__ import annotations

from texpr.ir.printing.types import RESERVED

REDUCTIONS = frozenset({"sum", "prod", "max", "min", "argmax", "argmin", "any", "all"})
GUARD_WORDS = frozenset({"clamp", "wrap", "reflect", "drop"})
"""Guards of elements outside an array, between `|` and `]`; names elsewhere."""
KEYWORDS = RESERVED - REDUCTIONS
