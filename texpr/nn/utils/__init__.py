"""Functions of torch.nn.utils: sequences of several lengths, gradients made smaller, parameters as
one vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.nn.utils import parametrizations, rnn
    from texpr.nn.utils.clip_grad import (
        clip_grad_norm_,
        clip_grad_value_,
        clip_grads_with_norm_,
        get_total_norm,
    )
    from texpr.nn.utils.recomputation import checkpoint
    from texpr.nn.utils.vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "checkpoint",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parametrizations",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]

_ABSENT = {
    **dict.fromkeys(
        ("parametrize", "weight_norm", "spectral_norm", "remove_weight_norm", "remove_spectral_norm"),
        "nn.parametrizations has weight_norm, spectral_norm and register_parametrization",
    ),
    **dict.fromkeys(
        ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
        "programs fuse a normalisation with what stands before it",
    ),
    **dict.fromkeys(("skip_init", "stateless"), "make the module, and load its state"),
    **dict.fromkeys(
        ("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"),
        "schedules choose layouts",
    ),
}
suggest_names(__name__, _ABSENT)
offer_late(__name__)
