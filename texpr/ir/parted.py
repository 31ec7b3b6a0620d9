"""Loops that were joined, as the two loops they were: the same instances in the same order, without quotients by sizes.

    for v in 0..m*n: S(v // n, v % n)   ->   for a in 0..m: for b in 0..n: S(a, b)
    for o in 0..(e + c-1)//c: for i in 0..c: if o*c + i < e: S(o*c + i)   ->   for v in 0..e: S(v)

The second is only done where the first applies to what it gives. Both are laws of the loops, whoever made them: v counts the pairs (a, b)
in lexicographic order, where m or n is not negative, and so do pairs of numbers below m and n. Proofs are about linear arithmetic, which
the loops on the left are not where n is no constant; so provers ask about those on the right.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from texpr.ir.affine import Linear, linear, same_value
from texpr.ir.build import add, floordiv, fold, integer, mod, mul, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import Add, And, Compare, Const, Expr, FloorDiv, Max, Min, Mod, Mul, Node, Var, index
from texpr.ir.loop import INSTRUCTION, Alloc, Barrier, For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.show_expr import show
from texpr.ir.traverse import rewrite, statements, tensors, variables, walk

N = TypeVar("N", bound=Node)


@dataclass(frozen=True, slots=True, eq=False)
class Parted:
    """A kernel with its joined loops parted.

    Attributes:
        kernel: the same object if it has none.
        origin: the store of the given kernel that each store of changed nests is.
        loops: what stands for each loop that is gone, outermost first.
        values: the variable of each loop that is gone, in terms of those that stand for it.
        counts: the variable of each loop that is new, in terms of those that are gone.
    """

    kernel: Kernel
    origin: Mapping[Store, Store]
    loops: Mapping[Var, tuple[Var, ...]]
    values: Mapping[Var, Expr]
    counts: Mapping[Var, Expr]
    _joints: tuple[_Joint, ...] = ()

    def renewed(self, e: Expr) -> Expr:
        """An expression of the loops of the given kernel in terms of those of the parted one."""
        for joint in self._joints:
            e = joint.apart(e)
        return e

    def loops_of(self, *given: Var) -> tuple[Var, ...]:
        """The loops that stand for some of the given kernel, each once."""
        return tuple(dict.fromkeys(v for old in given for v in self.loops.get(old, (old,))))

    def within(self, loops: Sequence[Var], given: Collection[Var]) -> int:
        """How many of nested loops, from the outside in, count the same in iterations in which the given ones do."""
        gone = self.loops.keys()
        for k, v in enumerate(loops):
            if not (variables(self.counts[v]) & gone if v in self.counts else {v}) <= set(given):
                return k
        return len(loops)


def parted(kernel: Kernel) -> Parted:
    """The kernel with loops that count the pairs of two others as these two, where their second count is of no constant extent.

    A loop is left as it is where that is not seen: where nothing is divided by a factor of its extent that stays the same inside, where
    both factors may be negative, where something but a hint uses the count itself, where its tiles hold more than each other, conditions
    and hints.
    """
    tops = [_parted_top(s) for s in kernel.body]
    if all(p.after is s for p, s in zip(tops, kernel.body)):
        return Parted(kernel, {}, {}, {}, {})
    changed = [p for p in tops if p.joints]
    origin = {new: old for p in changed for new, old in p.origin.items()}
    loops = {v: to for p in changed for v, to in p.loops.items()}
    values = {v: e for p in changed for v, e in p.values.items()}
    counts = {v: e for p in changed for v, e in p.counts.items()}
    after = replace(kernel, body=tuple(p.after for p in tops))
    return Parted(after, origin, loops, values, counts, tuple(j for p in changed for j in p.joints))


def divides_by_sizes(kernel: Kernel) -> bool:
    """Whether, with joined loops parted, some index is divided by what is no constant: of such quotients proofs know little."""
    sizes = set(kernel.sizes)
    return any(isinstance(n, FloorDiv | Mod) and integer(n.rhs) is None and not variables(n.lhs) <= sizes
               for n in walk(*map(_without_hints, parted(kernel).kernel.body)))


def parted_statement(s: Stmt) -> Stmt:
    """A statement with its joined loops parted; what is around it binds none of its variables."""
    return _parted_top(s).after


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """One loop, or tiles of one, parted into two.

    Attributes:
        count: of the pairs, over the loops that are gone.
        over: how many first numbers there are.
        by: how many second ones.
        gone: each loop that is gone, in terms of `first` and `second`.
    """

    count: Expr
    over: Expr
    by: Expr
    first: Var
    second: Var
    gone: Mapping[Var, Expr]

    def apart(self, e: Expr) -> Expr:
        """An expression over the two numbers."""
        return _replaced(self.divided(e), self.gone)

    def divided(self, root: N) -> N:
        """What the count is divided by, and what is left, as the two numbers."""

        def rule(node: Node) -> Node | None:
            if isinstance(node, FloorDiv | Mod) and _is_of(node, self.count) and same_value(node.rhs, self.by):
                return self.first if isinstance(node, FloorDiv) else self.second
            return None

        return rewrite(root, rule)  # type: ignore[return-value]


@dataclass(slots=True, eq=False)
class _Top:
    """A top-level statement in the making; what was parted in it so far."""

    after: Stmt
    origin: dict[Store, Store] = field(default_factory=dict)
    loops: dict[Var, tuple[Var, ...]] = field(default_factory=dict)
    values: dict[Var, Expr] = field(default_factory=dict)
    counts: dict[Var, Expr] = field(default_factory=dict)
    joints: list[_Joint] = field(default_factory=list)

    def note(self, joint: _Joint) -> None:
        """What is in terms of loops that are gone now is in terms of those that stand for them."""
        new = (joint.first, joint.second)
        self.joints.append(joint)
        for v, to in self.loops.items():
            self.loops[v] = tuple(dict.fromkeys(n for u in to for n in (new if u in joint.gone else (u,))))
            self.values[v] = _replaced(self.values[v], joint.gone)
        for v, value in joint.gone.items():
            if v not in self.counts:
                self.loops[v], self.values[v] = new, value
        count, by = _replaced(joint.count, self.counts), _replaced(joint.by, self.counts)
        self.counts |= {joint.first: floordiv(count, by), joint.second: mod(count, by)}
        for v in joint.gone:
            self.counts.pop(v, None)


def _replaced(root: N, values: Mapping[Var, Expr]) -> N:
    if not variables(root) & values.keys():
        return root
    return rewrite(root, lambda n: values.get(n) if isinstance(n, Var) else fold(n))  # type: ignore[return-value]


_TOPS: OrderedDict[int, tuple[Stmt, _Top]] = OrderedDict()
_MOST_TOPS = 512


def _parted_top(s: Stmt) -> _Top:
    """Remembered: most steps leave most nests as they are."""
    found = _TOPS.get(id(s))
    if found is None:
        found = _TOPS[id(s)] = s, _made(s)
        while len(_TOPS) > _MOST_TOPS:
            _TOPS.popitem(last=False)
    return found[1]


def _made(s: Stmt) -> _Top:
    top = _Top(s)
    if may_count_pairs([n.extent for n in statements(s) if isinstance(n, For)], s):
        plain = _without_hints(s)
        top.after = s if (after := _parted(plain, top)) is plain else after
        top.origin = dict(zip(_stores(top.after), _stores(s))) if top.joints else {}
    return top


def may_count_pairs(extents: Sequence[Expr], *users: Node) -> bool:
    """Whether some loop has a product as its extent, and its users divide by a size or it has a product of sizes as a factor: what each
    joint needs, and few nests have.
    """
    products = [n for n in walk(*extents) if isinstance(n, Mul)]
    if not products:
        return False
    return any(map(_is_of_sizes, products)) or any(isinstance(n, FloorDiv | Mod) and integer(n.rhs) is None for n in walk(*users, *extents))


def _without_hints(s: Stmt) -> Stmt:
    """A statement without what has no effect on values."""
    if not any(isinstance(n, Prefetch) for n in statements(s)):
        return s

    def rule(node: Node) -> Node | None:
        if isinstance(node, For | If) and any(isinstance(n, Prefetch) for n in node.body):
            return replace(node, body=tuple(n for n in node.body if not isinstance(n, Prefetch)))
        return None

    return rewrite(s, rule)


def _stores(s: Stmt) -> Iterator[Store]:
    return (n for n in statements(s) if isinstance(n, Store))


def _parted(s: Stmt, top: _Top) -> Stmt:
    """Depth is that of the loop nest."""
    if isinstance(s, For):
        for run in _runs(s):
            joint = _joint(run)
            pair = _pair(run, joint) if joint is not None else None
            if joint is not None and pair is not None:
                top.note(joint)
                return _parted(pair, top)
    if isinstance(s, For | If):
        body = tuple(_parted(n, top) for n in s.body)
        return s if all(a is b for a, b in zip(body, s.body)) else replace(s, body=body)
    return s


@dataclass(frozen=True, slots=True, eq=False)
class _Digits:
    """A number that one or more loops count from 0.

    Attributes:
        count: in terms of their variables.
        extent: how many numbers there are.
        of: the variable of each loop, in terms of `_COUNT`.
    """

    count: Expr
    extent: Expr
    of: Mapping[Var, Expr]


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """Loops with nothing but each other and conditions inside, which count one number together.

    Attributes:
        kind: how the iterations of all of them run; at once, if those of any do.
    """

    loops: tuple[For, ...]
    digits: _Digits
    inside: tuple[Stmt, ...]
    kind: str


_COUNT = Var("count")


def _runs(loop: For) -> Iterator[_Run]:
    """The loop with all its tiles, then with fewer, then alone."""
    chain, conditions, below = [loop], list[Expr](), list[tuple[tuple[Expr, ...], tuple[Stmt, ...]]]()
    while True:
        body = chain[-1].body
        while body and isinstance(last := body[-1], If) and all(isinstance(s, Alloc) for s in body[:-1]) and not tensors(last.cond):
            conditions += _conjuncts(last.cond)
            body = (*body[:-1], *last.body)  # Buffers may be made where alone they are used.
        below.append((tuple(conditions), body))
        if len(body) != 1 or not isinstance(body[0], For):
            break
        chain.append(body[0])
    for k in range(len(chain), 1, -1):
        run = _tiles(chain[:k], *below[k - 1])
        if run is not None:
            yield run
    yield _Run((loop,), _digit(loop), loop.body, loop.kind)


def _digit(loop: For) -> _Digits:
    return _Digits(loop.var, loop.extent, {loop.var: _COUNT})


def _conjuncts(e: Expr) -> list[Expr]:
    return [*_conjuncts(e.lhs), *_conjuncts(e.rhs)] if isinstance(e, And) else [e]


def _tiles(chain: Sequence[For], conditions: Sequence[Expr], inside: tuple[Stmt, ...]) -> _Run | None:
    """Nested loops as one, if all of them are tiles, and tiles of tiles, of one."""
    kind = _kind([n.kind for n in chain])
    if kind is None or any(isinstance(n, Barrier) for n in statements(*inside)):
        return None
    digits, left = list(map(_digit, chain)), list(conditions)
    while len(digits) > 1:
        pairs = range(len(digits) - 1)
        found = next((m for how in (_held, _full) for k in pairs if (m := _merged(digits, k, left, how)) is not None), None)
        if found is None:
            return None
        digits = found
    for c in reversed(left):
        inside = (If(c, inside),)
    return _Run(tuple(chain), digits[0], inside, kind)


def _kind(kinds: Sequence[str]) -> str | None:
    """How all iterations of nested loops run, if some of them run at once; None for lanes of an instruction."""
    marks = {k for k in kinds if k not in ("serial", "unroll")}
    if any(k.startswith(INSTRUCTION) for k in marks):
        return None
    return "serial" if not marks else marks.pop() if len(marks) == 1 else "parallel"


_End = Callable[[_Digits, Expr, int, list[Expr]], Expr | None]
"""Where a count ends that goes on in tiles of so many numbers, under conditions of which one that says so is taken out."""


def _merged(digits: list[_Digits], k: int, conditions: list[Expr], how: _End) -> list[_Digits] | None:
    """The k-th number and the next one as one number."""
    outer, inner = digits[k], digits[k + 1]
    tile, end = _tile(outer, inner)
    if tile is None or tile < 1:
        return None
    count = add(mul(outer.count, index(tile)), inner.count)
    if end is None:
        end = how(_Digits(count, outer.extent, {**outer.of, **inner.of}), outer.extent, tile, conditions)
    if end is None or not _has_tiles(outer.extent, end, tile):
        return None
    size = index(tile)
    of = {v: _replaced(e, {_COUNT: floordiv(_COUNT, size)}) for v, e in outer.of.items()}
    of |= {v: _replaced(e, {_COUNT: mod(_COUNT, size)}) for v, e in inner.of.items()}
    return [*digits[:k], _Digits(count, end, of), *digits[k + 2 :]]


def _held(both: _Digits, tiles: Expr, tile: int, conditions: list[Expr]) -> Expr | None:
    for c in conditions:
        slack = _slack(c)
        if slack is not None:
            end = linear(add(add(slack.expr(), both.count), index(1))).expr()
            if not variables(end) & both.of.keys() and _has_tiles(tiles, end, tile):
                conditions.remove(c)
                return end
    return None


def _full(both: _Digits, tiles: Expr, tile: int, conditions: list[Expr]) -> Expr | None:
    last = integer(tiles)
    return None if last is None else index(last * tile)


def _tile(outer: _Digits, inner: _Digits) -> tuple[int | None, Expr | None]:
    """How many numbers the inner one counts for each outer one; and the end of both, where its own extent says that.

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
    """Whether `extent` is the number of tiles that begin before the end."""
    last, length = integer(extent), integer(end)
    if last is not None or length is not None:
        return last is not None and length is not None and last == -(-length // tile)
    return isinstance(extent, FloorDiv) and integer(extent.rhs) == tile and same_value(extent.lhs, add(end, index(tile - 1)))


def _slack(e: Expr) -> Linear | None:
    """What is at least 0 where an order of indices holds."""
    match e:
        case Compare("<" | "<=" as op, a, b) | Compare(">" | ">=" as op, b, a) if a.dtype == I64:
            return linear(sub(sub(b, a), index(int(len(op) == 1))))
    return None


def _joint(run: _Run) -> _Joint | None:
    """How a run counts pairs, if it does."""
    if not any(isinstance(e, Mul) for e in walk(run.digits.extent)):
        return None
    for node in walk(*run.inside):
        if isinstance(node, FloorDiv | Mod) and _is_of(node, run.digits.count):
            over = _factor(run.digits.extent, node.rhs)
            if over is None or tensors(node.rhs):
                continue
            told = integer(node.rhs) is None or _is_product(over)
            if told and (is_natural(over) or is_natural(node.rhs)):
                return _named(run, over, node.rhs)
    return None


def _is_product(e: Expr) -> bool:
    """Whether it may itself count pairs."""
    return any(isinstance(n, Mul) and _is_of_sizes(n) for n in walk(e))


def _is_of_sizes(n: Mul) -> bool:
    return integer(n.lhs) is None and integer(n.rhs) is None


def _is_of(node: FloorDiv | Mod, count: Expr) -> bool:
    return node.dtype == I64 and same_value(node.lhs, count)


def _factor(extent: Expr, by: Expr) -> Expr | None:
    """What times `by` an extent is, if that is seen."""
    if isinstance(extent, Mul):
        for over, other in ((extent.lhs, extent.rhs), (extent.rhs, extent.lhs)):
            if same_value(other, by):
                return over
    whole, part = linear(extent), linear(by)
    times = whole.terms[0][1] // part.terms[0][1] if whole.terms and part.terms else 0
    return index(times) if times > 0 and not (rest := whole.plus(part, -times)).terms and not rest.constant else None


def is_natural(e: Expr) -> bool:
    """Whether an integer is seen not to be negative: sizes and loop variables are not, nor is what is made of them without a difference."""
    match e:
        case Const(value):
            return value >= 0
        case Var():
            return True
        case Add(a, b) | Mul(a, b) | FloorDiv(a, b) | Mod(a, b) | Min(a, b):
            return is_natural(a) and is_natural(b)
        case Max(a, b):
            return is_natural(a) or is_natural(b)
    return False


_NAMED: OrderedDict[tuple[Var, ...], tuple[Var, Var]] = OrderedDict()
_MOST_NAMED = 1024


def _named(run: _Run, over: Expr, by: Expr) -> _Joint:
    """The same variables for the same loops, so that what was proven of statements is known of them again. Examples show their names."""
    key = tuple(n.var for n in run.loops)
    if key not in _NAMED:
        _NAMED[key] = Var(show(FloorDiv(run.digits.count, by))), Var(show(Mod(run.digits.count, by)))
        while len(_NAMED) > _MOST_NAMED:
            _NAMED.popitem(last=False)
    first, second = _NAMED[key]
    value = add(mul(first, by), second)
    gone = {v: _replaced(e, {_COUNT: value}) for v, e in run.digits.of.items()}
    return _Joint(run.digits.count, over, by, first, second, gone)


def _pair(run: _Run, joint: _Joint) -> For | None:
    """for a in 0..m: for b in 0..n: S(a, b), if nothing uses the count itself."""
    divided = tuple(joint.divided(s) for s in run.inside)
    if any(variables(s) & joint.gone.keys() for s in divided):
        return None
    outer = run.loops[0]
    inner = For(joint.second, joint.by, divided, run.kind, outer.tensor)
    return replace(outer, var=joint.first, extent=joint.over, body=(inner,), kind=run.kind)
