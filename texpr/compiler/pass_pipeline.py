"""The passes between a scheduled kernel and machine code, as visible lists, and the cache around
LLVM.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from itertools import takewhile

import texpr.targets.all_instructions  # noqa: F401  fills the table
from texpr.ir.expr import Var
from texpr.ir.instructions import read_with
from texpr.ir.loop import ExternCall, For, Kernel, Poll
from texpr.ir.loop_kind import PARALLEL
from texpr.ir.printing.loop import show_kernel
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program
from texpr.ir.traverse import statements
from texpr.ir.verifier.program import verify_kernel, verify_program
from texpr.lang import parse_kernel
from texpr.passes import desugar, hoist, inline_calls, lower, specialize
from texpr.passes.analysis.match_nest import check_instructions
from texpr.passes.loop.balance_nested_parallel import share_nests
from texpr.passes.loop.check_async import check_arrivals, check_asynchronous
from texpr.passes.loop.check_capabilities import check_scopes
from texpr.passes.loop.drop_hints import check_hints
from texpr.passes.loop.gather_launches import gather_launches
from texpr.passes.loop.hoist_invariants import invariants_first
from texpr.passes.loop.insert_polls import SHORT, insert_polls, most_work, work
from texpr.passes.loop.legalize_vectors import chunk_vectors
from texpr.passes.loop.place_buffers import place
from texpr.passes.loop.signed_dot_products import offset_signed
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.passes.loop.tighten_bounds import narrow
from texpr.passes.loop.unroll import expand_unrolled
from texpr.passes.loop.unswitch import unswitch
from texpr.passes.math import expand_math
from texpr.passes.tensor.inline_calls import needed
from texpr.poly.certificate import Certificate, certify
from texpr.runtime.call.spec import Duration
from texpr.runtime.disk_cache import shared
from texpr.support.errors import CertificateError, ScheduleError
from texpr.support.instrumentation import run_passes, timed, traced
from texpr.support.options import current
from texpr.targets import Artifact, Target, assembly_of, compile_kernel, emit_llvm, native_object

read_with(parse_kernel)

KernelPass = Callable[[Kernel], Kernel]


TENSOR_PASSES: tuple[Callable[[Program], Program], ...] = (inline_calls, desugar, hoist, needed)
"""Passes of every program before it becomes loops, in order."""


def ready(program: Program) -> Program:
    """The program that is lowered: no calls, no argmax, every reduction an equation of its own."""
    return run_passes("tensor", TENSOR_PASSES, program, show_program, verify_program)


def lowered(program: Program) -> Kernel:
    """The naive loop nest of a program.

    Raises:
        CheckError: the equations have no order.
    """
    with timed("tensor", "lower"):
        kernel = lower(ready(program))
    traced("tensor", "lower", kernel, show_kernel)
    if current().verify:
        verify_kernel(kernel)
    return kernel


def loop_passes(target: Target) -> Sequence[KernelPass]:
    """Passes of every kernel after its schedule, in order."""

    def cut_vectors(kernel: Kernel) -> Kernel:
        return chunk_vectors(kernel, target.machine.vector_bytes or 16)

    def expand_functions(kernel: Kernel) -> Kernel:
        return expand_math(kernel, target.machine.functions, target.machine.fma)

    def written_out(kernel: Kernel) -> Kernel:
        return expand_unrolled(kernel, launches=target.gpu)

    def read_before(kernel: Kernel) -> Kernel:
        return invariants_first(kernel, target.machine.vector_registers // 2)

    def fitting(kernel: Kernel) -> Kernel:
        return check_asynchronous(check_scopes(kernel, target.machine), target.machine)

    common: list[KernelPass] = [
        place,
        offset_signed,
        written_out,
        drop_guards,
        narrow,
        cut_vectors,
        fitting,
        expand_functions,
    ]
    if target.gpu:
        return [place, gather_launches, check_arrivals, *common[1:]]
    common.insert(common.index(cut_vectors), unswitch)
    common.append(read_before)
    return [*common, share_nests, insert_polls] if target.native else common


def certificate(kernel: Kernel, program: Program, sizes: Mapping[Var, int]) -> Certificate:
    """Proof that a kernel, with its temporaries placed and its guards dropped, computes a program
    for these sizes.

    What comes after (writing out unrolled loops, cutting vectors to registers, sharing out nested
    parallel loops, spelling out functions) changes neither which iterations run nor what they use;
    that the result is the interpreter's is tested.

    Raises:
        CertificateError: something is not proven.
    """
    with timed("proof", "certificate"):
        final = _checked(certified_loops(kernel), check_instructions, check_hints, check_arrivals)
        return certify(final, ready(specialize(program, sizes)))


def _checked(kernel: Kernel, *checks: KernelPass) -> Kernel:
    """The kernel after checks of what its marks claim.

    Raises:
        CertificateError: a claim does not hold.
    """
    try:
        for check in checks:
            kernel = check(kernel)
    except ScheduleError as error:
        raise CertificateError(
            error.message, error.span, code=error.code, label=error.label, notes=error.notes, help=error.help
        ) from None
    return kernel


def certified_loops(kernel: Kernel) -> Kernel:
    """The loops that a certificate is about, which code is generated from as well."""
    return narrow(drop_guards(place(kernel)))


def prepared(kernel: Kernel, target: Target) -> Kernel:
    """The kernel as it is emitted.

    Raises:
        CertificateError: a nest is no instance of the instruction that is claimed for it.
    """
    checked = _checked(kernel, check_instructions)
    return run_passes("loop", loop_passes(target), checked, show_kernel, verify_kernel)


def build(kernel: Kernel, target: Target) -> Artifact:
    """Passes and LLVM, without any cache.

    Raises:
        CompileError: the target cannot express the kernel.
    """
    return compile_kernel(prepared(kernel, target), target, alone=not target.native)


def build_alone(kernel: Kernel, target: Target) -> Artifact:
    """As `build`, for code that is linked without texpr: serial loops, the C library's memory."""
    return compile_kernel(prepared(kernel, target), target, alone=True)


TRIVIAL_BODIES = 256
"""Innermost bodies, of a vector each, that are over before another thread could use the GIL.
(NumPy keeps it below 500 elements.)
"""
_SIZES = tuple(1 << k for k in range(25))
"""Of kernels, those that are tried for whether there is little work at them."""


def duration(final: Kernel) -> Duration:
    """Class of a kernel's duration: `interruptible` if it polls for Ctrl-C or waits for other
    threads; otherwise `trivial` if it ends at once, else `short`.
    """
    if any(
        isinstance(n, Poll | ExternCall) or (isinstance(n, For) and n.kind == PARALLEL)
        for n in statements(final)
    ):
        return "interruptible"
    return "trivial" if sum(map(work, final.body)) <= TRIVIAL_BODIES else "short"


def short_up_to(final: Kernel) -> int:
    """The largest size up to which an `interruptible` kernel, as it is emitted, is short: there
    is too little work to interrupt.
    """
    if not final.sizes or any(isinstance(n, ExternCall) for n in statements(final)):
        return 0
    return max(takewhile(lambda largest: most_work(final, largest) < SHORT, _SIZES), default=0)


@contextmanager
def object_code(final: Kernel, target: Target, *, kept: bool) -> Iterator[Callable[[], bytes]]:
    """Object code for this machine of a kernel as it is emitted: LLVM makes it while the block
    runs, what the block gets waits for it.

    Args:
        kept: look for what LLVM made of this text before in the disk cache, and keep it there. Who
            keeps kernels as a whole needs neither.
    """
    with timed("code", "emission"):
        text, _ = emit_llvm(final, target)
    if kept:
        code = _cached(text, target, lambda text, target: native_object(text, target).alone())
        yield lambda: code
        return
    with timed("code", "llvm"):
        making = native_object(text, target)
    with making:
        yield lambda: _waited(making)


def _waited(making: Callable[[], bytes]) -> bytes:
    with timed("code", "llvm"):
        return making()


def assembly(text: str, target: Target) -> str:
    """Code for a GPU's driver, made of a kernel's LLVM IR; from the disk cache where LLVM saw it
    before.
    """
    return _cached(text, target, lambda text, target: assembly_of(text, target).encode()).decode()


def _cached(text: str, target: Target, make: Callable[[str, Target], bytes]) -> bytes:
    store, key = shared(), _key(text, target)
    code = store.get(key)
    if code is None:
        with timed("code", "llvm"):
            code = make(text, target)
        store.put(key, code)
    return code


def _key(text: str, target: Target) -> str:
    """Everything the object code depends on."""
    parts = (text, target.triple, target.cpu, target.features, _llvm())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _llvm() -> str:
    return version("llvmlite")
