"""`pipeline`: what an iteration uses is computed some iterations ahead, into a buffer of its
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from texpr import poly
from texpr.ir.build import add, compare, integer, minimum, sub
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, index, plain
from texpr.ir.loop import For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.loop_kind import SERIAL
from texpr.ir.traverse import rewrite, walk
from texpr.passes.analysis.substitution import over_tensors
from texpr.passes.loop.check_async import check_arrivals
from texpr.passes.lowering.naive_nest import guarded
from texpr.schedule.legality.independence import check_changed
from texpr.schedule.legality.refusal import refused
from texpr.schedule.steps.placement.pipeline_async import check_copies, issue_ahead, running_on
from texpr.schedule.steps.placement.producer import Production, find_production, find_tensor, replaced
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.indices import moved_to, number, remainder, tidy
from texpr.schedule.structure.loops import (
    all_loops,
    find_loops,
    loops_around,
    path_to,
    private_copies,
    qualified,
    replace_loops,
    span_of,
    stores,
    text_of,
    with_temporaries,
)
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen, replace

MOST_BUFFERS = 16


@step(order_of_sums="kept")
def pipeline(
    kernel: Kernel,
    what: str | Var,
    depth: int = 2,
    *,
    asynchronous: bool = False,
    lead: int = 0,
    through: str | Var | None = None,
) -> Kernel:
    """Compute a tensor `depth - 1` iterations before its use, into one of `depth` buffers. Double
    buffering, software pipelining elsewhere.

    for i in 0..n: { T = f(i); Y[i] = g(T) }
    ->   for i in 0..1: T[i % 2] = f(i)
         for i in 0..n-1: { T[(i+1) % 2] = f(i+1); Y[i] = g(T[i % 2]) }
         for i in 0..1: Y[n-1+i] = g(T[(n-1+i) % 2])

    A loop of symbolic extent has a condition instead of the last part. Iteration i uses buffer i %
    depth, which is written for i + depth in iteration i + 1: after its last use. Legal if every
    iteration uses only values of its own, and what is computed ahead needs nothing else that this
    iteration or one of the `depth - 1` before it computes.

    With `asynchronous`, copies from memory to shared memory are begun so early and waited for where
    they are used; threads go on meanwhile. The end of the loop is no part of its own: every
    iteration commits a group of copies, the last ones an empty one.

    for i in 0..n: { T = X[i]; Y[i] = g(T) }
    ->   for i in 0..1: { T[i % 2] = X[i]; commit }
         for i in 0..n: { wait 0; barrier; if i+1 < n: T[(i+1) % 2] = X[i+1]; commit; Y[i] = g(T[i %
         2]) }

    That every copy has arrived where it is read, and none begins before the last read of what it
    overwrites, is proven of the result.

    Args:
        what: a tensor that an iteration of a loop computes and uses up; or the loop, for all such
            tensors that do not need each other.
        depth: buffers, 2 to 16.
        asynchronous: the tensors are copies in shared memory.
        lead: iterations that asynchronous copies run ahead, `depth - 1` if not given. With fewer,
            buffers stay as they are for longer: `async_mma` lets products that read them go on
            meanwhile.
        through: a loop around, from which on all iterations follow each other: asynchronous copies
            for the next of its iterations begin in the last ones of this, and buffers are used in
            turn all the way.
    Raises:
        ScheduleError: values pass from iteration to iteration, or an input of the tensor is not
            there earlier. Lanes around the loop would share the buffers. With `asynchronous`, a
            tensor is computed, lives elsewhere, or is not proven to arrive.
    Source: Lam, Software Pipelining: An Effective Scheduling Technique for VLIW Machines, PLDI
    1988.
    Example:
        op = tx.op('''op decay(X: f32[M, N]) -> h: f32[M, N] {
          g[t, n] = exp(X[t, n])
          h[t, n] = h[t - 1, n | 0] + g[t, n]
        }''')
        s = tx.schedule(op, M=64).compute_at("g", "h.t")
        s.pipeline("g")
    Refused:
        op = tx.op('''op feedback(X: f32[M, N]) -> h: f32[M, N] {
          g[t, n] = X[t, n] + h[t - 1, n | 0] for t in 0..M, n in 0..N
          h[t, n] = g[t, n] / 2
        }''')
        tx.schedule(op).pipeline("g")
    Elsewhere: Halide `async` and `ring_buffer`; TVM `annotate` with `software_pipeline_stage`; Exo
    none; MLIR `transform.loop.pipeline`, `transform.nvgpu.pipeline_shared_memory_copies`.
    """
    _check_arguments(depth, asynchronous, lead, through)
    lead = lead or depth - 1
    kernel = replace_loops(kernel, all_loops(kernel), _spread)
    loop, stage = _stage(kernel, what, lead)
    if loop.kind != SERIAL:
        raise ScheduleError(
            f"the iterations of `{qualified(loop)}` run at once ({loop.kind}), so none is ahead of another",
            span_of(kernel, loop),
            code="pipeline",
            help="pipeline a loop inside it",
        )
    buffers = {p.tensor: _buffer(kernel, p, loop, depth) for p in stage}
    ahead = [k for k, s in enumerate(loop.body) if any(s is own for p in stage for own in p.statements)]
    outer = running_on(kernel, loop, through, lead) if through is not None else []
    buffered = _buffered(kernel, buffers, remainder(number([*outer, loop]), depth), depth)
    if asynchronous:
        check_copies(kernel, [p.tensor for p in stage])
        after = issue_ahead(buffered, loop, ahead, lead, len(outer))
    else:
        after = _moved(buffered, loop, ahead, lead)
    early = {s for k in ahead for s in stores(loop.body[k])}
    conflict = poly.dependence_on(
        kernel, early, set(stores(loop)) - early, len(loops_around(kernel, loop)), lead, buffers
    )
    if conflict is not None:
        names = ", ".join(p.tensor.name for p in stage)
        raise refused(
            kernel,
            f"pipeline of {names} reverses a dependence",
            conflict,
            "computed ahead, the second would run first",
            help="leave it where it is",
            after=after,
        )
    check_changed(after, set(stores(after)) - set(stores(kernel)), "pipeline")
    return check_arrivals(after)


def _check_arguments(depth: object, asynchronous: bool, lead: object, through: object) -> None:
    if not isinstance(depth, int) or not 2 <= depth <= MOST_BUFFERS:
        raise ScheduleError(f"pipeline takes 2 to {MOST_BUFFERS} buffers, not {depth!r}", code="pipeline")
    if not isinstance(lead, int) or not 0 <= lead < depth or lead and not asynchronous:
        raise ScheduleError(
            f"copies into {depth} buffers run 1 to {depth - 1} iterations ahead, not {lead!r}",
            code="pipeline",
            help="only those of asynchronous=True may run less than depth - 1 iterations ahead",
        )
    if through is not None and not asynchronous:
        raise ScheduleError(
            "only asynchronous copies run on from one iteration of a loop around to the next",
            code="pipeline",
            help="pass asynchronous=True as well",
        )


@frozen
class _Buffer:
    """A box of a tensor that an iteration of the loop needs; `bases` are taken off the indices."""

    tensor: Tensor
    bases: tuple[Expr, ...]


def _spread(loop: For) -> For:
    """The loop with a condition of its own for each of the statements that share one: some of
    them may run ahead.
    """
    body = tuple(each for s in loop.body for each in _apart(s))
    return loop if len(body) == len(loop.body) else replace(loop, body=body)


def _apart(s: Stmt) -> Iterator[Stmt]:
    if isinstance(s, If):
        below = [each for n in s.body for each in _apart(n)]
        yield from (replace(s, body=(n,)) for n in below) if len(below) > 1 else (s,)
    else:
        yield s


def _stage(kernel: Kernel, what: str | Var, lead: int) -> tuple[For, list[Production]]:
    """The loop, and what is to be computed ahead in it."""
    if isinstance(what, str) and any(s.tensor.name == what for s in stores(kernel)):
        production = find_production(kernel, find_tensor(kernel, what, "pipeline"), "pipeline")
        loop = production.above[-1] if production.above else None
        if not isinstance(loop, For):
            raise ScheduleError(
                f"`{what}` is not computed in a loop that uses it",
                text_of(kernel, production.statements[0]),
                code="pipeline",
                help=f'compute_at("{what}", loop) first',
            )
        return loop, [production]
    found = find_loops(kernel, what)
    stage = _first_stage(kernel, found[0], lead)
    if not stage or len(found) > 1:
        raise ScheduleError(
            f"no iteration of `{qualified(found[0])}` computes a tensor that it then uses",
            span_of(kernel, found[0]),
            code="pipeline",
            help="compute_at or cache_read puts one there",
        )
    return found[0], stage


def _first_stage(kernel: Kernel, loop: For, lead: int) -> list[Production]:
    """Computations of the loop's iterations for their own use, from values that the loop does not
    compute, or did more than `lead` iterations before.
    """
    stage: list[Production] = []
    for t in kernel.temporaries:
        if any(t in p.private for p in stage):
            continue
        try:
            production = find_production(kernel, t, "pipeline")
        except ScheduleError:
            continue  # computed together with another, which is or is not there itself
        if (
            production.above
            and production.above[-1] is loop
            and _early_enough(kernel, loop, production, lead)
        ):
            stage.append(production)
    return stage


def _early_enough(kernel: Kernel, loop: For, production: Production, lead: int) -> bool:
    own = set(production.stores)
    return (
        poly.dependence_on(
            kernel, own, set(stores(loop)) - own, len(loops_around(kernel, loop)), lead, {production.tensor}
        )
        is None
    )


def _buffer(kernel: Kernel, production: Production, loop: For, depth: int) -> _Buffer:
    """The box of the tensor that an iteration uses, in a tensor with `depth` of them."""
    whole = production.tensor
    chain = (*loops_around(kernel, loop), loop)
    if whole not in kernel.temporaries or not poly.flow_stays_within(kernel, whole, chain):
        raise ScheduleError(
            f"values of `{whole.name}` are used outside the iteration of `{qualified(loop)}` that computes "
            f"them",
            text_of(kernel, production.statements[0]),
            code="pipeline",
            help=f"a temporary that each iteration computes for itself has iterations to be ahead of: "
            f'compute_at("{whole.name}", loop, recompute=True)',
        )
    box = poly.footprint(kernel, whole, chain)
    assert box is not None, "the loop uses the tensor"
    small = [integer(extent) is not None for extent in box.extents]
    shape = [extent if fits else size for extent, size, fits in zip(box.extents, whole.shape, small)]
    return _Buffer(
        replace(whole, dims=plain(index(depth), *shape)),
        tuple(base if fits else index(0) for base, fits in zip(box.bases, small)),
    )


def _buffered(kernel: Kernel, buffers: dict[Tensor, _Buffer], turn: Expr, depth: int) -> Kernel:
    """Iterations use buffers in turn: T[i]   ->   T[iteration % depth, i - base]."""

    def rule(node: Node) -> Node | None:
        match node:
            case Read(t, indices) | Store(t, indices) | Prefetch(t, indices) if t in buffers:
                local = (tidy(sub(i, base)) for i, base in zip(indices, buffers[t].bases))
                return replace(node, tensor=buffers[t].tensor, indices=(turn, *local))
        return None

    after = rewrite(kernel, rule)
    return replace(
        after, temporaries=tuple(buffers[t].tensor if t in buffers else t for t in kernel.temporaries)
    )


def _moved(kernel: Kernel, loop: For, early: Sequence[int], lead: int) -> Kernel:
    """The statements at these places in the loop's body run `lead` iterations before the others."""
    *around, old = path_to(kernel, loop)
    assert isinstance(old, For)
    ahead = [old.body[k] for k in early]
    rest = [s for k, s in enumerate(old.body) if k not in early]
    own = _own(kernel, old, ahead, "first")
    count = integer(old.extent)
    later = add(old.var, index(lead))
    head = _copied(ahead, old.var, later)
    first = replace(old.var)
    parts: list[For] = [
        For(first, minimum(old.extent, index(lead)), _copied(ahead, old.var, first, own), tensor=old.tensor)
    ]
    if count is None:
        parts.append(replace(old, body=(*guarded(compare("<", later, old.extent), head), *rest)))
    else:
        last, alone, most = replace(old.var), _own(kernel, old, rest, "last"), max(count - lead, 0)
        parts.append(replace(old, extent=index(most), body=(*head, *rest)))
        parts.append(
            For(
                last,
                index(count - most),
                _copied(rest, old.var, add(last, index(most)), alone),
                tensor=old.tensor,
            )
        )
        own = own | alone
    after = replaced(kernel, around, (old,), {id(old): tuple(n for n in parts if integer(n.extent) != 0)})
    return with_temporaries(after, list(own.values()))


def _copied(
    statements: Sequence[Stmt], var: Var, value: Expr, own: dict[Tensor, Tensor] | None = None
) -> tuple[Stmt, ...]:
    """The statements for `value` of the loop's variable, with loops and private tensors of their
    own.
    """
    return tuple(over_tensors(s, own or {}) for s in moved_to(statements, {var: value}))


def _own(kernel: Kernel, loop: For, statements: Sequence[Stmt], suffix: str) -> dict[Tensor, Tensor]:
    """Temporaries that only these statements use in the loop, with the ones that copies of them
    use instead.
    """
    here, others = (
        {
            n.tensor
            for s in loop.body
            if (s in statements) is inside
            for n in walk(s)
            if isinstance(n, Store | Read)
        }
        for inside in (True, False)
    )
    return private_copies(kernel, loop, suffix, here - others)
