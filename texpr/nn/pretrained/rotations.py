"""Frequencies of positions by rotation, also of those that are scaled for longer texts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

KINDS = ("default", "linear", "dynamic", "llama3", "yarn")


def settings(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """The rotations of a configuration, old forms of it too.

    Raises:
        ValueError: it says it in another form.
    """
    given = sizes.get("rope_parameters") or sizes.get("rope_scaling") or {}
    if not isinstance(given, Mapping):
        raise ValueError(f"rotations are {given!r}, expected an object")
    found = {"rope_theta": sizes.get("rope_theta") or 10000.0, **given}
    found["rope_type"] = found.get("rope_type") or found.get("type") or "default"
    return found


def check(sizes: Mapping[str, Any]) -> None:
    """Refuse rotations that are not read.

    Raises:
        ValueError: they are of another kind, or their numbers are missing or not positive.
    """
    given = settings(sizes)
    if given["rope_type"] not in KINDS:
        raise ValueError(f"rope_type is {given['rope_type']!r}, and {', '.join(KINDS)} are read")
    if given.get("partial_rotary_factor", 1.0) != 1.0 or sizes.get("partial_rotary_factor", 1.0) != 1.0:
        raise ValueError("partial_rotary_factor is not 1")
    needed = {
        "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
        "yarn": ("factor", "original_max_position_embeddings"),
        "default": (),
    }.get(given["rope_type"], ("factor",))
    for key in ("rope_theta", *needed):
        _check_number(key, given.get(key), 0)
    if given["rope_type"] == "yarn":
        _check_number("rope_theta", given["rope_theta"], 1)  # its logarithm is divided by
        for key in ("beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim"):
            if given.get(key):
                _check_number(key, given[key], 0)


def _check_number(key: str, value: Any, above: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < math.inf:
        raise ValueError(f"{key} of rotations is {value!r}, expected a number above {above}")


def angles(sizes: Mapping[str, Any], size: int, length: int) -> tuple[np.ndarray, float]:
    """Angles of each position and pair of features, of shape (length, size / 2), and the factor of
    their cosines and sines.

    Sources: `linear`, kaiokendev, 2023; `dynamic`, bloc97 and emozilla, 2023; `llama3`, Grattafiori
    et al., The Llama 3 Herd of Models, 2024; `yarn`, Peng et al., YaRN, 2023.
    """
    given = settings(sizes)
    kind, factor, theta = given["rope_type"], given.get("factor", 1.0), float(given["rope_theta"])
    scale = 1.0
    if kind == "dynamic":
        longest = sizes["max_position_embeddings"]
        theta *= (factor * max(length, longest) / longest - (factor - 1)) ** (size / (size - 2))
    turns = theta ** -(np.arange(0, size, 2) / size)
    if kind == "linear":
        turns = turns / factor
    elif kind == "llama3":
        turns = _by_wavelength(turns, given)
    elif kind == "yarn":
        turns, scale = _yarn(turns, size, theta, given)
    return np.outer(np.arange(length), turns), scale


def _by_wavelength(turns: np.ndarray, given: Mapping[str, Any]) -> np.ndarray:
    """Long waves are slower by the factor, short ones are kept, those between are mixed."""
    low, high = given["low_freq_factor"], given["high_freq_factor"]
    rounds = given["original_max_position_embeddings"] * turns / (2 * math.pi)
    kept = np.clip((rounds - low) / (high - low), 0, 1) if high != low else (rounds >= high) * 1.0
    return turns * (kept + (1 - kept) / given["factor"])


def _yarn(turns: np.ndarray, size: int, theta: float, given: Mapping[str, Any]) -> tuple[np.ndarray, float]:
    """Pairs that turn often are kept, those that turn seldom are slower, with a ramp between."""
    factor, longest = given["factor"], given["original_max_position_embeddings"]

    def pair(rounds: float) -> float:
        """The pair that turns so often in the texts of the training."""
        return size * math.log(longest / (rounds * 2 * math.pi)) / (2 * math.log(theta))

    first, last = pair(given.get("beta_fast") or 32), pair(given.get("beta_slow") or 1)
    if given.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, size - 1)
    last += 0.001 * (first == last)
    kept = 1 - np.clip((np.arange(size // 2) - first) / (last - first), 0, 1)
    scale = given.get("attention_factor")
    if scale is None:
        one, every = given.get("mscale"), given.get("mscale_all_dim")
        scale = _sharper(factor, one) / _sharper(factor, every) if one and every else _sharper(factor, 1.0)
    return turns * (kept + (1 - kept) / factor), float(scale)


def _sharper(factor: float, weight: float) -> float:
    return 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0
