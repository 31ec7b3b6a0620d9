"""Sums whose factors are rounded to tf32: the law of `tf32`, read off the new equations.

    specification:   C[i] = sum(k: A[i, k] * B[k])
    implementation:  C[i] = sum(k: tf32(A[i, k]) * tf32(B[k]))

No law of numbers makes them equal. The certificate names the sums that have such factors, and
proves that there is no other difference.
"""

from __future__ import annotations

from texpr.ir.expr import Mul, Reduce
from texpr.ir.identities import is_rounded, rounded_factors
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import rewrite, walk
from texpr.poly.certificate.rewrites.derivation import Derivation, with_counterparts


def check(derivation: Derivation) -> tuple[Derivation, list[str]]:
    """Apply the rewrite to the specification: round the factors of the sums in which the
    implementation rounds them.
    """
    equations: list[Equation | Invoke] = []
    names: list[str] = []
    for old, new in with_counterparts(derivation.specification, derivation.implementation):
        changed = rewrite(old, rounded_factors) if new is not None and _rounds(new) else old
        if changed is not old and isinstance(old, Equation):
            names.append(old.target.name)
        equations.append(changed)
    return derivation.specified(equations), names


def _rounds(e: Equation) -> bool:
    return any(
        isinstance(n, Reduce)
        and isinstance(n.body, Mul)
        and is_rounded(n.body.lhs)
        and is_rounded(n.body.rhs)
        for n in walk(e.value)
    )
