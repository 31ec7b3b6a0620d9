"""The passes between a scheduled kernel and machine code, as visible lists, and the cache around LLVM."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from texpr.ir.expr import Var
from texpr.ir.instructions import read_with
from texpr.ir.loop import Kernel
from texpr.ir.show_loop import show_kernel
from texpr.ir.show_tensor import show_program
from texpr.ir.tensor import Program
from texpr.ir.verify import verify_kernel, verify_program
from texpr.lang import parse_kernel
from texpr.passes import desugar, hoist, inline_calls, lower, specialize
from texpr.passes.chunk import chunk_vectors
from texpr.passes.guards import drop_guards
from texpr.passes.math import expand_math
from texpr.passes.narrow import narrow
from texpr.passes.place import place
from texpr.passes.polls import insert_polls
from texpr.passes.scopes import check_scopes
from texpr.passes.share import share_nests
from texpr.passes.unroll import expand_unrolled
from texpr.poly.certify import Certificate, certify
from texpr.runtime.cache import DiskCache
from texpr.support.options import current
from texpr.support.trace import run_passes, traced
from texpr.targets import Artifact, Target, compile_kernel, emit_llvm, native_object

read_with(parse_kernel)

KernelPass = Callable[[Kernel], Kernel]


TENSOR_PASSES: tuple[Callable[[Program], Program], ...] = (inline_calls, desugar, hoist)
"""What every program goes through before it becomes loops, in order."""


def ready(program: Program) -> Program:
    """The program that is lowered: no calls, no argmax, every reduction an equation of its own."""
    return run_passes("tensor", TENSOR_PASSES, program, show_program, verify_program)


def lowered(program: Program) -> Kernel:
    """The naive loop nest of a program.

    Raises:
        CheckError: the equations have no order.
    """
    kernel = traced("tensor", "lower", lower(ready(program)), show_kernel)
    if current().verify:
        verify_kernel(kernel)
    return kernel


def loop_passes(target: Target) -> Sequence[KernelPass]:
    """What every kernel goes through after its schedule, in order."""

    def cut_vectors(kernel: Kernel) -> Kernel:
        return chunk_vectors(kernel, target.machine.vector_bytes or 16)

    def expand_functions(kernel: Kernel) -> Kernel:
        return expand_math(kernel, target.machine.functions, target.machine.fma)

    def fitting(kernel: Kernel) -> Kernel:
        return check_scopes(kernel, target.machine)

    common: list[KernelPass] = [place, expand_unrolled, drop_guards, narrow, cut_vectors, fitting, expand_functions]
    return [*common, share_nests, insert_polls] if target.native else common


def certificate(kernel: Kernel, program: Program, sizes: Mapping[Var, int]) -> Certificate:
    """Proof that a kernel, with its temporaries placed and its guards dropped, computes a program for these sizes.

    What comes after (writing out unrolled loops, cutting vectors to registers, sharing out nested parallel loops, spelling out functions)
    changes neither which iterations run nor what they use; that the result is the interpreter's is tested.

    Raises:
        ScheduleError: something is not proven.
    """
    final = kernel
    for each in (place, drop_guards, narrow):
        final = each(final)
    return certify(final, ready(specialize(program, sizes)))


def prepared(kernel: Kernel, target: Target) -> Kernel:
    """The kernel as it is emitted."""
    return run_passes("loop", loop_passes(target), kernel, show_kernel, verify_kernel)


def build(kernel: Kernel, target: Target) -> Artifact:
    """Passes and LLVM, without any cache.

    Raises:
        CompileError: the target cannot express the kernel.
    """
    return compile_kernel(prepared(kernel, target), target, alone=not target.native)


def build_alone(kernel: Kernel, target: Target) -> Artifact:
    """As `build`, for code that is linked without texpr: serial loops, the C library's memory."""
    return compile_kernel(prepared(kernel, target), target, alone=True)


def object_code(kernel: Kernel, target: Target, *, meaning: str = "", prove: Callable[[], bool] = lambda: True) -> bytes:
    """Object code of a kernel for this machine, from the disk cache where it was compiled, and proven, before.

    Args:
        meaning: what must have been proven of code in the cache, if anything.
        prove: called where no such code is there: whether the kernel means that. If it is not proven, code is kept as code of no
            meaning, so that the next process tries again, and warns again.
    """
    text, _ = emit_llvm(prepared(kernel, target), target)
    cache = _cache(str(current().cache_dir or ""))
    key = _key(text, target, meaning)
    code = cache.get(key) if cache is not None else None
    if code is None and not prove() and meaning:
        key = _key(text, target, "")
        code = cache.get(key) if cache is not None else None
    if code is None:
        code = native_object(text, target)
        if cache is not None:
            cache.put(key, code)
    return code


@lru_cache(maxsize=8)
def _cache(directory: str) -> DiskCache | None:
    return DiskCache(directory) if directory else None


def _key(text: str, target: Target, meaning: str) -> str:
    """Everything the object code depends on, and what is known of it."""
    parts = (text, meaning, target.triple, target.cpu, target.features, *_versions())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@lru_cache(maxsize=1)
def _versions() -> tuple[str, ...]:
    found = []
    for package in ("texpr", "llvmlite"):
        try:
            found.append(version(package))
        except PackageNotFoundError:
            found.append("source")
    return tuple(found)
