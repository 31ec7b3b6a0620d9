"""Constants of the Python form that are annotated for type checkers."""

from typing import Any

import pytest

import texpr as tx


def scaled(X: "f32[N]", *, by: float = 2.0, times: int = 1, more: Any = 0) -> "Y: f32[N]":  # noqa: F821, F722
    return lambda i: X[i] * by * times + more


def test_numbers_of_python_are_no_types_of_the_language():
    text = str(tx.op(scaled))
    assert text.startswith("op scaled(X: f32[N]; by = 2.0, times = 1, more = 0) -> Y: f32[N] {\n"), text


def test_an_input_is_no_number_of_python():
    def wrong(X: float) -> "Y: f32[N]":  # noqa: F821, F722
        return lambda i: X

    with pytest.raises(tx.Error, match="float"):
        tx.op(wrong)
