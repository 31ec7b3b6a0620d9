"""Metrics: numbers that say how good outputs are, over a whole epoch, equal to scikit-learn's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.nn.metrics.class_metrics import F1, Accuracy, ConfusionMatrix, Precision, Recall
    from texpr.nn.metrics.error_metrics import MAE, MSE, R2, RMSE
    from texpr.nn.metrics.metric import Metric, WholeEpoch
    from texpr.nn.metrics.score_metrics import AUC, Perplexity

__all__ = [
    "AUC",
    "Accuracy",
    "ConfusionMatrix",
    "F1",
    "MAE",
    "MSE",
    "Metric",
    "Perplexity",
    "Precision",
    "R2",
    "RMSE",
    "Recall",
    "WholeEpoch",
]

suggest_names(__name__, {"ROCAUC": "nn.metrics.AUC is the same", "RMSLE": "nn.metrics.WholeEpoch(function)"})
offer_late(__name__)
