"""Each row of a `distinct_rows` tensor, along its last axis, holds every value once. Inputs are
checked at the call; what equations define must be seen to be so: `p[a, i] = c*i + (something
without i)`, or the same of a distinct tensor's element `q[..., i]`.
"""

from __future__ import annotations

from texpr.ir.affine import linear
from texpr.ir.expr import Cast, Expr, Read, Tensor, Var
from texpr.ir.tensor import Equation
from texpr.ir.traverse import variables
from texpr.poly.program.claims import ProgramProof
from texpr.support.errors import CheckError

_LARGEST_FACTOR = 1 << 20
"""Below it, no product with a difference of two indices leaves 64 bits."""


def check_distinct(proof: ProgramProof) -> None:
    """Check each `distinct_rows` declaration of a tensor that equations define."""
    for tensor in (*proof.program.outputs, *proof.program.temporaries):
        equations = [e for e in proof.program.equations if isinstance(e, Equation) and e.target is tensor]
        if (
            tensor.distinct
            and tensor.rank
            and equations
            and not (len(equations) == 1 and _is_injective(equations[0]))
        ):
            raise CheckError(
                f"{tensor.name} distinct is not proven",
                equations[-1].value.span or equations[-1].span,
                code="distinct",
                help="values are seen to be distinct where they are c*i + d for the last index i, or p[i] of "
                "a distinct "
                "tensor; else leave `distinct_rows` out",
            )


def _is_injective(e: Equation) -> bool:
    """True if values of one row are surely different."""
    axes = {a.var for a in e.axes}
    if e.update is not None or e.where is not None or len(axes) != len(e.indices) or set(e.indices) != axes:
        return False
    last = e.indices[-1]
    assert isinstance(last, Var)
    using = [(t, c) for t, c in linear(_before_store(e.value, e.target)).terms if last in variables(t)]
    if len(using) != 1 or abs(using[0][1]) >= _LARGEST_FACTOR:
        return False
    match _inner(using[0][0]):
        case Read(tensor, indices, None):
            return tensor.distinct and indices[-1] is last and last not in variables(*indices[:-1])
        case term:
            return term is last


def _before_store(value: Expr, target: Tensor) -> Expr:
    """The value before it is stored, if storing cannot make two values one: it has more bits, or a
    range that is proven.
    """
    if (
        isinstance(value, Cast)
        and value.operand.dtype.is_int
        and (target.value_range is not None or value.operand.dtype.bits <= target.dtype.bits)
    ):
        return value.operand
    return value


def _inner(term: Expr) -> Expr:
    return (
        term.operand
        if isinstance(term, Cast) and term.operand.dtype.is_int and term.operand.dtype.bits <= term.dtype.bits
        else term
    )
