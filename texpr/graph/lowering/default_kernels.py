"""Compiled kernels for programs at given sizes: each is compiled once per process, whoever asks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Set
from functools import lru_cache

from texpr.compiler import CompiledKernel
from texpr.compiler.op import default_kernel
from texpr.compiler.scheduled_kernels import automatic
from texpr.ir.build import integer
from texpr.ir.expr import Var
from texpr.ir.tensor import Program
from texpr.ir.traverse import equal
from texpr.support.forks import held_over_forks
from texpr.support.options import current

_known: dict[tuple[object, ...], list[Program]] = {}
_lock = held_over_forks(threading.RLock())


def kernel_for(
    program: Program, sizes: Mapping[Var, int], constants: Set[str] = frozenset(), target: str = "native"
) -> CompiledKernel:
    """The default kernel of `program` for these sizes and a target; sizes that are not given stay
    symbolic.

    Programs that are equal without being the same object (gradients that were derived twice) share
    a kernel.

    Args:
        constants: names of inputs that have the same values from call to call.
    """
    with _lock:
        return _compiled(
            _representative(program),
            tuple(sizes.get(v) for v in program.sizes),
            frozenset(constants),
            target,
            (current().tf32, current().fma),
        )


@lru_cache(maxsize=4096)
def _compiled(
    program: Program,
    numbers: tuple[int | None, ...],
    constants: frozenset[str],
    target: str,
    permitted: tuple[bool, ...],
) -> CompiledKernel:
    sizes = {v: n for v, n in zip(program.sizes, numbers) if n is not None}
    return (
        default_kernel(program, sizes, constants).overwriting()
        if target == "native"
        else automatic(program, sizes, target)
    )


def signature(program: Program) -> tuple[object, ...]:
    """The same for equal programs: names, dtypes and extents of inputs and outputs."""
    return (
        program.name,
        tuple((t.name, t.dtype, *map(integer, t.shape)) for t in (*program.inputs, *program.outputs)),
        tuple(v.name for v in program.sizes),
    )


@lru_cache(maxsize=4096)
def _representative(program: Program) -> Program:
    """The first program that was equal to this one."""
    same = _known.setdefault(signature(program), [])
    found = next((p for p in same if equal(p, program)), None)
    if found is None:
        same.append(program)
    return found or program
