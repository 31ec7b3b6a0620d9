"""Barriers of the threads of a block, placed by the memory that threads have used since they last
met.

No barrier stands where it is proven, for all sizes, that no two threads use one element of which
one writes it: because each uses only what its own index names, or by asking whether indices can
meet (`poly.never`). Where it is proven of threads of different warps, warps wait for their own
threads alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from math import gcd

from texpr import poly
from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, compare, conjunction, floordiv, integer, mul
from texpr.ir.expr import Axis, Compare, Const, Expr, Node, Read, Tensor, Var, index
from texpr.ir.loop import Alloc, Stmt, Store
from texpr.ir.store_kind import ATOMIC
from texpr.ir.traverse import children, statements, substitute, variables, walk
from texpr.support.frozen_dataclass import frozen, replace

WARP = 32
MANY = 16
"""Number of pairs of uses of a tensor from which they are first compared as runs."""
Owner = frozenset[tuple[str, int]]
"""Pairs (axis, d): thread t of that axis uses only elements with index t at dimension d. d = -1:
thread 0 does it all, -2: each thread has a buffer of its own."""


@frozen
class Access:
    """A use of elements of a tensor at given indices. `key` is the same for uses that are alike.

    Attributes:
        steps: how many values a variable of the indices takes that is no loop's.
        atomic: the operation of an update in which threads may meet with others of it.
    """

    written: bool
    owner: Owner
    indices: tuple[Expr, ...]
    steps: tuple[tuple[Var, int], ...] = ()
    atomic: str = ""

    @property
    def key(self) -> Hashable:
        return self.written, self.atomic, self.owner, tuple(map(_structure, self.indices))

    def conflicts_with(self, other: Access) -> bool:
        """True if different threads must not do both with one element."""
        return (self.written or other.written) and not (self.atomic and self.atomic == other.atomic)


@frozen
class Threads:
    """Facts about the threads of a nest.

    Attributes:
        axes: along which a block may have more than one thread.
        warps: whether 32 threads beside each other along x are a warp.
        of: the axis of each variable that is the index of a thread.
        blocks: variables that are the same for all threads of a block.
        extents: of all loops, and of each axis of the block.
        facts: what the kernel requires of sizes.
        disjoint: of pairs of accesses, whether no two threads, or warps, use one element: what was
            proven so far.
    """

    axes: Set[str]
    of: Mapping[Var, str]
    blocks: Set[Var]
    extents: Mapping[Var | str, Expr]
    facts: Sequence[Expr]
    warps: bool = False
    disjoint: dict[Hashable, bool] = field(default_factory=dict)


@dataclass(slots=True)
class AccessSet:
    """Accesses by tensor. Equal accesses, such as those of unrolled loops, are kept once."""

    by_tensor: dict[Tensor, dict[Hashable, Access]] = field(default_factory=dict)

    def add(self, other: AccessSet) -> None:
        """Take the uses of `other` in."""
        for tensor, uses in other.by_tensor.items():
            self.by_tensor.setdefault(tensor, {}).update(uses)

    def copy(self) -> AccessSet:
        """An independent copy."""
        return AccessSet({tensor: dict(uses) for tensor, uses in self.by_tensor.items()})

    def conflicts(self, later: AccessSet, threads: Threads, *, each: int = 1) -> bool:
        """True if an element may be used here and in `later` by different threads, or different
        warps of `each`, one of them writing.
        """
        return any(
            _may_conflict(self.by_tensor[tensor], uses, threads, each)
            for tensor, uses in later.by_tensor.items()
            if tensor in self.by_tensor
        )


@dataclass(slots=True)
class BarrierState:
    """The accesses since the last barrier of the block, and since the last one of each warp."""

    block: AccessSet = field(default_factory=AccessSet)
    warp: AccessSet = field(default_factory=AccessSet)

    def copy(self) -> BarrierState:
        """Independent ones."""
        return BarrierState(self.block.copy(), self.warp.copy())

    def add(self, other: BarrierState) -> None:
        """Take the uses of `other` in."""
        self.block.add(other.block)
        self.warp.add(other.warp)

    def use(self, uses: AccessSet) -> None:
        """Note uses."""
        self.block.add(uses)
        self.warp.add(uses)

    def required_barrier(self, later: AccessSet, threads: Threads) -> str:
        """The barrier required before such accesses: of the `block`, of each `warp`, or none
        (empty).
        """
        if not self.block.conflicts(later, threads):
            return ""
        if not threads.warps or self.block.conflicts(later, threads, each=WARP):
            return "block"
        return "warp" if self.warp.conflicts(later, threads) else ""


def _may_conflict(
    before: Mapping[Hashable, Access], later: Mapping[Hashable, Access], threads: Threads, each: int
) -> bool:
    """True if different threads, or warps, may use an element of one tensor, one of them writing:
    asked of runs of uses, then of each.
    """
    many = len(before) * len(later) > MANY
    if many and all(
        _is_disjoint(a, b, threads, each)
        for b in _runs(later, threads)
        for a in _runs(before, threads)
        if a.conflicts_with(b)
    ):
        return False
    return any(
        not _are_disjoint((one, first), (two, second), threads, each)
        for two, second in later.items()
        for one, first in before.items()
        if first.conflicts_with(second)
    )


def _runs(uses: Mapping[Hashable, Access], threads: Threads) -> list[Access]:
    """Uses merged into runs: those that differ by constants become one of all that lie between them
    in equal steps: such are those of loops written out.
    """
    alike: dict[Hashable, list[tuple[Access, list[Linear]]]] = {}
    for use in uses.values():
        forms, numbers = [linear(i) for i in use.indices], dict[Var, Hashable]()
        names = [
            tuple((_structure(t, partial(_numbered, numbers, threads)), c) for t, c in form.terms)
            for form in forms
        ]
        alike.setdefault((use.written, use.atomic, use.owner, tuple(names)), []).append((use, forms))
    return [_run(group) for group in alike.values()]


def _numbered(numbers: dict[Var, Hashable], threads: Threads, v: Var) -> Hashable:
    """A key of a variable that is equal for interchangeable variables: for the variable of a loop
    with a known extent, the extent and a number; else the variable's identity.
    """
    extent = None if v in threads.of or v in threads.blocks else integer(threads.extents.get(v, index(-1)))
    return numbers.setdefault(v, id(v) if extent is None or extent < 0 else (extent, len(numbers)))


def _run(group: Sequence[tuple[Access, list[Linear]]]) -> Access:
    (use, forms), *_ = group
    indices: list[Expr] = []
    steps: list[tuple[Var, int]] = []
    for d, form in enumerate(forms):
        places = {other[d].constant for _, other in group}
        first, step = min(places), gcd(*(p - form.constant for p in places))
        along = Linear(form.terms, first).expr()
        if step:
            v = Var(f"run{d}")
            steps.append((v, (max(places) - first) // step + 1))
            along = add(along, mul(v, index(step)))
        indices.append(along)
    return replace(use, indices=tuple(indices), steps=tuple(steps))


def _are_disjoint(
    one: tuple[Hashable, Access], two: tuple[Hashable, Access], threads: Threads, each: int
) -> bool:
    pair = one[0], two[0], each
    if pair not in threads.disjoint:
        threads.disjoint[pair] = _is_disjoint(one[1], two[1], threads, each)
    return threads.disjoint[pair]


def _is_disjoint(first: Access, second: Access, threads: Threads, each: int) -> bool:
    """True if it is proven that no two different threads use one element, or no two warps of `each`
    threads along x.
    """
    asked = {a: each if a == "x" else 1 for a in threads.axes}
    if integer(threads.extents["x"]) == each:
        asked.pop("x", None)  # they do not differ there
    if asked.keys() <= {axis for axis, _ in first.owner & second.owner}:
        return True
    if any(isinstance(n, Read) for n in walk(*first.indices, *second.indices)):
        return False
    axes: dict[Var, Axis] = {}
    sides = [_renamed(use, f"{k}", threads, axes) for k, use in enumerate((first, second))]
    if None in sides:
        return False
    (here, mine), (there, theirs) = sides  # type: ignore[misc]
    own = {axis for axis, d in first.owner & second.owner if d == -2}
    same = conjunction(*(compare("==", i, j) for i, j in zip(here, there)))
    return all(
        poly.never(
            conjunction(same, compare("!=", floordiv(mine[a], index(n)), floordiv(theirs[a], index(n)))),
            list(axes.values()),
            threads.facts,
        )
        for a, n in asked.items()
        if a not in own
    )


def _renamed(
    use: Access, suffix: str, threads: Threads, axes: dict[Var, Axis]
) -> tuple[tuple[Expr, ...], dict[str, Expr]] | None:
    """The indices with variables of their own, the position of the thread, and in `axes` what
    values they take; None if that is not known.

    Loops that count may be in another iteration; blocks have memory of their own, or are the same.
    """
    zero = {axis for axis, d in use.owner if d == -1}
    position: dict[str, Expr] = {a: index(0) if a in zero else Var(a + suffix) for a in sorted(threads.axes)}
    for axis, v in position.items():
        if isinstance(v, Var):
            axes[v] = Axis(v, index(0), threads.extents[axis])
    values: dict[Var, Expr] = {}
    steps = dict(use.steps)
    for v in sorted(variables(*use.indices), key=lambda v: v.name):
        if v in threads.of:
            values[v] = at = position.get(threads.of[v], index(0))
            if isinstance(at, Var) and integer(threads.extents[v]) is not None:
                axes[at] = Axis(
                    at, index(0), threads.extents[v]
                )  # threads beyond the loop's extent do not come here
        elif v in steps:
            values[v] = new = Var(v.name + suffix)
            axes[new] = Axis(new, index(0), index(steps[v]))
        elif v in threads.extents:
            extent = threads.extents[v]
            by_blocks = variables(extent) & threads.extents.keys()
            if not by_blocks <= threads.blocks or any(
                variables(threads.extents[b]) & threads.extents.keys() for b in by_blocks
            ):
                return None
            axes |= {b: Axis(b, index(0), threads.extents[b]) for b in by_blocks}
            new = v if v in threads.blocks else Var(v.name + suffix)
            values[v], axes[new] = new, Axis(new, index(0), extent)
    return tuple(substitute(i, values) for i in use.indices), position


def accesses_of(
    body: tuple[Stmt, ...],
    threads: Threads,
    single: Set[str],
    copies: Mapping[Tensor, Set[str]],
    arriving: Set[Tensor] = frozenset(),
) -> AccessSet:
    """The uses by some statements. Others that are allocated inside belong to one thread and do not
    count, as do registers.

    Args:
        single: axes along which thread 0 runs all of `body`.
        copies: the buffers in shared memory, with the axes of whose threads each has one of its
            own.
        arriving: buffers that asynchronous copies fill. Their barriers stand in the kernel, proven
            (`poly.unproven_copy`).
    """
    own = {s.tensor for s in statements(*body) if isinstance(s, Alloc)} - copies.keys() | arriving
    found = AccessSet()
    for node in walk(*body):
        if isinstance(node, Read | Store) and node.tensor not in own and node.tensor.scope != "register":
            owner = _owner(node.indices, threads.of, single) | frozenset(
                (axis, -2) for axis in copies.get(node.tensor, ())
            )
            together = (node.update or "") if isinstance(node, Store) and node.mode is ATOMIC else ""
            use = Access(isinstance(node, Store), owner, node.indices, atomic=together)
            found.by_tensor.setdefault(node.tensor, {})[use.key] = use
    return found


def _structure(e: Node, of: Callable[[Var], Hashable] = id) -> Hashable:
    """A key that is equal for indices written alike; `of` gives the key of a variable."""
    below = tuple(_structure(c, of) for c in children(e))
    match e:
        case Var():
            return of(e)
        case Const(value):
            return value
        case Read(tensor):
            return id(tensor), below
        case Compare(op):
            return op, below
    return type(e), below


def _owner(indices: tuple[Expr, ...], threads: Mapping[Var, str], single: Set[str]) -> Owner:
    by_index = {(threads[i], d) for d, i in enumerate(indices) if isinstance(i, Var) and i in threads}
    return frozenset(by_index | {(axis, -1) for axis in single})
