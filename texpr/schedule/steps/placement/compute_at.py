"""`compute_at`: produce a tensor where it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr import poly
from texpr.ir.affine import same_value
from texpr.ir.build import conjunction
from texpr.ir.expr import Expr, Var
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import equal, substitute
from texpr.passes.lowering.naive_nest import guarded
from texpr.schedule.legality.independence import check_moved
from texpr.schedule.legality.presumption import conflict_of
from texpr.schedule.legality.refusal import refused
from texpr.schedule.steps.placement.duplicate import copied
from texpr.schedule.steps.placement.producer import replaced
from texpr.schedule.steps.placement.recompute import computed_at, slid_at, with_head
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import (
    all_loops,
    find_loops,
    path_to,
    paths,
    qualified,
    span_of,
    stores,
    text_of,
)
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen


@step(order_of_sums="kept")
def compute_at(
    kernel: Kernel, tensor: str, loop: str | Var, *, recompute: bool | None = None, slide: bool = False
) -> Kernel:
    """Move the production of `tensor` under `loop`. Loop fusion, overlapped tiling elsewhere;
    `place` then shrinks the tensor.

    for i: T[i] = f;  for i: Y[i] = g(T[i])           ->   for i: { T[i] = f; Y[i] = g(T[i]) }
    for i: T[i] = f;  for i: Y[i] = g(T[i], T[i+1])   ->   for i: { for w in 0..2: T[i+w] = f; Y[i] = g(T[i], T[i+1]) }

    The first form needs outer loops of the producer that have the extents of `loop` and of those
    around it; every element is computed once. It is legal if no instance then runs before one whose
    value it uses. The second form computes in each iteration the box of `tensor` that the iteration
    reads, clipped to the tensor; elements in several boxes are computed several times. It is legal
    if every iteration computes what it reads, and nothing overwrites meanwhile what `tensor` is
    computed from. The first form is taken where it is legal.

    A loop that stands in several places gets the second form in each. What other loops read of the
    tensor, or the caller does, stays as it is; the loop then has a tensor of its own. With
    `recompute=False` one nest is joined with the first place, and the others read what this leaves:
    `peel` gives the tile that meets an operand first a loop of its own, which copies it on the way.

    Args:
        tensor: a tensor, or for the first form one equation of it (`T.1`).
        recompute: True for the second form, False for the first; by default whichever is legal, the
            first before the second.
        slide: the second form without what the iteration before has computed; the first iteration's
            share stands before the loop.
    Raises:
        ScheduleError: there is no such nest before the loop, the loop does not read it, or a
            dependence would be reversed.
    Source: Ragan-Kelley et al., Halide: A Language and Compiler for Optimizing Parallelism,
    Locality, and Recomputation, PLDI 2013.
    Example:
        op = tx.op('''op smooth(X: f32[N]) -> Y: f32[N] {
          h[i] = 2 * X[i]
          Y[i] = h[i] + h[i + 1 | 0]
        }''')
        s = tx.schedule(op).split("Y.i", 16, tail="peel")
        s.compute_at("h", "Y.io")
    Refused:
        tx.schedule(op).compute_at("h", "Y.i", recompute=False)
    Elsewhere: Halide `compute_at`; TVM `compute_at`; Exo none; MLIR
    `transform.structured.fuse_into_containing_op`.
    """
    found = find_loops(kernel, loop)
    if not slide and recompute is not True:
        label = _is_label(kernel, tensor)
        if recompute is False or label or all(_is_candidate(kernel, tensor, n) for n in found):
            try:
                return _merged(kernel, tensor, [n.var for n in found], recompute is None)
            except ScheduleError:
                if recompute is False or label:
                    raise
    kernel, places = copied(kernel, tensor, found)
    for name, var in places:
        at = next(n for n in all_loops(kernel) if n.var is var)
        kernel = slid_at(kernel, name, at) if slide else computed_at(kernel, name, at)
    return kernel


def _merged(kernel: Kernel, tensor: str, at: Sequence[Var], all_of_them: bool) -> Kernel:
    """Every nest of the tensor joined with the loop that is like it; loops that are left then read
    what these have produced.

    Args:
        all_of_them: no loop may be left.
    """
    for k, var in enumerate(at):
        loop = next((n for n in all_loops(kernel) if n.var is var), None)
        if loop is None:
            raise ScheduleError(
                f"`{var.name}` stands in nests of `{tensor}` itself, and these were joined",
                code="compute_at",
                help="name a loop that uses the tensor",
            )
        if all_of_them or not k or _beside(kernel, tensor, path_to(kernel, loop)) is not None:
            kernel = _merged_at(kernel, tensor, loop)
    return kernel


def _is_label(kernel: Kernel, name: str) -> bool:
    """True if this names one equation of several (`T.1`), and no tensor."""
    return any(n.tensor == name for n in all_loops(kernel)) and all(
        s.tensor.name != name for s in stores(kernel)
    )


def _is_candidate(kernel: Kernel, tensor: str, at: For) -> bool:
    """True if the loops match, so that the first form is worth a proof."""
    path = path_to(kernel, at)
    beside = _beside(kernel, tensor, path)
    return beside is not None and isinstance(_matched(*beside, path), _Matched)


def _beside(kernel: Kernel, tensor: str, path: Sequence[For | If]) -> tuple[int, Stmt] | None:
    """A nest of that name beside one of the loops and conditions of the path: where, and the
    nest. One whose loops match comes first.
    """
    bodies = (kernel.body, *(n.body for n in path))
    found = [
        (depth, s)
        for depth, (body, node) in enumerate(zip(bodies, path))
        for s in body
        if s is not node and _name(s) == tensor
    ]
    return next(
        (each for each in found if isinstance(_matched(*each, path), _Matched)), found[0] if found else None
    )


def _name(s: Stmt) -> str:
    while isinstance(s, If) and len(s.body) == 1:
        s = s.body[0]
    return s.tensor if isinstance(s, For) else ""


@frozen
class _Matched:
    """The statements of a producer that run in an iteration of a consumer's loops.

    Attributes:
        renamed: its outer variables, and those of the consumer.
        conditions: the ones that it is under there, beside those of the consumer.
    """

    statements: tuple[Stmt, ...]
    renamed: Mapping[Var, Expr]
    conditions: tuple[Expr, ...]


def _matched(depth: int, producer: Stmt, path: Sequence[For | If]) -> _Matched | For | If:
    """The producer's loops and conditions beside those of the consumer, from `depth` on; the
    first of these that has no like.
    """
    renamed: dict[Var, Expr] = {}
    conditions: list[Expr] = []
    inside: tuple[Stmt, ...] = (producer,)
    for node in path[depth:]:
        while len(inside) == 1 and isinstance(inside[0], If):
            conditions.append(substitute(inside[0].cond, renamed))
            inside = inside[0].body
        if isinstance(node, If):
            same = next((c for c in conditions if equal(c, node.cond)), None)
            if same is None:
                return node
            conditions.remove(same)
            continue
        own = inside[0] if len(inside) == 1 else None
        if not isinstance(own, For) or not same_value(substitute(own.extent, renamed), node.extent):
            return node
        renamed[own.var] = node.var
        inside = own.body
    return _Matched(tuple(substitute(s, renamed) for s in inside), renamed, tuple(conditions))


def _merged_at(kernel: Kernel, tensor: str, at: For) -> Kernel:
    """The producer's outer loops joined with those of the consumer; every instance runs once."""
    path = path_to(kernel, at)
    beside = _beside(kernel, tensor, path)
    if beside is None:
        raise ScheduleError(
            f"no nest beside `{qualified(at)}` and the loops around it produces `{tensor}`",
            span_of(kernel, at),
            code="compute_at",
            help="name a tensor that has a nest of its own",
        )
    depth, producer = beside
    matched = _matched(depth, producer, path)
    if isinstance(matched, If):
        raise ScheduleError(
            f"`{at.var.name}` stands under a condition, so not every instance would run",
            span_of(kernel, matched),
            code="compute_at",
            help="without recompute, all of it is produced in loops that run unconditionally",
        )
    if isinstance(matched, For):
        raise ScheduleError(
            f"`{tensor}` has no loop that matches `{matched.var.name}`",
            text_of(kernel, producer),
            code="compute_at",
            help="without recompute, outer loops have equal extents; split and reorder both nests alike",
        )
    moved = guarded(conjunction(*matched.conditions), matched.statements)
    after = with_head(replaced(kernel, path[:depth], (producer,), {}), at, moved)
    conflict = conflict_of(
        lambda: poly.reversed_dependence(
            kernel, after, *_correspondence(kernel, after, producer, moved, matched.renamed)
        )
    )
    if conflict is not None:
        raise refused(
            kernel,
            f'compute_at("{tensor}", "{at.var.name}") reverses a dependence',
            conflict,
            "the new order runs the second first",
            help="compute it at an outer loop, or leave it where it is",
            after=after,
        )
    check_moved(kernel, after, "compute_at")
    return after


def _correspondence(
    before: Kernel, after: Kernel, producer: Stmt, moved: tuple[Stmt, ...], renamed: Mapping[Var, Expr]
) -> tuple[dict[Store, Store], dict[Store, dict[Var, Expr]]]:
    """The old store of each store of the new kernel, and the old loop variables in terms of the new
    ones.
    """
    origin = {s: s for s in stores(after)}
    own = {
        s: [n.var for n in above if isinstance(n, For)] for above, s in paths(before) if isinstance(s, Store)
    }
    origin |= dict(zip((n for s in moved for n in stores(s)), stores(producer)))
    instance: dict[Store, dict[Var, Expr]] = {
        new: {v: renamed.get(v, v) for v in own[old]} for new, old in origin.items()
    }
    return origin, instance
