"""Several kernels compiled at once by worker processes; the disk cache hands their code over.

Steps and proofs are Python and isl, which run on one core of a process, so the others are processes
(`runtime.process.worker`). A worker starts in half a second: it is worth that for some kernels,
which this process then compiles too. Many kernels, and those for which a worker waits already, are
left to workers alone, so that this process has neither LLVM nor isl in its memory (ADR 43). One
that a worker cannot compile is compiled here, where its error is raised.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import fields as fields_of
from importlib import import_module
from pathlib import Path
from typing import Any

from texpr.compiler import kernel_cache
from texpr.compiler.kernels.compiled_kernel import CompiledKernel
from texpr.compiler.op import op
from texpr.compiler.scheduled_kernels import automatic, compiled_again
from texpr.ir.json.program import Decoder, Encoder
from texpr.runtime import disk_cache
from texpr.runtime.native import native_library
from texpr.runtime.process.worker import run_in_child, waiting
from texpr.support.errors import Error, ResourceError
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import Options, current, options, remembered

KERNELS_OF_A_WORKER = 6
"""Kernels to compile, from which on a worker is started: they take as long as its start."""
MANY = 16
"""Kernels to compile, from which on this process compiles none."""
MOST_WORKERS = 8
"""Workers at once: each has LLVM and isl in its memory."""
PRACTICE = """op practice(X: f32[32, 64], W: f32[64, 32]) -> Y: f32[32, 32] {
  Y[i, j] = max(0, sum(k: X[i, k] * W[k, j]))
}"""
"""The kernel that a worker compiles while it waits for its first one."""
TIMEOUT = 600.0
"""Seconds after which a worker that compiles a kernel is killed."""
_COMPILING = (
    "texpr.autoschedule.driver",
    "texpr.compiler.kernels.native_compilation",
    "texpr.poly.certificate.certify",
)
_SENT = tuple(f.name for f in fields_of(Options) if f.name not in ("device", "print", "verify", "guard"))
"""Options that a worker gets; with the others there is no disk cache, or they do not concern it."""


@frozen
class _Request:
    """A kernel that is to be compiled, its key in the disk cache, and the options for it."""

    kernel: CompiledKernel
    key: str
    chosen: Mapping[str, Any]

    def arguments(self) -> tuple[object, ...]:
        """The arguments of `compile_in_worker`.

        Raises:
            ValueError: the program cannot be sent.
        """
        kernel, encoder = self.kernel, Encoder()
        item = encoder.item((kernel.program, tuple(kernel.sizes.items())))
        text = json.dumps([encoder.rows, item])
        overwriting = kernel.native.overwriting
        return text, kernel.target.name, kernel.schedule_text, overwriting, self.key, self.chosen


def compile_all(kernels: Iterable[CompiledKernel]) -> None:
    """Make the code of kernels that are neither in this process nor on disk, if they are some, with
    as many processes as the option `threads` says.

    Raises:
        Error: that of a kernel.
    """
    if not hands_over():
        return
    found = (_request(kernel) for kernel in dict.fromkeys(kernels))
    # Workers take the last ones first: the longest, so that none of these is alone at the end.
    queue = deque(sorted((r for r in found if r is not None), key=lambda r: len(r.kernel.program.equations)))
    started = min(waiting(), len(queue))
    alone = started > 0 or len(queue) >= MANY
    worth = max(len(queue) // KERNELS_OF_A_WORKER + (started > 0), started)
    workers = min(current().threads - (not alone), worth, MOST_WORKERS)
    if workers < 1:
        return
    threads = [threading.Thread(target=_feed, args=(queue,), daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads if alone else ():
            thread.join()
        while (request := _take(queue, 0)) is not None:
            request.kernel.native.built  # noqa: B018
    finally:
        queue.clear()
        for thread in threads:
            thread.join()


def hands_over() -> bool:
    """True if the disk cache can hand over what a worker makes: it is there, and nothing failed to
    be stored.
    """
    return kernel_cache.usable() and not disk_cache.shared().problem


def start_workers(kernels: int) -> None:
    """Start the workers for so many kernels but one, which is busy; they load what they need while
    this process goes on.
    """
    chosen = options_to_send()
    for _ in range(min(current().threads, kernels // KERNELS_OF_A_WORKER, MOST_WORKERS) - 1):
        threading.Thread(target=_start, args=(chosen,), daemon=True).start()


def _start(chosen: Mapping[str, Any]) -> None:
    with suppress(Error, AssertionError, OSError):
        run_in_child(f"{__name__}:practise", chosen, timeout=TIMEOUT)


def practise(chosen: Mapping[str, Any]) -> None:
    """Prepare a worker that has nothing else to do yet: the first kernel of a process takes three
    times as long as the next one, since parts of it are loaded late. This one is kept nowhere.
    """
    prepare_worker(chosen)
    with received_options(chosen), options(cache_dir=None):
        automatic(op(PRACTICE).program(), {}).overwriting().native.built  # noqa: B018


def prepare_worker(chosen: Mapping[str, Any]) -> None:
    """Load what compiles kernels, and have the native library in the disk cache."""
    for name in _COMPILING:
        import_module(name)
    with received_options(chosen):
        native_library.symbols()


def _take(queue: deque[_Request], end: int) -> _Request | None:
    """A request from one of the ends of the queue; None if it is empty."""
    try:
        return queue.popleft() if end == 0 else queue.pop()
    except IndexError:
        return None


def _feed(queue: deque[_Request]) -> None:
    """Let a worker compile kernels of the queue, up to the first that fails there. That one is left
    to the process that needs it.
    """
    while (request := _take(queue, -1)) is not None:
        try:
            run_in_child(f"{__name__}:compile_in_worker", *request.arguments(), timeout=TIMEOUT)
        except (Error, AssertionError, OSError, ValueError):
            return


def _request(kernel: CompiledKernel) -> _Request | None:
    """The request for a kernel; None where its code is there, or is not to be on disk."""
    key = kernel.native.missing_key()
    if not key:
        return None
    with remembered(kernel.asked_with):
        return _Request(kernel, key, options_to_send())


def options_to_send() -> dict[str, Any]:
    """The options of now, as JSON values, for `received_options` in a worker."""
    chosen = {name: getattr(current(), name) for name in _SENT}
    return chosen | {"cache_dir": str(chosen["cache_dir"]), "disable": list(chosen["disable"])}


def received_options(chosen: Mapping[str, Any]) -> AbstractContextManager[object]:
    """A with-block of the options that `options_to_send` gave."""
    return options(**{**chosen, "cache_dir": Path(chosen["cache_dir"])})


def compile_in_worker(
    text: str, target: str, schedule: str, overwriting: bool, key: str, chosen: Mapping[str, Any]
) -> None:
    """Compile a kernel and keep its code in the disk cache.

    Args:
        text: JSON of the program and its sizes.
        schedule: as `CompiledKernel.schedule_text`.
        overwriting: made for callers who place its arrays.
        key: in the disk cache.
        chosen: options.
    Raises:
        ResourceError: the disk cache does not keep it.
    """
    rows, item = json.loads(text)
    program, sizes = Decoder(rows).item(item)  # type: ignore[misc]
    with received_options(chosen):
        kernel = compiled_again(program, dict(sizes), target, schedule, None)
        native = (kernel.overwriting() if overwriting else kernel).native
        built = native.built
        if native.key != key:
            kernel_cache.keep(key, built)
        if not hands_over():
            raise ResourceError(f"the disk cache keeps nothing: {disk_cache.shared().problem}")
