"""Temporaries move to the loops they live in and shrink to what one iteration needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from texpr import poly
from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, integer, product, sub
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, index, plain
from texpr.ir.extern import passed
from texpr.ir.loop import Alloc, For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.loop_kind import SERIAL, UNROLLED, VECTOR, InstructionNest
from texpr.ir.traverse import children, rewrite, statements, walk
from texpr.passes.analysis.collapsed_dimensions import joined_temporaries, with_joined
from texpr.passes.analysis.intervals import interval
from texpr.passes.loop.drop_hints import drop_hints
from texpr.support.frozen_dataclass import frozen, replace

STACK_BYTES = 16 * 1024
"""Larger buffers live on the heap."""
LINE = 64
"""Bytes of a line of the cache."""
PARTS = 64
"""Ranges of a loop that run at once, at most, where each needs a buffer that callers give."""


@frozen
class _Access:
    """Indices of one read or write of a temporary with the loops around it."""

    indices: tuple[Expr, ...]
    loops: tuple[For, ...]


@frozen
class _Home:
    """Place of a temporary: inside the last of `loops` (at the top if there are none), as the
    tensor `small`.

    Attributes:
        bases: what is taken off each index; None where the dimension stays as it is.
        lanes: loops inside that have a part of the tensor each, by indices of their own.
    """

    small: Tensor
    loops: tuple[For, ...]
    bases: tuple[Linear | None, ...]
    lanes: tuple[For, ...] = ()

    def moved(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        own = (i if b is None else linear(sub(i, b.expr())).expr() for i, b in zip(indices, self.bases))
        return (*own, *(n.var for n in self.lanes))


@lru_cache(maxsize=16)  # asked for by the certificate and by code generation
def place(kernel: Kernel) -> Kernel:
    """Put each temporary inside the innermost loop that holds all its uses, if no value passes
    between that loop's iterations.

    T[16*io + ii] inside `for io`   ->   alloc T[16] inside `for io`, used as T[ii]

    Dimensions that joined loops run through as one are one dimension of partial sums.

    Lanes, and what is written out, share a buffer; where their parts of it are no box of constant
    extents, each has its own part.

    A temporary without uses goes away.
    """
    if not kernel.temporaries:
        return kernel
    kernel = _with_joined(kernel)
    accesses, outside = _accesses(kernel), passed(kernel)
    homes = {
        t: _home(kernel, t, accesses[t]) for t in kernel.temporaries if t in accesses and t not in outside
    }
    inside: dict[Var, list[Tensor]] = {}
    for home in homes.values():
        if home.loops:
            inside.setdefault(home.loops[-1].var, []).append(home.small)

    def rule(node: Node) -> Node | None:
        match node:
            case Read(t, indices) if t in homes:
                return replace(node, tensor=homes[t].small, indices=homes[t].moved(indices))
            case Store(t, indices) | Prefetch(t, indices) if t in homes:
                return replace(node, tensor=homes[t].small, indices=homes[t].moved(indices))
            case For(var, _, body) if var in inside:
                return replace(node, body=(*map(Alloc, inside[var]), *body))
        return None

    at_top = tuple(
        homes[t].small if t in homes else t
        for t in kernel.temporaries
        if t in outside or t in homes and not homes[t].loops
    )
    return drop_hints(replace(rewrite(kernel, rule), temporaries=at_top))


def placed(kernel: Kernel, tensor: Tensor) -> Tensor | None:
    """The buffer that `place` makes of one temporary; None if it has no uses."""
    at = kernel.temporaries.index(tensor)
    kernel = _with_joined(kernel)
    tensor = kernel.temporaries[at]
    uses = _accesses(kernel).get(tensor)
    return None if uses is None else _home(kernel, tensor, uses).small


def _with_joined(kernel: Kernel) -> Kernel:
    """The kernel with dimensions taken together of partial sums: the certificate tells others by
    their dimensions in the program.
    """
    return with_joined(
        kernel, {t: how for t, how in joined_temporaries(kernel).items() if _is_partial(kernel, t)}
    )


def _is_partial(kernel: Kernel, tensor: Tensor) -> bool:
    """True if a temporary holds sums until they are stored where the program has them."""
    stores = [s for s in statements(kernel) if isinstance(s, Store)]
    folded = {s.equation for s in stores if s.tensor is tensor and (s.is_start or s.update is not None)}
    return bool(folded) and all(
        any(
            s.equation == e and s.tensor is not tensor and not s.is_start and s.update is None for s in stores
        )
        for e in folded
    )


def _accesses(kernel: Kernel) -> dict[Tensor, list[_Access]]:
    found: dict[Tensor, list[_Access]] = {}
    stack: list[tuple[Stmt, tuple[For, ...]]] = [(s, ()) for s in reversed(kernel.body)]
    while stack:
        node, loops = stack.pop()
        if isinstance(node, For):
            stack += [(s, (*loops, node)) for s in reversed(node.body)]
            continue
        if isinstance(node, If):
            stack += [(s, loops) for s in reversed(node.body)]
        if isinstance(node, Store):
            found.setdefault(node.tensor, []).append(_Access(node.indices, loops))
        for e in _expressions(node):
            for n in walk(e):
                if isinstance(n, Read):
                    found.setdefault(n.tensor, []).append(_Access(n.indices, loops))
    return found


def _expressions(node: Node) -> list[Expr]:
    return [c for c in children(node) if isinstance(c, Expr)]


def _common(uses: list[_Access]) -> tuple[For, ...]:
    """The loops around all uses."""
    common = uses[0].loops
    for use in uses[1:]:
        length = 0
        while length < min(len(common), len(use.loops)) and common[length].var is use.loops[length].var:
            length += 1
        common = common[:length]
    return common


def _shared(common: tuple[For, ...]) -> tuple[For, ...]:
    """The common loops in which a buffer may be made: the lanes of a vector loop share one, so it
    stays outside; and outside loops that are written out, unless threads inside need one each.
    """
    lanes = next(
        (k for k, n in enumerate(common) if n.kind == VECTOR or isinstance(n.kind, InstructionNest)),
        len(common),
    )
    shared = next((k + 1 for k in reversed(range(lanes)) if common[k].kind not in (SERIAL, UNROLLED)), 0)
    return common[: next((k for k in range(shared, lanes) if common[k].kind == UNROLLED), lanes)]


def _home(kernel: Kernel, tensor: Tensor, uses: list[_Access]) -> _Home:
    common = _common(uses)
    loops = _shared(common)
    while loops and not poly.flow_stays_within(kernel, tensor, loops):
        loops = loops[:-1]
    home = _box(kernel, tensor, loops, uses)
    if loops and any(b is None for b in home.bases):
        home = _by_lanes(kernel, tensor, common, len(loops), uses) or home
    return replace(home, small=replace(home.small, scope=_scope(home.small))) if loops else home


def _box(kernel: Kernel, tensor: Tensor, loops: tuple[For, ...], uses: Sequence[_Access]) -> _Home:
    """The elements that one iteration of the loops uses."""
    box = poly.footprint(kernel, tensor, loops)
    assert box is not None, "a tensor with uses has a footprint"
    bases, extents = zip(*map(_within, box.bases, box.extents, tensor.shape)) if tensor.rank else ((), ())
    room = _room(kernel, tensor, uses) if loops and _may_be_padded(tensor) else (0,) * tensor.rank
    shape = [
        size if base is None else add(extent, index(more))
        for size, base, extent, more in zip(tensor.shape, bases, extents, room)
    ]
    return _Home(replace(tensor, dims=plain(*shape)), loops, bases)


def _within(base: Expr, extent: Expr, size: Expr) -> tuple[Linear | None, Expr]:
    """A dimension of a box, its base None where the extent is no constant. What lies outside of the
    tensor is left out: it is read under a condition that does not hold there.
    """
    used, whole, first = integer(extent), integer(size), integer(base)
    if used is None:
        return None, extent
    if whole is None or first is None:
        return linear(base), extent
    low, high = max(0, first), min(first + used, whole)
    return linear(index(low)), index(max(0, high - low))


def _may_be_padded(tensor: Tensor) -> bool:
    """True if a buffer's rows may lie further apart than they are long: a buffer of constant
    extents that the schedule has laid out.
    """
    return (
        tensor.swizzle is None
        and tensor.scope != "register"
        and all(integer(n) is not None for n in tensor.shape)
    )


def _room(kernel: Kernel, tensor: Tensor, uses: Sequence[_Access]) -> tuple[int, ...]:
    """Elements at the end of each dimension that nothing ever uses, such as `pad` adds. Where they
    are more than those that are used, they are what a step has left behind."""
    highest = [_highest(uses, d) for d in range(tensor.rank)]
    if None in highest:
        whole = poly.footprint(kernel, tensor, ())
        assert whole is not None, "a tensor with uses has a footprint"
        highest = [
            None if (n := integer(used)) is None or integer(base) != 0 else n - 1
            for base, used in zip(whole.bases, whole.extents)
        ]
    sizes = [(integer(n) or 0, None if high is None else high + 1) for n, high in zip(tensor.shape, highest)]
    return tuple(n - used if used is not None and 0 < n - used <= used else 0 for n, used in sizes)


def _highest(uses: Sequence[_Access], d: int) -> int | None:
    """The largest index along a dimension, or more; None where it is not seen at once."""
    found = [interval(use.indices[d], {n.var: n.extent for n in use.loops})[1] for use in uses]
    return None if None in found else max(found)  # type: ignore[type-var]


def _by_lanes(
    kernel: Kernel, tensor: Tensor, common: tuple[For, ...], count: int, uses: Sequence[_Access]
) -> _Home | None:
    """A buffer in the outermost `count` loops with a part for each lane, and each iteration that is
    written out, of the loops inside them; None where values pass between those, or the parts are no
    boxes of constant extents.
    """
    lanes = tuple(n for n in common[count:] if n.kind != SERIAL)
    if not lanes or any(n.kind not in (VECTOR, UNROLLED) or integer(n.extent) is None for n in lanes):
        return None
    if not poly.flow_stays_within(kernel, tensor, common):
        return None
    part = _box(kernel, tensor, common, uses)
    if any(b is None for b in part.bases):
        return None
    return _Home(
        replace(tensor, dims=plain(*part.small.shape, *(n.extent for n in lanes))),
        common[:count],
        part.bases,
        lanes,
    )


def _scope(tensor: Tensor) -> str:
    """Scope of a buffer inside loops, unless the schedule said one."""
    if tensor.scope != "global":
        return tensor.scope
    return "stack" if fits_stack(tensor) else "heap"


def stride_of(tensor: Tensor) -> int:
    """Bytes from one buffer of constant extents to the next one that callers give: whole lines
    of the cache.
    """
    return -(-(integer(product(tensor.shape)) or 0) * tensor.dtype.bytes // LINE) * LINE


def fits_stack(tensor: Tensor) -> bool:
    """True if a buffer may be on the stack of a thread: of constant extents, and small."""
    count = integer(product(tensor.shape))
    return count is not None and count * tensor.dtype.bytes <= STACK_BYTES
