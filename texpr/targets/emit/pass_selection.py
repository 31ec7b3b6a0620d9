"""Selection of LLVM's passes: kernels of loops over elements leave few of them something to do."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.expr import Expr, FloorDiv, Mod, Read, Select, Tensor, Var
from texpr.ir.loop import Alloc, For, If, Kernel, Poll, Prefetch, Stmt, Store
from texpr.ir.loop_kind import VECTOR, Parallel, Serial, Vector
from texpr.ir.traverse import children, equal, statements, variables, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.support.frozen_dataclass import frozen, replace

FEW_STORES = 32
"""Stores to one tensor in a loop that are compared with each other at most."""


def is_plain(kernel: Kernel) -> bool:
    """True if a kernel only stores elements of its outputs, each computed from elements that move
    with the innermost loop.

    So no value could stay in a register over iterations, no load could be moved out of a loop, no
    branch could be joined with another.
    """
    return not kernel.temporaries and all(_is_plain(s, None) for s in kernel.body)


def _is_plain(s: Stmt, innermost: Var | None) -> bool:
    """True if a statement in a loop over `innermost` only stores such elements."""
    match s:
        case For(kind=Serial() | Parallel()):
            return all(_is_plain(each, s.var) for each in s.body)
        case For(kind=Vector()):
            return all(_is_plain(each, innermost) for each in s.body)
        case Store(update=None):
            reads = {id(n): n for n in walk(s.value) if isinstance(n, Read)}
            return reads.keys() == _unconditional(s.value) and all(
                _moves(at, innermost) for at in (s, *reads.values())
            )
        case Poll() | Prefetch():
            return True
    return False


def sums_in_registers(kernel: Kernel) -> bool:
    """True if the loops of a kernel leave little to LLVM: no conditions but those of copies, of a
    vector's lanes and outside of all loops; sums lie at fixed places of buffers, so that they are in
    registers; all else
    that is read moves with the loop around it, so that no load could be moved out of it, but for
    what is done to a sum in the iteration that makes it, and what is computed before loops inside.
    Updates of an element for each iteration, once, are in no register anyhow.
    """
    stack = [(s, _Around()) for s in kernel.body]
    while stack:
        s, around = stack.pop()
        match s:
            case For(kind=Vector()):
                stack += [(each, replace(around, lanes=around.lanes | {s.var})) for each in s.body]
            case For():
                inside = _Around(s, *_known(s), around.lanes)
                stack += [(each, inside) for each in s.body]
            case Store():
                if not _is_left_alone(s, around):
                    return False
            case If() if around.lanes & set(variables(s.cond)) and not _divides(
                s.cond
            ):  # of lanes: no branch, stores under a mask
                stack += [(each, around) for each in s.body]
            case If() if around.loop is None:  # asked once
                stack += [(each, around) for each in s.body]
            case If():
                return False
    return True


def _divides(e: Expr) -> bool:
    """True if lanes would be divided one by one where LLVM does not see what the quotient is
    compared with.
    """
    return any(isinstance(n, FloorDiv | Mod) for n in walk(e))


@frozen
class _Around:
    """The loops around a statement.

    Attributes:
        loop: the innermost that counts, if there is one.
        buffers: those that an iteration of it has.
        has_loops: whether others that count stand in it.
        lanes: variables of vector loops.
    """

    loop: For | None = None
    buffers: frozenset[Tensor] = frozenset()
    has_loops: bool = True
    lanes: frozenset[Var] = frozenset()

    @property
    def innermost(self) -> Var | None:
        """The variable of the loop."""
        return None if self.loop is None else self.loop.var

    def moves(self, s: Store) -> bool:
        """True if each iteration of it writes an element of its own, once."""
        if self.loop is None or self.loop.var not in variables(*s.indices):
            return False
        stores = [
            each
            for each in statements(*self.loop.body)
            if isinstance(each, Store) and each.tensor is s.tensor
        ]
        return len(stores) <= FEW_STORES and sum(equal(each.indices, s.indices) for each in stores) == 1


def _known(loop: For) -> tuple[frozenset[Tensor], bool]:
    """The buffers of an iteration, and True if serial loops stand in it."""
    return (
        frozenset(s.tensor for s in loop.body if isinstance(s, Alloc)),
        any(isinstance(s, For) and s.kind != VECTOR for s in loop.body),
    )


def _is_left_alone(s: Store, around: _Around) -> bool:
    nodes = list(walk(s.value))
    reads = {id(n): n for n in nodes if isinstance(n, Read)}
    if s.update is not None:
        fixed = _is_fixed(s, around.lanes) or around.moves(s)
        if not fixed or (
            any(isinstance(n, Select) for n in nodes) and reads.keys() != _unconditional(s.value)
        ):
            return False
    elif any(r.tensor in around.buffers for r in reads.values()):
        return True
    if around.innermost is None or (
        _is_fixed(s, around.lanes) and around.has_loops
    ):  # what comes before the loops inside
        return True
    # What a whole kernel has one of is seldom read where other loops stand beside, or sums end.
    few = any(r.tensor.scope != "global" for r in reads.values()) or around.has_loops
    return all(
        _is_fixed(r, around.lanes) or around.innermost in variables(*r.indices) or (few and not r.indices)
        for r in reads.values()
    )


def _is_fixed(at: Read | Store, lanes: frozenset[Var]) -> bool:
    """True if an element lies at the same place of a buffer on the stack in all iterations of loops
    around, but for lanes.
    """
    return at.tensor.scope == "stack" and variables(*at.indices) <= lanes


def becomes_registers(kernel: Kernel, tensor: Tensor) -> bool:
    """True if a buffer is used at fixed places alone, so that it is in registers whatever stands
    between its uses.
    """
    nodes = list(walk(kernel))
    lanes = frozenset(n.var for n in nodes if isinstance(n, For) and n.kind == VECTOR)
    return all(_is_fixed(n, lanes) for n in nodes if isinstance(n, Read | Store) and n.tensor is tensor)


def _unconditional(root: Expr) -> set[int]:
    """The reads of a value outside of the sides of choices."""
    found: set[int] = set()
    stack, seen = [root], {id(root)}
    while stack:
        e = stack.pop()
        if isinstance(e, Read):
            found.add(id(e))
            continue
        below = [
            c
            for c in ((e.cond,) if isinstance(e, Select) else children(e))
            if isinstance(c, Expr) and id(c) not in seen
        ]
        seen |= {id(c) for c in below}
        stack += below
    return found


def _moves(at: Read | Store, innermost: Var | None) -> bool:
    """True if the position is a sum of multiples of loops, the innermost among them."""
    terms: Sequence[tuple[Expr, int]] = flat_index(at.tensor, at.indices).terms
    return all(isinstance(t, Var) for t, _ in terms) and (
        innermost is None or any(t is innermost for t, _ in terms)
    )
