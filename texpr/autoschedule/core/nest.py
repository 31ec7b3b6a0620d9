"""Nests as default schedules see them: loops, main statement, and how each access moves with
each loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.handles import LoopHandle
from texpr.ir.affine import linear
from texpr.ir.build import integer, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import Call, Compare, Expr, Max, Min, Node, Read, Tensor, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.loop_kind import SERIAL
from texpr.ir.printing.expr import show
from texpr.ir.traverse import children, statements, variables, walk
from texpr.passes.analysis.intervals import interval
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.schedule.analysis.access import Access, unclamped
from texpr.schedule.structure.loops import paths
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Nest:
    """The nest of one equation, unscheduled.

    Attributes:
        spatial: loops over the elements of the target, outermost first.
        reduction: loops of the main update over terms.
        main: the statement that does the work: the update of a reduction, or the only store.
        outer: loops around these that stay where they are.
        enclosing_loops: loops around several nests, of a recurrence's time, which repeat this one.
        conditions: those under which `main` runs.
        parts: the loop over parts of a long sum, which threads are to share.
    """

    spatial: tuple[For, ...]
    reduction: tuple[For, ...]
    main: Store
    accesses: tuple[Access, ...]
    outer: tuple[For, ...] = ()
    enclosing_loops: tuple[For, ...] = ()
    conditions: tuple[Expr, ...] = ()
    parts: LoopHandle | None = None

    @property
    def label(self) -> str:
        """The tensor that the loops are named by."""
        return (*self.outer, *self.loops)[0].tensor

    @property
    def tensor_name(self) -> str:
        """The name of the tensor that its loops are named by, without the number of an equation
        that computes a part of it (`Y.1`).
        """
        return self.label.partition(".")[0]

    def below(self, depth: int) -> Nest:
        """Without the first `depth` loops, which stay where they are."""
        return replace(self, spatial=self.spatial[depth:], outer=self.spatial[:depth]) if depth else self

    @property
    def loops(self) -> tuple[For, ...]:
        return (*self.spatial, *self.reduction)

    @property
    def recurrent(self) -> bool:
        """The target is also read."""
        return any(a.tensor is self.accesses[0].tensor for a in self.accesses[1:])

    @property
    def work(self) -> int:
        """Number of executions of the main statement."""
        total = 1
        for loop in (*self.outer, *self.loops):
            total *= extent(loop)
        return total

    def contiguous(self, least: int = 0) -> For | None:
        """The outermost loop of at least so many iterations along which neighbours in the target are
        neighbours in memory.
        """
        along = (n for n in self.spatial if self.accesses[0].stride(n.var) == 1)
        return next((n for n in along if constant_extent(n) >= least), None)

    def cost(self, loop: For) -> int:
        """Cost of vectorizing `loop`: nothing for an access that stays or moves by one element
        either way, a little for a read of every second one, much for a gather.
        """
        return sum(
            0
            if (step := a.stride(loop.var)) in (0, 1, -1)
            else COSTS.strided_vector
            if step == 2 and k
            else COSTS.gathered_vector
            for k, a in enumerate(self.accesses)
        )

    def reuse(self, loop: For, vector: For | None = None) -> int:
        """Number of reads that stay the same along `loop`; one that moves with the vector loop is a
        vector, and counts for more.
        """
        weights = (1 if vector is None or a.stride(vector.var) == 0 else 4 for a in self.accesses[1:])
        return sum(w for a, w in zip(self.accesses[1:], weights) if a.stride(loop.var) == 0)

    def shared(self, loop: For, count: int) -> int:
        """Number of elements, or vectors, that `count` iterations of `loop` need not read again:
        those that stay, and neighbours' ones.
        """
        return count * self.reads(loop, 1) - self.reads(loop, count)

    def reads(self, loop: For, count: int) -> int:
        """Number of different elements, or vectors, that `count` iterations of `loop` read.

        An element that stays in all loops counts for nothing: it is read once anyway.
        """
        seen: set[object] = set()
        for a in self.accesses[1:]:
            form, step = a.place, a.stride(loop.var)
            terms = frozenset((id(t) if isinstance(t, Var) else show(t), c) for t, c in form.terms)
            seen |= {
                (a.tensor, terms, "iteration", k)
                if step is None
                else (a.tensor, terms, "element", form.constant + k * step)
                for k in range(count if terms else 0)
            }
        return len(seen)


def window_loops(nest: Nest, field: Access, positions: Iterable[For]) -> list[For]:
    """Loops over terms that stand beside one of the positions in an index of the field: those
    over a window that slides along it.
    """
    forms = [linear(unclamped(i)) for i in field.indices]
    beside = [f for f in forms if any(f.coefficient(p.var) for p in positions)]
    return [r for r in nest.reduction if any(f.coefficient(r.var) for f in beside)]


def extent(loop: For) -> int:
    """The extent, or a typical one."""
    n = integer(loop.extent)
    return COSTS.typical_extent if n is None else n


def constant_extent(loop: For) -> int:
    """The extent, 0 where it is no constant."""
    return integer(loop.extent) or 0


@lru_cache(maxsize=16)
def _live_loops(kernel: Kernel) -> frozenset[Var]:
    """The loops that are left once extents and conditions are folded: not those without
    iterations, nor those that do nothing.
    """
    loops = [n for n in statements(kernel) if isinstance(n, For | If)]
    plain = all(
        isinstance(n, For) and (isinstance(n.extent, Var) or (integer(n.extent) or 0) > 0) for n in loops
    )
    return frozenset(
        n.var for n in (loops if plain else statements(drop_guards(kernel))) if isinstance(n, For)
    )


def find_nests(kernel: Kernel) -> list[Nest]:
    """The nests of an unscheduled kernel, one per equation; a loop over several equations (a
    recurrence's time) is left as it is.

    Statements in loops without iterations are not seen: the first step that folds extents drops
    such loops, with their names.
    """
    nests: list[Nest] = []
    live = _live_loops(kernel)
    started = {s.tensor for _, s in paths(kernel) if isinstance(s, Store) and s.is_start}
    stack: list[tuple[Stmt, tuple[For, ...]]] = [(node, ()) for node in reversed(kernel.body)]
    while stack:
        node, again = stack.pop()
        inside = Kernel("", (), (), (), (), (node,))
        leaves = [
            ([n for n in above if isinstance(n, For)], s, [n.cond for n in above if isinstance(n, If)])
            for above, s in paths(inside)
            if isinstance(s, Store) and all(n.var in live for n in above if isinstance(n, For))
        ]
        if isinstance(node, If) or len({s.equation for _, s, _ in leaves}) > 1:
            around = (*again, node) if isinstance(node, For) else again
            stack += [(each, around) for each in reversed(node.body if isinstance(node, For | If) else ())]
        elif isinstance(node, For) and leaves:
            nests.append(_nest(leaves, started, again))
    return nests


def unmarked_nests(kernel: Kernel) -> list[Nest]:
    """The nests of those statements of a kernel in which no loop is marked yet."""
    free = [s for s in kernel.body if all(n.kind == SERIAL for n in statements(s) if isinstance(n, For))]
    return find_nests(replace(kernel, body=tuple(free)))


def _nest(
    leaves: list[tuple[list[For], Store, list[Expr]]], started: set[Tensor], again: tuple[For, ...]
) -> Nest:
    loops, main, conditions = max(leaves, key=lambda leaf: len(leaf[0]))
    if main.update is not None and main.tensor in started:
        # The start of a scalar, or of parts of a sum, stands in no loop of its terms.
        begun = {n.var for above, s, _ in leaves if s.is_start and s.tensor is main.tensor for n in above}
        spatial = tuple(n for n in loops if n.var in variables(*main.indices) | begun)
    else:
        spatial = tuple(loops[: min(len(above) for above, _, _ in leaves)])
    reads = (n for n in walk(main.value, *main.indices, *conditions) if isinstance(n, Read))
    accesses = (Access(main.tensor, main.indices), *(Access(n.tensor, n.indices) for n in reads))
    return Nest(
        spatial,
        tuple(n for n in loops if not any(n is each for each in spatial)),
        main,
        accesses,
        (),
        again,
        tuple(conditions),
    )


def boundary_iterations(nest: Nest, loop: For) -> tuple[int, int]:
    """Numbers of iterations at the start and end of `loop` in which index conditions and clamps are
    open: outside them they are decided.

    A condition holds for all iterations but some at one end, and fails for all but some at the
    other one: the fewer count.
    """
    n = integer(loop.extent)
    ranges: dict[Var, Expr] = {each.var: each.extent for each in nest.loops if each is not loop}
    first = last = 0
    for node in walk(nest.main.value, *nest.main.indices):
        for difference in _nonnegative(node):
            form = linear(difference)
            c = form.coefficient(loop.var)
            low, high = interval(form.without(loop.var).expr(), ranges)
            if c == 0 or low is None or n is None:
                continue
            unsure = -(low // c) if c > 0 else n - 1 - low // -c
            possible = n if high is None else n + high // c if c > 0 else high // -c + 1
            at_start = (unsure <= possible) == (c > 0)
            count = max(0, min(unsure, possible))
            first, last = (max(first, count), last) if at_start else (first, max(last, count))
    return first, last


def depends_on_index(nest: Nest, loops: Iterable[For]) -> bool:
    """True if the value depends on the index of these loops itself, and not only through reads."""
    wanted = {loop.var for loop in loops}
    stack: list[Node] = [nest.main.value]
    while stack:
        node = stack.pop()
        if node in wanted:
            return True
        stack += () if isinstance(node, Read) else children(node)
    return False


def _nonnegative(node: Node) -> list[Expr]:
    """Expressions that are at least 0 where an index condition holds or a clamp does nothing."""
    match node:
        case Compare("<=" | "<" as op, a, b) if a.dtype == I64:
            return [sub(sub(b, a), index(int(op == "<")))]
        case Compare(">=" | ">" as op, a, b) if a.dtype == I64:
            return [sub(sub(a, b), index(int(op == ">")))]
        case Max(low, Min(e, high)) if node.dtype == I64:
            return [sub(e, low), sub(high, e)]
        case Call("abs", (e,)) if e.dtype == I64:
            return _signed(e)
    return []


def _signed(e: Expr) -> list[Expr]:
    """An expression with either sign of the magnitudes in it."""
    form = linear(e)
    inside = next((t for t, _ in form.terms if isinstance(t, Call) and t.function == "abs"), None)
    if inside is None:
        return [e]
    rest, c = form.without(inside), form.coefficient(inside)  # type: ignore[arg-type]
    return [s for sign in (c, -c) for s in _signed(rest.plus(linear(inside.args[0]), sign).expr())]
