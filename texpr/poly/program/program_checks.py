"""Checks of a program for all sizes: every element is defined once, read inside its bounds, and
computed in some order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial

from texpr.ir.expr import Expr
from texpr.ir.extern import is_extern
from texpr.ir.tensor import Invoke, Program
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import OutOfQuota, run_within_quota
from texpr.poly.program.bounds import access_checks, check_extents, check_range, check_reductions
from texpr.poly.program.calls import check_call
from texpr.poly.program.claims import ProgramProof
from texpr.poly.program.distinct_rows import check_distinct
from texpr.poly.program.recurrence import check_order
from texpr.poly.program.single_assignment import definition_checks
from texpr.support.errors import CheckError

_DONE: OrderedDict[int, tuple[Program, tuple[Expr, ...]]] = OrderedDict()
_MOST = 256


@one_at_a_time
def check_program(program: Program) -> tuple[Expr, ...]:
    """Prove a program for all sizes of at least 1 that satisfy its requirements.

    Returns:
        what sizes of zero must satisfy on top, such as `D >= 1`; nothing where zero does no harm.
    Raises:
        CheckError: with the smallest counterexample. Its code is `bounds` (a read or a write
            outside, a negative extent), `empty` (a maximum over nothing), `coverage` (an element
            nothing defines), `twice` (an element defined twice), `cycle` (an element that needs
            itself), `range` (a value outside what its tensor declares), `distinct_rows` or
            `require` (of a callee).
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
    """The quota is one for some reads of each equation, and one for each question about all:
    operators may have any number of equations.
    """
    try:
        proof = run_within_quota(lambda: ProgramProof(program))
        for question in _questions(proof):
            run_within_quota(question)
        return tuple(proof.required)
    except OutOfQuota:
        raise CheckError(
            f"{program.name} cannot be proven within the quota",
            program.span,
            code="quota",
            help="give some sizes as constants, or split the operator",
        ) from None


def _questions(proof: ProgramProof) -> Iterator[Callable[[], None]]:
    yield partial(check_extents, proof)
    for place in proof.places:
        yield from access_checks(proof, place)
        for check in (check_reductions, check_range):
            yield partial(check, proof, place)
    for call in proof.program.equations:
        if isinstance(call, Invoke):
            yield partial(check_call, proof, call, check_program)
    yield from definition_checks(proof)
    for whole in (check_distinct, check_order):
        yield partial(whole, proof)
