"""Numbers that nested loops count together, digit by digit: a loop, or a loop and its tiles, and
tiles of tiles.

    for o in 0..(e + c-1)//c: for i in 0..c: if o*c + i < e: S(o*c + i)   ->   for v in 0..e: S(v)
    for o in ...: let T; for i in ...: S(T[i])                         ->   for o in ...: for i in ...: let T; S(T[0])

Both are laws of the loops, whoever made them; the second holds where each iteration writes what it
reads of T, which provers ask of what they get.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TypeVar

from texpr.ir.affine import Linear, linear, same_value
from texpr.ir.build import add, conjuncts, floordiv, fold, integer, mod, mul, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import Compare, Const, Expr, FloorDiv, Max, Min, Node, Read, Tensor, Var, index
from texpr.ir.loop import Alloc, Barrier, For, If, Prefetch, Stmt, Store
from texpr.ir.loop_kind import PARALLEL, SERIAL, UNROLLED, InstructionNest, LoopKind
from texpr.ir.traverse import rewrite, statements, tensors, variables, walk
from texpr.support.frozen_dataclass import frozen_by_identity, replace

N = TypeVar("N", bound=Node)


def replaced(root: N, values: Mapping[Var, Expr]) -> N:
    """With expressions for variables, folded."""
    if not variables(root) & values.keys():
        return root
    return rewrite(root, lambda n: values.get(n) if isinstance(n, Var) else fold(n))  # type: ignore[return-value]


@frozen_by_identity
class Digits:
    """A number that one or more loops count from 0.

    Attributes:
        count: in terms of their variables.
        extent: how many numbers there are.
        of: the variable of each loop, in terms of `COUNT`.
    """

    count: Expr
    extent: Expr
    of: Mapping[Var, Expr]


@frozen_by_identity
class Run:
    """Loops with nothing but each other and conditions inside, which count one number together.

    Attributes:
        kind: how the iterations of all of them run; at once, if those of any do.
    """

    loops: tuple[For, ...]
    digits: Digits
    inside: tuple[Stmt, ...]
    kind: LoopKind


COUNT = Var("count")
"""The number itself, in `Digits.of`."""


def runs(loop: For) -> Iterator[Run]:
    """The loop with all its tiles, then with fewer, then alone."""
    chain, conditions, below = [loop], list[Expr](), list[tuple[tuple[Expr, ...], tuple[Stmt, ...]]]()
    while True:
        made, body = _buffers(chain[-1].body)
        while len(body) == 1 and isinstance(body[0], If) and not tensors(body[0].cond):
            conditions += conjuncts(body[0].cond)
            more, body = _buffers(body[0].body)
            made += more
        below.append((tuple(conditions), (*made, *body)))
        if len(body) != 1 or not isinstance(body[0], For) or (inner := _with_buffers(body[0], made)) is None:
            break
        chain.append(inner)
    for k in range(len(chain), 1, -1):
        run = _tiles(chain[:k], *below[k - 1])
        if run is not None:
            yield run
    yield Run((loop,), _digit(loop), loop.body, loop.kind)


def _buffers(body: tuple[Stmt, ...]) -> tuple[tuple[Alloc, ...], tuple[Stmt, ...]]:
    """The buffers that are made first, and the rest."""
    made = tuple(takewhile(lambda s: isinstance(s, Alloc), body))
    return made, body[len(made) :]  # type: ignore[return-value]


def _with_buffers(loop: For, made: tuple[Alloc, ...]) -> For | None:
    """The loop with buffers made inside, which holds all their uses; None if iterations that run at
    once may use the same elements.

    Provers ask whether each iteration writes what it reads of them.
    """
    for each in made if loop.kind not in (SERIAL, UNROLLED) else ():
        uses = [
            n.indices
            for n in walk(loop)
            if isinstance(n, Read | Store | Prefetch) and n.tensor is each.tensor
        ]
        own = next((k for k in range(each.tensor.rank) if all(at[k] is loop.var for at in uses)), None)
        if own is None:
            return None
        loop = _first_along(loop, each.tensor, own)
    return replace(loop, body=(*made, *loop.body))


def _first_along(loop: For, tensor: Tensor, axis: int) -> For:
    """The loop with the first element along an axis in place of each."""

    def rule(node: Node) -> Node | None:
        if isinstance(node, Read | Store | Prefetch) and node.tensor is tensor:
            return replace(node, indices=(*node.indices[:axis], index(0), *node.indices[axis + 1 :]))
        return None

    return rewrite(loop, rule)  # type: ignore[return-value]


def _digit(loop: For) -> Digits:
    return Digits(loop.var, loop.extent, {loop.var: COUNT})


def _tiles(chain: Sequence[For], conditions: Sequence[Expr], inside: tuple[Stmt, ...]) -> Run | None:
    """Nested loops as one, if all of them are tiles, and tiles of tiles, of one."""
    kind = _kind([n.kind for n in chain])
    if kind is None or any(isinstance(n, Barrier) for n in statements(*inside)):
        return None
    digits, left = list(map(_digit, chain)), list(conditions)
    while len(digits) > 1:
        pairs = range(len(digits) - 1)
        found = next(
            (m for how in (_held, _full) for k in pairs if (m := _merged(digits, k, left, how)) is not None),
            None,
        )
        if found is None:
            return None
        digits = found
    for c in reversed(left):
        inside = (If(c, inside),)
    return Run(tuple(chain), digits[0], inside, kind)


def _kind(kinds: Sequence[LoopKind]) -> LoopKind | None:
    """Kind of the loop that replaces nested loops, if some of them run at once; None for lanes of
    an instruction.
    """
    marks = {k for k in kinds if k not in (SERIAL, UNROLLED)}
    if any(isinstance(k, InstructionNest) for k in marks):
        return None
    return SERIAL if not marks else marks.pop() if len(marks) == 1 else PARALLEL


_End = Callable[[Digits, Expr, int, list[Expr]], Expr | None]
"""A function that finds the end of a count whose outer loop steps in tiles of so many numbers. It
takes the conditions, and removes from them the one that states the end.
"""


def _merged(digits: list[Digits], k: int, conditions: list[Expr], how: _End) -> list[Digits] | None:
    """The k-th number and the next one as one number."""
    outer, inner = digits[k], digits[k + 1]
    tile, end = _tile(outer, inner)
    if tile is None or tile < 1:
        return None
    count = add(mul(outer.count, index(tile)), inner.count)
    if end is None:
        end = how(Digits(count, outer.extent, {**outer.of, **inner.of}), outer.extent, tile, conditions)
    if end is None or not _has_tiles(outer.extent, end, tile):
        return None
    size = index(tile)
    of = {v: replaced(e, {COUNT: floordiv(COUNT, size)}) for v, e in outer.of.items()}
    of |= {v: replaced(e, {COUNT: mod(COUNT, size)}) for v, e in inner.of.items()}
    return [*digits[:k], Digits(count, end, of), *digits[k + 2 :]]


def _held(both: Digits, tiles: Expr, tile: int, conditions: list[Expr]) -> Expr | None:
    for c in conditions:
        slack = _slack(c)
        if slack is not None:
            end = linear(add(add(slack.expr(), both.count), index(1))).expr()
            if not variables(end) & both.of.keys() and _has_tiles(tiles, end, tile):
                conditions.remove(c)
                return end
    return None


def _full(both: Digits, tiles: Expr, tile: int, conditions: list[Expr]) -> Expr | None:
    last = integer(tiles)
    return None if last is None else index(last * tile)


def _tile(outer: Digits, inner: Digits) -> tuple[int | None, Expr | None]:
    """Number of values that the inner count takes for each value of the outer one, and the end of
    both, where the inner extent states it.

    for o: for i in 0..min(c, e - o*c)   ->   c, e
    """
    constant = integer(inner.extent)
    if constant is not None:
        return constant, None
    extent = inner.extent
    if isinstance(extent, Max) and 0 in (integer(extent.lhs), integer(extent.rhs)):
        extent = extent.rhs if integer(extent.lhs) == 0 else extent.lhs
    if not isinstance(extent, Min):
        return None, None
    left, longest = (extent.lhs, extent.rhs) if isinstance(extent.rhs, Const) else (extent.rhs, extent.lhs)
    size = integer(longest)
    if size is None:
        return None, None
    return size, linear(add(left, mul(outer.count, index(size)))).expr()


def _has_tiles(extent: Expr, end: Expr, tile: int) -> bool:
    """True if `extent` is the number of tiles that begin before the end."""
    last, length = integer(extent), integer(end)
    if last is not None or length is not None:
        return last is not None and length is not None and last == -(-length // tile)
    return (
        isinstance(extent, FloorDiv)
        and integer(extent.rhs) == tile
        and same_value(extent.lhs, add(end, index(tile - 1)))
    )


def _slack(e: Expr) -> Linear | None:
    """The form that an order of indices says is at least 0; None for another condition."""
    match e:
        case Compare("<" | "<=" as op, a, b) | Compare(">" | ">=" as op, b, a) if a.dtype == I64:
            return linear(sub(sub(b, a), index(int(len(op) == 1))))
    return None
