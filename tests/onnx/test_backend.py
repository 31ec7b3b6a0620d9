"""A sample of ONNX's own node tests; `python -m texpr bench onnx` runs all of them."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("onnx")

from texpr.onnx.backend import REASONS, Backend, cases, left_out, outcome  # noqa: E402

ALSO = {
    "test_gridsample_bicubic",
    "test_col2im_pads",
    "test_nonmaxsuppression_two_classes",
    "test_maxunpool_export_with_output_shape",
    "test_cast_FLOAT16_to_FLOAT8E4M3FN",
    "test_cast_no_saturate_FLOAT_to_FLOAT8E4M3FN",
    "test_cast_FLOAT_to_FLOAT8E5M2",
    "test_quantizelinear_e4m3fn",
    "test_dequantizelinear_e5m2",
    "test_roialign_mode_max",
    "test_deform_conv_with_mask_bias",
    "test_stft_with_window",
    "test_melweightmatrix",
    "test_tfidfvectorizer_tf_batch_uniandbigrams_skip5",
    "test_nesterov_momentum",
    "test_bernoulli_seed",
    "test_training_dropout",
    "test_sequence_map_add_2_sequences",
    "test_loop16_seq_none",
    "test_if_opt",
    "test_flexattention_prob_mod",
    "test_bitcast_uint32_to_int32",
    "test_cast_e8m0_FLOAT_to_FLOAT8E8M0",
    "test_quantizelinear_int4",
    "test_dequantizelinear_float4e2m1",
}
EACH = 71
"""Of the cases, by their number, one in so many is in the sample."""


@cache
def used() -> dict[str, object]:
    """The cases that must pass, by name. The package takes ten seconds to compute its own, so no
    reading of this file may ask for it.
    """
    return {case.name: case for case in cases() if not left_out(case)}


@pytest.mark.parametrize("name", sorted(ALSO))
def test_node_tests_of_onnx(name):
    assert outcome(used()[name]) == ""


@pytest.mark.parametrize("part", range(3))
def test_a_sample_of_the_node_tests(part):
    found = {case.name: outcome(case) for case in [*used().values()][5 + part * EACH :: 3 * EACH]}
    assert found and {name: said for name, said in found.items() if said} == {}


def test_cases_are_left_out_for_known_reasons_only():
    found = {left_out(case) for case in cases()} - {""}
    assert found == set(REASONS) and Backend.supports_device("CPU") and not Backend.supports_device("CUDA")
