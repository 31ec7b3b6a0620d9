"""Calls of kernels whose code does not run in this process on the caller's arrays: on devices,
in emulators, by a target's loader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from texpr.compiler.call_checks import check_requirements, input_checks, refuse_far
from texpr.compiler.kernels.certified import CertifiedLoops
from texpr.compiler.kernels.device_code import DeviceCode
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor, Var
from texpr.ir.shapes import bind_sizes, caller_shape, flat_shape
from texpr.ir.tensor import Program
from texpr.runtime import gpu
from texpr.support.errors import CallError
from texpr.support.options import current

Run = Callable[[Sequence[np.ndarray], Sequence[np.ndarray], Mapping[Var, int]], None]
"""Runs code on inputs and outputs in the kernel's flat shapes, at these symbolic sizes."""


def call_foreign(kernel: CertifiedLoops, run: Run, *arrays: object, out: object = None) -> object:
    """Run foreign code over copies of the arrays in the kernel's flat shapes; arrays of a device
    run it there.

    Raises:
        CallError: arrays that do not fit.
    """
    for array in arrays if kernel.target.gpu else ():
        handler = getattr(type(array), "__texpr_kernel__", None)
        if handler is not None and (results := handler(array, kernel, arrays, out)) is not NotImplemented:
            return results
    program = kernel.program
    given = input_arrays(program, arrays, {})
    sizes, packs = bind_sizes(program.inputs, tuple(a.shape for a in given))
    check_requirements(kernel.name, program.requires, sizes)
    refuse_far(program, sizes)
    for check in input_checks(program.inputs, sizes):
        check(given, {})
    inputs = [
        np.ascontiguousarray(_of_dtype(t, a)).reshape(flat_shape(t, sizes))
        for t, a in zip(program.inputs, given)
    ]
    outputs = [np.empty(flat_shape(t, sizes), numpy_dtype(t.dtype)) for t in program.outputs]
    run(inputs, outputs, {v: sizes[v] for v in kernel.symbolic})
    opened = [o.reshape(caller_shape(t, sizes, packs)) for t, o in zip(program.outputs, outputs)]
    wanted = out if isinstance(out, tuple) else () if out is None else (out,)
    for target, result in zip((*arrays[len(given) :], *wanted), opened):
        np.copyto(target, result, casting="no")  # type: ignore[arg-type]
    return opened[0] if len(opened) == 1 else tuple(opened)


def run_over_copies(
    code: DeviceCode, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], sizes: Mapping[Var, int]
) -> None:
    """Run on the device of the options, or the first one, over copies of the arrays."""
    device = gpu.find_device(current().device) or gpu.find_device(gpu.DEFAULT)
    assert device is not None
    made = [gpu.empty(device, a.shape, a.dtype) for a in outputs]
    code.bound(device, [*(gpu.to_device(device, a) for a in inputs), *made], sizes)(device.stream)
    for array, result in zip(outputs, made):
        np.copyto(array, result.numpy())


def input_arrays(
    program: Program, arrays: tuple[object, ...], options: Mapping[str, object]
) -> list[np.ndarray]:
    """The inputs of a call, by position or by name.

    Raises:
        CallError: one is missing.
    """
    names = [t.name for t in program.inputs]
    given = list(arrays[: len(names)]) + [options[n] for n in names[len(arrays) :] if n in options]
    if len(given) < len(names):
        missing = next(n for n in names[len(arrays) :] if n not in options)
        raise CallError(
            f"{program.name} takes {len(names)} arrays ({', '.join(names)}), {len(given)} were given",
            code="arguments",
            help=f"where {missing} has a default, tx.schedule(op, {missing}=None) makes a kernel without it",
        )
    return [np.asarray(a) for a in given]


def _of_dtype(tensor: Tensor, array: np.ndarray) -> np.ndarray:
    """The array in native byte order; its dtype must be the tensor's."""
    wanted = numpy_dtype(tensor.dtype)
    if array.dtype.newbyteorder("=") != wanted:
        raise CallError(
            f"`{tensor.name}` is {array.dtype}, expected {wanted}",
            code="dtype",
            help=f"use {tensor.name}.astype({wanted})",
        )
    return array.astype(wanted, copy=False)
