"""Powers of 2 that are exponentials: what `base2` claims, read off the new equations.

Said: e[i] = exp(u). Computed: e[i] = exp2(log2(e) * u). They are the same number and are rounded otherwise: the certificate says which
equations have such powers, and proves that there is no other difference.
"""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.identities import exp2_to_exp
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import rewrite, walk


def without_powers(said: Program, computed: Program) -> tuple[Program, tuple[str, ...]]:
    """What is computed, with exponentials for such powers; the targets of those equations. Where a program says such powers itself, they
    are what they are.
    """
    if any(exp2_to_exp(n) is not None for e in said.equations if isinstance(e, Equation) for n in walk(e.value)):
        return computed, ()
    equations: list[Equation | Invoke] = []
    names: list[str] = []
    for new in computed.equations:
        changed = rewrite(new, exp2_to_exp) if isinstance(new, Equation) else new
        if changed is not new and isinstance(new, Equation):
            names.append(new.target.name)
        equations.append(changed)
    return replace(computed, equations=tuple(equations)), tuple(dict.fromkeys(names))
