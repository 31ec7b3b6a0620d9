"""Element types as JAX has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from texpr.ir.dtypes import F64, ML_DTYPES, DType, numpy_dtype
from texpr.support.errors import CallError
from texpr.support.late import late

if TYPE_CHECKING:
    import jax
    import ml_dtypes
else:
    jax, ml_dtypes = late("jax"), late("ml_dtypes")

_NARROW = {np.dtype(f"{kind}64"): np.dtype(f"{kind}32") for kind in ("int", "uint")}
WAY_OUT = 'jax.config.update("jax_enable_x64", True) lets JAX have them'


def own_dtype(t: DType) -> np.dtype:
    """The type of a kernel's buffers."""
    name = ML_DTYPES.get(t)
    return np.dtype(getattr(ml_dtypes, name)) if name else numpy_dtype(t)


def has_64_bits() -> bool:
    """True if JAX has types of 64 bits here and now."""
    return np.dtype(jax.dtypes.canonicalize_dtype(np.int64)) == np.dtype("int64")


def jax_dtype(t: DType) -> np.dtype:
    """The type of arrays that JAX computes with: without `jax_enable_x64`, integers of 64 bits have
    32, as JAX's own do.
    """
    own = own_dtype(t)
    return own if has_64_bits() else _NARROW.get(own, own)


def refuse_f64(operator: str, name: str, t: DType) -> None:
    """Raise CallError for an array that JAX does not have: its values would be rounded."""
    if t == F64 and not has_64_bits():
        raise CallError(
            f"{operator}: `{name}` is f64, and JAX has no types of 64 bits here", code="dtype", help=WAY_OUT
        )


def aval_of(value: object) -> Any:
    """Shape and dtype of what JAX computes with."""
    typeof = getattr(jax, "typeof", None)  # since JAX 0.6
    return typeof(value) if typeof is not None else jax.core.get_aval(value)
