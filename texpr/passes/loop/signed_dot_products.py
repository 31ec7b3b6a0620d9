"""Products of signed bytes on machines that multiply unsigned bytes by signed ones: one side plus
128, and what that adds taken off again.

Sums of integers wrap, so this is exact: sum((a + 128) * b) - sum(128 * b) is sum(a * b) whatever
overflows on the way. Where loops around a sum repeat it with the same signed bytes, as for the rows
of a product one after the other, what is taken off is summed once before them.
"""

from __future__ import annotations

from math import inf, prod

from texpr.ir.affine import ceiling
from texpr.ir.build import integer, literal
from texpr.ir.dtypes import I8, I32, U8
from texpr.ir.expr import Add, Cast, Expr, Mul, Neg, Node, Read, Tensor, Var, index, plain
from texpr.ir.instructions import meaning
from texpr.ir.loop import Alloc, For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.loop_kind import SERIAL, UNROLLED, VECTOR, InstructionNest
from texpr.ir.traverse import rewrite, variables, walk
from texpr.passes.analysis.match_nest import Match, unify
from texpr.passes.analysis.substitution import with_fresh_variables
from texpr.support.frozen_dataclass import frozen, replace

SIGNED, MIXED = "vpdpbssd", "vpdpbusd"
OFFSET = 128
LARGEST = 16 << 10
"""Bytes of sums that are kept for loops around."""


@frozen
class _Sum:
    """A loop over groups of terms with nothing in it but one instruction, in loops that are written
    out.

    Attributes:
        rows, lanes: the loops that are written out, without and with those along which the signed
        operand moves.
        around: the statements that the loop stands in, the outermost first.
    """

    loop: For
    rows: tuple[For, ...]
    lanes: tuple[For, ...]
    instruction: For
    match: Match
    around: tuple[Stmt, ...]

    def operand(self, name: str) -> tuple[Tensor, tuple[Expr, ...]]:
        return self.match.operands[name]

    def repeats(self) -> tuple[For, tuple[For, ...]] | None:
        """The outermost loop that repeats the sum with the same signed operand, and the loops
        within along which that moves.
        """
        right, at = self.operand("B")
        for k, outer in enumerate(self.around):
            loops = tuple(n for n in self.around[k:] if isinstance(n, For) and n.kind in (SERIAL, UNROLLED))
            moving = tuple(n for n in loops if n.var in variables(*at))
            if (
                len(loops) < len(self.around) - k
                or outer in moving
                or any(isinstance(n, Store) and n.tensor is right for n in walk(outer))
            ):
                continue
            if (
                not variables(self.loop.extent, *(n.extent for n in moving)) & {n.var for n in loops}
                and self._bytes(moving) <= LARGEST
            ):
                return loops[0], moving
        return None

    def _bytes(self, moving: tuple[For, ...]) -> float:
        """Bytes of the sums of all these loops."""
        counts = [ceiling(n.extent) for n in (*moving, *self.lanes, self.instruction)]
        return inf if None in counts else I32.bytes * prod(c for c in counts if c is not None)


def offset_signed(kernel: Kernel) -> Kernel:
    """Buffers of signed bytes that instructions multiply hold them plus 128; what 128 times the
    other side sums to is subtracted behind.

    for k: for i: C[i, 0..16] += dot(A[i, 4*k..], B[4*k.., 0..16])
    ->   let T = 0;  for k: { for i: C[i] += dot(A[i] + 128, B);  T += dot(128, B) };  for i: C[i] -= T

    What has another form is left to whoever writes the instruction.
    """
    if not any(isinstance(n, For) and n.kind == InstructionNest(SIGNED) for n in walk(kernel)):
        return kernel
    sums = _sums(kernel)
    flipped = _flipped(kernel, sums)
    written: dict[Var, tuple[Stmt, ...]] = {}
    before: dict[Var, tuple[Stmt, ...]] = {}
    for each in sums:
        if each.operand("A")[0] in flipped:
            _write(each, flipped, written, before)
    body = tuple(after for s in kernel.body for after in _with_offsets(s, written, before))
    return _stored_unsigned(replace(kernel, body=body), flipped)


def _sums(kernel: Kernel) -> list[_Sum]:
    found: list[_Sum] = []
    stack: list[tuple[Stmt, tuple[Stmt, ...]]] = [(s, ()) for s in kernel.body]
    while stack:
        node, around = stack.pop()
        if isinstance(node, For) and node.kind == SERIAL and (made := _sum(node, around)) is not None:
            found.append(made)
        if isinstance(node, For | If):
            stack += [(s, (*around, node)) for s in node.body]
    return found


def _sum(loop: For, around: tuple[Stmt, ...]) -> _Sum | None:
    inner: list[For] = []
    node: Stmt = loop
    while isinstance(node, For) and node.kind in (SERIAL, UNROLLED) and len(node.body) == 1:
        inner.append(node)
        node = node.body[0]
    if (
        not isinstance(node, For)
        or node.kind != InstructionNest(SIGNED)
        or any(n.kind != UNROLLED for n in inner[1:])
    ):
        return None
    match = unify(meaning(SIGNED), node)
    if loop.var in variables(*match.operands["C"][1]):
        return None
    moving = variables(*match.operands["B"][1])
    rows, lanes = (tuple(n for n in inner[1:] if (n.var in moving) == along) for along in (False, True))
    return _Sum(loop, rows, lanes, node, match, around)


def _flipped(kernel: Kernel, sums: list[_Sum]) -> dict[Tensor, Tensor]:
    """The buffers of signed bytes that only these sums multiply by instructions, with those that
    take their place.
    """
    buffers = {*kernel.temporaries, *(n.tensor for n in walk(kernel) if isinstance(n, Alloc))}
    known = {s.instruction.var for s in sums}
    others = {
        unify(meaning(SIGNED), n).operands["A"][0]
        for n in walk(kernel)
        if isinstance(n, For) and n.kind == InstructionNest(SIGNED) and n.var not in known
    }
    stored = {n.tensor for n in walk(kernel) if isinstance(n, Store) and n.update is not None}
    right = {s.operand("B")[0] for s in sums}
    found = dict.fromkeys(s.operand("A")[0] for s in sums)
    return {
        t: replace(t, dtype=U8, value_range=None) for t in found if t in buffers - others - stored - right
    }


def _with_offsets(
    s: Stmt, written: dict[Var, tuple[Stmt, ...]], before: dict[Var, tuple[Stmt, ...]]
) -> tuple[Stmt, ...]:
    """A statement with its sums written out. Depth is that of the loop nest."""
    match s:
        case For(var) if var in written:
            return (*before.get(var, ()), *written[var])
        case For() | If():
            after = replace(s, body=tuple(new for b in s.body for new in _with_offsets(b, written, before)))
            return (*before.get(s.var, ()), after) if isinstance(s, For) else (after,)
    return (s,)


def _write(
    s: _Sum,
    flipped: dict[Tensor, Tensor],
    written: dict[Var, tuple[Stmt, ...]],
    before: dict[Var, tuple[Stmt, ...]],
) -> None:
    """Write a sum and the loops over its elements that stand behind it, and before some loop
    what those take off.
    """
    (target, place), (right, at) = s.operand("C"), s.operand("B")
    lane, term = s.match.loops.values()
    count = integer(s.instruction.extent) or 0
    first, moving = s.repeats() or (s.loop, ())
    lanes = (*s.lanes, For(lane, index(count), (), VECTOR, target.name))
    sizes = (index(ceiling(n.extent) or 0) for n in (*moving, *lanes))
    extra = Tensor(f"{target.name}_offset", I32, plain(*sizes), scope="stack")
    offset = Tensor(f"{target.name}_128", U8, plain(index(4)), scope="stack")
    cells = tuple(n.var for n in (*moving, *lanes))
    value = Mul(Cast(Read(offset, (term,)), dtype=I32), Cast(Read(right, at), dtype=I32))
    more = For(
        term,
        index(4),
        (Store(extra, cells, value, update="add", reassoc=True, equation=-1),),
        tensor=target.name,
    )
    adding = with_fresh_variables(
        _nest((*s.lanes, For(lane, index(count), (), InstructionNest(MIXED), target.name)), more)
    )
    zero = with_fresh_variables(_nest(lanes, Store(extra, cells, literal(0, I32), equation=-1)))
    fixed = For(
        term, index(4), (Store(offset, (term,), literal(OFFSET, U8), equation=-1),), VECTOR, target.name
    )
    taken = Store(target, place, Neg(Read(extra, cells)), update="add", reassoc=True, equation=-1)
    taking = with_fresh_variables(_nest((*s.rows, *lanes), taken))
    mixed = _mixed(s, flipped)
    buffers = (Alloc(extra), Alloc(offset), with_fresh_variables(fixed))
    if first is s.loop:  # beside the sum itself: one instruction more in its loop
        written[s.loop.var] = (*buffers, zero, replace(s.loop, body=(mixed, adding)), taking)
        return
    alone = (with_fresh_variables(n) for n in _around(moving, (zero, replace(s.loop, body=(adding,)))))
    before[first.var] = (*before.get(first.var, ()), *buffers, *alone)
    written[s.loop.var] = (replace(s.loop, body=(mixed,)), taking)


def _mixed(s: _Sum, flipped: dict[Tensor, Tensor]) -> Stmt:
    """The body of a sum with the unsigned operand."""
    left = s.operand("A")[0]

    def rule(node: Node) -> Node | None:
        match node:
            case Read(t) if t is left:
                return replace(node, tensor=flipped[left], dtype=U8)
            case For(kind=kind) if kind == InstructionNest(SIGNED):
                return replace(node, kind=InstructionNest(MIXED))
        return None

    return rewrite(s.loop.body[0], rule)  # type: ignore[return-value]


def _stored_unsigned(kernel: Kernel, flipped: dict[Tensor, Tensor]) -> Kernel:
    """The kernel with the offset in all other uses of the buffers."""
    offset = literal(OFFSET, U8)

    def rule(node: Node) -> Node | None:
        match node:
            case Read(t, indices) if t in flipped:
                return Cast(Add(Read(flipped[t], indices), offset), dtype=I8)
            case Store(t, _, value) if t in flipped:
                return replace(node, tensor=flipped[t], value=Add(Cast(value, dtype=U8), offset))
            case Alloc(t) | Prefetch(t) if t in flipped:
                return replace(node, tensor=flipped[t])
        return None

    after = rewrite(kernel, rule)
    assert isinstance(after, Kernel), "a kernel stays one"
    return replace(after, temporaries=tuple(flipped.get(t, t) for t in kernel.temporaries))


def _nest(loops: tuple[For, ...], body: Stmt) -> Stmt:
    return _around(loops, (body,))[0]


def _around(loops: tuple[For, ...], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    for n in reversed(loops):
        body = (replace(n, body=body),)
    return body
