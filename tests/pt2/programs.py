"""Archives that PyTorch has written, with their arguments and results: `scripts/peers/pt2_torch.py`."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parent / "programs.zip"
NAMES = sorted(n.removesuffix(".pt2") for n in zipfile.ZipFile(FILE).namelist() if n.endswith(".pt2"))


@cache
def archive(name: str) -> bytes:
    """The bytes of an archive."""
    with zipfile.ZipFile(FILE) as file:
        return file.read(f"{name}.pt2")


def calls(name: str) -> tuple[list[Any], dict[str, Any], dict[str, np.ndarray]]:
    """Arguments by place and by name, and results by their places."""
    data = f"{name.removesuffix('_core')}.npz"
    with zipfile.ZipFile(FILE) as file, np.load(io.BytesIO(file.read(data))) as arrays:
        return nested_arguments(dict(arrays))


def nested_arguments(
    arrays: dict[str, np.ndarray],
) -> tuple[list[Any], dict[str, Any], dict[str, np.ndarray]]:
    """Arguments and results of arrays by their places."""
    args = [_given(arrays[f"args/{k}"]) for k in range(sum(n.startswith("args/") for n in arrays))]
    kwargs: dict[str, Any] = {}
    for n in arrays:
        if n.startswith("kwargs/"):
            inside = kwargs
            *folders, last = n.split("/")[1:]
            for folder in folders:
                inside = inside.setdefault(folder, {})
            inside[last] = arrays[n]
    return args, kwargs, {n.removeprefix("results"): a for n, a in arrays.items() if n.startswith("results")}


def _given(array: np.ndarray) -> Any:
    return array if array.ndim else array.item()


def leaves(value: Any, place: str = "") -> dict[str, np.ndarray]:
    """Arrays of nested results by their places."""
    if isinstance(value, dict):
        return {k: v for n, part in value.items() for k, v in leaves(part, f"{place}/{n}").items()}
    if isinstance(value, tuple | list):
        return {k: v for n, part in enumerate(value) for k, v in leaves(part, f"{place}/{n}").items()}
    return {} if value is None else {place: np.asarray(value)}


def differences(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], bound: float) -> list[str]:
    """Places of results that are not PyTorch's: other names, shapes, dtypes, or numbers."""
    assert list(found) == list(wanted)
    bad = []
    for n, w in wanted.items():
        f = found[n]
        if (f.shape, f.dtype) != (w.shape, w.dtype) and w.shape:
            bad.append(f"{n}: {f.dtype}{f.shape}, expected {w.dtype}{w.shape}")
        elif not np.allclose(f, w, bound, bound, equal_nan=True):
            bad.append(f"{n}: {np.abs(f.astype(float) - w).max()}")
    return bad
