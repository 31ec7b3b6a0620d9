"""Powers of 2 that are exponentials: the law of `exp_to_exp2`, read off the new equations.

    specification:   e[i] = exp(u)
    implementation:  e[i] = exp2(log2(e) * u)

Both are the same number, rounded otherwise. The certificate names the equations that have such
powers, and proves that there is no other difference.
"""

from __future__ import annotations

from texpr.ir.identities import exp2_to_exp
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import rewrite, walk
from texpr.poly.certificate.rewrites.derivation import Derivation


def check(derivation: Derivation) -> tuple[Derivation, list[str]]:
    """Undo the rewrite in the implementation: put exponentials in the place of such powers of 2.

    A specification that has such powers itself is left alone: which of them a step made is not
    known.
    """
    specification, implementation = derivation.specification, derivation.implementation
    if any(
        exp2_to_exp(n) is not None
        for e in specification.equations
        if isinstance(e, Equation)
        for n in walk(e.value)
    ):
        return derivation, []
    equations: list[Equation | Invoke] = []
    names: list[str] = []
    for new in implementation.equations:
        changed = rewrite(new, exp2_to_exp) if isinstance(new, Equation) else new
        if changed is not new and isinstance(new, Equation):
            names.append(new.target.name)
        equations.append(changed)
    return derivation.implemented(equations), names
