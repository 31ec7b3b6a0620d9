"""`bulk_copy`: copies that a loop begins ahead are boxes, each moved as a whole while all
threads go on.
"""

from __future__ import annotations

from typing import TypeGuard

from texpr.ir.build import add, floordiv, integer, mod, select
from texpr.ir.expr import Expr, Node, Select, Var, index
from texpr.ir.loop import Barrier, Commit, For, If, Kernel, Stmt, Store, Wait, is_block
from texpr.ir.loop_kind import BULK_COPY, SERIAL
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import equal, rewrite, walk
from texpr.passes.analysis.bulk_boxes import NoBox, box_of
from texpr.passes.loop.check_async import check_arrivals
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.indices import moved_to, number, remainder
from texpr.schedule.structure.loops import find_loops, path_to, span_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

STEP = "bulk_copy"
MOST_PANELS = 8


@step("bulk", order_of_sums="kept")
def bulk_copy(kernel: Kernel, loop: str | Var) -> Kernel:
    """Let boxes be copied as a whole: what `pipeline(i, ..., asynchronous=True)` begins in a loop,
    one thread orders, for all of them.

    for i in 0..n: { wait 1; barrier; if i + 2 < n: for a, b: T[(i+2) % 3, a, b] = X[a, 8*(i+2) +
    b]; commit; Y[i] = g(T[i % 3]) }
    ->   for i in 0..n: { wait 1 at i % 3 of 3 phase i // 3 % 2; barrier; if i + 2 < n: for a bulk_copy, b: T[...] = X[...]
                          commit at (i+2) % 3 of 3 brings if i + 2 < n then 256 else 0; Y[i] = g(T[i
                          % 3]) }

    Counters in shared memory, one for each buffer, tell all threads of the bytes that have arrived:
    phase after phase, of which a wait names the parity. What lies outside of the tensor becomes 0.
    Values and order are those of the pipeline. Legal if each wait is for the phase of its copies,
    and no copy begins for a counter that a thread still waits for; both are proven of the result. A
    buffer in panels, one after the other in an outermost loop, has a box for each.

    Args:
        loop: whose copies run ahead, around which only loops over blocks stand, and those that
            `pipeline` went through. Nests that copy have no loops over threads or lanes.
    Raises:
        ScheduleError: nothing is begun ahead in the loop, it stands in other loops, or a copy is no
            box.
    Example:
        op = tx.op('''op flipped(X: f32[H, T, 64]) -> Y: f32[H, 64] {
          Y[h, i] = sum(t: X[h, t, 63 - i])
        }''')
        s = tx.schedule(op, H=8, T=16).bind("h", "block.x").reorder("t", "i")
        s.set_scope("Y_acc", "register")
        s.cache_read("X", "t").set_scope("X_cache", "shared").bind("i", "thread.x")
        s.pipeline("t", 3, asynchronous=True)
        s.bulk_copy("t")
    Refused:
        tx.schedule(op, H=8, T=16).bind("h", "block.x").bulk_copy("t")
    Elsewhere: Halide none; TVM none; Exo none; MLIR `transform.nvgpu.rewrite_copy_as_tma`.
    """
    found = [n for n in find_loops(kernel, loop) if any(isinstance(s, Commit) for s in n.body)]
    main = next((n for n in found if isinstance(n.body[0], Wait)), None)
    filling = next((n for n in found if n is not main), None)
    if main is None or filling is None:
        (first, *_) = find_loops(kernel, loop)
        raise ScheduleError(
            f"no copies are begun ahead in `{first.var.name}`",
            span_of(kernel, first),
            code=STEP,
            help=f'pipeline("{first.var.name}", 3, asynchronous=True) begins them',
        )
    outer = _outer(kernel, filling, main)
    lead = integer(filling.extent)
    assert lead is not None and isinstance(main.body[0], Wait)
    slots, group = _buffers(kernel, main), number([*outer, main])
    phase = mod(floordiv(group, index(slots)), index(2))
    waited = replace(main.body[0], slots=slots, slot=remainder(group, slots), phase=phase)
    after = {
        filling: _counted(kernel, filling, filling.var, slots),
        main: _counted(kernel, main, add(group, index(lead)), slots),
    }
    after[main] = replace(after[main], body=(waited, *after[main].body[1:]))
    return check_arrivals(rewrite(kernel, lambda n: after.get(n) if isinstance(n, For) else None))


def _outer(kernel: Kernel, filling: For, main: For) -> list[For]:
    """The loops around the one that is filled ahead whose iterations follow each other.

    Raises:
        ScheduleError: it runs again and again, or in no block.
    """
    *around, _ = path_to(kernel, main)
    shared = path_to(kernel, filling)[:-1]
    if not around or not all(map(is_block, shared)):
        what = (
            "runs again and again, so that phases are not counted by it"
            if around
            else "is no part of what a block of threads does"
        )
        raise ScheduleError(
            f"`{main.var.name}` {what}",
            span_of(kernel, main),
            code=STEP,
            help="bind the loops around it to blocks, one at least"
            + ", or pipeline through them" * bool(around),
        )
    return [n for n in around[len(shared) :] if isinstance(n, For)]


def _copies(n: Node) -> TypeGuard[Store]:
    """True if a copy is begun here."""
    return isinstance(n, Store) and n.mode is ASYNCHRONOUS and n.update is None


def _buffers(kernel: Kernel, main: For) -> int:
    """Number of slots of each buffer that the loop fills."""
    counts = {integer(s.tensor.shape[0]) for s in walk(main) if _copies(s)}
    if len(counts) != 1 or None in counts:
        raise ScheduleError(
            f"buffers that `{main.var.name}` fills are not equally many", span_of(kernel, main), code=STEP
        )
    return counts.pop() or 0


def _counted(kernel: Kernel, loop: For, group: Expr, slots: int) -> For:
    """The loop with boxes for its copies, and a commit that says what they bring, for the
    counter of their group.
    """
    body: list[Stmt] = []
    brings: Expr = index(0)
    for s in loop.body:
        if isinstance(s, Commit):
            body.append(Commit(remainder(group, slots), brings, slots))
        elif not isinstance(s, Wait | Barrier) and any(map(_copies, walk(s))):
            boxes = [box for n in (s.body if isinstance(s, If) else (s,)) for box in _boxes(kernel, n)]
            size = index(sum(n for _, n in boxes))
            brings = _sum(brings, s, size)
            body += (
                [replace(s, body=tuple(b for b, _ in boxes))] if isinstance(s, If) else [b for b, _ in boxes]
            )
        else:
            body.append(s)
    return replace(loop, body=tuple(body))


def _sum(brings: Expr, s: Stmt, size: Expr) -> Expr:
    if not isinstance(s, If):
        return add(brings, size)
    if isinstance(brings, Select) and equal(brings.cond, s.cond):
        return select(s.cond, add(brings.then, size), brings.orelse)
    return add(brings, select(s.cond, size, index(0)))


def _boxes(kernel: Kernel, s: Stmt) -> list[tuple[Stmt, int]]:
    """A nest that copies a box, or several, and how many bytes each has."""
    try:
        return [_box(s)]
    except NoBox as why:
        try:
            return [_box(n) for n in _panels(s)]
        except NoBox:
            raise ScheduleError(
                f"a copy is no box: {why}",
                span_of(kernel, s),
                code=STEP,
                help="cache_read makes boxes; leave their loops as they are, and do not pad rows",
            ) from None


def _panels(s: Stmt) -> tuple[Stmt, ...]:
    """The iterations of a loop, each a nest of its own: a panel of a buffer that has several
    lies apart from the others.
    """
    count = integer(s.extent) if isinstance(s, For) and s.kind == SERIAL else None
    if not isinstance(s, For) or count is None or not 1 < count <= MOST_PANELS:
        raise NoBox("there are no panels")
    return tuple(n for k in range(count) for n in moved_to(s.body, {s.var: index(k)}))


def _box(s: Stmt) -> tuple[Stmt, int]:
    """A nest that copies a box, and how many bytes that has."""
    if not isinstance(s, For):
        raise NoBox("a single element is copied")
    return replace(s, kind=BULK_COPY), box_of(s).bytes
