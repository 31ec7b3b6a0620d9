"""Arrays in files: safetensors, never pickle; written whole or not at all; read only when all of it fits."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from struct import pack, unpack

import numpy as np

from texpr.ir.dtypes import ML_DTYPES, numpy_dtype, readable
from texpr.nn.core.module import Module, compare_states
from texpr.support.errors import CallError, CheckpointError
from texpr.support.files import read_file, write_file

_LARGEST_HEADER = 100_000_000
_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
           "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32", "I16": "int16",
           "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool"}
_NAMES = {ours: name for name, ours in _DTYPES.items()}
_AS_BITS = {name: t for t, name in ML_DTYPES.items()}


def save(model: Module, path: str | Path) -> None:
    """Write all parameters of `model` under their dotted names.

    Raises:
        CallError: `model` is no module.
        OSError: the file cannot be written; what was there before stays.
    """
    if not isinstance(model, Module):
        raise CallError(f"nn.save takes a module, not a {type(model).__name__}", code="arguments", help="nn.save(model, path)")
    entries = {name: (v.held(), ML_DTYPES.get(v.dtype) or v.data.dtype.name) for name, v in model._named_state().items()}
    write_file(path, _serialized(entries, {"format": "np"}))


def load(model: Module, path: str | Path, strict: bool = True, check_finite: bool = False) -> tuple[list[str], list[str]]:
    """Read parameters into `model`: all of them, or after a complaint none.

    Args:
        strict: names in the file must be exactly the model's.
        check_finite: refuse NaN and infinite values.
    Returns:
        names that the file lacks, and names that the model does not have; both empty when strict.
    Raises:
        CallError: `model` is no module.
        CheckpointError: the file is damaged, or is of another model; every difference is listed.
        ImportError: safetensors is not installed.
        OSError: the file cannot be read.
    """
    if not isinstance(model, Module):
        raise CallError(f"nn.load takes a module, not a {type(model).__name__}", code="arguments", help="nn.load(model, path)")
    data = read_file(path)
    missing, unexpected, wrong = compare_states(model._named_state(), _header(data, path)[0])
    if wrong or (strict and (missing or unexpected)):
        _refuse(path, missing if strict else [], unexpected if strict else [], wrong)
    values = _arrays(data, path, model._named_state() if not strict else None)
    bad = [n for n, a in values.items() if check_finite and a.dtype.name.startswith(("float", "bfloat")) and not np.isfinite(a).all()]
    if bad:
        raise CheckpointError(f"{path}: not all values are finite in {', '.join(bad)}", code="checkpoint")
    model.load_state_dict(values, strict)
    return missing, unexpected


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray], about: object) -> None:
    """Write arrays by name and, as JSON, what is to be said about them, in one step.

    Raises:
        TypeError: `about` is not of what JSON has.
        OSError: the file cannot be written; what was there before stays.
    """
    write_file(path, _serialized({n: (a, a.dtype.name) for n, a in arrays.items()}, {"texpr": json.dumps(about)}))


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], object]:
    """What `write_arrays` has written.

    Raises:
        CheckpointError: the file is damaged, or another kind of file.
    """
    data = read_file(path)
    about = _header(data, path)[1].get("texpr")
    if not isinstance(about, str):
        raise CheckpointError(f"{path} holds arrays, but no state of a training", code="checkpoint", help="nn.load reads weights")
    try:
        return _arrays(data, path), json.loads(about)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"its metadata are not valid ({error})") from None


def _library():
    try:
        import safetensors
    except ImportError:
        raise ImportError("reading weights needs safetensors: pip install texpr[checkpoint]") from None
    return safetensors


def _serialized(entries: Mapping[str, tuple[np.ndarray, str]], metadata: dict[str, str]) -> bytes:
    """The bytes of a file: the length of the header, the header, the arrays, those of wide elements first, so that all are aligned."""
    header: dict[str, object] = {"__metadata__": metadata}
    parts: list[bytes] = []
    end = 0
    for name in sorted(entries, key=lambda n: (-entries[n][0].itemsize, n)):
        array, dtype = entries[name]
        parts.append(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
        start, end = end, end + len(parts[-1])
        header[name] = {"dtype": _NAMES[dtype], "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([pack("<Q", len(text)), text, *parts])


def _arrays(data: bytes, path: str | Path, wanted: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays by name, all or those that are wanted; those of a dtype that NumPy lacks as numbers."""
    try:
        entries = _library().deserialize(data)
    except ImportError:
        raise
    except Exception as error:
        raise _damaged(path, str(error)) from None
    found = {}
    for name, entry in entries:
        if wanted is not None and name not in wanted:
            continue
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None:
            raise _damaged(path, f"`{name}` is {entry['dtype']}, which texpr does not have")
        t = _AS_BITS.get(dtype)
        stored = np.dtype(dtype) if t is None else numpy_dtype(t)
        held = np.frombuffer(entry["data"], stored.newbyteorder("<")).reshape(entry["shape"])
        found[name] = held if t is None else readable(held, t)
    return found


def _header(data: bytes, path: str | Path) -> tuple[dict[str, tuple[tuple[int, ...], str]], dict]:
    """Shapes and dtypes by name and the metadata, from the file's head. safetensors itself accepts a name that comes twice; we do not."""
    length = unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    if not 2 <= length <= min(len(data) - 8, _LARGEST_HEADER):
        raise _damaged(path, f"its header would have {length} bytes, the file has {len(data)}")
    try:
        entries = json.loads(data[8 : 8 + length].decode("utf-8"), object_pairs_hook=_unique)
        metadata = entries.pop("__metadata__", {})
        return {name: (tuple(e["shape"]), _DTYPES.get(e["dtype"], str(e["dtype"]))) for name, e in entries.items()}, metadata
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
