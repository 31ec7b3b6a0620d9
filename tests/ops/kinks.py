"""Where operators of the library have no derivative, or formulas of it are 0 / 0: what their
gradients are there.

They are what PyTorch has; where it has something else, `differs` says what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from texpr import ops

INF, NAN = float("inf"), float("nan")


@dataclass(frozen=True)
class Kink:
    """Inputs in f64, and the gradients of the sum of the results in those that are floats."""

    name: str
    inputs: tuple[object, ...]
    gradients: tuple[object, ...]
    constants: Mapping[str, object] = field(default_factory=dict)
    differs: str = ""

    def arrays(self) -> dict[str, np.ndarray]:
        """The inputs by name."""
        declared = getattr(ops, self.name).signature.inputs
        return {
            p.name: np.array(x, "i8" if p.dtype == "i64" else "f8") for p, x in zip(declared, self.inputs)
        }


KINKS = (
    Kink("relu", ([0.0, -0.0],), ([0.0, 0.0],)),
    Kink("relu6", ([0.0, 6.0],), ([0.0, 0.0],)),
    Kink("abs", ([0.0, -0.0],), ([0.0, 0.0],)),
    Kink("sqrt", ([0.0],), ([INF],)),
    Kink("rsqrt", ([0.0],), ([-INF],)),
    Kink("cbrt", ([0.0],), ([INF],), differs="PyTorch has no cbrt"),
    Kink("hardtanh", ([-1.0, 1.0],), ([0.0, 0.0],)),
    Kink("hardsigmoid", ([-3.0, 3.0],), ([0.0, 0.0],)),
    Kink("hardswish", ([-3.0, 3.0],), ([0.0, 1.0],)),
    Kink("hardshrink", ([-0.5, 0.5],), ([0.0, 0.0],)),
    Kink("softshrink", ([-0.5, 0.5],), ([0.0, 0.0],)),
    Kink("threshold", ([0.0],), ([0.0],)),
    Kink("elu", ([0.0],), ([1.0],)),
    Kink("celu", ([0.0],), ([1.0],)),
    Kink("selu", ([0.0],), ([1.7580993408473766],)),
    Kink("leaky_relu", ([0.0],), ([0.01],)),
    Kink("softplus", ([0.0],), ([0.5],)),
    Kink("softsign", ([0.0],), ([1.0],)),
    Kink("mish", ([0.0],), ([0.6],)),
    Kink("log_sigmoid", ([0.0],), ([0.5],)),
    Kink("prelu", ([[0.0, 0.0]], [0.25, 0.25]), ([[0.25, 0.25]], [0.0, 0.0])),
    Kink("maximum", ([1.0, 0.0], [1.0, 0.0]), ([0.0, 0.0], [1.0, 1.0]), differs="PyTorch gives each half"),
    Kink("minimum", ([1.0, 0.0], [1.0, 0.0]), ([0.0, 0.0], [1.0, 1.0]), differs="PyTorch gives each half"),
    Kink(
        "clip",
        ([0.0, 3.0],),
        ([1.0, 1.0],),
        {"lo": 0.0, "hi": 3.0},
        differs="PyTorch gives 0 at a bound, from 2.14 on",
    ),
    Kink(
        "clip_between",
        ([0.0, 3.0], 0.0, 3.0),
        ([1.0, 1.0], 0.0, 0.0),
        differs="PyTorch gives each half, from 2.14 on",
    ),
    Kink(
        "pow",
        ([0.0, 0.0, 0.0, 2.0], [2.0, 1.0, 0.0, 0.0]),
        ([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.6931471805599453]),
    ),
    Kink("power", ([0.0],), ([INF],), {"exponent": 0.5}),
    Kink("power", ([0.0],), ([1.0],), {"exponent": 1}),
    Kink("power", ([0.0],), ([0.0],), {"exponent": 0}),
    Kink("log", ([0.0],), ([INF],)),
    Kink("divide", ([1.0, 0.0], [0.0, 0.0]), ([INF, INF], [-INF, NAN])),
    Kink("reciprocal", ([0.0],), ([-INF],)),
    Kink("atan2", ([0.0], [0.0]), ([0.0], [-0.0])),
    Kink("hypot", ([0.0], [0.0]), ([NAN], [NAN])),
    Kink("copysign", ([0.0, 1.0], [1.0, 0.0]), ([0.0, 1.0], [0.0, 0.0])),
    Kink("fmod", ([4.0], [2.0]), ([1.0], [-2.0])),
    Kink(
        "xlogy",
        ([0.0, 0.0], [0.0, 2.0]),
        ([0.0, 0.6931471805599453], [0.0, 0.0]),
        differs="PyTorch has NaN for log(0)",
    ),
    Kink("entropy", ([0.0, 1.0],), ([0.0, -1.0],), differs="PyTorch has infinity at 0"),
    Kink("sinc", ([0.0],), ([0.0],)),
    Kink(
        "logaddexp",
        ([-INF, -INF, 0.0], [-INF, 0.0, 0.0]),
        ([1.0, 0.0, 0.5], [0.0, 1.0, 0.5]),
        differs="PyTorch has NaN at -infinity",
    ),
    Kink("logit", ([0.0, 1.0],), ([INF, INF],)),
    Kink("asin", ([1.0],), ([INF],)),
    Kink("acosh", ([1.0],), ([INF],)),
    Kink("reduce_max", ([1.0, 3.0, 3.0],), ([0.0, 1.0, 0.0],)),
    Kink("reduce_min", ([1.0, 1.0, 3.0],), ([1.0, 0.0, 0.0],)),
    Kink("reduce_prod", ([0.0, 2.0, 3.0],), ([6.0, 0.0, 0.0],)),
    Kink("reduce_prod", ([0.0, 0.0, 3.0],), ([0.0, 0.0, 0.0],)),
    Kink("norm1", ([0.0, 1.0],), ([0.0, 1.0],)),
    Kink("norm2", ([0.0, 0.0],), ([0.0, 0.0],)),
    Kink("norm_max", ([2.0, -2.0],), ([1.0, 0.0],)),
    Kink("norm_p", ([0.0, 1.0],), ([0.0, 1.0],), {"p": 3.0}),
    Kink("reduce_std", ([1.0, 1.0],), ([0.0, 0.0],)),
    Kink("logsumexp", ([-INF, 0.0],), ([0.0, 1.0],)),
    Kink("logsumexp", ([-INF, -INF],), ([NAN, NAN],)),
    Kink("softmax", ([-INF, 0.0],), ([0.0, 0.0],)),
    Kink("log_softmax", ([-INF, 0.0],), ([1.0, -1.0],)),
    Kink("cumprod", ([0.0, 2.0, 3.0],), ([9.0, 0.0, 0.0],)),
    Kink("cummax", ([1.0, 1.0, 0.0],), ([1.0, 2.0, 0.0],)),
    Kink("cummin", ([1.0, 1.0, 0.0],), ([1.0, 1.0, 1.0],)),
    Kink("maxpool1d", ([[[1.0, 1.0, 2.0, 2.0]]],), ([[[1.0, 0.0, 1.0, 0.0]]],)),
    Kink("global_maxpool", ([[[1.0, 1.0]]],), ([[[1.0, 0.0]]],)),
    Kink("l1_loss", ([1.0], [1.0]), ([0.0], [-0.0])),
    Kink("smooth_l1_loss", ([1.0], [0.0]), ([1.0], [-1.0])),
    Kink("huber_loss", ([1.0], [0.0]), ([1.0], [-1.0])),
    Kink("hinge_loss", ([1.0], [1.0]), ([0.0], [0.0])),
    Kink("kl_div", ([1.0], [0.0]), ([0.0], [0.0]), differs="PyTorch has NaN for a target of 0"),
    Kink(
        "bce_loss",
        ([0.0, 1.0], [0.0, 1.0]),
        ([0.0, 0.0], [100.0, -100.0]),
        differs="PyTorch has infinity for the targets",
    ),
    Kink(
        "bce_loss",
        ([0.0, 1.0, 1e-60], [1.0, 0.0, 1.0]),
        ([-1e12, 1e12, -1e12], [100.0, -100.0, 100.0]),
        differs="PyTorch has infinity, and 138 for the last one, for the targets",
    ),
    Kink(
        "margin_ranking_loss",
        ([0.0], [0.0], [1.0]),
        ([-1.0], [1.0], [-0.0]),
        differs="PyTorch gives 0 at the margin, from 2.14 on",
    ),
    Kink("pairwise_distance", ([[1.0]], [[1.0]]), ([[0.0]], [[-0.0]])),
    Kink("pairwise_manhattan", ([[1.0]], [[1.0]]), ([[0.0]], [[-0.0]])),
    Kink("row_distance", ([[1.0]], [[1.0]]), ([[0.0]], [[-0.0]])),
    Kink("normalize", ([[0.0, 0.0]],), ([[1000000000000.0, 1000000000000.0]],)),
    Kink("cosine_similarity", ([[0.0, 0.0]], [[1.0, 0.0]]), ([[100000000.0, 0.0]], [[0.0, 0.0]])),
    Kink("scatter_max", ([1.0], [0, 0], [1.0, 1.0]), ([1 / 3], [1 / 3, 1 / 3])),
    Kink("scatter_multiply", ([2.0], [0, 0], [0.0, 3.0]), ([0.0], [6.0, 0.0])),
)
