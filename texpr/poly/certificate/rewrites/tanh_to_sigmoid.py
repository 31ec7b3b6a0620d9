"""Sums `1 + tanh(u)` that are quotients: the law of `tanh_to_sigmoid`, read off the new equations.

    specification:   Y[i] = 1 + tanh(u)
    implementation:  Y[i] = 2 / (1 + exp(-2 u))

Both are the same number, rounded otherwise. The certificate names the equations that have such
quotients, and proves that there is no other difference.
"""

from __future__ import annotations

from texpr.ir.identities import is_sigmoid, shifted_tanh, tanh_to_sigmoid
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import rewrite, walk
from texpr.poly.certificate.rewrites.derivation import Derivation


def check(derivation: Derivation) -> tuple[Derivation, list[str]]:
    """Apply the rewrite to the specification: put quotients in the place of such sums where the
    implementation has quotients alone.
    """
    dividing, summing = set[str](), set[str]()
    for e in derivation.implementation.equations:
        if isinstance(e, Equation):
            dividing |= {e.target.name for n in walk(e.value) if is_sigmoid(n)}
            summing |= {e.target.name for n in walk(e.value) if shifted_tanh(n) is not None}
    equations: list[Equation | Invoke] = []
    names: list[str] = []
    for e in derivation.specification.equations:
        if isinstance(e, Equation) and e.target.name in dividing - summing:
            changed = rewrite(e, tanh_to_sigmoid)
            names += [e.target.name] if changed is not e else []
            e = changed
        equations.append(e)
    return derivation.specified(equations), names
