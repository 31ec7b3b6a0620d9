"""Prove every access of a derivative inside its tensor when the derivative is made, for all sizes,
zero included, as `tx.op` does for text.

A derivative evaluates what the primal does, in other places: an index of data is compared with the
element asked for, a condition around a read is asked of all instances of a sum, a maximum is
searched once for equal rows. An instance contributes where all conditions around the primal's read
hold, and there everything it reads is inside, because the primal was proven. Elsewhere it
contributes 0, whatever it reads. So an access whose proof needs more than stands around it gets a
guard, and a maximum of nothing is 0: no value changes, and nothing outside is touched.
"""

from __future__ import annotations

from texpr.ir import build
from texpr.ir.dtypes import BOOL, DType
from texpr.ir.expr import Const, Expr, Guard, Node, Read, Reduce, Select
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal, rewrite, walk
from texpr.poly.constraints.access_sites import guarded_indices
from texpr.poly.program.bounds import Unproven, is_box, unproven
from texpr.support.frozen_dataclass import replace


def inside(program: Program) -> Program:
    """Guard every read, write and maximum of the program that is not proven to be of elements."""
    while loose := {e: nodes for e, nodes in unproven(program).items() if nodes}:
        program = replace(
            program, equations=tuple(_guarded(e, loose[e]) if e in loose else e for e in program.equations)
        )
    return program


def _guarded(equation: Equation, loose: list[Unproven]) -> Equation:
    """The equation with the innermost of the loose nodes guarded, and what says the same."""
    inner = [n for n in loose if not isinstance(n, Equation)]
    innermost = [n for n in inner if not any(m is not n and any(m is o for o in inner) for m in walk(n))]
    if not innermost:
        return replace(
            equation,
            indices=guarded_indices(equation.indices, equation.target.shape, equation.guard),
            guard=Guard("drop"),
        )
    found = {
        id(n): n
        for n in walk(equation)
        if isinstance(n, Read | Reduce) and any(equal(n, m) for m in innermost)
    }

    def rule(node: Node) -> Node | None:
        if id(node) not in found:
            return None
        return _read_inside(node) if isinstance(node, Read) else _of_some(node)  # type: ignore[arg-type]

    return rewrite(equation, rule)


def _read_inside(read: Read) -> Read:
    """0 where the read is outside. Without elements, clamped, wrapped and reflected indices are
    outside too.
    """
    return replace(
        read,
        indices=guarded_indices(read.indices, read.tensor.shape, read.guard),
        guard=Guard("value", _zero(read.dtype)),
    )


def _of_some(extreme: Reduce) -> Expr:
    """0 where there is nothing to choose from.

    Raises:
        AssertionError: the ranges say it element by element; the conditions of the primal stand
            around such maxima.
    """
    assert is_box(extreme), f"a range of {extreme.op} may be empty"
    some = build.conjunction(*(build.compare("<", axis.lo, axis.hi) for axis in extreme.axes))
    return Select(some, extreme, _zero(extreme.dtype))


def _zero(dtype: DType) -> Const:
    return build.FALSE if dtype == BOOL else build.literal(0, dtype)
