"""Gradients as programs.

`grad` and `vjp` (reverse mode) and `jvp` (forward mode) transform a Program into Programs, equation
by equation: backward, users before what they use. Within an equation the chain rule (`core.adjoint`
and `forward.tangent`, with the table in `core.rules`) goes between the value and the reads; what
stands around a read (axes, binders, conditions) is its scope. Seen from the tensor that was read,
its cotangent is a sum over the instances that read one element: `reverse.invert_index` inverts the
indices, `reverse.gather` writes the sum, and where an index cannot be inverted the contribution is
a fold (`dX[e] += ...`). What comes out is made shorter: `cleanup.simplify` removes copies,
duplicates and dead equations, and writes small steps in place; `cleanup.formulas` takes factors out
of sums, as a book would, which changes roundings, never the value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.autodiff.core.custom import register_vjp
    from texpr.autodiff.core.rules import derivative
    from texpr.autodiff.forward.jvp import jvp
    from texpr.autodiff.reverse.vjp import Vjp, grad, vjp

__all__ = ["Vjp", "derivative", "grad", "jvp", "register_vjp", "vjp"]

offer_late(__name__)
