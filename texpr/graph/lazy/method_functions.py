"""Methods as functions, by torch's names: `tx.mean(x, dim=1)` is `x.mean(dim=1)`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.graph.lazy.making import tensor
from texpr.support.tracebacks import boundary

NAMES = frozenset(
    """
    add addcdiv addcmul allclose amax amin argmax argmin argsort bmm chunk clone count_nonzero cummax cummin
    cumprod cumsum detach diag diagonal diff div dot eq equal flatten flip gather ge gelu gt index_select
    isclose le lerp log_softmax logsumexp lt masked_fill matmul maximum mean median minimum mm movedim mul mv
    nan_to_num nanmean nansum narrow ne neg norm numel outer permute pow prod quantile reciprocal relu
    remainder repeat_interleave reshape roll scatter scatter_add sign silu softmax sort split squeeze std sub
    swapaxes t take tile topk trace transpose tril triu unbind unique unsqueeze var
    """.split()
)
"""The methods. Words of the Python form, such as `tx.sum` and `tx.exp`, take tensors themselves."""


def function_named(name: str) -> Callable[..., Any] | None:
    """The function of a method, or of `ops.einsum`; None where there is none."""
    if name == "einsum":
        return ops.einsum
    if name not in NAMES:
        return None
    method = getattr(Tensor, name)

    @boundary
    @functools.wraps(method)
    def function(x: Any, /, *args: Any, **options: Any) -> Any:
        first = tensor(x) if isinstance(x, np.ndarray | np.generic | list | tuple | int | float) else x
        return getattr(first, name)(*args, **options)

    function.__module__, function.__qualname__ = "texpr", name
    return function
