"""`commit_mma_group`: asynchronous products of all iterations, waited for behind the loop."""

from __future__ import annotations

from texpr.ir.expr import Var
from texpr.ir.loop import CommitProducts, Kernel, WaitProducts
from texpr.ir.traverse import rewrite
from texpr.passes.loop.check_async import check_arrivals
from texpr.schedule.steps.hardware.async_mma import as_asynchronous, no_products_error, with_waits_behind
from texpr.schedule.steps.placement.producer import replaced
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, path_to


@step("together")
def commit_mma_group(kernel: Kernel, loop: str | Var) -> Kernel:
    """Begin the products of all iterations of a loop together, and wait for them behind it.

    for k in 0..n: C += A[k] * B[k]   ->   for k in 0..n: C += A[k] * B[k]  asynchronous
                                           commit products
                                           wait 0 products

    Legal if no iteration uses the result of another one before the wait. As behind `async_mma`,
    waits with nothing to wait for stand behind loops around.

    Raises:
        ScheduleError: the loop has no products that can be begun, or iterations use what these
            leave.
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
        s.pipeline("ko", 2, asynchronous=True)
        s.commit_mma_group("kio")
    Refused:
        tx.schedule(op).commit_mma_group("k")
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    found = find_loops(kernel, loop)
    after = kernel
    for old in found:
        *around, main = path_to(after, old)
        marked = rewrite(main, as_asynchronous)
        if marked is not main:
            after = replaced(after, around, (main,), {id(main): (marked, CommitProducts(), WaitProducts(0))})  # type: ignore[arg-type]
            after = with_waits_behind(after, around)
    if after is kernel:
        raise no_products_error(kernel, found[0], "commit_mma_group")
    return check_arrivals(after)
