"""A call of every public function of NumPy's that takes arrays, for the table of what tensors take.

`m` is a matrix, `q` a square one, `v` a vector, `n` a vector of integers, `t` truth values, `c` an array
of three axes; each as `given` makes it of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

_RANDOM = np.random.default_rng(7)
ARRAYS: dict[str, np.ndarray] = {
    "m": _RANDOM.uniform(0.1, 0.9, (3, 4)),
    "q": _RANDOM.uniform(0.1, 0.9, (3, 3)) + 2 * np.eye(3),
    "v": np.array([0.25, 0.5, 0.75]),
    "n": np.array([3, 1, 2]),
    "t": np.array([True, False, True]),
    "c": _RANDOM.uniform(0.1, 0.9, (2, 3, 4)),
}
Call = Callable[[Any], Any]
_ONE = "all amax amin angle any argmax argmin argsort argwhere around average copy corrcoef count_nonzero cov cumprod cumsum ediff1d fix flatnonzero fliplr flipud flip gradient i0 imag iscomplex iscomplexobj isneginf isposinf isreal isrealobj max mean median min nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar ndim nonzero ones_like empty_like zeros_like prod ptp ravel real real_if_close rot90 round shape sinc size sort sort_complex squeeze std sum trace transpose trapezoid tril triu unwrap var diag diagflat diagonal diff atleast_1d atleast_2d atleast_3d matrix_transpose permute_dims unstack broadcast_arrays unique unique_all unique_counts unique_inverse unique_values array2string array_repr array_str min_scalar_type histogram histogram_bin_edges nanmedian block meshgrid"
_TWO = "allclose array_equal array_equiv isclose dot inner outer kron vdot cross convolve correlate polyadd polymul polysub polydiv union1d intersect1d setdiff1d setxor1d isin append may_share_memory shares_memory result_type common_type"
_OF_VECTORS = {
    "convolve",
    "correlate",
    "cross",
    "polyadd",
    "polymul",
    "polysub",
    "polydiv",
    "vdot",
    "dot",
    "inner",
}
_SQUARE = "cholesky cond det diagonal eig eigh eigvals eigvalsh inv matrix_norm matrix_rank matrix_transpose norm pinv qr slogdet svd svdvals trace vector_norm"
_FFT = "fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn"


def _one(name: str, of: str = "m") -> Call:
    return lambda a: _function(name)(getattr(a, of))


def _two(name: str, of: str = "m", second: str = "") -> Call:
    return lambda a: _function(name)(getattr(a, of), getattr(a, second or of))


def _function(name: str) -> Callable[..., Any]:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


CALLS: dict[str, Call] = {
    **{name: _one(name) for name in _ONE.split()},
    **{name: _two(name, "v" if name in _OF_VECTORS else "m") for name in _TWO.split()},
    **{f"linalg.{name}": _one(f"linalg.{name}", "q") for name in _SQUARE.split()},
    **{f"fft.{name}": _one(f"fft.{name}") for name in _FFT.split()},
    "linalg.cholesky": lambda a: np.linalg.cholesky(a.q @ a.q.T),
    "linalg.eigh": lambda a: np.linalg.eigh(a.q @ a.q.T),
    "linalg.eigvalsh": lambda a: np.linalg.eigvalsh(a.q @ a.q.T),
    "linalg.cross": lambda a: np.linalg.cross(a.v, a.v + 1),
    "linalg.lstsq": lambda a: np.linalg.lstsq(a.q, a.v),
    "linalg.matmul": lambda a: np.linalg.matmul(a.q, a.q),
    "linalg.matrix_power": lambda a: np.linalg.matrix_power(a.q, 3),
    "linalg.multi_dot": lambda a: np.linalg.multi_dot([a.q, a.q, a.v]),
    "linalg.outer": lambda a: np.linalg.outer(a.v, a.v),
    "linalg.solve": lambda a: np.linalg.solve(a.q, a.v),
    "linalg.tensordot": lambda a: np.linalg.tensordot(a.q, a.q),
    "linalg.tensorinv": lambda a: np.linalg.tensorinv(a.q, 1),
    "linalg.tensorsolve": lambda a: np.linalg.tensorsolve(a.q, a.v),
    "linalg.vecdot": lambda a: np.linalg.vecdot(a.q, a.v),
    "apply_along_axis": lambda a: np.apply_along_axis(np.sort, 0, a.m),
    "apply_over_axes": lambda a: np.apply_over_axes(np.sum, a.m, [0, 1]),
    "argpartition": lambda a: np.argpartition(a.m, 1),
    "partition": lambda a: np.partition(a.m, 1),
    "array_split": lambda a: np.array_split(a.m, 2),
    "astype": lambda a: np.astype(a.m, np.dtype("f4")),
    "bincount": lambda a: np.bincount(a.n),
    "broadcast_to": lambda a: np.broadcast_to(a.v, (2, 3)),
    "can_cast": lambda a: np.can_cast(np.asarray(a.m).dtype, "f8"),
    "choose": lambda a: np.choose(a.n - 1, [a.v, a.v + 1, a.v + 2]),
    "clip": lambda a: np.clip(a.m, 0.2, 0.6),
    "column_stack": lambda a: np.column_stack([a.v, a.v]),
    "compress": lambda a: np.compress([True, False, True], a.m, axis=0),
    "concat": lambda a: np.concat([a.m, a.m]),
    "concatenate": lambda a: np.concatenate([a.m, a.m]),
    "copyto": lambda a: np.copyto(a.m, 1.0),
    "cumulative_prod": lambda a: np.cumulative_prod(a.m, axis=0),
    "cumulative_sum": lambda a: np.cumulative_sum(a.m, axis=0),
    "delete": lambda a: np.delete(a.m, 1, 0),
    "diag_indices_from": lambda a: np.diag_indices_from(a.q),
    "digitize": lambda a: np.digitize(a.m, [0.3, 0.6]),
    "dsplit": lambda a: np.dsplit(a.c, 2),
    "dstack": lambda a: np.dstack([a.m, a.m]),
    "einsum": lambda a: np.einsum("ij,kj->ik", a.m, a.m),
    "einsum_path": lambda a: np.einsum_path("ij,kj->ik", a.m, a.m)[0],
    "expand_dims": lambda a: np.expand_dims(a.m, 0),
    "extract": lambda a: np.extract([True, False, True], a.v),
    "fill_diagonal": lambda a: np.fill_diagonal(a.q, 0),
    "full_like": lambda a: np.full_like(a.m, 3),
    "geomspace": lambda a: np.geomspace(a.v, 2.0, 3),
    "histogram2d": lambda a: np.histogram2d(a.v, a.v),
    "histogramdd": lambda a: np.histogramdd(a.m, bins=2)[0],
    "hsplit": lambda a: np.hsplit(a.m, 2),
    "hstack": lambda a: np.hstack([a.m, a.m]),
    "insert": lambda a: np.insert(a.m, 1, 0.0, axis=0),
    "interp": lambda a: np.interp(a.v, [0.0, 1.0], [1.0, 3.0]),
    "ix_": lambda a: np.ix_(a.n, a.n),
    "lexsort": lambda a: np.lexsort([a.v, a.n]),
    "linspace": lambda a: np.linspace(a.v, 2.0, 3),
    "logspace": lambda a: np.logspace(a.v, 2.0, 3),
    "moveaxis": lambda a: np.moveaxis(a.c, 0, 2),
    "nanpercentile": lambda a: np.nanpercentile(a.m, 30),
    "nanquantile": lambda a: np.nanquantile(a.m, 0.3),
    "packbits": lambda a: np.packbits(a.t),
    "unpackbits": lambda a: np.unpackbits(a.n.astype(np.dtype("u1"))),
    "pad": lambda a: np.pad(a.m, 1),
    "percentile": lambda a: np.percentile(a.m, 30),
    "piecewise": lambda a: _function("piecewise")(a.v, [[True, False, True], [False, True, False]], [-1, 1]),
    "place": lambda a: np.place(a.v, [True, False, True], [1.0]),
    "poly": lambda a: np.poly(a.v),
    "polyder": lambda a: np.polyder(a.v),
    "polyfit": lambda a: np.polyfit(a.v, a.v * 2, 1),
    "polyint": lambda a: np.polyint(a.v),
    "polyval": lambda a: np.polyval(a.v, a.m),
    "put": lambda a: np.put(a.v, [0], [1.0]),
    "put_along_axis": lambda a: np.put_along_axis(a.m, np.array([[0], [1], [2]]), 1.0, 1),
    "putmask": lambda a: np.putmask(a.v, [True, False, True], [1.0]),
    "quantile": lambda a: np.quantile(a.m, [0.25, 0.5]),
    "ravel_multi_index": lambda a: np.ravel_multi_index((a.n, a.n), (5, 5)),
    "unravel_index": lambda a: np.unravel_index(a.n, (5, 5)),
    "repeat": lambda a: np.repeat(a.m, 2),
    "reshape": lambda a: np.reshape(a.m, (4, 3)),
    "resize": lambda a: np.resize(a.m, (5, 4)),
    "roll": lambda a: np.roll(a.m, 1),
    "rollaxis": lambda a: np.rollaxis(a.c, 2),
    "roots": lambda a: np.roots(a.v),
    "searchsorted": lambda a: np.searchsorted(a.v, [0.3, 0.6]),
    "select": lambda a: np.select([a.v > 0.6, a.v > 0.3], [a.v, a.v * 2], 0.0),
    "split": lambda a: np.split(a.m, 2, axis=1),
    "stack": lambda a: np.stack([a.m, a.m]),
    "swapaxes": lambda a: np.swapaxes(a.c, 0, 2),
    "take": lambda a: np.take(a.m, [0, 2], axis=0),
    "take_along_axis": lambda a: np.take_along_axis(a.m, np.array([[0], [1], [2]]), 1),
    "tensordot": lambda a: np.tensordot(a.m, a.m, ([0], [0])),
    "tile": lambda a: np.tile(a.m, (2, 1)),
    "tril_indices_from": lambda a: np.tril_indices_from(a.q),
    "triu_indices_from": lambda a: np.triu_indices_from(a.q),
    "trim_zeros": lambda a: np.trim_zeros(a.v),
    "vander": lambda a: np.vander(a.v),
    "vsplit": lambda a: np.vsplit(a.c, 2),
    "vstack": lambda a: np.vstack([a.m, a.m]),
    "where": lambda a: np.where(a.v > 0.3, a.v, 0.0),
}
NO_ARRAYS = set(
    "busday_count busday_offset datetime_as_string is_busday isnat save savetxt savez savez_compressed".split()
)
"""Functions of dates and files."""
_INTEGERS = set(
    "bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor gcd invert lcm left_shift right_shift".split()
)
_SECOND = {
    "ldexp": ("v", "n"),
    "matmul": ("q", "q"),
    "matvec": ("q", "v"),
    "vecmat": ("v", "q"),
    "vecdot": ("q", "q"),
}
_ABOVE = {"acosh", "arccosh"}


def of_universal(name: str) -> Call:
    """A call of a universal function."""
    function = getattr(np, name)
    kind = "n" if name in _INTEGERS else "v"
    if name in _ABOVE:
        return lambda a: function(a.v + 1)
    if name in _SECOND:
        return _two(name, *_SECOND[name])
    return _one(name, kind) if function.nin == 1 else _two(name, kind)


def public_functions() -> Iterator[str]:
    """Names of the functions of numpy, numpy.linalg and numpy.fft that take arrays in their protocol."""
    for prefix, module in (("", np), ("linalg.", np.linalg), ("fft.", np.fft)):
        for name in sorted(dir(module)):
            if hasattr(getattr(module, name), "_implementation") and name not in NO_ARRAYS:
                yield f"{prefix}{name}"


def universal_functions() -> list[str]:
    """Names of NumPy's universal functions."""
    return [n for n in sorted(dir(np)) if isinstance(getattr(np, n), np.ufunc) and n not in NO_ARRAYS]


def given(make: Callable[[np.ndarray], Any]) -> SimpleNamespace:
    """The arrays of the calls as `make` makes them, each of a copy."""
    return SimpleNamespace(**{name: make(a.copy()) for name, a in ARRAYS.items()})
