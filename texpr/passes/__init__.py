"""Programs to programs, programs to kernels, kernels to kernels.

Tensor to tensor: `specialize` (sizes become numbers), `inline_calls`, `desugar` (argmax, any, all),
`hoist` (each reduction gets an equation of its own unless it runs over all axes of its equation).
Then `lower`, the only bridge: one naive loop nest per equation, a reduction as a start store and an
update store. Loop to loop, after the schedule: `expand_unrolled`, `drop_guards`,
`loop.place_buffers` (temporaries shrink to the loops they live in), `invariants_first` (what loops
read again and again is read before them), `insert_polls`. Each pass is a pure function from a valid
value to a valid value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.passes.lowering.lower import lower
    from texpr.passes.tensor.fix_sizes import specialize
    from texpr.passes.tensor.inline_calls import inline_calls
    from texpr.passes.tensor.reduction_passes import desugar, hoist

__all__ = ["desugar", "hoist", "inline_calls", "lower", "specialize"]

offer_late(__name__)
