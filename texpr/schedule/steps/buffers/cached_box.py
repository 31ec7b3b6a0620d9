"""The part of a tensor that an iteration of a loop uses, and its buffer: what `cache_read` and
`cache_write` share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from texpr import poly
from texpr.ir.affine import Linear, linear
from texpr.ir.build import (
    add,
    compare,
    conjunction,
    disjunction,
    floordiv,
    integer,
    maximum,
    mul,
    negation,
    select,
    sub,
)
from texpr.ir.expr import Axis, Cast, Const, Expr, Node, Read, Select, Tensor, Var, index, plain
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.loop_kind import UNROLLED, VECTOR, InstructionNest
from texpr.ir.traverse import rewrite, walk
from texpr.passes.analysis.collapsed_dimensions import Joined, joined, redirected
from texpr.passes.lowering.naive_nest import guarded
from texpr.schedule.structure.loops import find_loops, loops_around, paths, replace_loops, span_of, stores
from texpr.schedule.structure.tensors import unused_name
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Box:
    """The part of a tensor that one iteration of a loop uses, and the buffer for it.

    Attributes:
        chain: the loop and those around it, outermost first.
        bases: the first element of the box.
        strides: how far apart elements are that the buffer holds beside each other.
        joined: the dimensions of the tensor that are one in the buffer, if some are.
    """

    tensor: Tensor
    buffer: Tensor
    chain: tuple[For, ...]
    bases: tuple[Expr, ...]
    strides: tuple[int, ...]
    kernel: Kernel
    joined: Joined | None = None

    def local(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """Indices within the buffer of an element that the loop uses."""
        distances = (linear(sub(i, b)) for i, b in zip(_together(self.joined, indices), self.bases))
        return tuple(
            Linear(tuple((t, c // by) for t, c in x.terms), x.constant // by).expr()
            for x, by in zip(distances, self.strides)
        )

    def copy_in(self, pad: Const | None) -> tuple[Stmt, ...]:
        """Loops that fill the buffer: from the tensor, outside of it with `pad` if there is one,
        else not at all.
        """
        steps, place = self._elements()
        within = self._inside(steps, place)
        value: Expr = Read(self.tensor, place)
        if pad is not None:
            value, within = select(within, value, pad), conjunction()
        if self.buffer.dtype != self.tensor.dtype:
            value = Cast(value, dtype=self.buffer.dtype)
        return self._for_all(steps, guarded(within, (Store(self.buffer, steps, value, equation=-1),)))

    def copy_out(self) -> tuple[Stmt, ...]:
        """Loops that write the buffer to the tensor, as far as it lies in it."""
        steps, place = self._elements()
        store = Store(self.tensor, place, Read(self.buffer, steps), equation=-1)
        return self._for_all(steps, guarded(self._inside(steps, place), (store,)))

    def _elements(self) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """An element of the buffer, one loop per dimension that has more than one, and the same
        element of the tensor.
        """
        steps = tuple(index(0) if integer(n) == 1 else Var(f"d{k}") for k, n in enumerate(self.buffer.shape))
        place = tuple(add(b, mul(d, index(by))) for b, d, by in zip(self.bases, steps, self.strides))
        return steps, place if self.joined is None else self.joined.apart(place)

    def _for_all(self, steps: Sequence[Expr], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        for d, n in zip(reversed(steps), reversed(self.buffer.shape)):
            body = (For(d, n, body, tensor=self.buffer.name),) if isinstance(d, Var) else body
        return body

    def _inside(self, steps: Sequence[Expr], place: Sequence[Expr]) -> Expr:
        """The condition that an element of the box lies in the tensor, without what is proven."""
        axes = [Axis(n.var, index(0), n.extent) for n in self.chain]
        axes += [Axis(d, index(0), n) for d, n in zip(steps, self.buffer.shape) if isinstance(d, Var)]
        return conjunction(
            *(c for c in in_bounds(place, self.tensor) if not poly.always(c, axes, self.kernel.requires))
        )


def in_bounds(indices: Sequence[Expr], tensor: Tensor) -> list[Expr]:
    """The conditions that an element lies in the tensor."""
    return [
        c
        for i, size in zip(indices, tensor.shape)
        for c in (compare("<=", index(0), i), compare("<", i, size))
    ]


def box_of(kernel: Kernel, t: Tensor, at: For, name: str, kind: str) -> Box:
    """The box of a tensor that an iteration of a loop reads, or uses, with a buffer of that name
    for it.
    """
    chain = (*loops_around(kernel, at), at)
    lanes = next(
        (n for n in chain if n.kind in (VECTOR, UNROLLED) or isinstance(n.kind, InstructionNest)), None
    )
    if lanes is not None:
        raise ScheduleError(
            f"`{lanes.var.name}` is marked {lanes.kind}, and each iteration would need a buffer",
            span_of(kernel, lanes),
            code="cache",
            help="make the buffer first, then mark the loop",
        )
    kinds = Read if kind == "read" else Read | Store
    used = [n.indices for n in walk(*at.body) if isinstance(n, kinds) and n.tensor is t]
    how = joined(t, used)
    seen, seen_as = (kernel, t) if how is None else _seen(kernel, how)
    found = poly.footprint(seen, seen_as, chain, kinds=("read",) if kind == "read" else ("read", "write"))
    assert found is not None, "the loop uses the tensor"
    written = [s.tensor for s in stores(at)]
    moving = next(
        (
            n.tensor
            for b in found.bases
            for n in walk(b)
            if isinstance(n, Read) and any(n.tensor is w for w in written)
        ),
        None,
    )
    if moving is not None:
        raise ScheduleError(
            f"which elements of {t.name} an iteration of `{at.var.name}` uses depends on {moving.name}, "
            f"which it writes",
            span_of(kernel, at),
            code="cache",
            help=f"name a loop inside that does not write {moving.name}",
        )
    strides = _strides([_together(how, indices) for indices in used], found.bases)
    extents = (floordiv(add(n, index(by - 1)), index(by)) for n, by in zip(found.extents, strides))
    # At sizes at which no iteration runs an extent may be below 0; a buffer has none then.
    extents = (
        n if poly.always(compare("<=", index(0), n), (), kernel.requires) else maximum(index(0), n)
        for n in extents
    )
    buffer = Tensor(
        unused_name(kernel, name), t.dtype, plain(*extents), t.value_range if kind == "read" else None
    )
    return Box(t, buffer, chain, found.bases, strides, kernel, how)


def _together(how: Joined | None, indices: Sequence[Expr]) -> Sequence[Expr]:
    return indices if how is None else how.indices(indices)


def _seen(kernel: Kernel, how: Joined) -> tuple[Kernel, Tensor]:
    """The kernel with dimensions of a tensor taken together, and that tensor."""
    small = replace(how.tensor, dims=plain(*how.shape))
    return redirected(kernel, {how.tensor: (small, how)}), small


def _strides(used: Sequence[Sequence[Expr]], bases: Sequence[Expr]) -> tuple[int, ...]:
    """For each dimension a number of which the distances of all elements that the loop uses from
    the base are multiples.
    """
    distances = ([linear(sub(at[d], base)) for at in used] for d, base in enumerate(bases))
    # Arithmetic on data may wrap, and half of what has wrapped is not what was doubled.
    return tuple(
        gcd(*(n for x in each for n in (x.constant, *(c for _, c in x.terms)))) or 1
        if all(x.is_affine for x in each)
        else 1
        for each in distances
    )


def user_of(kernel: Kernel, t: Tensor, loop: str | Var, kind: str) -> For:
    """The loop that uses the tensor; of several copies of one loop the one with most to do, if
    possible one that no instruction runs.
    """
    loops = find_loops(kernel, loop)
    users = _users(t, loops, kind) or _users(t, find_loops(kernel, loop, run_at_once=True), kind)
    if not users:
        raise ScheduleError(
            f"nothing under `{loops[0].var.name}` {kind}s {t.name}",
            span_of(kernel, loops[0]),
            code="cache",
            help=f"name a loop around a statement that {kind}s {t.name}",
        )
    return max(users, key=lambda n: -1 if (extent := integer(n.extent)) is None else extent)


def _users(t: Tensor, loops: list[For], kind: str) -> list[For]:
    if kind == "read":
        return [n for n in loops if any(isinstance(x, Read) and x.tensor is t for x in walk(*n.body))]
    users = [n for n in loops if any(s.tensor is t and s.update is not None for s in stores(n))]
    return users or [n for n in loops if any(s.tensor is t for s in stores(n))]


def statements_below(kernel: Kernel, loop: For) -> list[tuple[tuple[For | If, ...], Stmt]]:
    """The statements in a loop, each with what stands around it."""
    return [(above, s) for above, s in paths(kernel) if any(n is loop for n in above)]


def extents_and_conditions(above: tuple[For | If, ...]) -> Iterator[Expr]:
    """The conditions and the extents of what stands around a statement."""
    return (n.cond if isinstance(n, If) else n.extent for n in above)


def guards_bounds(kernel: Kernel, above: tuple[For | If, ...], e: Select) -> bool:
    """True if the condition holds exactly where the read lies in its tensor."""
    assert isinstance(e.then, Read)
    within = conjunction(*in_bounds(e.then.indices, e.then.tensor))
    axes = [Axis(n.var, index(0), n.extent) for n in above if isinstance(n, For)]
    known = (*kernel.requires, *(n.cond for n in above if isinstance(n, If)))
    # Each direction is asked alone: together they are a product of cases.
    return all(
        poly.always(disjunction(negation(a), b), axes, known) for a, b in ((e.cond, within), (within, e.cond))
    )


def holds_in_box(box: Box, above: tuple[For | If, ...], e: Select) -> bool:
    """True if the buffer has the element also where the condition fails."""
    assert isinstance(e.then, Read)
    within = conjunction(*in_bounds(box.local(e.then.indices), box.buffer))
    axes = [Axis(n.var, index(0), n.extent) for n in above if isinstance(n, For)]
    return poly.always(within, axes, (*box.kernel.requires, *(n.cond for n in above if isinstance(n, If))))


def through_buffer(box: Box, pad: Const | None, *, writes: bool) -> tuple[Stmt, ...]:
    """The body of the loop with the buffer in place of the tensor."""
    at, t = box.chain[-1], box.tensor

    def rule(node: Node) -> Node | None:
        match node:
            case Select(_, Read(tensor, indices) as read) if (
                tensor is t
            ):  # with a pad all reads are in such a choice
                return replace(read, tensor=box.buffer, indices=box.local(indices), dtype=box.buffer.dtype)
            case Read(tensor, indices) if pad is None and tensor is t:
                return replace(node, tensor=box.buffer, indices=box.local(indices), dtype=box.buffer.dtype)
            case Cast(Read(tensor) as read, dtype=dtype) if (
                tensor is box.buffer and dtype == tensor.dtype != t.dtype
            ):
                return read
            case Cast(Select(cond, Read(tensor) as read, other), dtype=dtype) if (
                tensor is box.buffer and dtype == tensor.dtype != t.dtype
            ):
                return select(cond, read, Cast(other, dtype=tensor.dtype))
            case Store(tensor, indices) if writes and tensor is t:
                return replace(node, tensor=box.buffer, indices=box.local(indices))
        return None

    return tuple(rewrite(s, rule, kinds=(Select, Read, Cast, Store)) for s in at.body)


def with_body(box: Box, body: tuple[Stmt, ...]) -> Kernel:
    """The kernel with another body of the loop, and the buffer among its temporaries."""
    after = replace_loops(box.kernel, [box.chain[-1]], lambda n: replace(n, body=body))
    return replace(after, temporaries=(*after.temporaries, box.buffer))
