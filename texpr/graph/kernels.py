"""Compiled kernels for programs at given sizes: each is compiled once per process, whoever asks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

from texpr.compiler import CompiledKernel
from texpr.compiler.op import default_kernel
from texpr.ir.expr import Tensor, Var
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal, tensors
from texpr.passes.renew import over_tensors

_known: dict[tuple[object, ...], list[Program]] = {}
_lock = threading.RLock()


def kernel_for(program: Program, sizes: Mapping[Var, int]) -> CompiledKernel:
    """The default kernel of `program` for these sizes.

    Programs that are equal without being the same object (gradients that were derived twice) share a kernel.
    """
    with _lock:
        return _compiled(_representative(program), tuple(sizes[v] for v in program.sizes))


@lru_cache(maxsize=4096)
def _compiled(program: Program, numbers: tuple[int, ...]) -> CompiledKernel:
    return default_kernel(program, dict(zip(program.sizes, numbers)))


@lru_cache(maxsize=4096)
def _representative(program: Program) -> Program:
    """The first program that was equal to this one."""
    signature = (program.name, tuple((t.name, t.dtype) for t in (*program.inputs, *program.outputs)), tuple(v.name for v in program.sizes))
    same = _known.setdefault(signature, [])
    found = next((p for p in same if equal(p, program)), None)
    if found is None:
        same.append(program)
    return found or program


def alone(equations: Sequence[Equation], name: str) -> tuple[Program, tuple[Tensor, ...]]:
    """Equations of one tensor as a program of their own, and the tensors that are its inputs.

    Its tensors are named by position, so that sums of the same shapes are equal programs.
    """
    target = equations[0].target
    read = tuple(dict.fromkeys(t for e in equations for t in tensors(e.value, *e.indices) if t is not target))
    names = {t: Tensor(f"X{k}", t.dtype, t.dims) for k, t in enumerate(read)} | {target: Tensor("Y", target.dtype, target.dims)}
    program = Program(name, read, (target,), tuple(equations))
    return over_tensors(program, names), read
