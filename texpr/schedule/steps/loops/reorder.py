"""`reorder`: loops change places, statements that stand between them get loops of their own."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.build import compare
from texpr.ir.expr import Expr, Var
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.traverse import rewrite, variables
from texpr.passes.analysis.iteration_ranges import largest
from texpr.schedule.legality.rearrange import Moved, checked, rearranged
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, paths, qualified, span_of, stores
from texpr.schedule.structure.statement_tree import Leaf
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step(order_of_sums="kept")
def reorder(kernel: Kernel, *loops: str | Var, reassoc: bool = False) -> Kernel:
    """Put the named loops in the given order, outermost first; they take each other's places.
    Interchange, permutation elsewhere.

    for i: { s = 0; for k: s += f }   -- reorder("k", "i") -->   for i: s = 0;  for k: for i: s += f
    for i in 0..n: for j in 0..i + 1: S   -- reorder("j", "i") -->   for j in 0..n: for i in 0..n: if j < i + 1: S

    A statement that is inside some of the loops only gets its own copy of those. Legal if every
    dependence keeps its direction. Terms of integers, maxima and minima may change places, those of
    float sums and products with `reassoc=True`.

    Raises:
        ScheduleError: a loop is missing, named twice, or not nested with the others; or an instance
            would run before one it needs.
    Source: Allen and Kennedy, Automatic Translation of Fortran Programs to Vector Form, TOPLAS
    1987.
    Example:
        op = tx.op("op sums(X: f32[M, N]) -> y: f32[N] { y[j] = sum(i: X[i, j]) }")
        s = tx.schedule(op)
        s.reorder("i", "j")
    Refused:
        op = tx.op('''op diagonal(X: f32[M, N]) -> A: f32[M, N] {
          A[i, j] = A[i - 1, j + 1 | 0] * 2 + X[i, j]
        }''')
        tx.schedule(op).reorder("j", "i")
    Elsewhere: Halide `reorder`; TVM `reorder`; Exo `reorder_loops`; MLIR
    `transform.structured.interchange`.
    """
    families, order = _named(kernel, loops)
    if not isinstance(reassoc, bool):
        span = span_of(kernel, families[0][0]) if families else None
        raise ScheduleError(f"`reassoc` is True or False, not {reassoc!r}", span, code="reorder")
    if reassoc and families:
        inside = set.intersection(*({s for n in f for s in stores(n)} for f in families))
        kernel = rewrite(
            kernel,
            lambda n: replace(n, reassoc=True) if isinstance(n, Store) and n in inside and n.update else None,
        )
    text = ", ".join(f'"{f[0].var.name}"' for f in families)
    return checked(
        kernel,
        reordered(kernel, order),
        "reorder",
        f"reorder({text})",
        "keep the order of these loops, or reorder others",
    )


def reordered(kernel: Kernel, order: Sequence[str]) -> Moved:
    """The kernel with the loops of these qualified names in this order, whether that is legal or
    not.
    """

    def arrange(given: list[Leaf]) -> list[Leaf] | None:
        if not any(qualified(n) in order for leaf in given for n in leaf.loops):
            return None
        return [in_scope(kernel, _permuted(leaf, order)) for leaf in given]

    return rearranged(kernel, arrange)


def _named(kernel: Kernel, names: Sequence[str | Var]) -> tuple[list[list[For]], list[str]]:
    """The loops and their qualified names, which must stand on one path somewhere."""
    families = [find_loops(kernel, n) for n in names]
    order = [qualified(f[0]) for f in families]
    if len(set(order)) != len(order):
        raise ScheduleError(f"reorder names a loop twice: {', '.join(order)}", code="reorder")
    if families and not any(
        {qualified(n) for n in above if isinstance(n, For)} >= set(order) for above, _ in paths(kernel)
    ):
        raise ScheduleError(
            f"the loops {', '.join(order)} are not nested in one another",
            span_of(kernel, families[0][0]),
            code="reorder",
            help="reorder takes loops that enclose one statement",
        )
    return families, order


def _permuted(leaf: Leaf, order: Sequence[str]) -> Leaf:
    loops = list(leaf.loops)
    places = [k for k, n in enumerate(loops) if qualified(n) in order]
    moved = sorted((loops[k] for k in places), key=lambda n: order.index(qualified(n)))
    for k, n in zip(places, moved):
        loops[k] = n
    return replace(leaf, loops=tuple(loops))


def in_scope(kernel: Kernel, leaf: Leaf) -> Leaf:
    """The leaf with extents that depend on loops now inside replaced by the largest they can be,
    and a condition for the rest.

    Raises:
        ScheduleError: no such largest extent is known.
    """
    loops, guards = list(leaf.loops), list(leaf.guards)
    for k, n in enumerate(loops):
        inside = loops[k + 1 :]
        if not variables(n.extent) & {m.var for m in inside}:
            continue
        extent: Expr | None = n.extent
        for m in reversed(leaf.origin):
            if extent is not None and any(m.var is each.var for each in inside):
                extent = largest(extent, {m.var: m.extent})
        if extent is None:
            needed = next(m.var.name for m in inside if m.var in variables(n.extent))
            raise ScheduleError(
                f"the extent of `{n.var.name}` depends on `{needed}`, and no largest one is known for it to "
                f"stand outside",
                span_of(kernel, n),
                code="reorder",
                help=f"write the range as a condition: {n.var.name} where {n.var.name} < ...",
            )
        guards.append(compare("<", n.var, n.extent))
        loops[k] = replace(n, extent=extent)
    return replace(leaf, loops=tuple(loops), guards=tuple(guards))
