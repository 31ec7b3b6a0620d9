"""Gradients as programs.

`grad` and `vjp` transform a Program into Programs, equation by equation, users before what they use. Within an equation the chain
rule (`adjoint`, with the table in `rules`) brings the adjoint of the value down to the reads; what stands around a read (axes,
binders, conditions) is its scope. Seen from the tensor that was read, that is a sum over the instances that read one element: `solve`
inverts the indices, `gather` writes the sum, and where an index cannot be inverted the contribution is a fold (`dX[e] += ...`).
Nothing here reassociates floats; `simplify` only removes copies, duplicates and dead equations, and writes small steps in place.
"""

from texpr.autodiff.custom import register_vjp
from texpr.autodiff.reverse import Vjp, grad, vjp
from texpr.autodiff.rules import derivative

__all__ = ["Vjp", "derivative", "grad", "register_vjp", "vjp"]
