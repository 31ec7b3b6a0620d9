"""The laws of algebraic rewrites: one record for each, with its checker and its sentence in the
certificate.

A rewrite step (`schedule.steps.algebra`) changes the equations of a kernel, so that the final loops
compute other equations than the program says. Here the program is derived from those equations
again. To add a rewrite, add its checker beside this file and a record to `LAWS`; nothing else in
the certificate knows single rewrites.
"""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from texpr.ir.identities import EXP2_LAW, SIGMOID_LAW
from texpr.ir.tensor import Program
from texpr.ir.traverse import equal
from texpr.poly.certificate.engine.isl_frame import Parameters
from texpr.poly.certificate.engine.obligations import Refuted
from texpr.poly.certificate.rewrites import (
    drop_padding,
    exp_to_exp2,
    factor_out,
    mask_to_zero,
    online_softmax,
    reciprocal,
    tanh_to_sigmoid,
    tf32,
)
from texpr.poly.certificate.rewrites.derivation import Checker, Derivation
from texpr.support.frozen_dataclass import frozen


@frozen
class RewriteLaw:
    """An algebraic rewrite that a certificate accepts.

    Attributes:
        step: the public name of the step that makes it: the key in `Certificate.rewrites`.
        check: proves each use of the rewrite.
        sentence: how results differ, in rounding or for infinite numbers; `{}` stands for the names
            of the tensors.
        also: other steps whose results the same checker proves.
    """

    step: str
    check: Checker
    sentence: str
    also: tuple[str, ...] = ()


LAWS: tuple[RewriteLaw, ...] = (
    # Rewrites of single values and single sums are undone in the implementation: later checkers
    # then see the equations of the other steps.
    RewriteLaw("exp_to_exp2", exp_to_exp2.check, f"{EXP2_LAW} in {{}}"),
    RewriteLaw("mask_to_zero", mask_to_zero.check, "0 times infinity or NaN is added in {}"),
    RewriteLaw("factor_out", factor_out.check, f"{factor_out.LAW} in {{}}", also=("premultiply",)),
    # These are applied to the specification, where the implementation has them.
    RewriteLaw("reciprocal", reciprocal.check, f"{reciprocal.LAW} in {{}}"),
    RewriteLaw("tf32", tf32.check, "factors are rounded to tf32 in {}"),
    RewriteLaw("tanh_to_sigmoid", tanh_to_sigmoid.check, f"{SIGMOID_LAW} in {{}}"),
    RewriteLaw("drop_padding", drop_padding.check, "0 times infinity or NaN is left out of {}"),
    # Last: its checker proves all equations that still differ, or refutes.
    RewriteLaw("online_softmax", online_softmax.check, f"{online_softmax.LAW} in {{}}"),
)
"""All laws, in the order in which they are tried."""


def derive(
    specification: Program, implementation: Program, parameters: Parameters, facts: isl.Set
) -> dict[str, tuple[str, ...]]:
    """Derive the equations of a program from those that loops compute.

    Returns:
        For each law that was needed, by the name of its step, the targets of the equations that it
        changed.
    Raises:
        Refuted: the equations differ by more than the laws allow, or that is not proven.
    """
    if _interface(specification) != _interface(implementation):  # Laws look at equations alone.
        raise Refuted("values", "the loops have other inputs or outputs", None)
    derivation = Derivation(specification, implementation, parameters, facts)
    needed: dict[str, tuple[str, ...]] = {}
    for law in LAWS:
        derivation, targets = law.check(derivation)
        if targets:
            needed[law.step] = tuple(dict.fromkeys(targets))
    if not equal(derivation.specification.equations, derivation.implementation.equations):
        raise Refuted("values", "the loops are those of other equations", None)
    return needed


def _interface(program: Program) -> tuple[list[str], list[str]]:
    """The names of the inputs and of the outputs, in the order of a call."""
    return [t.name for t in program.inputs], [t.name for t in program.outputs]


def sentences(rewrites: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The sentences of a certificate: one for each law that was needed."""
    return [
        f"{law.step}: {law.sentence.format(', '.join(rewrites[law.step]))}"
        for law in LAWS
        if law.step in rewrites
    ]
