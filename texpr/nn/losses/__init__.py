"""Losses: modules of outputs and targets that give one number, with torch.nn's names, formulas
and defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.nn.losses.classification import (
        BCELoss,
        BCEWithLogitsLoss,
        CrossEntropyLoss,
        MultiLabelMarginLoss,
        MultiLabelSoftMarginLoss,
        MultiMarginLoss,
        NLLLoss,
    )
    from texpr.nn.losses.linear_cross_entropy import LinearCrossEntropyLoss
    from texpr.nn.losses.loss import Loss
    from texpr.nn.losses.regression import (
        CosineEmbeddingLoss,
        GaussianNLLLoss,
        HingeEmbeddingLoss,
        HuberLoss,
        KLDivLoss,
        L1Loss,
        MarginRankingLoss,
        MSELoss,
        PoissonNLLLoss,
        SmoothL1Loss,
        SoftMarginLoss,
        TripletMarginLoss,
        TripletMarginWithDistanceLoss,
    )
    from texpr.nn.losses.sequence import CTCLoss

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]

suggest_names(__name__)
offer_late(__name__)
