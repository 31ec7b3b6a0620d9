"""`cache_write`: a buffer for what an iteration of a loop writes, written out behind its body."""

from __future__ import annotations

from collections.abc import Sequence

from texpr import poly
from texpr.ir.expr import Tensor, Var
from texpr.ir.loop import Kernel, Stmt
from texpr.ir.traverse import tensors
from texpr.schedule.legality.independence import check_inside, check_moved
from texpr.schedule.legality.refusal import refused
from texpr.schedule.steps.buffers.cached_box import Box, box_of, through_buffer, user_of, with_body
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import span_of, stores
from texpr.schedule.structure.tensors import find_tensor
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step(order_of_sums="kept")
def cache_write(
    kernel: Kernel, tensor: str, loop: str | Var, *, name: str | None = None, out: bool = True
) -> Kernel:
    """Collect what an iteration of `loop` writes of `tensor` in a buffer, and write it out behind
    the loop's body.

    for i: for k: for j: s[i, j] += f   ->   for i: { for d0: t[d0] = s[i, d0];  for k: for j: t[j] += f;  for d0: s[i, d0] = t[d0] }

    Where the iteration itself writes every element before it is used (a reduction that starts
    here), nothing is copied in. Sums are accumulated in the same order as before. Legal if no
    concurrent iterations write one element. An intermediate
    that nothing else uses is replaced by the buffer. Of several loops of that name, the longest
    that updates the tensor, else that writes it. cache_write, register tiling, scalar replacement
    elsewhere.

    Args:
        name: of the buffer; `s_tile` unless given.
        out: False to write nothing out, which is legal where nobody reads it later.
    Raises:
        ScheduleError: nothing under the loop writes the tensor, iterations that run at once would
            write one element, or what is not written out is read later.
    Example:
        op = tx.op('''op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {
          C[i, j] = sum(k: A[i, k] * B[k, j])
        }''')
        s = tx.schedule(op, N=64).split("j", 16).reorder("i", "jo", "k", "ji")
        s.cache_write("C", "jo")
    Refused:
        tx.schedule(op).cache_write("C", "C.i", out=False)
    Elsewhere: Halide `in`; TVM `cache_write`; Exo `stage_mem`; MLIR `transform.structured.promote`.
    """
    t = find_tensor(kernel, tensor)
    box = box_of(kernel, t, user_of(kernel, t, loop, "write"), name or f"{tensor}_tile", "write")
    if not isinstance(out, bool):
        raise ScheduleError(
            f"`out` is True or False, not {out!r}", span_of(kernel, box.chain[-1]), code="cache"
        )
    body, back = through_buffer(box, None, writes=True), box.copy_out()
    after = with_body(box, (*body, *back))
    if not poly.flow_stays_within(after, box.buffer, box.chain):
        body = (*box.copy_in(None), *body)
        after = with_body(box, (*body, *back))
    if not _used(alone := with_body(box, body), box.tensor):
        after = replace(alone, temporaries=tuple(t for t in alone.temporaries if t is not box.tensor))
    elif not out:
        _check_unread(box, after, alone, back)
        after = alone
    check_moved(kernel, after, "cache_write")
    check_inside(after, box.chain[-1:], "cache_write")
    return after


def _check_unread(box: Box, after: Kernel, alone: Kernel, back: Sequence[Stmt]) -> None:
    """Raise ScheduleError if the caller, or what runs later, reads what the buffer would be
    copied to.
    """
    t, at = box.tensor, box.chain[-1]
    help = "leave `out=False` away, and it is written out"
    if t in after.outputs:
        raise ScheduleError(
            f"cache_write of {t.name} at `{at.var.name}` would not write it out, and the caller gets it",
            span_of(box.kernel, at),
            code="cache",
            help=help,
        )
    for store in (s for n in back for s in stores(n)):
        conflict = poly.later_read(after, store)
        if conflict is not None:
            raise refused(
                after,
                f"cache_write of {t.name} at `{at.var.name}` would not write out what is read later",
                conflict,
                "the second one would not find it",
                help=help,
                after=alone,
            )


def _used(kernel: Kernel, tensor: Tensor) -> bool:
    """True if anything uses the tensor, the caller included."""
    return tensor in kernel.outputs or tensor in tensors(*kernel.body)
