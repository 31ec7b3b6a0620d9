"""`set_scope`: where a buffer lives."""

from __future__ import annotations

from texpr.ir.build import integer, product
from texpr.ir.expr import Tensor
from texpr.ir.loop import Kernel
from texpr.ir.printing.expr import show
from texpr.passes.analysis.substitution import over_tensors
from texpr.passes.loop.place_buffers import STACK_BYTES, placed
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.tensors import find_temporary
from texpr.support.errors import ScheduleError

SCOPES = ("stack", "heap", "register", "tile", "shared")


@step("scope", order_of_sums="kept")
def set_scope(kernel: Kernel, tensor: str, where: str) -> Kernel:
    """Say where a buffer lives: `stack`, `heap`, `register`, `tile`, or `shared` by the threads of
    a block.

    set_scope, memory space elsewhere.

    set_scope("C_tile", "register")   let C_tile: f32[8, 32]   ->   let C_tile: f32[8, 32]  register

    Legal wherever a buffer of that size may live; values do not change. Without it, a buffer inside
    loops lives on the stack up to 16 KiB and on the heap above. What counts is the part that one
    iteration of the loops around all its uses needs. The target checks its own limits when the
    kernel is compiled: the bytes of registers and of shared memory, and that registers are not
    indexed by loops that count. A buffer in tiles, registers of 16 rows of 64 bytes, is used by
    instructions that `tensorize` names alone.

    Raises:
        ScheduleError: no such buffer or place, a size that is not constant, or more than 16 KiB of
            stack.
    Example:
        op = tx.op("op rows(X: f32[M, N]) -> y: f32[M] { y[i] = sum(j: X[i, j]) }")
        s = tx.schedule(op)
        s.set_scope("y_acc", "stack")
    Refused:
        s.set_scope("y_acc", "disk")
    Elsewhere: Halide `store_in`; TVM `set_scope`; Exo `set_memory`; MLIR
    `transform.structured.bufferize_to_allocation` (with `memory_space`).
    """
    t = find_temporary(kernel, tensor, "set_scope")
    if where not in SCOPES:
        raise ScheduleError(
            f"a buffer cannot live in {where!r}", code="set_scope", help=f"one of {', '.join(SCOPES)}"
        )
    # A tensor of its own: nodes compare by identity.
    moved = _moved(t, where)
    after = over_tensors(kernel, {t: moved})
    if where != "heap":
        _check_size(after, moved, where)
    return after


def _moved(t: Tensor, where: str) -> Tensor:
    return Tensor(t.name, t.dtype, t.dims, t.value_range, t.distinct, where, t.span)


def _check_size(kernel: Kernel, tensor: Tensor, where: str) -> None:
    found = placed(kernel, tensor)
    if found is None:
        return
    name = tensor.name
    count = integer(product(found.shape))
    if count is None:
        shape = ", ".join(show(n) for n in found.shape)
        raise ScheduleError(
            f"{name} would live in {where} with a size that is not constant: {name}[{shape}]",
            code="set_scope",
            help="give the sizes as constants, or split its loops so that an iteration needs a constant part "
            "of it",
        )
    if where == "stack" and count * found.dtype.bytes > STACK_BYTES:
        raise ScheduleError(
            f"{name} needs {count * found.dtype.bytes} bytes; the stack of a thread has {STACK_BYTES} for a "
            f"buffer",
            code="set_scope",
            help=f'use smaller tiles, or set_scope("{name}", "heap")',
        )
