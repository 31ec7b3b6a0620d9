"""Networks as estimators of scikit-learn: `Classifier` and `Regressor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.nn.sklearn.estimators import Classifier, Regressor

__all__ = ["Classifier", "Regressor"]

offer_late(__name__)
