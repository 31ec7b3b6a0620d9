"""`rfactor` where data says which elements are added to: private copies of all that iterations
may add to, joined afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from texpr import poly
from texpr.ir.build import compare, conjunction
from texpr.ir.expr import Axis, Expr, Read, Tensor, Var, index, plain
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.store_kind import PARTIAL_START
from texpr.ir.traverse import rewrite, tensors, variables, walk
from texpr.passes.analysis.iteration_ranges import largest
from texpr.passes.analysis.substitution import folded
from texpr.passes.tensor.reduction_passes import neutral
from texpr.schedule.legality.independence import check_changed
from texpr.schedule.structure.loops import free_name, path_to, replace_loops, span_of, stores
from texpr.schedule.structure.tensors import unused_name
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


def scatters(loop: For) -> list[Store]:
    """Updates in the loop whose iterations may meet in one element, with nothing else in it that
    uses their tensor.
    """
    return [
        s
        for s in stores(loop)
        if s.update is not None and all(i is not loop.var for i in s.indices) and not uses(loop, s)
    ]


def uses(loop: For, update: Store) -> bool:
    """True if another statement in the loop writes or reads the updated tensor."""
    return any(
        (isinstance(n, Store) and n is not update and n.tensor is update.tensor)
        or (isinstance(n, Read) and n.tensor is update.tensor)
        for n in walk(loop)
    )


def privatized(kernel: Kernel, loop: For, updates: Sequence[Store]) -> Kernel:
    """The kernel with a copy of each updated tensor per iteration of the loop.

    for io: for ii: H[X[io, ii]] += 1
    ->   for io: for v: P[io, v] = 0;  for io: for ii: P[io, X[io, ii]] += 1;  for v: for io_sum: H[v] += P[io_sum, v]

    Raises:
        ScheduleError: iterations never meet, so there is nothing to keep apart; or the length of
            the loop has no known maximum.
    """
    if poly.carried_dependence(kernel, loop) is None:
        raise ScheduleError(
            f"the iterations of `{loop.var.name}` add to elements of their own already",
            span_of(kernel, loop),
            code="rfactor",
            help=f'parallel("{loop.var.name}") takes it as it is',
        )
    for update in updates:
        kernel = _privatized(kernel, loop.var, update)
    return kernel


def _privatized(kernel: Kernel, var: Var, update: Store) -> Kernel:
    loop = next(n for n in walk(kernel) if isinstance(n, For) and n.var is var)
    chain = [n for n in path_to(kernel, loop) if isinstance(n, For)]
    known = _known(kernel, update, chain[:-1])
    told = variables(*known.values())
    first = len(chain) - 1
    while first > 0 and chain[first - 1].var not in told and not uses(chain[first - 1], update):
        first -= 1
    around = chain[:first]
    length: Expr | None = loop.extent
    for n in reversed(chain[:-1]):
        length = None if length is None else largest(length, {n.var: n.extent})
    if length is None or not variables(length) <= set(kernel.sizes):
        raise ScheduleError(
            f"the length of `{var.name}` has no known maximum, so private copies have no shape",
            span_of(kernel, loop),
            code="rfactor",
            help=f'split("{var.name}", 16), then rfactor the outer loop',
        )
    private = Tensor(
        unused_name(kernel, f"{update.tensor.name}_part"),
        update.tensor.dtype,
        plain(length, *update.tensor.shape),
    )
    count = loop.extent if variables(loop.extent) <= {*kernel.sizes, *(n.var for n in around)} else length
    start = For(replace(var), count, (), tensor=loop.tensor)
    each = For(replace(var, name=f"{var.name}_sum"), count, (), tensor=loop.tensor)
    before = _nest(
        kernel,
        around,
        start,
        update,
        known,
        inside=False,
        store=lambda at: _started(update, private, start.var, at, element_of(kernel, update, at)),
    )
    after = _nest(
        kernel,
        around,
        each,
        update,
        known,
        inside=True,
        store=lambda at: _joined(update, private, each.var, at, element_of(kernel, update, at)),
    )
    apart = replace(update, tensor=private, indices=(var, *update.indices))
    swapped = rewrite(kernel, lambda n: apart if n is update else None)
    made = replace_loops(swapped, [chain[first]], lambda n: (before, n, after))
    made = replace(made, temporaries=(*made.temporaries, private))
    check_changed(made, [s for s in stores(made) if s.tensor is update.tensor], "rfactor")
    return made


def _known(kernel: Kernel, update: Store, around: Sequence[For]) -> dict[int, Expr]:
    """The dimensions in which the loops around say which elements are added to, with their
    index.
    """
    loops = {n.var for n in around} | set(kernel.sizes)
    return {d: i for d, i in enumerate(update.indices) if not tensors(i) and variables(i) <= loops}


def _started(
    update: Store, private: Tensor, var: Var, at: tuple[Expr, ...], element: tuple[Expr, ...]
) -> Store:
    return Store(
        private,
        (var, *at),
        neutral(update.update or "", private.dtype),
        role=PARTIAL_START,
        equation=update.equation,
        at=element,
    )


def _joined(
    update: Store, private: Tensor, var: Var, at: tuple[Expr, ...], element: tuple[Expr, ...]
) -> Store:
    return Store(
        update.tensor,
        at,
        Read(private, (var, *at)),
        update.update,
        reassoc=True,
        equation=update.equation,
        at=element,
    )


def element_of(kernel: Kernel, update: Store, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The element of the equation's tensor of which an element of the updated one is a part, or
    which it is.
    """
    start = next((s for s in stores(kernel) if s.role is PARTIAL_START and s.tensor is update.tensor), None)
    if start is None:
        return at
    values = {v: e for v, e in zip(start.indices, at) if isinstance(v, Var)}
    return tuple(folded(e, values) for e in start.at)


def _nest(
    kernel: Kernel,
    around: Sequence[For],
    loop: For,
    update: Store,
    known: Mapping[int, Expr],
    store: Callable[[tuple[Expr, ...]], Store],
    *,
    inside: bool,
) -> Stmt:
    """A store for each iteration of the loop and each element that may be added to; the loop
    stands innermost if `inside`.
    """
    shape = update.tensor.shape
    elements = [
        For(Var(_name(kernel, loop, update, d)), n, (), tensor=loop.tensor)
        for d, n in enumerate(shape)
        if d not in known
    ]
    free = iter(elements)
    at = tuple(known[d] if d in known else next(free).var for d in range(len(shape)))
    there = conjunction(
        *(c for d, i in known.items() for c in (compare("<=", index(0), i), compare("<", i, shape[d])))
    )
    axes = [Axis(n.var, index(0), n.extent) for n in around]
    body = (store(at),) if poly.always(there, axes, kernel.requires) else (If(there, (store(at),)),)
    for n in reversed((*elements, loop) if inside else (loop, *elements)):
        body = (replace(n, body=body),)
    return body[0]


def _name(kernel: Kernel, loop: For, update: Store, d: int) -> str:
    """The name of a loop along a dimension: that of one which defines elements along it."""
    along = (s.indices[d] for s in stores(kernel) if s.tensor is update.tensor and s.update is None)
    return free_name(
        kernel, loop.tensor, next((i.name for i in along if isinstance(i, Var)), f"{update.tensor.name}{d}")
    )
