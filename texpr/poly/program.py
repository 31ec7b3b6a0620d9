"""A program means something for all sizes: everything is defined once, read inside its bounds, and in some order."""

from __future__ import annotations

from collections import OrderedDict

from texpr.ir.expr import Expr
from texpr.ir.extern import is_extern
from texpr.ir.tensor import Invoke, Program
from texpr.poly.bounds import check_accesses, check_extents, check_range, check_reductions
from texpr.poly.calls import check_call
from texpr.poly.coverage import check_definitions
from texpr.poly.distinct import check_distinct
from texpr.poly.proof import Proof
from texpr.poly.recurrence import check_order
from texpr.poly.solver import OutOfQuota, asked
from texpr.support.errors import CheckError

_DONE: OrderedDict[int, tuple[Program, tuple[Expr, ...]]] = OrderedDict()
_MOST = 256


def check_program(program: Program) -> tuple[Expr, ...]:
    """Prove a program for all sizes of at least 1 that satisfy its requirements.

    Returns:
        what sizes of zero must satisfy on top, such as `D >= 1`; nothing where zero does no harm.
    Raises:
        CheckError: with the smallest counterexample. Its code is `bounds` (a read or a write outside, a negative extent), `empty` (a
            maximum over nothing), `coverage` (an element nothing defines), `twice` (an element defined twice), `cycle` (an element that
            needs itself), `range` (a value outside what its tensor declares), `distinct` or `require` (of a callee).
    """
    if is_extern(program):
        return ()
    found = _DONE.get(id(program))
    if found is None:
        found = _DONE[id(program)] = program, _checked(program)
        while len(_DONE) > _MOST:
            _DONE.popitem(last=False)
    return found[1]


def _checked(program: Program) -> tuple[Expr, ...]:
    def all_claims() -> tuple[Expr, ...]:
        proof = Proof(program)
        check_extents(proof)
        for place in proof.places:
            check_accesses(proof, place)
            check_reductions(proof, place)
            check_range(proof, place)
        for call in program.equations:
            if isinstance(call, Invoke):
                check_call(proof, call, check_program)
        check_definitions(proof)
        check_distinct(proof)
        check_order(proof)
        return tuple(proof.required)

    try:
        return asked(all_claims)
    except OutOfQuota:
        raise CheckError(f"{program.name} cannot be proven within the quota", program.span, code="quota",
                         help="give some sizes as constants, or split the operator") from None
