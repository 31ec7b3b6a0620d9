"""Workers that are started while a large network is captured, where it will be compiled anew.

A capture makes the programs of its operators, which the disk cache keeps. One that is not there says
that the network was not compiled before, long before its own key is known. So the workers that lower
and compile it (`compiler.parallel_compile`) load what they need meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING

from texpr.compiler.operator_records import watched
from texpr.support.errors import Error
from texpr.support.late import late
from texpr.support.options import current

if TYPE_CHECKING:
    from texpr.compiler import parallel_compile
    from texpr.runtime.process import worker
else:
    parallel_compile = late("texpr.compiler.parallel_compile")
    worker = late("texpr.runtime.process.worker")

LARGE = 24
"""Variables of a network from which on a worker will lower its program, most likely."""
TIMEOUT = 60.0
"""Seconds after which a worker that loads is killed."""
_LOWERING = (
    "texpr.graph.execution.compile",
    "texpr.graph.fusion.batch_parts",
    "texpr.graph.fusion.materialize",
    "texpr.graph.fusion.operand_transposes",
    "texpr.graph.fusion.winograd",
)
_loading: list[threading.Thread] = []


@contextmanager
def capturing(variables: int) -> Iterator[None]:
    """A block that captures a network with so many variables."""
    options = current()
    if variables < LARGE or options.threads == 1 or options.device != "cpu":
        yield
        return
    with watched(lambda: _start(variables)):
        yield


def _start(variables: int) -> None:
    if _loading or not parallel_compile.hands_over():
        return
    thread = threading.Thread(target=_load_in_worker, daemon=True)
    _loading.append(thread)
    thread.start()
    parallel_compile.start_workers(variables // 2)  # a layer has two, and one kernel at least


def _load_in_worker() -> None:
    with suppress(Error, AssertionError, OSError):
        worker.run_in_child(f"{__name__}:load", timeout=TIMEOUT)


def load() -> None:
    """Load what lowers programs, in a worker."""
    for name in _LOWERING:
        import_module(name)


def are_started() -> bool:
    """True if workers were started before; the one that lowers is ready then."""
    threads, _loading[:] = _loading[:], []
    for thread in threads:
        thread.join()
    return bool(threads)
