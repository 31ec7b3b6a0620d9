"""Options with their values and origins, and the variables that are wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator

from texpr.support.options import NAMES, current, origin, refusals
from texpr.tools.doctor.finding import Finding


def options() -> Iterator[Finding]:
    """Give all options, and check the `TEXPR_*` variables of the environment."""
    refused = refusals(os.environ)
    for variable, error in refused.items():
        yield Finding("options", variable, "problem", error.message, error.help or f"unset {variable}")
    if any(f"TEXPR_{name.upper()}" in refused for name in NAMES):
        return  # no value holds then
    for name in NAMES:
        yield Finding("options", name, "fact", f"{_shown(getattr(current(), name))} ({origin(name)})")


def _shown(value: object) -> str:
    """`text` as it is, an empty one in quotes, a tuple by its parts."""
    if isinstance(value, tuple):
        return ",".join(value) or "none"
    return str(value) or "''"
