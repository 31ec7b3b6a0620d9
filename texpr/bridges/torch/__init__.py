"""Operators and networks inside PyTorch, derived from their text.

`op` registers an operator with `torch.library`: `torch.compile`, `torch.export`, autograd and
`torch.func` know it then. `module` makes a `torch.nn.Module` of a network. `tx.torch` is this
package.

* `registered`: the operator as users call it.
* `eager_calls`, `tensor_memory`: calls on plain tensors of the CPU, whose memory is given to kernels
  without torch's dispatcher.
* `autograd_functions`: calls in torch's graph of derivatives.
* `dispatched`: the operator behind the dispatcher, where all else finds it.
* `network`, `captured_network`: modules, and what they compute for inputs of some shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.bridges.torch.inside_torch import module, op
    from texpr.support.extras import MissingExtra

__all__ = ["MissingExtra", "module", "op"]

suggest_names(__name__)
offer_late(__name__)
