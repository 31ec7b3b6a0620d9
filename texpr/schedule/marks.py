"""Steps that say how a loop runs: unrolled, in vector lanes, on threads, on the blocks and threads of a GPU."""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.build import integer
from texpr.ir.expr import Var
from texpr.ir.loop import For, If, Kernel
from texpr.schedule.independent import check_independent
from texpr.schedule.loops import find_loops, private_temporaries, replace_loops, span_of
from texpr.support.errors import ResourceError, ScheduleError

MOST_LANES = 1024
MOST_STATEMENTS = 4096
BINDINGS = ("block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z")


def _constant_extent(kernel: Kernel, loop: For, step: str) -> int:
    extent = integer(loop.extent)
    if extent is None:
        raise ScheduleError(f"{step} needs a constant extent; that of `{loop.var.name}` is symbolic", span_of(kernel, loop), code=step,
                            help=f'split it first: split("{loop.var.name}", 16)')
    return extent


def _marked(kernel: Kernel, loops: list[For], kind: str) -> Kernel:
    return replace_loops(kernel, loops, lambda n: replace(n, kind=kind))


def unroll(kernel: Kernel, loop: str | Var) -> Kernel:
    """Write the iterations out. Always legal: the order is unchanged.

    for v in 0..3: S   ->   S[v := 0]; S[v := 1]; S[v := 2]

    Raises:
        ScheduleError: the extent is not a constant.
        ResourceError: more than 4,096 statements would stand there.
    """
    found = find_loops(kernel, loop)
    for n in found:
        extent = _constant_extent(kernel, n, "unroll")
        if extent * max(1, _statements(n)) > MOST_STATEMENTS:
            count = extent * _statements(n)
            raise ResourceError(f"unroll of `{n.var.name}` would write out {count} statements; the limit is {MOST_STATEMENTS}",
                                span_of(kernel, n), code="unroll", help="split the loop and unroll the inner part")
    return _marked(kernel, found, "unroll")


def _statements(loop: For) -> int:
    total = 0
    stack: list[tuple[object, int]] = [(s, 1) for s in loop.body]
    while stack:
        node, times = stack.pop()
        if isinstance(node, For):
            extent = integer(node.extent) or 1
            stack += [(s, times * (extent if node.kind == "unroll" else 1)) for s in node.body]
        elif isinstance(node, If):
            stack += [(s, times) for s in node.body]
        else:
            total += times
    return total


def vectorize(kernel: Kernel, loop: str | Var) -> Kernel:
    """Run the iterations in lock step, one per vector lane. Any extent up to 1,024; conditions become masks. SIMD elsewhere.

    Legal if no iteration uses what another one writes.

    Raises:
        ScheduleError: the extent is symbolic or above 1,024, the body holds a parallel loop, or iterations depend on each other.
    """
    found = find_loops(kernel, loop)
    for n in found:
        if _constant_extent(kernel, n, "vectorize") > MOST_LANES:
            raise ScheduleError(f"`{n.var.name}` has {integer(n.extent)} iterations; at most {MOST_LANES} lanes fit",
                                span_of(kernel, n), code="vectorize", help=f'split it first: split("{n.var.name}", 16)')
        check_independent(kernel, n, "vectorize", private=())
    return _marked(kernel, found, "vector")


def parallel(kernel: Kernel, loop: str | Var) -> Kernel:
    """Share the iterations among threads.

    Legal if no iteration uses what another one writes; a temporary that each iteration fills before it reads gets a copy per thread.

    Raises:
        ScheduleError: iterations depend on each other.
    """
    return _concurrent(kernel, loop, "parallel", "parallel")


def bind(kernel: Kernel, loop: str | Var, to: str) -> Kernel:
    """Run the iterations on the blocks or threads of a GPU: `block.x` ... `thread.z`. Legal as `parallel` is.

    Raises:
        ScheduleError: no such place, or iterations depend on each other.
    """
    if to not in BINDINGS:
        raise ScheduleError(f"a loop cannot be bound to {to!r}", code="bind", help=f"one of {', '.join(BINDINGS)}")
    return _concurrent(kernel, loop, "bind", to)


def _concurrent(kernel: Kernel, loop: str | Var, step: str, kind: str) -> Kernel:
    found = find_loops(kernel, loop)
    for n in found:
        check_independent(kernel, n, step, private=private_temporaries(kernel, n))
    return _marked(kernel, found, kind)


def contract(kernel: Kernel) -> Kernel:
    """Let `a * b + c` be rounded once, as a fused multiply-add. Changes results by at most the rounding that is left out."""
    return replace(kernel, contract=True)
