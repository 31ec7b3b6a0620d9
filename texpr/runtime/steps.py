"""Kernels with their arrays fixed, for programs that run many kernels again and again on the same memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from texpr.runtime.call import make_runner
from texpr.runtime.spec import Argument, CallSpec

_NO_SIZES = np.empty(0, np.int64)


def bound_kernel(entry: int, name: str, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], keep: object) -> Callable[[], object]:
    """A function without arguments that runs the kernel at address `entry` on these arrays; it keeps them alive.

    Args:
        inputs, outputs: C-contiguous, of the dtypes and extents the kernel was compiled for. An output overlaps nothing else.
        keep: kept alive as well, such as the owner of the code.
    Raises:
        ResourceError: when called, if memory runs out.
        KeyboardInterrupt: when called, and the user presses Ctrl-C.
    """
    arrays = (*inputs, *outputs)
    assert all(a.flags.c_contiguous for a in arrays), f"{name}: an array is not contiguous"
    arguments = tuple(Argument(f"a{k}", a.dtype, a.shape, k >= len(inputs)) for k, a in enumerate(arrays))
    return partial(make_runner(entry, CallSpec(name, arguments), keep), *arrays, _NO_SIZES)
