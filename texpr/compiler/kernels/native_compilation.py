"""Object code of scheduled loops for this process: compiled while the loops are certified."""

from __future__ import annotations

from collections.abc import Callable

from texpr.compiler import kernel_cache, pass_pipeline
from texpr.compiler.kernel_cache import Built
from texpr.compiler.kernels.aliasing import overwritten
from texpr.compiler.kernels.certified import CertifiedLoops
from texpr.compiler.kernels.extern_functions import externs_of
from texpr.compiler.kernels.prepacking import packed_inputs, prepacked_bytes, with_prepacking
from texpr.compiler.kernels.workspace import is_self_contained, scratch_bytes, with_scratch
from texpr.ir.loop import Kernel
from texpr.support.errors import CertificateError
from texpr.support.frozen_dataclass import replace
from texpr.support.options import current


def compiled(loops: CertifiedLoops, overwriting: bool, *, kept: bool) -> Built | None:
    """The code of certified loops, and what calls have to know; None where the loops were left for
    others meanwhile.

    Args:
        overwriting: for callers who place the arrays and give memory.
        kept: as `pass_pipeline.object_code` has it.
    Raises:
        ScheduleError: they are not certified, or a step of their schedule is refused.
        CompileError: LLVM failed.
    """
    try:
        return _compiled(loops, overwriting, kept=kept)
    except Exception:  # of any class: loops that keep no dependences may end every pass
        if not loops.is_presumed:
            raise
        loops.doubt()
        return None


def _compiled(loops: CertifiedLoops, overwriting: bool, *, kept: bool) -> Built | None:
    kernel, target = loops.kernel, loops.target
    over = overwritten(pass_pipeline.certified_loops(kernel)) if overwriting else ()
    try:
        final = replace(pass_pipeline.prepared(kernel, target), overwrites=over)
    except CertificateError:
        loops.certificate  # noqa: B018 leaves default schedules for plainer ones
        if loops.kernel is kernel:
            raise
        return None
    if overwriting and not current().guard:
        final = with_scratch(with_prepacking(final, loops.constants))
    with pass_pipeline.object_code(final, target, kept=kept) as code:
        certificate = loops.prove()
        if loops.kernel is not kernel:
            return None
        return _built(kernel, final, code, certificate, loops)


def _built(
    kernel: Kernel, final: Kernel, code: Callable[[], bytes], certificate: str, loops: CertifiedLoops
) -> Built:
    """The record of compiled loops. Its facts are found before the code is waited for.

    Args:
        final: the loops as they were emitted.
        code: waits for LLVM.
    """
    facts = (
        kernel_cache.buffers_of(kernel.temporaries),
        pass_pipeline.duration(final),
        pass_pipeline.short_up_to(final),
        bool(externs_of(kernel)),
        final.overwrites,
        is_self_contained(final),
        scratch_bytes(final),
        prepacked_bytes(final),
        packed_inputs(final),
    )
    return Built(code(), certificate, *facts, loops.fallback)
