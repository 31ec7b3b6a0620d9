"""Steps that say how a loop runs: unrolled, in vector lanes, on threads, on the blocks and threads of a GPU."""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.build import integer
from texpr.ir.expr import Var
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.traverse import variables, walk
from texpr.schedule.independent import check_independent
from texpr.schedule.loops import all_loops, find_loops, loops_around, private_temporaries, replace_loops, span_of
from texpr.support.errors import ResourceError, ScheduleError

MOST_LANES = 1024
MOST_STATEMENTS = 4096
REGISTER_LANES = 16
BINDINGS = ("block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z")


def _of_constant_extent(kernel: Kernel, name: str | Var, step: str) -> list[For]:
    """The loops of that name; beside others, a remainder of symbolic extent is left as it is."""
    found = find_loops(kernel, name)
    constant = [n for n in found if integer(n.extent) is not None]
    if not constant:
        raise ScheduleError(f"{step} needs a constant extent; that of `{found[0].var.name}` is symbolic", span_of(kernel, found[0]),
                            code=step, help=f'split it first: split("{found[0].var.name}", 16)')
    return constant


def _marked(kernel: Kernel, loops: list[For], kind: str) -> Kernel:
    return replace_loops(kernel, loops, lambda n: replace(n, kind=kind))


def unroll(kernel: Kernel, loop: str | Var) -> Kernel:
    """Write the iterations out. Always legal: the order is unchanged.

    for v in 0..3: S   ->   S[v := 0]; S[v := 1]; S[v := 2]

    Raises:
        ScheduleError: the extent is not a constant.
        ResourceError: more than 4,096 statements would stand there.
    """
    return _written_out(kernel, _of_constant_extent(kernel, loop, "unroll"), "unroll", "unroll")


def _written_out(kernel: Kernel, loops: list[For], kind: str, step: str) -> Kernel:
    """The loops marked, if what then stands in their nests is not too much."""
    after = _marked(kernel, loops, kind)
    for n in loops:
        around = loops_around(after, n)
        nest = around[0] if around else next(s for s in all_loops(after) if s.var is n.var)
        count = _statements(nest)
        if count > MOST_STATEMENTS:
            raise ResourceError(f"{step} of `{n.var.name}` would write out {count} statements; the limit is {MOST_STATEMENTS}",
                                span_of(kernel, n), code=step, help=f"split the loop and {step} the inner part")
    return after


def _statements(nest: For) -> int:
    """How many statements stand where the nest stands, once loops are written out and vectors cut to registers."""
    total = 0
    stack: list[tuple[Stmt, int]] = [(nest, 1)]
    while stack:
        node, times = stack.pop()
        if isinstance(node, For):
            extent = integer(node.extent) or 1
            copies = {"unroll": extent, "vector": -(-extent // REGISTER_LANES)}.get(node.kind, 1)
            stack += [(s, times * copies) for s in node.body]
        elif isinstance(node, If):
            stack += [(s, times) for s in node.body]
        else:
            total += times
    return total


def vectorize(kernel: Kernel, loop: str | Var) -> Kernel:
    """Run the iterations in lock step, one per vector lane. Any extent up to 1,024; conditions become masks. SIMD elsewhere.

    Legal if no iteration uses what another one writes. Updates of one element whose order does not matter (max, min, integers, and sums
    marked `reassoc`) are joined over the lanes. Of the loops that `split(tail="peel")` made, a symbolic remainder stays serial.

    Raises:
        ScheduleError: the extent is symbolic or above 1,024, an inner loop's extent depends on the lane, or iterations depend on each
            other.
        ResourceError: more than 4,096 statements would stand there once vectors are cut to registers.
    """
    found = _of_constant_extent(kernel, loop, "vectorize")
    for n in found:
        extent = integer(n.extent)
        if extent is not None and extent > MOST_LANES:
            raise ScheduleError(f"`{n.var.name}` has {extent} iterations; at most {MOST_LANES} lanes fit",
                                span_of(kernel, n), code="vectorize", help=f'split it first: split("{n.var.name}", 16)')
        _same_in_all_lanes(kernel, n)
        check_independent(kernel, n, "vectorize", private=(), lanes=True)
    return _written_out(kernel, found, "vector", "vectorize")


def _same_in_all_lanes(kernel: Kernel, loop: For) -> None:
    """Lanes run in lock step, so loops inside have one extent for all of them."""
    for inner in walk(*loop.body):
        if isinstance(inner, For) and loop.var in variables(inner.extent):
            raise ScheduleError(f"the extent of `{inner.var.name}` differs between iterations of `{loop.var.name}`", span_of(kernel, inner),
                                code="vectorize", help="vectorize another loop, or write the range as a condition (where ...)")


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
