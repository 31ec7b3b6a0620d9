"""`reverse_compute_at`: a consumer goes where what it reads is computed."""

from __future__ import annotations

from collections.abc import Sequence

from texpr import poly
from texpr.ir.affine import Linear, linear, same_value
from texpr.ir.build import add, compare, integer, maximum, minimum, sub
from texpr.ir.expr import Axis, Expr, Read, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import statements as statements_of
from texpr.ir.traverse import variables, walk
from texpr.schedule.legality.independence import check_moved
from texpr.schedule.legality.presumption import conflict_of
from texpr.schedule.legality.refusal import refused
from texpr.schedule.steps.placement.producer import (
    Production,
    find_production,
    find_tensor,
    linear_index,
    replaced,
)
from texpr.schedule.steps.placement.region import Cut, Place, Span, cut_loops
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, path_to, paths, qualified, span_of, stores, text_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

STEP = "reverse_compute_at"


@step(order_of_sums="kept")
def reverse_compute_at(kernel: Kernel, tensor: str, loop: str | Var) -> Kernel:
    """Move the production of `tensor` under the `loop` that computes what it reads: each element
    when its last input is there.

    for i: C[i] = f;  for i: Y[i] = g(C[i], C[i+1])
    ->   for i: { C[i] = f; if 1 <= i: Y[i-1] = g(C[i-1], C[i]); if i == n-1: Y[i] = g(C[i], ...) }

    Epilogue fusion elsewhere. The loops of `tensor` over what an iteration computes are cut to
    those of its elements whose last input is computed there. Legal if every element is then
    computed exactly once, and no dependence is reversed.

    Raises:
        ScheduleError: it stands before the loop or reads nothing from it, elements would be lost,
            or a dependence would be reversed.
    Source: Feng et al., TensorIR: An Abstraction for Automatic Tensorized Program Optimization,
    ASPLOS 2023.
    Example:
        op = tx.op('''op smooth(X: f32[N]) -> Y: f32[N] {
          h[i] = 2 * X[i]
          Y[i] = h[i] + h[i + 1 | 0]
        }''')
        s = tx.schedule(op)
        s.reverse_compute_at("Y", "h.i")
    Refused:
        op = tx.op('''op flip(X: f32[N]) -> Y: f32[N] {
          h[i] = 2 * X[i]
          Y[i] = h[i] + h[N - 1 - i]
        }''')
        tx.schedule(op).reverse_compute_at("Y", "h.i")
    Elsewhere: Halide none; TVM `reverse_compute_at`; Exo none; MLIR none.
    """
    found = find_loops(kernel, loop)
    if len(found) > 1:
        raise ScheduleError(
            f"`{found[0].var.name}` stands in {len(found)} places",
            span_of(kernel, found[0]),
            code=STEP,
            help=f"{STEP} before the loop is peeled or distributed",
        )
    at = found[0]
    production, around = _consumer(kernel, tensor, at)
    chain = (*(n for n in around if isinstance(n, For)), at)
    place = Place(chain, (*kernel.requires, *(n.cond for n in around if isinstance(n, If))))
    cuts = _cuts(kernel, production, chain, place)
    values: dict[Var, Expr] = {}
    moved = cut_loops(production.statements, cuts, place, values)
    after = _with_tail(replaced(kernel, production.above, production.statements, {}), at, moved)
    origin = {s: s for s in stores(after)} | dict(
        zip((n for s in moved for n in stores(s)), production.stores)
    )
    own = _own_loops(kernel)
    instance = {new: {n.var: values.get(n.var, n.var) for n in own[old]} for new, old in origin.items()}
    if not poly.runs_same_instances(kernel, after, origin, instance):
        raise ScheduleError(
            f'{STEP}("{tensor}", "{qualified(at)}"): it is not proven that every element is computed exactly '
            f"once",
            text_of(kernel, production.statements[0]),
            code=STEP,
            help="each element needs one iteration of the loop after which all it reads is there; try an "
            "outer loop",
        )
    conflict = conflict_of(lambda: poly.reversed_dependence(kernel, after, origin, instance))
    if conflict is not None:
        raise refused(
            kernel,
            f'{STEP}("{tensor}", "{qualified(at)}") reverses a dependence',
            conflict,
            "the new order runs the second first",
            help="move it to an outer loop, or leave it where it is",
            after=after,
        )
    check_moved(kernel, after, STEP)
    return after


def _consumer(kernel: Kernel, name: str, loop: For) -> tuple[Production, tuple[For | If, ...]]:
    """The production of the tensor, after the loop, and the loops and conditions around the loop."""
    production = find_production(kernel, find_tensor(kernel, name, STEP), STEP)
    around = path_to(kernel, loop)[:-1]
    if any(n is loop for s in production.statements for n in walk(s)):
        raise ScheduleError(
            f"`{qualified(loop)}` is a loop of `{name}` itself",
            span_of(kernel, loop),
            code=STEP,
            help=f"name a loop that computes what `{name}` reads",
        )
    if len(production.above) > len(around) or any(a is not b for a, b in zip(production.above, around)):
        raise ScheduleError(
            f"`{name}` is computed in loops that are not around `{qualified(loop)}`",
            text_of(kernel, production.statements[0]),
            code=STEP,
            help="name a loop inside those",
        )
    order = stores(kernel)
    if order.index(production.stores[0]) < order.index(stores(loop)[0]):
        raise ScheduleError(
            f"`{name}` is computed before `{qualified(loop)}`",
            text_of(kernel, production.statements[0]),
            code=STEP,
            help=f'compute_at("{name}", loop) moves what is computed before',
        )
    return production, around


def _own_loops(kernel: Kernel) -> dict[Store, tuple[For, ...]]:
    return {
        s: tuple(n for n in above if isinstance(n, For)) for above, s in paths(kernel) if isinstance(s, Store)
    }


def _cuts(kernel: Kernel, production: Production, chain: Sequence[For], place: Place) -> dict[str, Cut]:
    """The loops over elements, cut to those whose last input an iteration of the chain computes."""
    written = {s.tensor for s in stores(chain[-1])}
    reads = [n for s in production.statements for n in walk(s) if isinstance(n, Read) and n.tensor in written]
    if not reads:
        raise ScheduleError(
            f"`{production.tensor.name}` reads nothing that `{qualified(chain[-1])}` computes",
            span_of(kernel, chain[-1]),
            code=STEP,
            help=f"name a loop that computes what `{production.tensor.name}` reads",
        )
    around = {n.var for n in production.loops}
    cuts: dict[str, Cut] = {}
    for tensor in dict.fromkeys(n.tensor for n in reads):
        box = poly.footprint(kernel, tensor, chain, kinds=("write",))
        assert box is not None, "the loop writes the tensor"
        for d, (base, extent) in enumerate(zip(box.bases, box.extents)):
            if integer(extent) is None or not variables(base) - around:
                continue
            name, cut = _cut(
                kernel, production, [n for n in reads if n.tensor is tensor], d, Span(base, extent), place
            )
            if name not in cuts or not _same(cuts[name], cut):
                cuts[name] = cut if name not in cuts else _later(cuts[name], cut)
    return cuts


def _same(a: Cut, b: Cut) -> bool:
    return (
        same_value(a.start, b.start)
        and same_value(a.count, b.count)
        and not a.conditions
        and not b.conditions
    )


def _later(a: Cut, b: Cut) -> Cut:
    """Inputs from two tensors: both must be there. Whether that picks each element once is for
    the proof to say.
    """
    return Cut(a.start, a.count, (*a.conditions, *b.conditions))


def _cut(
    kernel: Kernel, production: Production, reads: Sequence[Read], d: int, span: Span, place: Place
) -> tuple[str, Cut]:
    """The loop whose variable the index along dimension `d` tells, and the iterations whose
    largest index lies in the span.
    """
    own = {n.var: n for s in production.statements for n in statements_of(s) if isinstance(n, For)}
    spatial = _spatial(production, own)
    found: list[tuple[For, int, Linear]] = []
    for read in reads:
        form = linear_index(poly.unclamped(read.indices[d]), own)
        loops = [] if form is None else [(own[v], c) for v, c in form[0] if v in spatial and abs(c) == 1]
        if (
            form is None
            or len(loops) != 1
            or found
            and (loops[0] != found[0][:2] or _apart(form[1], found[0][2]) is None)
        ):
            raise ScheduleError(
                f"index {d} of `{read.tensor.name}` does not tell which elements of "
                f"`{production.tensor.name}` an "
                "iteration completes",
                text_of(kernel, read),
                code=STEP,
                help="move it to a loop that computes this dimension as a whole",
            )
        reach = [c * ((integer(own[v].extent) or 1) - 1) for v, c in form[0] if own[v] is not loops[0][0]]
        found.append((*loops[0], Linear(form[1].terms, form[1].constant + sum(max(r, 0) for r in reach))))
    at, sign, first = found[0]
    last = max((rest for _, _, rest in found), key=lambda rest: _apart(rest, first) or 0).expr()
    return qualified(at), _last_inputs(at, sign, last, span, sub(reads[0].tensor.shape[d], index(1)), place)


def _last_inputs(at: For, sign: int, last: Expr, span: Span, end: Expr, place: Place) -> Cut:
    """The iterations of `at` whose last input, at `sign * v + last` but inside 0..end, lies in
    the span.
    """
    if sign < 0:
        return Cut(linear(add(sub(sub(last, span.base), span.extent), index(1))).expr(), span.extent)
    needed = linear(add(at.var, last)).expr()
    axis = [Axis(at.var, index(0), at.extent)]
    ahead = integer(last)
    if (
        ahead is None
        or place.always(compare("<=", needed, end), axis)
        and place.always(compare("<=", index(0), needed), axis)
    ):
        return Cut(linear(sub(span.base, last)).expr(), span.extent)
    needed = minimum(needed, end) if ahead > 0 else maximum(index(0), needed)
    inside = (compare("<=", span.base, needed), compare("<", needed, add(span.base, span.extent)))
    return Cut(
        linear(sub(span.base, index(max(ahead, 0)))).expr(), add(span.extent, index(abs(ahead))), inside
    )


def _apart(a: Linear, b: Linear) -> int | None:
    """By how much one form is always larger than the other."""
    difference = linear(sub(a.expr(), b.expr()))
    return None if difference.terms else difference.constant


def _spatial(production: Production, own: dict[Var, For]) -> set[Var]:
    """Variables that the indices of the tensor tell."""
    found: set[Var] = set()
    for s in production.stores:
        if s.tensor is production.tensor:
            forms = [linear_index(i, own) for i in s.indices]
            found |= {v for f in forms if f is not None and len(f[0]) == 1 for v, c in f[0] if abs(c) == 1}
    return found


def _with_tail(kernel: Kernel, loop: For, tail: tuple[Stmt, ...]) -> Kernel:
    *around, old = path_to(kernel, loop)
    return replaced(kernel, around, (old,), {id(old): (replace(old, body=(*old.body, *tail)),)})
