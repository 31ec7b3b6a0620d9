"""What the certificate says of equations that were rewritten and then altered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from texpr.compiler.schedule import Schedule
from texpr.ir.expr import Node
from texpr.ir.traverse import rewrite
from texpr.passes.lowering.lower import loops_of
from texpr.poly.certificate import Certificate, certify
from texpr.schedule.structure.equations import equations_of


def certified_with(rewritten: Schedule, naive: Schedule, rule: Callable[[Node], Node | None]) -> Certificate:
    """The certificate of the loops of rewritten equations that a rule alters, as loops for those
    of another schedule.
    """
    program = rewritten.kernel.program
    assert program is not None
    program = rewrite(program, rule)
    return certify(replace(loops_of(program), program=program), equations_of(naive.kernel, "test"))
