"""Loops that were joined, as the two loops they were: the same instances in the same order, without
quotients by sizes.

    for v in 0..m*n: S(v // n, v % n)   ->   for a in 0..m: for b in 0..n: S(a, b)

A number that a loop and its tiles count (`digits`) is one loop on the way. This is a law of the
loops, whoever made them: v counts the pairs (a, b) in lexicographic order, where m or n is not
negative. Proofs are about linear arithmetic, which the loop on the left is not where n is no
constant; so provers ask about those on the right.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from texpr.ir.affine import linear, same_value
from texpr.ir.build import add, floordiv, integer, is_natural, mod, mul
from texpr.ir.dtypes import I64
from texpr.ir.expr import Expr, FloorDiv, Mod, Mul, Node, Var, index
from texpr.ir.index.digits import COUNT, Run, replaced, runs
from texpr.ir.loop import For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.printing.expr import show
from texpr.ir.traverse import rewrite, statements, tensors, variables, walk
from texpr.support.frozen_dataclass import frozen_by_identity, replace

N = TypeVar("N", bound=Node)


@frozen_by_identity
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
        """Number of nested loops, from the outside in, that count the same in iterations in which
        the given ones do.
        """
        gone = self.loops.keys()
        for k, v in enumerate(loops):
            if not (variables(self.counts[v]) & gone if v in self.counts else {v}) <= set(given):
                return k
        return len(loops)


@lru_cache(maxsize=8)  # each step asks of the kernel before and after it
def parted(kernel: Kernel) -> Parted:
    """The kernel with loops that count the pairs of two others as these two, where their second
    count is of no constant extent.

    A loop is left as it is where that is not seen: where nothing is divided by a factor of its
    extent that stays the same inside, where both factors may be negative, where something but a
    hint uses the count itself, where its tiles hold more than each other, conditions and hints.
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
    """True if, with collapsed loops split again, some index is divided by a value that is no
    constant. Proofs know little of such quotients.
    """
    sizes = set(kernel.sizes)
    return any(
        isinstance(n, FloorDiv | Mod) and integer(n.rhs) is None and not variables(n.lhs) <= sizes
        for n in walk(*map(_without_hints, parted(kernel).kernel.body))
    )


def parted_statement(s: Stmt) -> Stmt:
    """A statement with its joined loops parted; what is around it binds none of its variables."""
    return _parted_top(s).after


@frozen_by_identity
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
        return replaced(self.divided(e), self.gone)

    def divided(self, root: N) -> N:
        """The node with quotients and remainders of the collapsed count replaced by the two loops'
        variables.
        """

        def rule(node: Node) -> Node | None:
            if (
                isinstance(node, FloorDiv | Mod)
                and _is_of(node, self.count)
                and same_value(node.rhs, self.by)
            ):
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
        """Record a collapsed count: rewrite everything in terms of the loops that are gone in terms
        of the two loops that replace them.
        """
        new = (joint.first, joint.second)
        self.joints.append(joint)
        for v, to in self.loops.items():
            self.loops[v] = tuple(dict.fromkeys(n for u in to for n in (new if u in joint.gone else (u,))))
            self.values[v] = replaced(self.values[v], joint.gone)
        for v, value in joint.gone.items():
            if v not in self.counts:
                self.loops[v], self.values[v] = new, value
        count, by = replaced(joint.count, self.counts), replaced(joint.by, self.counts)
        self.counts |= {joint.first: floordiv(count, by), joint.second: mod(count, by)}
        for v in joint.gone:
            self.counts.pop(v, None)


def _parted_top(s: Stmt) -> _Top:
    """Kept in the statement: most steps leave most nests as they are."""
    try:
        return s._parted  # type: ignore[attr-defined, no-any-return]
    except AttributeError:
        found = _made(s)
        object.__setattr__(s, "_parted", found)
        return found


def _made(s: Stmt) -> _Top:
    top = _Top(s)
    if may_count_pairs([n.extent for n in statements(s) if isinstance(n, For)], s):
        plain = _without_hints(s)
        top.after = s if (after := _parted(plain, top)) is plain else after
        top.origin = dict(zip(_stores(top.after), _stores(s))) if top.joints else {}
    return top


def may_count_pairs(extents: Sequence[Expr], *users: Node) -> bool:
    """True if some loop has a product as its extent, and its users divide by a size or the extent
    has a product of sizes as a factor. Every collapsed pair needs this, and few nests have it.
    """
    products = [n for e in extents for n in _products(e)]
    if not products:
        return False
    return any(map(_is_of_sizes, products)) or any(
        isinstance(n, FloorDiv | Mod) and integer(n.rhs) is None for n in walk(*users, *extents)
    )


@lru_cache(maxsize=1024)  # steps leave most extents as they are
def _products(extent: Expr) -> tuple[Mul, ...]:
    return tuple(n for n in walk(extent) if isinstance(n, Mul))


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
        for run in runs(s):
            joint = _joint(run)
            pair = _pair(run, joint) if joint is not None else None
            if joint is not None and pair is not None:
                top.note(joint)
                return _parted(pair, top)
    if isinstance(s, For | If):
        body = tuple(_parted(n, top) for n in s.body)
        return s if all(a is b for a, b in zip(body, s.body)) else replace(s, body=body)
    return s


def _joint(run: Run) -> _Joint | None:
    """The pair of loops that a run of digits counts, if it counts one."""
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
    """True if it may itself count pairs."""
    return any(isinstance(n, Mul) and _is_of_sizes(n) for n in walk(e))


def _is_of_sizes(n: Mul) -> bool:
    return integer(n.lhs) is None and integer(n.rhs) is None


def _is_of(node: FloorDiv | Mod, count: Expr) -> bool:
    return node.dtype == I64 and same_value(node.lhs, count)


def _factor(extent: Expr, by: Expr) -> Expr | None:
    """The other factor of an extent that is a multiple of `by`; None if that is not seen."""
    if isinstance(extent, Mul):
        for over, other in ((extent.lhs, extent.rhs), (extent.rhs, extent.lhs)):
            if same_value(other, by):
                return over
    whole, part = linear(extent), linear(by)
    times = whole.terms[0][1] // part.terms[0][1] if whole.terms and part.terms else 0
    return (
        index(times)
        if times > 0 and not (rest := whole.plus(part, -times)).terms and not rest.constant
        else None
    )


_NAMED: OrderedDict[tuple[Var, ...], tuple[Var, Var]] = OrderedDict()
_MOST_NAMED = 1024


def _named(run: Run, over: Expr, by: Expr) -> _Joint:
    """The same variables for the same loops, so that what was proven of statements is known of
    them again. Examples show their names.
    """
    key = tuple(n.var for n in run.loops)
    named = _NAMED.get(key)
    if named is None:
        made = Var(show(FloorDiv(run.digits.count, by))), Var(show(Mod(run.digits.count, by)))
        named = _NAMED.setdefault(key, made)
        if len(_NAMED) > _MOST_NAMED:
            _NAMED.popitem(last=False)
    first, second = named
    value = add(mul(first, by), second)
    gone = {v: replaced(e, {COUNT: value}) for v, e in run.digits.of.items()}
    return _Joint(run.digits.count, over, by, first, second, gone)


def _pair(run: Run, joint: _Joint) -> For | None:
    """for a in 0..m: for b in 0..n: S(a, b), if nothing uses the count itself."""
    divided = tuple(joint.divided(s) for s in run.inside)
    if any(variables(s) & joint.gone.keys() for s in divided):
        return None
    outer = run.loops[0]
    inner = For(joint.second, joint.by, divided, run.kind, outer.tensor)
    return replace(outer, var=joint.first, extent=joint.over, body=(inner,), kind=run.kind)
