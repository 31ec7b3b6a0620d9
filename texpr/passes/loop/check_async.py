"""Asynchronous copies and products, once it is proven that they arrive in time."""

from __future__ import annotations

from texpr import poly
from texpr.ir.loop import Kernel, Store, is_bulk
from texpr.ir.machine import Machine
from texpr.ir.printing.loop import source_kernel
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import statements
from texpr.poly import Unproven
from texpr.support.errors import CompileError, ScheduleError

_SAYS = {
    "source": "this nest writes what it copies to {} asynchronously",
    "place": "not every thread is known to come to this as often as all others, and copies to {} are counted "
    "by it",
    "arrival": "copies to {} are not proven to have arrived here: no wait in front of it covers them",
    "barrier": "copies to {} by other threads are not proven to have arrived here: there is no barrier "
    "behind the wait",
    "uncounted": "not every thread is known to come to this as often as all others, and products for {} are "
    "counted by it",
    "unfinished": "products for {} are not proven to be done here: no wait for products in front of it "
    "covers them",
    "operand": "products for {} read what this overwrites, and are not proven to be done: no barrier behind "
    "a wait for them is in front",
    "mixed": "bulk copies and copies of threads are begun together, here and to {}",
    "counter": "this is not proven to be of the counter that its group has, of copies to {}",
    "bytes": "the bytes that this expects are not proven to be those that the copies to {} and others before "
    "it bring",
    "phase": "this waits for a phase that is not proven to be that of its group, of copies to {}",
    "turn": "not all threads are proven to have waited for the last group of this counter, which tells of "
    "copies to {}",
    "left": "copies to {} may be under way when their block ends: no wait is known to be for this one",
    "apart": "blocks of a cluster are not proven to copy the same to {} here, and order it together",
    "uneven": "not every block of a cluster is known to come to this as often as all others, and copies to "
    "{} are ordered by all",
    "overwritten": "a copy to {} is not proven to begin after this: there is no barrier between",
}


_HELPS = {
    "place": 'conditions stand around it where a loop was cut with tail="guard": "pad" and "exact" leave '
    "none, nor do loops over threads",
    "apart": "multicast what does not depend on the loop of the cluster, nor on data; conditions and loops "
    "around it, too",
    "uneven": "loops around what blocks of a cluster copy together have as many iterations in all of them, "
    "under no condition",
}


def check_arrivals(kernel: Kernel) -> Kernel:
    """The kernel itself, once its asynchronous copies are proven to arrive before they are read and
    to overwrite nothing wanted, and its asynchronous products to be done where their sums are used
    or their operands overwritten.

    Raises:
        ScheduleError: they are not, with the statement that comes too early.
    """
    found = poly.unproven_copy(kernel) or poly.unproven_product(kernel)
    if found is not None:
        raise refused(kernel, found)
    return kernel


def refused(kernel: Kernel, found: Unproven) -> ScheduleError:
    """The error for what is not proven."""
    source, places = source_kernel(kernel)
    does = "copied by" if found.copy.update is None else "begun by"
    step = (
        "pipeline(..., asynchronous=True) places"
        if found.copy.update is None
        else "async_mma and commit_mma_group place"
    )
    notes = [f"{does}: {places[id(found.copy)].text.strip()}"] if found.copy is not found.statement else []
    help = _HELPS.get(found.kind, f"{step} waits and barriers; steps after it must leave them where they are")
    return ScheduleError(
        _SAYS[found.kind].format(found.copy.tensor.name),
        places[id(found.statement)],
        code="arrival",
        notes=notes,
        help=help,
    )


def check_asynchronous(kernel: Kernel, machine: Machine) -> Kernel:
    """The kernel itself, once the machine is known to copy asynchronously if the kernel does. CPUs
    finish copies where they stand.

    Raises:
        CompileError: it is a GPU that does not.
    """
    if machine.gpu_threads and not machine.has_async_copy:
        copy = next((n for n in statements(kernel) if isinstance(n, Store) and n.mode is ASYNCHRONOUS), None)
        if copy is not None:
            raise CompileError(
                f"this target has no asynchronous copies, and {copy.tensor.name} is filled by them",
                code="target",
                help="newer processors have them; pipeline without asynchronous=True runs anywhere",
            )
    box = next((n for n in statements(kernel) if is_bulk(n)), None)
    if box is not None and machine.gpu_threads and not machine.has_bulk_copy:
        raise CompileError(
            f"this target has no bulk copies, and the loop `{box.var.name}` is one",
            code="target",
            help="newer processors have them; leave `bulk_copy` out of the script",
        )
    return kernel
