"""A loop cut into tiles: what the tail policies of `split` build."""

from __future__ import annotations

from texpr import poly
from texpr.ir.build import add, compare, floordiv, integer, is_natural, maximum, minimum, mod, mul, sub
from texpr.ir.expr import Axis, Const, Expr, FloorDiv, Mod, Node, Tensor, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.traverse import rewrite, tensors, variables
from texpr.passes.analysis.substitution import folded, folded_anew, over_tensors
from texpr.passes.lowering.naive_nest import divided
from texpr.schedule.structure.loops import path_to
from texpr.support.frozen_dataclass import replace

_QUOTIENTS = frozenset({FloorDiv, Mod})


def divides(kernel: Kernel, loop: For, factor: int) -> bool:
    """True if it is proven, from the operator's requirements and the conditions around, that tiles
    of `factor` iterations fill the loop.
    """
    extent = integer(loop.extent)
    if extent is not None:
        return extent % factor == 0
    even = compare("==", mod(loop.extent, index(factor)), index(0))
    return (not isinstance(loop.extent, Var) or bool(_facts(kernel, loop))) and _holds(kernel, loop, even)


def iterations(kernel: Kernel, loop: For) -> Expr:
    """The number of iterations: the extent, or 0 where the range may end before it begins, which
    makes the extent negative.
    """
    natural = is_natural(loop.extent) or _holds(kernel, loop, compare("<=", index(0), loop.extent))
    return loop.extent if natural else maximum(loop.extent, index(0))


def _facts(kernel: Kernel, loop: For) -> tuple[Expr, ...]:
    """Facts about sizes and loop variables where the loop begins."""
    return (
        *kernel.requires,
        *(n.cond for n in path_to(kernel, loop) if isinstance(n, If) and not tensors(n.cond)),
    )


def _holds(kernel: Kernel, loop: For, condition: Expr) -> bool:
    """True if a condition on sizes and outer loop variables is proven to hold wherever the loop
    begins.
    """
    *around, _ = path_to(kernel, loop)
    axes, facts = (
        [Axis(n.var, index(0), n.extent) for n in around if isinstance(n, For)],
        _facts(kernel, loop),
    )
    return not poly.fails_somewhere(condition, axes, facts) and poly.always(condition, axes, facts)


def cut(loop: For, factor: int, outer_name: str, inner_name: str, *, even: bool, clipped: bool) -> For:
    """The iterations of `loop` in tiles; past the end a condition holds them off, or the last
    tile is shorter, unless all are `even`.
    """
    if even:
        return tiled(
            loop, floordiv(loop.extent, index(factor)), factor, outer_name, inner_name, guarded=False
        )
    tiles = floordiv(add(loop.extent, index(factor - 1)), index(factor))
    if not clipped:
        return tiled(loop, tiles, factor, outer_name, inner_name, guarded=True)
    full = tiled(loop, tiles, factor, outer_name, inner_name, guarded=False)
    (inner,) = full.body
    assert isinstance(inner, For)
    left = sub(loop.extent, mul(full.var, index(factor)))
    return replace(full, body=(replace(inner, extent=minimum(index(factor), left)),))


def tiled(loop: For, tiles: Expr, factor: int, outer_name: str, inner_name: str, *, guarded: bool) -> For:
    """The iterations of `loop` in tiles; `guarded` where the last tile may reach past the end."""
    outer, inner = replace(loop.var, name=outer_name), replace(loop.var, name=inner_name)
    whole = add(mul(outer, index(factor)), inner)
    body: tuple[Stmt, ...] = tuple(
        _without_quotients(folded(s, {loop.var: whole}), inner, factor) for s in loop.body
    )
    if guarded:
        body = (If(compare("<", whole, loop.extent), body),)
    return For(outer, tiles, (For(inner, index(factor), body, tensor=loop.tensor),), loop.kind, loop.tensor)


def _without_quotients(s: Stmt, inner: Var, factor: int) -> Stmt:
    """The statement where quotients and remainders that follow from the range of the inner loop are
    what they are.

    (4*io + ii) // 4   ->   io
    """

    def rule(node: Node) -> Node | None:
        match node:
            case FloorDiv(a, Const(int(n))) | Mod(a, Const(int(n))) if n > 0 and inner in variables(a):
                quotient, rest = divided(a, n, {inner: index(factor)})
                return (
                    None
                    if isinstance(quotient, FloorDiv)
                    else quotient
                    if isinstance(node, FloorDiv)
                    else rest
                )
        return None

    return rewrite(s, rule, kinds=_QUOTIENTS)


def peeled(
    kernel: Kernel, loop: For, factor: int, outer_name: str, inner_name: str, own: dict[Tensor, Tensor]
) -> tuple[Stmt, ...]:
    """Full tiles, and a loop for what is left, which uses temporaries of its own.

    An empty range leaves nothing: -2 % 4 is 2, so the remainder is that of `iterations`.
    """
    tiles, left = divided(
        iterations(kernel, loop),
        factor,
        {n.var: n.extent for n in path_to(kernel, loop) if isinstance(n, For)},
    )
    main = tiled(loop, tiles, factor, outer_name, inner_name, guarded=False)
    rest = replace(loop.var, name=inner_name)
    at = add(mul(tiles, index(factor)), rest)
    behind = For(rest, left, tuple(folded_anew(s, {loop.var: at}) for s in loop.body), tensor=loop.tensor)
    return (main, over_tensors(behind, own))


def whole(loop: For, factor: int, outer_name: str, inner_name: str) -> For:
    """The iterations of `loop` and those that fill the last tile."""
    tiles = floordiv(add(loop.extent, index(factor - 1)), index(factor))
    return tiled(loop, tiles, factor, outer_name, inner_name, guarded=False)


def overlapped(
    loop: For, factor: int, outer_name: str, inner_name: str, own: dict[Tensor, Tensor]
) -> tuple[Stmt, ...]:
    """The iterations of `loop` in full tiles, the last of which ends where the loop does; fewer
    than a tile run one by one.
    """
    tiles = floordiv(add(loop.extent, index(factor - 1)), index(factor))
    outer, inner, rest = (replace(loop.var, name=name) for name in (outer_name, inner_name, inner_name))
    at = add(minimum(mul(outer, index(factor)), sub(loop.extent, index(factor))), inner)
    body = tuple(folded(s, {loop.var: at}) for s in loop.body)
    main = For(outer, tiles, (For(inner, index(factor), body, tensor=loop.tensor),), loop.kind, loop.tensor)
    if integer(loop.extent) is not None:
        return (main,)
    left = For(
        rest, loop.extent, tuple(folded_anew(s, {loop.var: rest}) for s in loop.body), tensor=loop.tensor
    )
    short = over_tensors(left, own)
    return If(compare("<=", index(factor), loop.extent), (main,)), If(
        compare("<", loop.extent, index(factor)), (short,)
    )
