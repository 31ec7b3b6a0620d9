"""Weights in files: safetensors, never pickle; written whole or not at all; read only when all of it fits."""

from __future__ import annotations

import json
from pathlib import Path
from struct import unpack

import numpy as np

from texpr.nn.module import Module, compare_states
from texpr.support.errors import CheckpointError
from texpr.support.files import write_file

_LARGEST_HEADER = 100_000_000
_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
           "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool"}


def save(model: Module, path: str | Path) -> None:
    """Write all parameters of `model` under their dotted names.

    Raises:
        ImportError: safetensors is not installed.
        OSError: the file cannot be written; what was there before stays.
    """
    write_file(path, _library().save(model.state_dict(), {"format": "np"}))


def load(model: Module, path: str | Path, strict: bool = True, check_finite: bool = False) -> tuple[list[str], list[str]]:
    """Read parameters into `model`: all of them, or after a complaint none.

    Args:
        strict: names in the file must be exactly the model's.
        check_finite: refuse NaN and infinite values.
    Returns:
        names that the file lacks, and names that the model does not have; both empty when strict.
    Raises:
        CheckpointError: the file is damaged, or is of another model; every difference is listed.
        ImportError: safetensors is not installed.
        OSError: the file cannot be read.
    """
    data = Path(path).read_bytes()
    missing, unexpected, wrong = compare_states(model._named_state(), _header(data, path))
    if wrong or (strict and (missing or unexpected)):
        _refuse(path, missing if strict else [], unexpected if strict else [], wrong)
    try:
        values: dict[str, np.ndarray] = _library().load(data)
    except Exception as error:
        raise _damaged(path, str(error)) from None
    bad = [n for n, a in values.items() if check_finite and a.dtype.kind == "f" and not np.isfinite(a).all()]
    if bad:
        raise CheckpointError(f"{path}: not all values are finite in {', '.join(bad)}", code="checkpoint")
    return model.load_state_dict(values, strict)


def _library():
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError("saving and loading weights needs safetensors: pip install texpr[checkpoint]") from None
    return safetensors.numpy


def _header(data: bytes, path: str | Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shapes and dtypes by name, from the file's head. safetensors itself accepts a name that comes twice; we do not."""
    length = unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    if not 2 <= length <= min(len(data) - 8, _LARGEST_HEADER):
        raise _damaged(path, f"its header would have {length} bytes, the file has {len(data)}")
    try:
        entries = json.loads(data[8 : 8 + length].decode("utf-8"), object_pairs_hook=_unique)
        entries.pop("__metadata__", None)
        return {name: (tuple(e["shape"]), _DTYPES.get(e["dtype"], str(e["dtype"]))) for name, e in entries.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged(path, f"its header is not valid ({error or type(error).__name__})") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"`{next(n for n in names if names.count(n) > 1)}` comes twice")
    return found


def _damaged(path: str | Path, reason: str) -> CheckpointError:
    return CheckpointError(f"{path} is no intact safetensors file: {reason}", code="checkpoint")


def _refuse(path: str | Path, missing: list[str], unexpected: list[str], wrong: list[str]) -> None:
    notes = wrong + [f"{what}: {', '.join(names)}" for what, names in (("missing", missing), ("unexpected", unexpected)) if names]
    raise CheckpointError(f"{path} is of another model", code="checkpoint", notes=notes,
                          help="strict=False ignores missing and unexpected names" if not wrong else "")
