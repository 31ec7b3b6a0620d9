"""Lazy tensors and traced functions.

A `Tensor` is an array of NumPy's, or a call that was not run yet. Values are computed when somebody
looks: what is needed then becomes one captured Program and one `Plan`, which is kept for the next
computation of the same structure (`evaluation`). So operators fuse across Python statements, and a
loop in Python compiles its body once. Whatever else has a name by then is computed with it, and not
again.

`y.backward()` captures what `y` was made from, back to the leaves that ask for gradients, and runs
its derivative: there is no tape. `jit` runs a function on `Symbolic` arguments once per structure
of its arguments; afterwards a call is one native call.
"""

from typing import TYPE_CHECKING

from texpr.graph.arrays import array_functions
from texpr.graph.lazy import evaluation
from texpr.graph.lazy.control_flow import cond, scan, while_loop
from texpr.graph.lazy.creation import (
    arange,
    cat,
    concat,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    stack,
    zeros,
    zeros_like,
)
from texpr.graph.lazy.gradient_modes import enable_grad, no_grad, set_grad_enabled
from texpr.graph.lazy.jit_function import Jitted, jit
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.graph.lazy.making import as_tensor, from_dlpack, tensor
from texpr.graph.lazy.random_numbers import (
    bernoulli,
    manual_seed,
    multinomial,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
)
from texpr.graph.lazy.vmap import vmap

if TYPE_CHECKING:

    def where(condition: object, a: object, b: object) -> Tensor: ...
else:
    where = array_functions.where

Tensor.engine = evaluation
from_numpy = as_tensor

__all__ = [
    "Jitted",
    "Tensor",
    "arange",
    "as_tensor",
    "bernoulli",
    "cat",
    "concat",
    "cond",
    "empty",
    "empty_like",
    "enable_grad",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "jit",
    "linspace",
    "manual_seed",
    "meshgrid",
    "multinomial",
    "no_grad",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "scan",
    "set_grad_enabled",
    "stack",
    "tensor",
    "vmap",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]
