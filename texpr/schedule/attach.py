"""`compute_at`: produce a tensor where it is used."""

from __future__ import annotations

from dataclasses import replace

from texpr import poly
from texpr.ir.affine import same_value
from texpr.ir.expr import Expr, Var
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import substitute
from texpr.schedule.independent import check_moved
from texpr.schedule.loops import all_loops, find_loops, loops_around, span_of, stores
from texpr.schedule.recompute import computed_at, slid_at
from texpr.schedule.refuse import refused
from texpr.support.errors import ScheduleError


def compute_at(kernel: Kernel, tensor: str, loop: str | Var, *, recompute: bool | None = None, slide: bool = False) -> Kernel:
    """Move the production of `tensor` under `loop`. Loop fusion, overlapped tiling elsewhere; `place` then shrinks the tensor.

    for i: T[i] = f;  for i: Y[i] = g(T[i])           ->   for i: { T[i] = f; Y[i] = g(T[i]) }
    for i: T[i] = f;  for i: Y[i] = g(T[i], T[i+1])   ->   for i: { for w in 0..2: T[i+w] = f; Y[i] = g(T[i], T[i+1]) }

    The first form needs outer loops of the producer that have the extents of `loop` and of those around it; every element is computed
    once. It is legal if no instance then runs before one whose value it uses. The second form computes in each iteration the box of
    `tensor` that the iteration reads, clipped to the tensor; elements in several boxes are computed several times. It is legal if every
    iteration computes what it reads, and nothing overwrites meanwhile what `tensor` is computed from. The first form is taken where it
    is legal.

    Args:
        tensor: a tensor, or for the first form one equation of it (`T.1`).
        recompute: True for the second form, False for the first; by default whichever is legal, the first before the second.
        slide: the second form without what the iteration before has computed; the first iteration's share stands before the loop.
    Raises:
        ScheduleError: there is no such nest before the loop, it is read elsewhere too, or a dependence would be reversed.
    Source: Ragan-Kelley et al., Halide: A Language and Compiler for Optimizing Parallelism, Locality, and Recomputation, PLDI 2013.
    """
    consumer = find_loops(kernel, loop)
    at = consumer[0]
    if len(consumer) > 1:
        raise ScheduleError(f"`{at.var.name}` stands in {len(consumer)} places", span_of(kernel, at), code="compute_at",
                            help="compute_at before the loop is peeled or distributed")
    if slide:
        return slid_at(kernel, tensor, at)
    if recompute is not True and (recompute is False or _is_label(kernel, tensor) or _is_candidate(kernel, tensor, at)):
        try:
            return _merged_at(kernel, tensor, at)
        except ScheduleError:
            if recompute is False or _is_label(kernel, tensor):
                raise
    return computed_at(kernel, tensor, at)


def _is_label(kernel: Kernel, name: str) -> bool:
    """Whether this names one equation of several (`T.1`), and no tensor."""
    return any(n.tensor == name for n in all_loops(kernel)) and all(s.tensor.name != name for s in stores(kernel))


def _is_candidate(kernel: Kernel, tensor: str, at: For) -> bool:
    """Whether the loops match, so that the first form is worth a proof."""
    producer = next((s for s in kernel.body if isinstance(s, For) and s.tensor == tensor), None)
    chain = (*loops_around(kernel, at), at)
    return (producer is not None and producer.var is not chain[0].var and _unconditional(kernel, chain)
            and _mismatch(producer, chain) is None)


def _unconditional(kernel: Kernel, chain: tuple[For, ...]) -> bool:
    """Whether nothing but loops stands around the innermost of the chain."""
    bodies = (kernel.body, *(n.body for n in chain))
    return all(any(n is s for s in body) for n, body in zip(chain, bodies))


def _mismatch(producer: For, chain: tuple[For, ...]) -> For | None:
    """The first loop of the chain that the producer's loops do not match."""
    inside: tuple[Stmt, ...] = (producer,)
    for loop in chain:
        own = inside[0] if len(inside) == 1 else None
        if not isinstance(own, For) or not same_value(own.extent, loop.extent):
            return loop
        inside = own.body
    return None


def _merged_at(kernel: Kernel, tensor: str, at: For) -> Kernel:
    """The producer's outer loops joined with those of the consumer; every instance runs once."""
    chain = (*loops_around(kernel, at), at)
    producer = next((s for s in kernel.body if isinstance(s, For) and s.tensor == tensor), None)
    if producer is None or producer.var is chain[0].var:
        raise ScheduleError(f"no nest of its own produces `{tensor}`", span_of(kernel, at), code="compute_at",
                            help="name a tensor whose outermost loop is at the top of the kernel")
    if not _unconditional(kernel, chain):
        raise ScheduleError(f"`{at.var.name}` stands under a condition, so not every instance would run", span_of(kernel, at),
                            code="compute_at", help="without recompute, all of it is produced in loops that run unconditionally")
    moved, renamed = _merged(kernel, producer, chain)
    body = tuple(_inserted(s, chain, moved) if s is chain[0] else s for s in kernel.body if s is not producer)
    after = replace(kernel, body=body)
    conflict = poly.reordered(kernel, after, *_correspondence(kernel, after, producer, moved, renamed))
    if conflict is not None:
        raise refused(kernel, f'compute_at("{tensor}", "{at.var.name}") reverses a dependence', conflict,
                      "the new order runs the second first", help="compute it at an outer loop, or leave it where it is", after=after)
    check_moved(kernel, after, "compute_at")
    return after


def _merged(kernel: Kernel, producer: For, chain: tuple[For, ...]) -> tuple[tuple[Stmt, ...], dict[Var, Var]]:
    """What the producer runs in an iteration of the chain, and the producer's outer variables by the chain's."""
    wrong = _mismatch(producer, chain)
    if wrong is not None:
        raise ScheduleError(f"`{producer.tensor}` has no loop that matches `{wrong.var.name}`", span_of(kernel, producer),
                            code="compute_at", help="without recompute, outer loops have equal extents; split and reorder both nests alike")
    renamed: dict[Var, Var] = {}
    inside: tuple[Stmt, ...] = (producer,)
    for loop in chain:
        own = inside[0]
        assert isinstance(own, For)
        renamed[own.var] = loop.var
        inside = own.body
    return tuple(substitute(s, renamed) for s in inside), renamed


def _inserted(s: Stmt, chain: tuple[For, ...], moved: tuple[Stmt, ...]) -> Stmt:
    """`moved` put at the head of the innermost loop of the chain."""
    assert isinstance(s, For)
    if len(chain) == 1:
        return replace(s, body=(*moved, *s.body))
    return replace(s, body=tuple(_inserted(b, chain[1:], moved) if b is chain[1] else b for b in s.body))


def _correspondence(before: Kernel, after: Kernel, producer: For, moved: tuple[Stmt, ...],
                    renamed: dict[Var, Var]) -> tuple[dict[Store, Store], dict[Store, dict[Var, Expr]]]:
    """Which store of the new kernel is which of the old one, and the old loop variables in terms of the new ones."""
    origin = {s: s for s in stores(after)}
    origin |= dict(zip((n for s in moved for n in stores(s)), stores(producer)))
    instance: dict[Store, dict[Var, Expr]] = {new: {v: renamed.get(v, v) for v in _loops_of(before, old)} for new, old in origin.items()}
    return origin, instance


def _loops_of(kernel: Kernel, store: Store) -> list[Var]:
    stack: list[tuple[Stmt, tuple[Var, ...]]] = [(s, ()) for s in kernel.body]
    while stack:
        node, around = stack.pop()
        if node is store:
            return list(around)
        if isinstance(node, For):
            stack += [(s, (*around, node.var)) for s in node.body]
        elif isinstance(node, If):
            stack += [(s, around) for s in node.body]
    raise AssertionError("the store is not in the kernel")
