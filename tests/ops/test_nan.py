"""One NaN in each input of each operator comes out wherever NumPy's formula gives NaN, unless
the element is left out by its meaning.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import texpr as tx
from tests.ops.smooth import as_tuple
from tests.ops.test_values import FIRST, OTHERS
from texpr import nn, ops

LEFT_OUT = {
    ("attention_causal", "K"): "later keys are masked",
    ("attention_causal", "V"): "later values are masked",
    ("attention_masked", "K"): "masked keys",
    ("attention_masked", "V"): "masked values",
    ("cumsum_exclusive", "X"): "an element is not in its own sum",
    ("diag", "x"): "zeros beside the diagonal",
    ("embedding_offsets", "scale"): "of padding",
    ("interp", "A"): "places increase, and NaN has no order",
    ("multilabel_margin_loss", "X"): "pairs of classes that both belong",
    ("resize_axis_cubic", "X"): "weights of 0",
    ("resize_axis_linear", "X"): "weights of 0",
    ("resize_bicubic", "X"): "weights of 0",
    ("resize_bilinear", "X"): "weights of 0",
    ("resize_bilinear_corners", "X"): "weights of 0",
}
"""Inputs whose elements NumPy's formulas multiply by 0, with the reason why they do not count."""

NOWHERE = {
    ("cache_update", "cache"): "overwritten",
    ("copysign", "B"): "the sign of NaN",
    ("cosine_embedding_loss", "target"): "neither -1 nor 1: 0",
    ("full_like", "X"): "the shape alone",
    ("hinge_embedding_loss", "target"): "neither -1 nor 1: the sum of both losses",
    ("mask_bias", "seen"): "everything is masked",
    ("nll_loss", "logp"): "other classes",
    ("radam_update", "eps"): "no part of first steps",
    ("radam_update", "rectified"): "no part of first steps",
    ("fractional_maxpool2d", "u"): "places",
    ("fractional_maxpool3d", "u"): "places",
    ("scatter", "X"): "overwritten",
    ("nll_loss_ignoring", "logp"): "other classes",
    ("pick", "X"): "other places",
}
"""Inputs whose NaN may come out nowhere."""


def spoilt(case, dtype: str):
    """A case with a NaN in the first, the middle and the last element of each float input."""
    arrays = case.arrays(dtype)
    for k, array in enumerate(arrays):
        for place in sorted(
            {0, array.size // 2, array.size - 1} if array.dtype.kind == "f" and array.size else ()
        ):
            bad = [a.copy() for a in arrays]
            bad[k].reshape(-1)[place] = np.nan
            yield getattr(ops, case.name).signature.inputs[k].name, bad


def _expected(case, arrays):
    """NumPy's results; None where the formula of the test cannot take a NaN, such as a place
    made of it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return case.expected(arrays)
        except (ValueError, IndexError):
            return None


@pytest.mark.parametrize("name", FIRST)
def test_nan_comes_out(name: str):
    operator, out = getattr(ops, name), {}
    for case in (FIRST[name], *OTHERS[name][:1]):
        for given, arrays in spoilt(case, case.dtypes[0]):
            found, expected = (
                as_tuple(tx.interpret(operator, *arrays, **case.constants)),
                _expected(case, arrays),
            )
            floats = [f for f in found if f.dtype.kind == "f"]
            if not floats:
                continue
            out[given] = out.get(given, False) or any(np.isnan(f).any() for f in floats)
            for f, e in zip(found, expected or ()):
                lost = f.dtype.kind == "f" and (np.isnan(np.asarray(e, float)) & ~np.isnan(f)).any()
                assert not lost or (name, given) in LEFT_OUT, f"{name}: a NaN of {given} is lost"
    assert {given for given, comes in out.items() if not comes and (name, given) not in NOWHERE} == set()


NAN = np.nan


@pytest.mark.parametrize(
    ("loss", "arrays", "expected"),
    [
        (
            nn.KLDivLoss(reduction="none"),
            ([-1.0, NAN, -1.0, -np.inf, -1.0], [NAN, 0.0, -0.5, 0.0, 0.0]),
            [NAN, NAN, NAN, NAN, 0.0],
        ),
        (nn.KLDivLoss(reduction="none", log_target=True), ([NAN, -1.0], [-1.0, NAN]), [NAN, NAN]),
        (nn.BCELoss(reduction="none"), ([NAN, 0.5, 0.0], [1.0, NAN, 1.0]), [NAN, NAN, 100.0]),
        (nn.BCEWithLogitsLoss(reduction="none"), ([NAN, 0.5], [1.0, NAN]), [NAN, NAN]),
        (
            nn.HingeEmbeddingLoss(reduction="none"),
            ([NAN, NAN, 0.25, 0.25, 0.25], [1.0, -1.0, 0.0, 1.0, -1.0]),
            [NAN, NAN, 1.0, 0.25, 0.75],
        ),
        (nn.SoftMarginLoss(reduction="none"), ([NAN, 1.0], [1.0, NAN]), [NAN, NAN]),
        (nn.PoissonNLLLoss(full=True, reduction="none"), ([1.0, NAN], [NAN, 1.0]), [NAN, NAN]),
        (
            nn.GaussianNLLLoss(reduction="none"),
            ([NAN, 1.0, 1.0, 1.0], [1.0, NAN, 1.0, 1.0], [1.0, 1.0, NAN, 1.0]),
            [NAN, NAN, NAN, 0.0],
        ),
        (nn.SmoothL1Loss(reduction="none"), ([NAN, 1.0], [1.0, NAN]), [NAN, NAN]),
        (nn.HuberLoss(reduction="none"), ([NAN, 1.0], [1.0, NAN]), [NAN, NAN]),
        (nn.Hardshrink(), ([NAN, 0.5, 1.0],), [NAN, 0.0, 1.0]),
        (nn.Threshold(0.5, 3.0), ([NAN, 0.5, 1.0],), [NAN, 3.0, 1.0]),
    ],
    ids=str,
)
def test_nan_as_torch_has_it(loss, arrays: tuple[list[float], ...], expected: list[float]):
    """What torch 2.13 gives."""
    np.testing.assert_allclose(loss(*map(np.array, arrays)), expected, rtol=1e-12, atol=1e-300)
