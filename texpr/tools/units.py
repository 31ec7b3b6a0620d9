"""Times and rates of the command line, with their units."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Mapping
from math import inf, isinf

_TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0}
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_RATES = {
    **{f"{prefix}B/s": factor for prefix, factor in _PREFIXES.items()},
    **{f"{prefix}iB/s": 1024.0**k for k, prefix in enumerate("KMGT", 1)},
    **{f"{prefix}{bit}": f / 8 for prefix, f in _PREFIXES.items() for bit in ("bit/s", "b/s", "bps")},
}
_NUMBER = re.compile(r"(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)\s*(.*)")


def duration(text: str) -> float:
    """Read a time in seconds: `2us`.

    Raises:
        ArgumentTypeError: it is none.
    """
    if text.strip() == "0":
        return 0.0
    return _read(text, _TIMES, "a time with its unit, ns, us, ms or s: 2us")


def rate(text: str) -> float:
    """Read bytes per second: `12GB/s`, `100Gbit/s`, `inf`. Units of bits end in bit/s, b/s or bps.

    Raises:
        ArgumentTypeError: it is none, or 0.
    """
    if text.strip() == "inf":
        return inf
    expected = "a rate above 0 with its unit, bytes or bits a second: 12GB/s, 100Gbit/s"
    found = _read(text, _RATES, expected)
    if not found:
        raise ArgumentTypeError(f"{text}: expected {expected}")
    return found


def _read(text: str, units: Mapping[str, float], expected: str) -> float:
    found = _NUMBER.fullmatch(text.strip())
    if found is None or found[2] not in units or isinf(float(found[1])):
        raise ArgumentTypeError(f"{text}: expected {expected}")
    return float(found[1]) * units[found[2]]


def said_time(seconds: float) -> str:
    """A time with the unit that fits: `2 us`."""
    unit = next((u for u in ("s", "ms", "us") if seconds >= _TIMES[u]), "ns")
    return f"{seconds / _TIMES[unit]:.4g} {unit}"


def said_rate(value: float) -> str:
    """A rate with the unit that fits: `12 GB/s`."""
    prefix = next((p for p in "TGMk" if value >= _PREFIXES[p]), "")
    return "unlimited" if value == inf else f"{value / _PREFIXES[prefix]:.4g} {prefix}B/s"
