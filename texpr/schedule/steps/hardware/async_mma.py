"""`async_mma`: products that are begun and waited for later, so that the next ones queue behind
them.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.expr import Node, Var
from texpr.ir.instructions import INSTRUCTIONS
from texpr.ir.loop import (
    Barrier,
    CommitProducts,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    WaitProducts,
    instruction_of,
    is_block,
)
from texpr.ir.loop_kind import InstructionNest
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import rewrite, statements
from texpr.passes.loop.check_async import check_arrivals
from texpr.schedule.steps.placement.producer import replaced
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, path_to, qualified, span_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

MOST_GROUPS = 7


@step("in_flight")
def async_mma(kernel: Kernel, loop: str | Var, groups: int = 0) -> Kernel:
    """Begin the products of each iteration together, and wait for them in front of the barrier
    `groups` iterations after the next one.

    for k in 0..n: { wait 1; barrier; copies; commit; C += A[k % 4] * B[k % 4] }
    ->   for k in 0..n: { wait 1; wait 1 products; barrier; copies; commit; C += A[k % 4] * B[k % 4]  asynchronous; commit products }
         wait 0 products

    Where the loop runs again and again, there are such waits in front of the barrier before it and
    behind the loops around it, which have nothing to wait for: no proof looks into the last
    iteration of a loop.

    Threads go on, and may begin the next products and copies, while these are under way. In a loop
    without barriers the wait is its last statement. Legal if sums are done where they are used,
    and each operand is overwritten behind the products that read it; both are proven of the result.
    With one group in flight, copies run `depth - 2` iterations ahead (`pipeline(k, depth,
    asynchronous=True, lead=depth - 2)`).

    Args:
        groups: how many iterations' products are still under way where the next iteration may
            overwrite operands, 0 to 7.
    Raises:
        ScheduleError: the loop has no products that can be begun, or it is not proven that they are
            done in time.
    Source: Lam, Software Pipelining: An Effective Scheduling Technique for VLIW Machines, PLDI
    1988.
    Example:
        op = tx.op('''op linear(A: bf16[64, 256], B: bf16[64, 256]) -> C: f32[64, 64] {
          C[i, j] = sum(k: f32(A[i, k]) * f32(B[j, k]))
        }''')
        s = tx.schedule(op).split("i", 64).split("k", 64).split("ki", 16)
        s.reorder("io", "ko", "kio", "ii", "j", "kii").set_scope("C_acc", "register")
        for name in ("A", "B"):
            s.cache_read(name, "ko").set_scope(f"{name}_cache", "shared")
            s.swizzle(f"{name}_cache", 8, 8, 64)
        s.bind("io", "block.x").tensorize("ii", "zero_wgmma_n64").tensorize("ii", "store_wgmma_n64")
        s.tensorize("ii", "wgmma_bf16_n64", reassoc=True)
        s.pipeline("ko", 3, asynchronous=True, lead=1)
        s.async_mma("ko", 1)
    Refused:
        tx.schedule(op).async_mma("k")
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    if not isinstance(groups, int) or isinstance(groups, bool) or not 0 <= groups <= MOST_GROUPS:
        raise ScheduleError(
            f"products of 0 to {MOST_GROUPS} iterations are in flight, not {groups!r}", code="async_mma"
        )
    found = find_loops(kernel, loop)
    after = kernel
    for old in found:
        after = _issue_products(after, old, groups)
    if after is kernel:
        raise no_products_error(kernel, found[0])
    return check_arrivals(after)


def no_products_error(kernel: Kernel, loop: For, step: str = "async_mma") -> ScheduleError:
    """The error of a loop without products that can be begun."""
    return ScheduleError(
        f"no iteration of `{qualified(loop)}` runs products that can be begun and waited for",
        span_of(kernel, loop),
        code=step,
        help='tensorize(..., "wgmma_bf16_n64", reassoc=True) makes such products',
    )


def _issue_products(kernel: Kernel, loop: For, groups: int) -> Kernel:
    """The loop of a kernel with its products begun; the kernel itself if there are none, as in
    what fills buffers before a loop.
    """
    *around, old = path_to(kernel, loop)
    assert isinstance(old, For)
    marked = tuple(rewrite(s, as_asynchronous) for s in old.body)
    if all(a is b for a, b in zip(marked, old.body)):
        return kernel
    main = replace(old, body=_waiting([*marked, CommitProducts()], WaitProducts(groups)))
    body = around[-1].body if around else kernel.body
    meeting = [s for s in body[: body.index(old)] if isinstance(s, Barrier)][-1:]
    after = replaced(
        kernel,
        around,
        (old, *meeting),
        {id(old): (main, WaitProducts(0)), **{id(s): (WaitProducts(0), s) for s in meeting}},
    )
    return with_waits_behind(after, around)


def with_waits_behind(kernel: Kernel, around: Sequence[For | If]) -> Kernel:
    """A wait behind each loop that runs the products again and again: what stands behind it
    relies on no last iteration.
    """
    for again in reversed([n for n in around if isinstance(n, For) and not is_block(n)]):
        *above, loop = path_to(kernel, again)
        kernel = replaced(kernel, above, (loop,), {id(loop): (loop, WaitProducts(0))})
    return kernel


def _waiting(body: Sequence[Stmt], wait: WaitProducts) -> tuple[Stmt, ...]:
    first = next((k for k, s in enumerate(body) if isinstance(s, Barrier)), len(body))
    return (*body[:first], wait, *body[first:])


def as_asynchronous(node: Node) -> Node | None:
    """An instruction that begins a product, its update asynchronous; None if it is already."""
    if not isinstance(node, For) or not isinstance(node.kind, InstructionNest):
        return None
    if not INSTRUCTIONS[instruction_of(node)].asynchronous:
        return None
    if any(isinstance(s, Store) and s.mode is ASYNCHRONOUS for s in statements(node)):
        return None
    return rewrite(node, lambda s: replace(s, mode=ASYNCHRONOUS) if isinstance(s, Store) else None)
