"""Steps that say how a loop runs: unrolled, in vector lanes, on threads, on the blocks and threads of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from texpr.ir.build import add, compare, floordiv, integer, minimum, sub
from texpr.ir.expr import Expr, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.traverse import variables, walk
from texpr.passes.analysis.iteration_ranges import largest
from texpr.schedule.legality.independence import check_independent, check_inside, check_moved, own_buffers
from texpr.schedule.legality.rearrange import rearranged
from texpr.schedule.steps.loops.split_tiles import tiled
from texpr.schedule.structure.loops import all_loops, check_new_names, find_loops, loops_around, replace_loops, span_of
from texpr.schedule.structure.statement_tree import Leaf
from texpr.support.errors import ResourceError, ScheduleError

MOST_LANES = 1024
MOST_STATEMENTS = 4096
REGISTER_LANES = 16
MOST_AT_ONCE = 1 << 31
FMA_OF = ("all", "sums")
BINDINGS = ("block.x", "block.y", "block.z", "cluster.x", "cluster.y", "cluster.z", "thread.x", "thread.y", "thread.z")


def _of_constant_extent(kernel: Kernel, name: str | Var) -> list[For]:
    """The loops of that name of constant extent; beside them, a remainder of symbolic extent is left as it is."""
    return [n for n in find_loops(kernel, name) if integer(n.extent) is not None]


def marked(kernel: Kernel, loops: list[For], kind: str) -> Kernel:
    """The loops of another kind; whether they may be was proven."""
    return replace_loops(kernel, loops, lambda n: replace(n, kind=kind))


def unrolled(kernel: Kernel, loop: str | Var) -> Kernel:
    """The loops of that name that have a constant extent, written out."""
    return _written_out(kernel, _of_constant_extent(kernel, loop), "unroll", "unroll")


def _written_out(kernel: Kernel, loops: list[For], kind: str, step: str) -> Kernel:
    """The loops marked, if what then stands in their nests is not too much."""
    after = marked(kernel, loops, kind)
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


def vectorized(kernel: Kernel, loop: str | Var) -> Kernel:
    """The loops of that name that have a constant extent, in vector lanes.

    Raises:
        ScheduleError: iterations depend on each other.
        ResourceError: more than 4,096 statements would stand there once vectors are cut to registers.
    """
    uniform = in_all_lanes(kernel, _of_constant_extent(kernel, loop))
    found = [n for n in _of_constant_extent(uniform, loop) if (integer(n.extent) or 0) <= MOST_LANES]
    for n in found:
        check_independent(uniform, n, "vectorize", private=(), lanes=True)
    after = _written_out(uniform, found, "vector", "vectorize")
    check_inside(after, found, "vectorize")
    return after


def in_all_lanes(kernel: Kernel, loops: list[For]) -> Kernel:
    """Lanes run in lock step, so loops inside get one extent for all of them, the largest, and a condition."""
    lanes = {n.var: n.extent for n in loops}
    if not any(isinstance(m, For) and lanes.keys() & variables(m.extent) for n in loops for m in walk(*n.body)):
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
            raise ScheduleError(f"the extent of `{n.var.name}` differs between lanes, and no largest one is known", span_of(kernel, n),
                                code="vectorize", help="vectorize another loop, or write the range as a condition (where ...)")
        guards.append(compare("<", n.var, n.extent))
        loops[k] = replace(n, extent=extent)
    return replace(leaf, loops=tuple(loops), guards=tuple(guards))


def parallel(kernel: Kernel, loop: str | Var) -> Kernel:
    """Share the iterations among threads.

    Legal if no iteration uses what another one writes; a temporary that each iteration fills before it reads gets a copy per thread.

    Raises:
        ScheduleError: iterations depend on each other.
    """
    return _concurrent(kernel, loop, "parallel", "parallel")


def bind(kernel: Kernel, loop: str | Var, to: str, *, at_most: int | None = None, names: tuple[str, str] | None = None) -> Kernel:
    """Run the iterations on the blocks or threads of a GPU: `block.x` ... `thread.z`. Legal as `parallel` is; iterations may meet
    in updates that `atomic` has marked.

    With `at_most`, so many blocks or threads walk over all iterations. Grid-stride loop, persistent blocks elsewhere.

    for v in 0..n: S   ->   for vi in 0..min(p, n) block.x: for vo in 0..(n - vi + p-1)//p: S[v := vo*p + vi]

    Args:
        at_most: of the blocks or threads, 1 to 2^31; a loop of no more iterations is bound as it is.
        names: of the loop inside and of the one that is bound; `vo` and `vi` unless given.
    Raises:
        ScheduleError: no such place, a bad number or name, or iterations depend on each other.
    """
    if to not in BINDINGS:
        raise ScheduleError(f"a loop cannot be bound to {to!r}", code="bind", help=_places(to))
    if at_most is None:
        return _concurrent(kernel, loop, "bind", to)
    found = find_loops(kernel, loop)
    if not isinstance(at_most, int) or isinstance(at_most, bool) or not 1 <= at_most <= MOST_AT_ONCE:
        raise ScheduleError(f"{at_most!r} iterations at once are not a number from 1 to 2^31", span_of(kernel, found[0]), code="bind")
    outer, inner = names or (found[0].var.name + "o", found[0].var.name + "i")
    check_new_names(kernel, found[0], (outer, inner), "bind")
    for n in found:
        check_independent(kernel, n, "bind", private=own_buffers(kernel, n), bound=True)
    after = replace_loops(kernel, found, lambda n: _walked(n, to, at_most, outer, inner))
    check_moved(kernel, after, "bind")
    return after


def _places(wanted: object) -> str:
    """What a loop can be bound to, for somebody who asked for something else."""
    lanes = {"warp": 32, "lane": 32, "warpgroup": 128}.get(str(wanted).partition(".")[0])
    if lanes is None:
        return f"one of {', '.join(BINDINGS)}"
    whole = "warpgroup" if lanes > 32 else "warp"
    return (f"threads that follow each other along thread.x are a {whole}: bind a loop of {lanes} iterations, over its lanes, to thread.x "
            f"and the loop over {whole}s to thread.y")


def _walked(loop: For, to: str, at_most: int, outer_name: str, inner_name: str) -> For:
    """The iterations of a loop dealt to so many that run at once, in turn."""
    count = integer(loop.extent)
    if count is not None and count <= at_most:
        return replace(loop, kind=to)
    tiles = tiled(replace(loop, kind="serial"), loop.extent, at_most, outer_name, inner_name, guarded=False)
    (inner,) = tiles.body
    assert isinstance(inner, For)
    left = loop.extent if count is not None and count % at_most == 0 else add(sub(loop.extent, inner.var), index(at_most - 1))
    walk = replace(tiles, extent=floordiv(left, index(at_most)), body=inner.body)
    return replace(inner, extent=minimum(index(at_most), loop.extent), body=(walk,), kind=to)


def _concurrent(kernel: Kernel, loop: str | Var, step: str, kind: str) -> Kernel:
    found = find_loops(kernel, loop)
    for n in found:
        check_independent(kernel, n, step, private=own_buffers(kernel, n), bound=kind != "parallel")
    return marked(kernel, found, kind)


def allow_fma(kernel: Kernel, of: str = "all") -> Kernel:
    """Let products and sums be rounded once, as fused multiply-adds. Contraction elsewhere; `contract` is another name of the step.

    y += a * b   ->   y = fma(a, b, y)

    Of sums it changes results by at most the rounding that is left out. Of differences it may change them by all there is: `a * a - b * b`
    of equal numbers is then the rounding error of a product in place of 0, and its root may be NaN. So default schedules permit it of sums.

    Args:
        of: "sums": products that are added to a sum of several terms, as in `sum(k: a[k] * b[k])` and in updates where iterations meet,
            and multiples of a sum so far, as in `Y[c] = Y[c - 1] * x + sum(k: a[c, k])`;
            "all": every `a * b + c` and `a * b - c`, also where the parts come from several equations.
    Raises:
        ScheduleError: another word.
    """
    if of not in FMA_OF:
        raise ScheduleError(f"allow_fma is for sums or for all, not for {of!r}", code="allow_fma", help='allow_fma() or allow_fma("sums")')
    return kernel if kernel.fma == "all" else replace(kernel, fma=of)
