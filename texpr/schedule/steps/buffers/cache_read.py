"""`cache_read`: a copy of what an iteration of a loop reads, in front of its body."""

from __future__ import annotations

from typing import Any

from texpr import poly
from texpr.ir.dtypes import DTYPES
from texpr.ir.expr import Cast, Const, Node, Read, Select, Tensor, Var, index
from texpr.ir.loop import For, Kernel, Stmt, Store, copy_of
from texpr.ir.traverse import equal, rewrite, statements, tensors, variables, walk
from texpr.passes.analysis.substitution import over_tensors
from texpr.schedule.legality.independence import check_moved
from texpr.schedule.legality.presumption import conflict_of
from texpr.schedule.legality.refusal import refused
from texpr.schedule.steps.buffers.cached_box import (
    Box,
    box_of,
    extents_and_conditions,
    guards_bounds,
    holds_in_box,
    statements_below,
    through_buffer,
    user_of,
    with_body,
)
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, loops_around, replace_loops, span_of
from texpr.schedule.structure.tensors import find_tensor
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step(order_of_sums="kept")
def cache_read(
    kernel: Kernel,
    tensor: str,
    loop: str | Var | None = None,
    *,
    name: str | None = None,
    dtype: str | None = None,
    along: str | Var | None = None,
) -> Kernel:
    """Copy what an iteration of `loop` reads of `tensor` to a buffer, in front of the loop's body,
    and read it there. Without a loop, copy what the kernel reads of an input, in front of all
    loops; other copies of it stay as they are.

    for i: for j: Y[i, j] = f(X[8*i + j])   ->   for i: { for d0: X_cache[d0] = X[8*i + d0];  for j: Y[i, j] = f(X_cache[j]) }

    The buffer holds the box of a tile that no edge clips (`poly.dependence.footprint`); what of it
    lies outside the tensor is not copied, or holds the value that all reads give there (`X[i |
    0]`), which then need no condition. Legal if no iteration reads what it wrote before. Of several
    loops of that name, the longest that reads the tensor. cache_read, packing, staging, local
    memory promotion elsewhere.

    Args:
        name: of the buffer; `X_cache` unless given. The loops of the copy are `X_cache.d0`,
            `X_cache.d1`, ...
        dtype: what every read under the loop is converted to at once: the buffer holds the
            converted elements.
        along: a loop inside: only reads that move with it go to the buffer, so that two operands
            which are one tensor have one each.
    Raises:
        ScheduleError: nothing under the loop reads the tensor (along that loop), an iteration reads
            what it writes, or a read is not converted so; without a loop: the kernel computes the
            tensor.
    Example:
        op = tx.op('''op flip(X: f32[M, N]) -> Y: f32[N, M] {
          Y[j, i] = X[i, j] for j in 0..N, i in 0..M
        }''')
        s = tx.schedule(op, M=64, N=64).tile("j", "i", sizes=(16, 16))
        s.cache_read("X", "io")
    Refused:
        op = tx.op("op running(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + Y[i - 1 | 0] }")
        tx.schedule(op).split("i", 4).cache_read("Y", "io")
    Elsewhere: Halide `in`; TVM `cache_read`; Exo `stage_mem`; MLIR `transform.structured.promote`.
    """
    if loop is None:
        return _of_the_kernel(kernel, tensor, name=name, dtype=dtype, along=along)
    t = find_tensor(kernel, tensor)
    at = user_of(kernel, t, loop, "read")
    seen, read = (kernel, t) if along is None else _apart(kernel, t, at, along)
    box = box_of(seen, read, user_of(seen, read, at.var, "read"), name or f"{tensor}_cache", "read")
    pad = _padding(seen, box)
    if dtype is not None:
        box = _converted(seen, box, dtype)
    after = with_body(box, (*box.copy_in(pad), *through_buffer(box, pad, writes=False)))
    after = after if read is t else replace(over_tensors(after, {read: t}), inputs=kernel.inputs)
    conflict = conflict_of(lambda: poly.read_after_write(kernel, t, (*loops_around(kernel, at), at)))
    if conflict is not None:
        raise refused(
            kernel,
            f"cache_read of {tensor} at `{at.var.name}` would read it too early",
            conflict,
            "the copy would be made before",
            help="cache it at an inner loop",
            after=after,
        )
    check_moved(kernel, after, "cache_read")
    return after


def _of_the_kernel(kernel: Kernel, tensor: str, **options: Any) -> Kernel:
    """`cache_read` in front of all loops: those of an iteration of a loop that has one.

    Raises:
        ScheduleError: the tensor is not an input, nothing reads it, or as `cache_read`.
    """
    t = find_tensor(kernel, tensor)
    copies = tuple(s for s in kernel.body if _copies(s, t))
    others = tuple(s for s in kernel.body if s not in copies)
    if t not in tensors(*others):
        copies, others = (), kernel.body
    if t not in kernel.inputs or t not in tensors(*kernel.body):
        raise ScheduleError(
            f"the kernel {'reads no' if t in kernel.inputs else 'computes'} {t.name}",
            code="cache",
            help="cache_read without a loop copies an input; name a loop for what the kernel computes",
        )
    once = Var("once")
    body = (*copies, For(once, index(1), others, tensor=t.name))
    after = cache_read(replace(kernel, body=body), tensor, once, **options)
    *_, whole = after.body
    assert isinstance(whole, For)
    return replace(after, body=(*copies, *whole.body))


def _copies(s: Stmt, t: Tensor) -> bool:
    """True if a nest is a copy of a tensor that a step has made."""
    made = [copy_of(n) if n.equation < 0 else None for n in statements(s) if isinstance(n, Store)]
    return bool(made) and all(c is not None and c.source.tensor is t for c in made)


def _apart(kernel: Kernel, t: Tensor, at: For, along: str | Var) -> tuple[Kernel, Tensor]:
    """The kernel with a tensor of its own in place of what is read under a loop along another one,
    and that tensor.

    Raises:
        ScheduleError: nothing is read so.
    """
    moving, own = {n.var for n in find_loops(kernel, along)}, replace(t)

    def rule(node: Node) -> Node | None:
        return (
            replace(node, tensor=own)
            if isinstance(node, Read) and node.tensor is t and variables(*node.indices) & moving
            else None
        )

    body = tuple(rewrite(s, rule, kinds=(Read,)) for s in at.body)
    if own not in tensors(*body):
        raise ScheduleError(
            f"nothing under `{at.var.name}` reads {t.name} along `{next(iter(moving)).name}`",
            span_of(kernel, at),
            code="cache",
            help="name a loop whose variable stands in an index, or leave `along` out",
        )
    return replace(
        replace_loops(kernel, [at], lambda n: replace(n, body=body)), inputs=(*kernel.inputs, own)
    ), own


def _converted(kernel: Kernel, box: Box, dtype: str) -> Box:
    """The box with a buffer of another type, to which all its elements are converted where they are
    read.

    Raises:
        ScheduleError: there is no such type, or an element is read as it is.
    """
    wanted = DTYPES.get(dtype) if isinstance(dtype, str) else None
    if wanted is None:
        raise ScheduleError(f"there is no type {dtype!r}", code="cache", help=f"one of {', '.join(DTYPES)}")
    for above, s in statements_below(kernel, box.chain[-1]):
        nodes = list(walk(s, *extents_and_conditions(above)))
        converted = {
            id(n.operand.then if isinstance(n.operand, Select) else n.operand)
            for n in nodes
            if isinstance(n, Cast) and n.dtype == wanted
        }
        if any(isinstance(n, Read) and n.tensor is box.tensor and id(n) not in converted for n in nodes):
            raise ScheduleError(
                f"{box.tensor.name} is read as {box.tensor.dtype}, not converted to {dtype}",
                span_of(kernel, s),
                code="cache",
                help="leave dtype out",
            )
    return replace(box, buffer=replace(box.buffer, dtype=wanted, value_range=None))


def _padding(kernel: Kernel, box: Box) -> Const | None:
    """The value that every read under the loop gives outside the tensor, where all give the same
    one, under no other condition.
    """
    value: Const | None = None
    if box.joined is not None:
        return None  # beyond the end of a row the next one begins
    for above, s in statements_below(kernel, box.chain[-1]):
        padded = [
            n
            for n in walk(s)
            if isinstance(n, Select) and isinstance(n.then, Read) and n.then.tensor is box.tensor
        ]
        reads = {
            id(n)
            for n in walk(s, *extents_and_conditions(above))
            if isinstance(n, Read) and n.tensor is box.tensor
        }
        if reads != {id(n.then) for n in padded} or not all(
            guards_bounds(kernel, above, n) and holds_in_box(box, above, n) for n in padded
        ):
            return None
        for n in padded:
            if not isinstance(n.orelse, Const) or (value is not None and not equal(n.orelse, value)):
                return None
            value = n.orelse
    return value
