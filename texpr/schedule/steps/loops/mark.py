"""Kinds of loops: the checks that steps share which set one, and the mark itself."""

from __future__ import annotations

from collections.abc import Mapping

from texpr.ir.build import compare, integer
from texpr.ir.expr import Expr, Var
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.loop_kind import PARALLEL, UNROLLED, VECTOR, LoopKind
from texpr.ir.traverse import variables, walk
from texpr.passes.analysis.iteration_ranges import largest
from texpr.schedule.legality.independence import check_independent, check_inside, own_buffers
from texpr.schedule.legality.presumption import is_presumed
from texpr.schedule.legality.rearrange import rearranged
from texpr.schedule.structure.loops import all_loops, find_loops, loops_around, replace_loops, span_of
from texpr.schedule.structure.statement_tree import Leaf
from texpr.support.errors import ResourceError, ScheduleError
from texpr.support.frozen_dataclass import replace

MOST_LANES = 1024
MOST_STATEMENTS = 4096
REGISTER_LANES = 16


def _of_constant_extent(kernel: Kernel, name: str | Var) -> list[For]:
    """The loops of that name of constant extent; beside them, a remainder of symbolic extent is
    left as it is.
    """
    return [n for n in find_loops(kernel, name) if integer(n.extent) is not None]


def marked(kernel: Kernel, loops: list[For], kind: LoopKind) -> Kernel:
    """The loops of another kind; whether they may be was proven."""
    return replace_loops(kernel, loops, lambda n: replace(n, kind=kind))


def unrolled(kernel: Kernel, loop: str | Var) -> Kernel:
    """The loops of that name that have a constant extent, written out."""
    return _written_out(kernel, _of_constant_extent(kernel, loop), UNROLLED, "unroll")


def _written_out(kernel: Kernel, loops: list[For], kind: LoopKind, step: str) -> Kernel:
    """The loops marked, if what then stands in their nests is not too much."""
    after = marked(kernel, loops, kind)
    for n in loops:
        around = loops_around(after, n)
        nest = around[0] if around else next(s for s in all_loops(after) if s.var is n.var)
        count = _statements(nest)
        if count > MOST_STATEMENTS:
            raise ResourceError(
                f"{step} of `{n.var.name}` would write out {count} statements; the limit is "
                f"{MOST_STATEMENTS}",
                span_of(kernel, n),
                code=step,
                help=f"split the loop and {step} the inner part",
            )
    return after


def _statements(nest: For) -> int:
    """Number of statements in a nest once loops are written out and vectors cut to registers."""
    total = 0
    stack: list[tuple[Stmt, int]] = [(nest, 1)]
    while stack:
        node, times = stack.pop()
        if isinstance(node, For):
            extent = integer(node.extent) or 1
            copies = {UNROLLED: extent, VECTOR: -(-extent // REGISTER_LANES)}.get(node.kind, 1)
            stack += [(s, times * copies) for s in node.body]
        elif isinstance(node, If):
            stack += [(s, times) for s in node.body]
        else:
            total += times
    return total


def vectorized(kernel: Kernel, loop: str | Var) -> Kernel:
    """The loops of that name that have a constant extent, in vector lanes.

    Raises:
        ScheduleError: iterations depend on each other.
        ResourceError: more than 4,096 statements would stand there once vectors are cut to
            registers.
    """
    uniform = in_all_lanes(kernel, _of_constant_extent(kernel, loop))
    found = [n for n in _of_constant_extent(uniform, loop) if (integer(n.extent) or 0) <= MOST_LANES]
    for n in found:
        check_independent(uniform, n, "vectorize", private=(), lanes=True)
    after = _written_out(uniform, found, VECTOR, "vectorize")
    check_inside(after, found, "vectorize")
    return after


def in_all_lanes(kernel: Kernel, loops: list[For]) -> Kernel:
    """Lanes run in lock step, so loops inside get one extent for all of them, the largest, and a
    condition.
    """
    lanes = {n.var: n.extent for n in loops}
    if not any(
        isinstance(m, For) and lanes.keys() & variables(m.extent) for n in loops for m in walk(*n.body)
    ):
        return kernel

    def arrange(given: list[Leaf]) -> list[Leaf] | None:
        if not any(n.var in lanes for leaf in given for n in leaf.loops):
            return None
        return [_uniform(kernel, leaf, lanes) for leaf in given]

    return rearranged(kernel, arrange).kernel


def _uniform(kernel: Kernel, leaf: Leaf, lanes: Mapping[Var, Expr]) -> Leaf:
    loops, guards = list(leaf.loops), list(leaf.guards)
    for k, n in enumerate(loops):
        if not lanes.keys() & variables(n.extent):
            continue
        extent = largest(n.extent, {v: lanes[v] for v in lanes})
        if extent is None:
            raise ScheduleError(
                f"the extent of `{n.var.name}` differs between lanes, and no largest one is known",
                span_of(kernel, n),
                code="vectorize",
                help="vectorize another loop, or write the range as a condition (where ...)",
            )
        guards.append(compare("<", n.var, n.extent))
        loops[k] = replace(n, extent=extent)
    return replace(leaf, loops=tuple(loops), guards=tuple(guards))


def inner_name(loop: For) -> str:
    """The name that `split` gives the inner loop."""
    return f"{loop.tensor}.{loop.var.name}i"


def mark_concurrent(kernel: Kernel, loop: str | Var, step: str, kind: LoopKind) -> Kernel:
    """The loops of a name with another kind, once their iterations are proven to be independent."""
    found = find_loops(kernel, loop)
    for n in () if is_presumed() else found:
        check_independent(kernel, n, step, private=own_buffers(kernel, n), bound=kind != PARALLEL)
    return marked(kernel, found, kind)
