"""Compiled kernels for programs at given sizes: each is compiled once per process, whoever asks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from texpr.compiler import CompiledKernel
from texpr.compiler.op import default_kernel
from texpr.ir.expr import Tensor, Var
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal, tensors
from texpr.passes.renew import over_tensors

_Key = tuple[object, ...]
_exact: dict[_Key, CompiledKernel] = {}
_similar: dict[_Key, list[tuple[Program, CompiledKernel]]] = {}
_lock = threading.RLock()


def kernel_for(program: Program, sizes: Mapping[Var, int]) -> CompiledKernel:
    """The default kernel of `program` for these sizes.

    Programs that are equal without being the same object (gradients that were derived twice) share a kernel.
    """
    numbers = tuple(sizes[v] for v in program.sizes)
    with _lock:
        key = (program, numbers)
        if key not in _exact:
            _exact[key] = _like(program, numbers, sizes)
        return _exact[key]


def _like(program: Program, numbers: tuple[int, ...], sizes: Mapping[Var, int]) -> CompiledKernel:
    signature = (program.name, numbers, tuple((t.name, t.dtype) for t in (*program.inputs, *program.outputs)))
    bucket = _similar.setdefault(signature, [])
    for other, kernel in bucket:
        if equal(other, program):
            return kernel
    kernel = default_kernel(program, {v: sizes[v] for v in program.sizes})
    bucket.append((program, kernel))
    return kernel


def alone(equations: Sequence[Equation], name: str) -> tuple[Program, tuple[Tensor, ...]]:
    """Equations of one tensor as a program of their own, and the tensors that are its inputs.

    Its tensors are named by position, so that sums of the same shapes are equal programs.
    """
    target = equations[0].target
    read = tuple(dict.fromkeys(t for e in equations for t in tensors(e.value, *e.indices) if t is not target))
    names = {t: Tensor(f"X{k}", t.dtype, t.dims) for k, t in enumerate(read)} | {target: Tensor("Y", target.dtype, target.dims)}
    program = Program(name, read, (target,), tuple(equations))
    return over_tensors(program, names), read
