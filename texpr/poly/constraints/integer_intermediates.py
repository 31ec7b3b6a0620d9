"""Intermediates of integers and conditions that one equation defines everywhere: reads are replaced
by the definition.
"""

from __future__ import annotations

from collections import Counter

from texpr.ir.affine import same_value
from texpr.ir.build import integer
from texpr.ir.expr import Expr, Read, Reduce, Tensor, Var
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import children, substitute, walk

_MOST_LEVELS = 4
"""Nesting depth of definitions that are inlined."""
_MOST_NODES = 48
"""Number of nodes of a definition that is inlined."""
_MOST_READS = 4
"""Number of reads of other such tensors in one definition: more would multiply."""


class Definitions:
    """The values of the elements of a program's intermediates."""

    def __init__(self, program: Program) -> None:
        self._equations = _simple(program)
        self._found: dict[int, tuple[Read, Expr]] = {}

    def __bool__(self) -> bool:
        return bool(self._equations)

    def value(self, read: Read) -> Expr | None:
        """The value of an element, over the indices it is read at; None if it is not inlined."""
        e = self._equations.get(read.tensor)
        if e is None or read.guard is not None:
            return None
        found = self._found.get(id(read))
        if found is None:
            at = {i: j for i, j in zip(e.indices, read.indices) if isinstance(i, Var)}
            found = self._found[id(read)] = read, substitute(e.value, at)
        return found[1]


def _simple(program: Program) -> dict[Tensor, Equation]:
    """The equations that are inlined, each after those that it reads."""
    equations = [e for e in program.equations if isinstance(e, Equation)]
    count = Counter(e.target for e in equations)
    levels: dict[Tensor, int] = {}
    found: dict[Tensor, Equation] = {}
    for e in equations:
        if count[e.target] == 1 and _is_looked_into(e):
            reads = [n.tensor for n in walk(e.value) if isinstance(n, Read) and n.tensor in found]
            level = 1 + max((levels[t] for t in reads), default=0)
            if level <= _MOST_LEVELS and len(reads) <= _MOST_READS:
                levels[e.target], found[e.target] = level, e
    return found


def _is_looked_into(e: Equation) -> bool:
    """True if an equation is short, of integers or conditions, and defines each element by
    itself.
    """
    t = e.target
    if (
        t.dtype.is_float
        or t.value_range is not None
        or e.update is not None
        or e.where is not None
        or e.guard is not None
    ):
        return False
    ranges = {a.var: a for a in e.axes}
    axes = [ranges.get(i) if isinstance(i, Var) else None for i in e.indices]
    whole = len(set(e.indices)) == len(e.axes) and all(
        a is not None and integer(a.lo) == 0 and same_value(a.hi, n) for a, n in zip(axes, t.shape)
    )
    return (
        whole and _is_short(e.value) and not any(isinstance(n, Read) and n.tensor is t for n in walk(e.value))
    )


def _is_short(e: Expr) -> bool:
    """True if the value has few nodes; the operand of `argmax` does not count, since it does not
    bound the place.
    """
    bodies = {n.body for n in walk(e) if isinstance(n, Reduce) and n.op in ("argmax", "argmin")}
    nodes, stack = 0, [e]
    while stack and nodes <= _MOST_NODES:
        node = stack.pop()
        nodes += 1
        stack += [c for c in children(node) if c not in bodies]  # type: ignore[misc]
    return nodes <= _MOST_NODES
