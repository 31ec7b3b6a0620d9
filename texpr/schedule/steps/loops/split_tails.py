"""Proofs for the tails `overlap` and `pad` of `split`: iterations may run twice, or past the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from texpr import poly
from texpr.ir.affine import linear, same_value
from texpr.ir.build import TRUE, add, compare, conjunction, floordiv, integer, literal, mul, select, sub
from texpr.ir.dtypes import BOOL
from texpr.ir.expr import Axis, Const, Expr, Node, Read, Select, Tensor, Var, index, plain
from texpr.ir.guarded import guarded_reads
from texpr.ir.loop import For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.traverse import children, equal, rewrite, tensors, variables, walk
from texpr.passes.analysis.substitution import over_tensors
from texpr.schedule.legality.independence import check_independent
from texpr.schedule.steps.loops.split_padding import ends_in_zeros, is_sum
from texpr.schedule.steps.loops.split_tiles import whole
from texpr.schedule.structure.loops import (
    loops_around,
    paths,
    private_temporaries,
    replace_loops,
    span_of,
    stores,
    text_of,
)
from texpr.schedule.structure.tensors import check_stays
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

OTHER_TAIL = 'tail="guard" and tail="peel" are always legal'


def check_again(kernel: Kernel, loops: Sequence[For], factor: int) -> None:
    """Prove that iterations of the loops may run twice: they are independent, and read nothing that
    they write later.

    Raises:
        ScheduleError: a loop is shorter than a tile, or an element computed twice would be another
            one.
    """
    for loop in loops:
        extent = integer(loop.extent)
        if extent is not None and extent < factor:
            raise ScheduleError(
                f"`{loop.var.name}` has {extent} iterations, fewer than one tile of {factor}",
                span_of(kernel, loop),
                code="overlap",
                help=OTHER_TAIL,
            )
        check_independent(kernel, loop, "overlap of tiles", private_temporaries(kernel, loop))
        inside = _alone(kernel, loop)
        around = (*loops_around(kernel, loop), loop)
        for store in stores(loop):
            reads = store.update is not None or any(_reads(s, store.tensor) for s in loop.body)
            if reads and not poly.flow_stays_within(inside, store.tensor, around):
                raise ScheduleError(
                    f"computed twice, {store.tensor.name} would not be the same: an iteration of "
                    f"`{loop.var.name}` uses "
                    "what was there before it",
                    text_of(kernel, store),
                    code="overlap",
                    help=OTHER_TAIL,
                )


def _alone(kernel: Kernel, loop: For) -> Kernel:
    """The kernel with nothing but one loop and what is around it."""
    around = [
        n for above, s in paths(kernel) if any(n is loop for n in above) for n in above[: above.index(loop)]
    ]
    body: Stmt = loop
    for n in reversed(list(dict.fromkeys(around))):
        body = replace(n, body=(body,))
    return replace(kernel, body=(body,))


def _reads(s: Stmt, tensor: Tensor) -> bool:
    stack: list[Node] = [s]
    while stack:
        node = stack.pop()
        if isinstance(node, Read) and node.tensor is tensor:
            return True
        stack += children(node)
    return False


def padded(kernel: Kernel, loops: Sequence[For], factor: int, outer: str, inner: str) -> Kernel:
    """The loops in full tiles. Past the end buffers are written, which grow, and the caller's
    memory is not; what is read outside is 0.

    Sums that start at +0 take terms that are products of zeros.

    Raises:
        ScheduleError: they add other terms to an element, write elements that are in use or are not
            there, or a condition or a range reads past the end.
    """
    grown: dict[Tensor, Tensor] = {}
    ragged = [n for n in loops if (integer(n.extent) or 1) % factor or integer(n.extent) is None]
    for loop in ragged:
        rounded = mul(floordiv(add(loop.extent, index(factor - 1)), index(factor)), index(factor))
        for store in stores(loop):
            if is_sum(kernel, loop, store):
                _check_zeros(kernel, loop, factor, store)
            elif store.tensor in kernel.temporaries:
                grown[store.tensor] = _grown(
                    kernel, loop, store, grown.get(store.tensor, store.tensor), rounded
                )
    ending = {n.var: _ending(kernel, n) if n in ragged else n for n in loops}
    after = over_tensors(
        replace_loops(kernel, list(loops), lambda n: whole(ending[n.var], factor, outer, inner)), grown
    )
    for loop in ragged:
        name = f"{loop.tensor}.{outer}"
        after = _with_safe_reads(
            kernel, after, {n.var for n in _loops(after) if f"{n.tensor}.{n.var.name}" == name}, loop
        )
    return after


def _check_zeros(kernel: Kernel, loop: For, factor: int, store: Store) -> None:
    above = next(above for above, s in paths(kernel) if s is store)
    if not ends_in_zeros(kernel, above, loop, factor, store):
        raise ScheduleError(
            f"iterations past the end of `{loop.var.name}` would add terms to {store.tensor.name} that are "
            f"not products of "
            "zeros",
            text_of(kernel, store),
            code="pad",
            help=OTHER_TAIL,
        )


def _ending(kernel: Kernel, loop: For) -> For:
    """The loop, whose iterations past the end leave alone what is the caller's, and ask for
    nothing whose address depends on data.
    """

    def rule(node: Node) -> Node | None:
        if (
            isinstance(node, Store)
            and node.tensor not in kernel.temporaries
            or isinstance(node, Prefetch)
            and tensors(*node.indices)
        ):
            return If(compare("<", loop.var, loop.extent), (node,))
        return None

    return replace(loop, body=tuple(rewrite(s, rule) for s in loop.body))


def _loops(kernel: Kernel) -> list[For]:
    return list(dict.fromkeys(n for above, _ in paths(kernel) for n in above if isinstance(n, For)))


def _grown(kernel: Kernel, loop: For, store: Store, tensor: Tensor, rounded: Expr) -> Tensor:
    """The buffer with room for the iterations past the end, which write elements of their own."""
    check_stays(kernel, store.tensor, "pad")
    where = text_of(kernel, store)
    along = [d for d, i in enumerate(store.indices) if loop.var in variables(i)]
    own = len(along) == 1 and linear(sub(store.indices[along[0]], loop.var))
    if (
        not own
        or own.terms
        or own.constant < 0
        or not same_value(add(loop.extent, index(own.constant)), store.tensor.shape[along[0]])
    ):
        raise ScheduleError(
            f"iterations past the end of `{loop.var.name}` would write elements of {store.tensor.name} that "
            f"are in use",
            where,
            code="pad",
            help=OTHER_TAIL,
        )
    shape = list(tensor.shape)
    shape[along[0]] = add(rounded, index(own.constant))
    return replace(tensor, dims=plain(*shape))


def _with_safe_reads(kernel: Kernel, after: Kernel, tiles: set[Var], old: For) -> Kernel:
    """The kernel with every read of the tiles that may be outside its tensor replaced by 0 there.

    Raises:
        ScheduleError: a condition, a range or an index reads them, or data says which ones.
    """
    outside: dict[int, tuple[Read, Expr]] = {}
    for above, s in paths(after):
        first = next((k for k, n in enumerate(above) if isinstance(n, For) and n.var in tiles), None)
        if not isinstance(s, Store) or first is None:
            continue
        for k, n in enumerate(above[first + 1 :], first + 1):
            for read, _ in _outside(after, above[:k], (n.cond if isinstance(n, If) else n.extent,)):
                _check_plain(kernel, s, read, old)
        if s.tensor in after.temporaries and any(
            variables(n.extent) & tiles for n in above[first + 1 :] if isinstance(n, For)
        ):
            _check_written(kernel, after, above, s, tiles, old)
        for read, inside in _outside(after, above, (*s.indices, s.value)):
            _check_plain(kernel, s, read, old)
            outside[id(read)] = read, inside
    if not outside:
        return after

    def rule(node: Node) -> Node | None:
        match node:
            case Read() if id(node) in outside:
                return select(
                    outside[id(node)][1], node, literal(False if node.dtype == BOOL else 0, node.dtype)
                )
            case Select(cond, Select(inside, Read() as read, zero), Const() as other) if id(
                read
            ) in outside and equal(zero, other):
                return select(conjunction(cond, inside), read, zero)
        return None

    return rewrite(after, rule)  # type: ignore[return-value]


def _check_written(
    kernel: Kernel, after: Kernel, above: Sequence[For | If], s: Store, tiles: set[Var], old: For
) -> None:
    """Ranges that grow with the loop stay within a buffer past its end: along the loop itself
    the buffer has grown.
    """
    axes = [Axis(n.var, index(0), n.extent) for n in above if isinstance(n, For)]
    known = (*after.requires, *(n.cond for n in above if isinstance(n, If)))
    beside = [(i, n) for i, n in zip(s.indices, s.tensor.shape) if not variables(i) & tiles]
    if not all(
        poly.always(c, axes, known)
        for i, n in beside
        for c in (compare("<=", index(0), i), compare("<", i, n))
    ):
        raise ScheduleError(
            f"iterations past the end of `{old.var.name}` would write {s.tensor.name} outside its elements",
            text_of(kernel, old),
            code="pad",
            help=OTHER_TAIL,
        )


def _outside(
    kernel: Kernel, above: Sequence[For | If], read_there: Sequence[Expr]
) -> Iterator[tuple[Read, Expr]]:
    """Reads in expressions under loops and conditions that may be outside their tensors, with the
    condition for that.
    """
    axes = [Axis(n.var, index(0), n.extent) for n in above if isinstance(n, For)]
    conditions = [n.cond for n in above if isinstance(n, If)]
    for read, facts in guarded_reads(read_there):
        inside = conjunction(
            *(
                c
                for i, n in zip(read.indices, read.tensor.shape)
                for c in (compare("<=", index(0), i), compare("<", i, n))
                if not poly.always(c, axes, (*kernel.requires, *conditions, *facts))
            )
        )
        if inside is not TRUE:
            yield read, inside


def _check_plain(kernel: Kernel, s: Store, read: Read, old: For) -> None:
    """The value reads it directly, at a place that no data decides."""
    placing = any(n is read for n in walk(*s.indices))
    if placing or tensors(*read.indices) or not any(n is read for n in walk(s.value)):
        raise ScheduleError(
            f"iterations past the end of `{old.var.name}` would read {read.tensor.name} outside its elements",
            read.span or span_of(kernel, old),
            code="pad",
            help=OTHER_TAIL,
        )
