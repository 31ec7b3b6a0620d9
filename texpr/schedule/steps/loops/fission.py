"""`fission`: a loop over several statements becomes several loops."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.expr import Var
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.schedule.legality.rearrange import apart, checked, leaves, rearranged
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import check_new_names, find_loops, qualified, span_of
from texpr.schedule.structure.statement_tree import Leaf
from texpr.support.errors import ScheduleError


@step(order_of_sums="kept")
def fission(kernel: Kernel, loop: str | Var, after: str | None = None, *, name: str | None = None) -> Kernel:
    """Give the statements of a loop loops of their own. Distribution elsewhere.

    for i: { A; B }   ->   for i: A;  for i: B

    The loops inside that hold all of the statements are distributed with it. Legal if no instance
    of what comes later runs before one of what comes earlier that needs it. All the loops keep the
    name; the deepest nest has the handle.

    Args:
        after: the name of a tensor or of a loop: cut only once, behind the last statement that
            writes the one or stands in the other. Between all statements unless given.
        name: of the loop behind such a cut; the same as before it unless given.
    Raises:
        ScheduleError: nothing to cut, an instance would run before one it needs, or a name that is
            taken.
    Source: Allen and Kennedy, Automatic Translation of Fortran Programs to Vector Form, TOPLAS
    1987.
    Example:
        op = tx.op("op rows(X: f32[M, N]) -> y: f32[M] { y[i] = sum(j: X[i, j]) }")
        s = tx.schedule(op)
        s.fission("i", "y_acc")
    Refused:
        op = tx.op('''op lagging(X: f32[N]) -> Y: f32[N] {
          h[i] = Y[i - 1 | 0] * 2 for i in 0..N
          Y[i] = h[i] + X[i]
        }''')
        tx.schedule(op).fission("i")
    Elsewhere: Halide none; TVM `decompose_reduction` (first values alone); Exo `fission`; MLIR
    none.
    """
    at = find_loops(kernel, loop)[0]
    found = {n.var for n in find_loops(kernel, loop)}
    if name is not None:
        check_new_names(kernel, at, (name,), "fission")
        if after is None:
            raise ScheduleError(
                "a name is for the loop behind a single cut",
                span_of(kernel, at),
                code="fission",
                help=f'say where to cut: fission("{at.var.name}", tensor or loop, name="{name}")',
            )
    cut = False

    def arrange(given: list[Leaf]) -> list[Leaf] | None:
        nonlocal cut
        if not any(n.var in found for leaf in given for n in leaf.loops):
            return None
        parts = _parts(kernel, given, found, after)
        cut = cut or len(set(parts)) > 1
        return apart(given, parts, found, name)

    moved = rearranged(kernel, arrange)
    if not cut:
        where = (
            "holds one statement only"
            if after is None
            else f"has nothing behind `{after}`, or no such tensor or loop"
        )
        raise ScheduleError(
            f"`{at.var.name}` {where}, so there is nothing to cut",
            span_of(kernel, at),
            code="fission",
            help='name a tensor that a statement before the last writes: fission("i", "t")',
        )
    return checked(
        kernel, moved, "fission", f'fission("{at.var.name}")', "cut the loop elsewhere: fission(loop, tensor)"
    )


def _parts(kernel: Kernel, given: list[Leaf], found: set[Var], after: str | None) -> Sequence[int | None]:
    """For each leaf in the loop, the number of the loop it goes to; for those outside any that
    one in it has, or None.
    """
    if after is not None:
        inside = [k for k, leaf in enumerate(given) if any(n.var in found for n in leaf.loops)]
        before = [k for k in inside if _belongs(given[k], after)]
        return [int(bool(before) and k in inside and k > before[-1]) for k in range(len(given))]
    top = next(s for s in kernel.body if leaves(kernel, s)[0].statement is given[0].statement)
    steps = _statements(top, found)
    return [steps.get(id(leaf.statement)) for leaf in given]


def _belongs(leaf: Leaf, name: str) -> bool:
    """True if a statement writes the tensor or stands in the loop of that name."""
    writes = isinstance(leaf.statement, Store) and leaf.statement.tensor.name == name
    return writes or any(name in (n.var.name, qualified(n)) for n in leaf.loops)


def _statements(top: Stmt, found: set[Var]) -> dict[int, int]:
    """The number of the statement that each leaf is in, counted in the first body inside the
    loop that has several.
    """
    numbers: dict[int, int] = {}
    stack: list[tuple[Stmt, bool]] = [(top, False)]
    while stack:
        node, inside = stack.pop()
        inside = inside or isinstance(node, For) and node.var in found
        if not isinstance(node, For | If):
            continue
        if not inside or len(node.body) == 1:
            stack += [(s, inside) for s in reversed(node.body)]
            continue
        for k, s in enumerate(node.body):
            below: list[Stmt] = [s]
            while below:
                each = below.pop()
                if isinstance(each, For | If):
                    below += each.body
                else:
                    numbers[id(each)] = k
    return numbers
