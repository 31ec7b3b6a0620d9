"""Arrays in files: safetensors, never pickle; written whole or not at all; read only when all of it
fits.

The library `safetensors` makes and checks the bytes. Its own functions for files are not used: they
overwrite a file in place, and a reader of the header and one of the values might see two files.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from texpr.ir.dtypes import ML_DTYPES, DType, numpy_dtype, readable
from texpr.nn.core.module import Module, compare_states
from texpr.nn.reader_advice import advise_reader
from texpr.support.errors import CallError, CheckpointError, json_fault
from texpr.support.extras import needs
from texpr.support.files import read_file, write_file
from texpr.support.tracebacks import boundary

_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
_AS_BITS = {name: t for t, name in ML_DTYPES.items()}


@boundary
def save(model: Module, path: str | Path) -> None:
    """Write all parameters of a model under their dotted names, in the format safetensors.

    Args:
        model: a module.
        path: the file.
    Raises:
        CallError: `model` is no module.
        MissingExtra: safetensors is not installed; for floats that NumPy lacks, ml_dtypes.
        OSError: the file cannot be written; what was there before stays.
    Example:
        >>> model = nn.Linear(3, 2)
        >>> nn.save(model, "linear.safetensors")
        >>> nn.load(nn.Linear(3, 2), "linear.safetensors")
        ([], [])
    """
    if not isinstance(model, Module):
        raise CallError(
            f"nn.save takes a module, not a {type(model).__name__}",
            code="arguments",
            help="nn.save(model, path)",
        )
    arrays = {name: _named_dtype(v.held(), v.dtype) for name, v in model._named_state().items()}
    write_file(path, _serialized(arrays, {"format": "np"}))


@boundary
def load(
    model: Module, path: str | Path, strict: bool = True, check_finite: bool = False
) -> tuple[list[str], list[str]]:
    """Read parameters of a file into a model: all of them, or after an error none.

    Args:
        strict: names in the file must be exactly the model's.
        check_finite: refuse NaN and infinite values.
    Returns:
        names that the file lacks, and names that the model does not have; both empty when strict.
    Raises:
        CallError: `model` is no module.
        CheckpointError: the file is damaged, or is of another model; every difference is listed.
        MissingExtra: safetensors is not installed.
        OSError: the file cannot be read.
    Example:
        >>> model = nn.Linear(3, 2)
        >>> nn.save(model, "linear.safetensors")
        >>> nn.load(model, "linear.safetensors", strict=False)
        ([], [])
    """
    if not isinstance(model, Module):
        raise CallError(
            f"nn.load takes a module, not a {type(model).__name__}",
            code="arguments",
            help="nn.load(model, path)",
        )
    entries, _ = _deserialized(path)
    shapes = {
        name: (tuple(e["shape"]), _DTYPES.get(e["dtype"], str(e["dtype"]))) for name, e in entries.items()
    }
    missing, unexpected, wrong = compare_states(model._named_state(), shapes)
    if wrong or (strict and (missing or unexpected)):
        _refuse(path, missing if strict else [], unexpected if strict else [], wrong)
    values = _arrays(entries, path, model._named_state() if not strict else None)
    bad = [
        n
        for n, a in values.items()
        if check_finite and a.dtype.name.startswith(("float", "bfloat")) and not np.isfinite(a).all()
    ]
    if bad:
        raise CheckpointError(f"{path}: not all values are finite in {', '.join(bad)}", code="checkpoint")
    model.load_state_dict(values, strict)
    return missing, unexpected


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray], about: object) -> None:
    """Write arrays by name and, as JSON, what is to be said about them, in one step.

    Raises:
        TypeError: `about` is not of what JSON has.
        MissingExtra: safetensors is not installed.
        OSError: the file cannot be written; what was there before stays.
    """
    write_file(path, _serialized(arrays, {"texpr": json.dumps(about)}))


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], object]:
    """Read what `write_arrays` has written.

    Raises:
        CheckpointError: the file is damaged, or another kind of file.
        MissingExtra: safetensors is not installed.
    """
    entries, metadata = _deserialized(path)
    about = metadata.get("texpr")
    if not isinstance(about, str):
        raise CheckpointError(
            f"{path} holds arrays, but no state of a training",
            code="checkpoint",
            help="nn.load reads weights",
        )
    try:
        return _arrays(entries, path), json.loads(about)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"its metadata are not valid ({json_fault(error)})") from None


def read_weights(path: str | Path) -> tuple[dict[str, np.ndarray], set[str]]:
    """All arrays of a file by name, and the names of their dtypes; arrays of a dtype that NumPy lacks
    are numbers.

    Raises:
        CheckpointError: the file is damaged.
        MissingExtra: safetensors is not installed.
        OSError: the file cannot be read.
    """
    entries, _ = _deserialized(path)
    arrays = _arrays(entries, path)
    return arrays, {_DTYPES[e["dtype"]] for e in entries.values()}


def require_safetensors(purpose: str) -> Any:
    """The library safetensors.

    Args:
        purpose: the subject of the message where it is not installed.
    Raises:
        MissingExtra: it is not installed.
    """
    with needs("checkpoint", purpose):
        import safetensors.numpy
    return safetensors


def _named_dtype(array: np.ndarray, t: DType) -> np.ndarray:
    """An array whose dtype has the name of `t`: bits of floats that NumPy lacks as those of
    ml_dtypes.
    """
    if not t.as_bits:
        return array
    with needs("checkpoint", f"writing {t}"):
        import ml_dtypes
    return array.view(getattr(ml_dtypes, ML_DTYPES[t]))


def _serialized(arrays: Mapping[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    library = require_safetensors("writing weights")
    return library.numpy.save({n: np.asarray(a, order="C") for n, a in arrays.items()}, metadata)


def _deserialized(path: str | Path) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The entries of a file by name, and its metadata."""
    library = require_safetensors("reading weights")
    data = read_file(path)
    try:
        entries = dict(library.deserialize(data))
    except Exception as error:  # the library gives no list of what it raises
        raise _damaged(path, str(error)) from None
    # Read by hand: `deserialize` gives no metadata, and accepts a name that comes twice.
    length = int.from_bytes(data[:8], "little")
    try:
        return entries, json.loads(data[8 : 8 + length], object_pairs_hook=_unique).get("__metadata__") or {}
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"its header is not valid ({json_fault(error)})") from None


def _arrays(
    entries: Mapping[str, dict[str, Any]], path: str | Path, wanted: Collection[str] | None = None
) -> dict[str, np.ndarray]:
    """The arrays by name, all or those that are wanted; those of a dtype that NumPy lacks as
    numbers.
    """
    found = {}
    for name, entry in entries.items():
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


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"`{next(n for n in names if names.count(n) > 1)}` comes twice")
    return found


def _damaged(path: str | Path, reason: str) -> CheckpointError:
    help = "" if Path(path).suffix == ".safetensors" else advise_reader(path)
    return CheckpointError(f"{path} is no intact safetensors file: {reason}", code="checkpoint", help=help)


def _refuse(path: str | Path, missing: list[str], unexpected: list[str], wrong: list[str]) -> None:
    notes = wrong + [
        f"{what}: {', '.join(names)}"
        for what, names in (("missing", missing), ("unexpected", unexpected))
        if names
    ]
    raise CheckpointError(
        f"{path} is of another model",
        code="checkpoint",
        notes=notes,
        help="strict=False ignores missing and unexpected names" if not wrong else "",
    )
