"""`merge`: two loops of the same body become one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from texpr.ir.affine import same_value
from texpr.ir.build import integer
from texpr.ir.expr import Expr, Var, index
from texpr.ir.loop import For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.loop_kind import SERIAL
from texpr.ir.traverse import statements, tensors
from texpr.passes.analysis.substitution import folded
from texpr.schedule.legality.rearrange import checked, rearranged
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, qualified, replace_loops, span_of
from texpr.schedule.structure.statement_tree import Leaf
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

_Found = tuple[For, *tuple[Stmt, ...], For]
"""A first loop, what follows it in its body, and the second one."""


@step("join", order_of_sums="kept")
def merge(kernel: Kernel, first: str | Var, second: str | Var) -> Kernel:
    """Run the iterations of two loops in turns. Loop fusion elsewhere; the opposite of `fission`.

    for i: A;  B;  for j: C   ->   B;  for i: { A; C[j := i] }

    Legal if every dependence keeps its direction: no instance of `C` needs a later one of `A`, and
    what stands between the loops, and runs before both now, needs nothing of `A`. The new loop is
    called as the first one. Of loops that have copies, each first one is joined with the second one
    that comes next in the same body. One of both may stand alone in loops of one iteration, which
    go.

    Raises:
        ScheduleError: no such pair of loops stands in one body, one runs more iterations than the
            other, or is marked, their number is data, or an instance would run before one it needs.
    Source: Allen and Kennedy, Optimizing Compilers for Modern Architectures, 2001, chapter 8.
    Example:
        op = tx.op("op lag(X: f32[N]) -> Y: f32[N] { h[i] = 2 * X[i]  Y[i] = h[i] + h[i - 1 | 0] }")
        s = tx.schedule(op)
        s.merge("h.i", "Y.i")
    Refused:
        op = tx.op('''op early(X: f32[N]) -> Y: f32[N] {
          h[i] = 2 * X[i]
          Y[i] = h[i] + h[i + 1 | 0]
        }''')
        tx.schedule(op).merge("h.i", "Y.i")
    Elsewhere: Halide `compute_with`; TVM `merge`; Exo `fuse`; MLIR `transform.loop.fuse_sibling`.
    """
    one, other = find_loops(kernel, first)[0], find_loops(kernel, second)[0]
    kernel, mates = _laid_bare(kernel, qualified(one), qualified(other))
    found = list(_found(kernel.body, mates))
    pairs = {b.var: a for a, *_, b in found}
    if not pairs:
        raise ScheduleError(
            f"`{qualified(other)}` does not stand behind `{qualified(one)}` in the same body",
            span_of(kernel, other),
            code="merge",
            help="name two loops that follow each other, first the one that runs first",
        )
    for between in found:
        _check_pair(kernel, between)

    def arrange(given: list[Leaf]) -> list[Leaf] | None:
        return _in_turns(given, pairs) if any(n.var in pairs for leaf in given for n in leaf.loops) else None

    moved = rearranged(kernel, arrange, _nests(kernel.body, pairs))
    return checked(
        kernel, moved, "merge", f'merge("{qualified(one)}", "{qualified(other)}")', "leave the loops apart"
    )


def _laid_bare(kernel: Kernel, first: str, second: str) -> tuple[Kernel, dict[Var, Var]]:
    """The kernel without loops of one iteration around those that are joined; by the variable of
    each second one that of its first one.
    """
    pairs = list(_pairs(kernel.body, first, second))
    around = [n for ways in pairs for way in ways for n in way[:-1]]
    bare = replace_loops(kernel, around, lambda n: tuple(folded(s, {n.var: index(0)}) for s in n.body))
    return bare, {other[-1].var: one[-1].var for one, other in pairs}


def _pairs(body: tuple[Stmt, ...], first: str, second: str) -> Iterator[tuple[list[For], list[For]]]:
    """The ways to each loop of the first name and to the next one of the second name behind it,
    at any depth; one of both is the loop.
    """
    one: list[For] = []
    for s in body:
        if isinstance(s, For | If):
            yield from _pairs(s.body, first, second)
        other = _way_to(s, second)
        if one and other and 1 in (len(one), len(other)):
            yield one, other
            one = []
        else:
            one = _way_to(s, first) or one


def _way_to(s: Stmt, name: str) -> list[For]:
    """The loops from one to that of the name, all but the last of one iteration and around
    nothing else; none if there is no such way.
    """
    way: list[For] = []
    while isinstance(s, For):
        way.append(s)
        if qualified(s) == name:
            return way
        inner, *more = s.body
        if more or s.kind != SERIAL or integer(s.extent) != 1:
            break
        s = inner
    return []


def _found(body: tuple[Stmt, ...], mates: Mapping[Var, Var]) -> Iterator[_Found]:
    """Each first loop, what follows it, and its second one."""
    places = {s.var: k for k, s in enumerate(body) if isinstance(s, For)}
    for k, s in enumerate(body):
        if isinstance(s, For | If):
            yield from _found(s.body, mates)
        if isinstance(s, For) and s.var in mates:
            yield body[places[mates[s.var]] : k + 1]  # type: ignore[misc]  # a loop at both ends


def _nests(body: tuple[Stmt, ...], pairs: Mapping[Var, For]) -> list[tuple[Stmt, ...]]:
    """The statements of a kernel, those from an outermost first loop to its second one together."""
    found: list[tuple[Stmt, ...]] = []
    first: dict[Var, int] = {}
    for s in body:
        first |= {s.var: len(found)} if isinstance(s, For) else {}
        found.append((s,))
        if isinstance(s, For) and s.var in pairs and pairs[s.var].var in first:
            k = first[pairs[s.var].var]
            found[k:] = [tuple(each for nests in found[k:] for each in nests)]
    return found


def _check_pair(kernel: Kernel, found: _Found) -> None:
    a, *_, b = found
    if not all(isinstance(s, For | If | Store | Prefetch) for s in statements(*found)):
        raise ScheduleError(
            f"from `{qualified(a)}` to `{qualified(b)}` threads wait for each other or for copies, or a "
            f"function is called",
            span_of(kernel, b),
            code="merge",
            help="merge loops before such a step: pipeline(..., asynchronous=True)",
        )
    marked = next((n for n in (a, b) if n.kind != SERIAL), None)
    if marked is not None:
        raise ScheduleError(
            f"`{qualified(marked)}` is marked {marked.kind}, and the joined loop would be another one",
            span_of(kernel, marked),
            code="merge",
            help="merge first, then mark the merged loop",
        )
    if tensors(a.extent, b.extent) or not same_value(a.extent, b.extent):
        what = (
            "a number of iterations that is data"
            if tensors(a.extent, b.extent)
            else "different numbers of iterations"
        )
        raise ScheduleError(
            f"`{qualified(a)}` and `{qualified(b)}` run {what}",
            span_of(kernel, b),
            code="merge",
            help="split or peel one of them first, so that loops of as many iterations follow each other",
        )


def _in_turns(given: list[Leaf], pairs: Mapping[Var, For]) -> list[Leaf]:
    """The statements of each first loop where its second one begins, those of the second one in
    the first.
    """
    mates = {a.var: b for b, a in pairs.items()}
    waiting: dict[Var, list[Leaf]] = {}
    order: list[Leaf] = []
    for leaf in given:
        first = next((mates[n.var] for n in leaf.loops if n.var in mates), None)
        if first is not None:
            waiting.setdefault(first, []).append(leaf)
            continue
        for n in leaf.loops:
            order += waiting.pop(n.var, [])
        order.append(_moved(leaf, pairs))
    return order


def _moved(leaf: Leaf, pairs: Mapping[Var, For]) -> Leaf:
    values: dict[Var, Expr] = {n.var: pairs[n.var].var for n in leaf.loops if n.var in pairs}
    return replace(
        leaf,
        loops=tuple(pairs.get(n.var) or _with_extent(n, folded(n.extent, values)) for n in leaf.loops),
        values=values,
    )


def _with_extent(loop: For, extent: Expr) -> For:
    return loop if extent is loop.extent else replace(loop, extent=extent)
