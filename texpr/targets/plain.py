"""Loops over elements: the kernels in which LLVM's passes have little to find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from texpr.ir.expr import Expr, FloorDiv, Mod, Read, Select, Tensor, Var
from texpr.ir.loop import Alloc, For, If, Kernel, Poll, Prefetch, Stmt, Store
from texpr.ir.traverse import children, variables, walk
from texpr.passes.flatten import flat_index


def is_plain(kernel: Kernel) -> bool:
    """Whether a kernel only stores elements of its outputs, each computed from elements that move with the innermost loop.

    So no value could stay in a register over iterations, no load could be moved out of a loop, no branch could be joined with another.
    """
    return not kernel.temporaries and all(_is_plain(s, None) for s in kernel.body)


def _is_plain(s: Stmt, innermost: Var | None) -> bool:
    """A statement in a loop that counts with `innermost`."""
    match s:
        case For(kind="serial" | "parallel"):
            return all(_is_plain(each, s.var) for each in s.body)
        case For(kind="vector"):
            return all(_is_plain(each, innermost) for each in s.body)
        case Store(update=None):
            reads = {id(n): n for n in walk(s.value) if isinstance(n, Read)}
            return reads.keys() == _unconditional(s.value) and all(_moves(at, innermost) for at in (s, *reads.values()))
        case Poll() | Prefetch():
            return True
    return False


def sums_in_registers(kernel: Kernel) -> bool:
    """Whether the loops of a kernel leave little to LLVM: no conditions but those of copies and of a vector's lanes; sums lie at fixed
    places of buffers, so that they are in registers; all else that is read moves with the loop around it, so that no load could be moved
    out of it, but for what is done to a sum in the iteration that makes it.
    """
    stack = [(s, _Around(None, frozenset(), frozenset())) for s in kernel.body]
    while stack:
        s, around = stack.pop()
        match s:
            case For(kind="vector"):
                stack += [(each, replace(around, lanes=around.lanes | {s.var})) for each in s.body]
            case For():
                own = frozenset(each.tensor for each in s.body if isinstance(each, Alloc))
                stack += [(each, _Around(s.var, own, around.lanes)) for each in s.body]
            case Store():
                if not _is_left_alone(s, around):
                    return False
            case If() if around.lanes & set(variables(s.cond)) and not _divides(s.cond):  # of lanes: no branch, stores under a mask
                stack += [(each, around) for each in s.body]
            case If():
                return False
    return True


def _divides(e: Expr) -> bool:
    """Whether lanes would be divided one by one where LLVM does not see what the quotient is compared with."""
    return any(isinstance(n, FloorDiv | Mod) for n in walk(e))


@dataclass(frozen=True, slots=True)
class _Around:
    """The loops around a statement: the variable of the innermost that counts, the buffers that an iteration of it has, and variables of
    lanes."""

    innermost: Var | None
    buffers: frozenset[Tensor]
    lanes: frozenset[Var]


def _is_left_alone(s: Store, around: _Around) -> bool:
    nodes = list(walk(s.value))
    reads = {id(n): n for n in nodes if isinstance(n, Read)}
    if s.update is not None:
        if not _is_fixed(s, around.lanes) or (any(isinstance(n, Select) for n in nodes) and reads.keys() != _unconditional(s.value)):
            return False
    elif any(r.tensor in around.buffers for r in reads.values()):
        return True
    if around.innermost is None:
        return True
    ends = any(r.tensor.scope != "global" for r in reads.values())  # sums, whose numbers of the whole kernel are few beside their terms
    return all(_is_fixed(r, around.lanes) or around.innermost in variables(*r.indices) or (ends and not r.indices) for r in reads.values())


def _is_fixed(at: Read | Store, lanes: frozenset[Var]) -> bool:
    """Whether an element lies at the same place of a buffer on the stack in all iterations of loops around, but for lanes."""
    return at.tensor.scope == "stack" and variables(*at.indices) <= lanes


def becomes_registers(kernel: Kernel, tensor: Tensor) -> bool:
    """Whether a buffer is used at fixed places alone, so that it is in registers whatever stands between its uses."""
    nodes = list(walk(kernel))
    lanes = frozenset(n.var for n in nodes if isinstance(n, For) and n.kind == "vector")
    return all(_is_fixed(n, lanes) for n in nodes if isinstance(n, Read | Store) and n.tensor is tensor)


def _unconditional(root: Expr) -> set[int]:
    """The reads of a value that are not for one side of a choice alone."""
    found: set[int] = set()
    stack, seen = [root], {id(root)}
    while stack:
        e = stack.pop()
        if isinstance(e, Read):
            found.add(id(e))
            continue
        below = [c for c in ((e.cond,) if isinstance(e, Select) else children(e)) if isinstance(c, Expr) and id(c) not in seen]
        seen |= {id(c) for c in below}
        stack += below
    return found


def _moves(at: Read | Store, innermost: Var | None) -> bool:
    """Whether the position is a sum of multiples of loops, the innermost among them."""
    terms: Sequence[tuple[Expr, int]] = flat_index(at.tensor, at.indices).terms
    return all(isinstance(t, Var) for t, _ in terms) and (innermost is None or any(t is innermost for t, _ in terms))
