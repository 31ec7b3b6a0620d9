"""Temporaries move to the loops they live in and shrink to what one iteration needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from texpr import poly
from texpr.ir.affine import Linear, linear, same_value
from texpr.ir.build import integer, sub
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, index, plain
from texpr.ir.loop import Alloc, For, If, Kernel, Stmt, Store
from texpr.ir.traverse import children, rewrite, walk


@dataclass(frozen=True, slots=True)
class _Access:
    """Indices of one read or write of a temporary with the loops around it."""

    indices: tuple[Expr, ...]
    loops: tuple[For, ...]


@dataclass(frozen=True, slots=True)
class _Home:
    """Where a temporary goes: inside the last of `loops` (at the top if there are none), as the tensor `small`.

    Attributes:
        bases: what is taken off each index; None where the dimension stays as it is.
    """

    small: Tensor
    loops: tuple[For, ...]
    bases: tuple[Linear | None, ...]

    def moved(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(i if b is None else linear(sub(i, b.expr())).expr() for i, b in zip(indices, self.bases))


def place(kernel: Kernel) -> Kernel:
    """Put each temporary inside the innermost loop that holds all its uses, if no value passes between that loop's iterations.

    T[16*io + ii] inside `for io`   ->   alloc T[16] inside `for io`, used as T[ii]

    A temporary without uses goes away.
    """
    accesses = _accesses(kernel)
    homes = {t: _home(kernel, t, accesses[t]) for t in kernel.temporaries if t in accesses}
    inside: dict[Var, list[Tensor]] = {}
    for home in homes.values():
        if home.loops:
            inside.setdefault(home.loops[-1].var, []).append(home.small)

    def rule(node: Node) -> Node | None:
        match node:
            case Read(t, indices) if t in homes:
                return replace(node, tensor=homes[t].small, indices=homes[t].moved(indices))
            case Store(t, indices) if t in homes:
                return replace(node, tensor=homes[t].small, indices=homes[t].moved(indices))
            case For(var, _, body) if var in inside:
                return replace(node, body=(*map(Alloc, inside[var]), *body))
        return None

    at_top = tuple(home.small for home in homes.values() if not home.loops)
    return replace(rewrite(kernel, rule), temporaries=at_top)


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
    common = uses[0].loops
    for use in uses[1:]:
        length = 0
        while length < min(len(common), len(use.loops)) and common[length].var is use.loops[length].var:
            length += 1
        common = common[:length]
    # A vector loop's lanes share one buffer, so the buffer stays outside it.
    lanes = next((k for k, n in enumerate(common) if n.kind in ("vector", "unroll")), len(common))
    return common[:lanes]


def _home(kernel: Kernel, tensor: Tensor, uses: list[_Access]) -> _Home:
    loops = _common(uses)
    while loops and not poly.flow_stays_within(kernel, tensor, loops):
        loops = loops[:-1]
    outside = {n.var for n in loops} | set(kernel.sizes)
    footprints = [_footprint([(u.indices[d], u.loops) for u in uses], outside) for d in range(tensor.rank)]
    shape = [size if base is None else index(extent) for size, (base, extent) in zip(tensor.shape, footprints)]
    small = replace(tensor, dims=plain(*shape), scope="stack" if loops else tensor.scope)
    return _Home(small, loops, tuple(base for base, _ in footprints))


def _footprint(uses: list[tuple[Expr, tuple[For, ...]]], outside: set[Var]) -> tuple[Linear | None, int]:
    """What the index has in common in all uses, and how many elements the inner loops reach from there; None if unknown."""
    forms = [(linear(e), loops) for e, loops in uses]
    base = Linear(_outer(forms[0][0], outside).terms, min(form.constant for form, _ in forms))
    extent = 1
    for form, loops in forms:
        if not same_value(_outer(form, outside).expr(), Linear(base.terms, 0).expr()):
            return None, 0
        reach = _reach(form, outside, {n.var: n for n in loops})
        if reach is None:
            return None, 0
        extent = max(extent, form.constant - base.constant + reach + 1)
    return base, extent


def _outer(form: Linear, outside: set[Var]) -> Linear:
    """The terms that stay the same inside: of joined loops, `x // n` is one."""
    return Linear(tuple((t, c) for t, c in form.terms if _stays(t, outside)), 0)


def _stays(term: Expr, outside: set[Var]) -> bool:
    return all(n in outside for n in walk(term) if isinstance(n, Var)) and not any(isinstance(n, Read) for n in walk(term))


def _reach(form: Linear, outside: set[Var], loops: Mapping[Var, For]) -> int | None:
    """Largest offset over the inner loops; None unless their coefficients are positive and their extents constant."""
    total = 0
    for t, c in form.terms:
        if _stays(t, outside):
            continue
        loop = loops.get(t)  # type: ignore[call-overload]
        extent = integer(loop.extent) if loop is not None else None
        if c < 0 or extent is None:
            return None
        total += c * (extent - 1)
    return total
