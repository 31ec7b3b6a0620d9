"""Operators that take lists of tensors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import texpr as tx
from texpr import ops


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_concat_and_stack_of_lists(count: int):
    parts = [np.random.default_rng(k).random((2, k + 1, 3), np.float32) for k in range(count)]
    np.testing.assert_array_equal(ops.concat(parts, axis=1), np.concatenate(parts, axis=1))
    alike = tuple(np.arange(6).reshape(2, 3) + k for k in range(count))
    for axis in range(-3, 3):
        np.testing.assert_array_equal(ops.stack(alike, axis=axis), np.stack(alike, axis=axis))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_many_tensors_are_joined_in_steps(axis: int):
    """More than one operator's proof could hold, of several extents along the axis, some of 0."""
    parts = [np.full((2, k % 3) if axis else (k % 3, 2), k, np.float32) for k in range(40)]
    whole = np.concatenate(parts, axis=axis)
    np.testing.assert_array_equal(ops.concat(parts, axis=axis), whole)
    out = np.zeros_like(whole)
    ops.concat(parts, axis=axis, out=out)
    np.testing.assert_array_equal(out, whole)


def test_many_tensors_are_stacked_in_steps():
    alike = [np.full((2, 3), k, np.float32) for k in range(40)]
    np.testing.assert_array_equal(ops.stack(alike, axis=1), np.stack(alike, axis=1))
    few = [ops.stack(alike[k : k + 8], axis=-1) for k in range(0, 40, 8)]
    np.testing.assert_array_equal(ops.stack(alike, axis=-1), ops.concat(few, axis=-1))
    total = tx.jit(lambda x: ops.stack([x * k for k in range(40)]).sum(0))
    np.testing.assert_array_equal(total(np.ones(3, np.float32)), np.full(3, 780, np.float32))


def test_two_tensors_without_a_list():
    x = np.ones((2, 3))
    np.testing.assert_array_equal(ops.concat(x, x, axis=0), np.ones((4, 3)))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ops.concat))([x, x, x], axis=0), np.ones((6, 3)))


def test_lists_after_native_calls():
    """Native code serves two tensors, and leaves a list to the operator."""
    x = np.ones((2, 3))
    for options in ({}, {"axis": 1}):
        for _ in range(2):
            np.testing.assert_array_equal(ops.concat(x, x, **options), np.concatenate([x, x], **options))
            np.testing.assert_array_equal(
                ops.concat([x, x, x], **options), np.concatenate([x, x, x], **options)
            )
            with pytest.raises(tx.CallError, match="concat of no tensors"):
                ops.concat([], **options)


def test_an_empty_list():
    with pytest.raises(tx.CallError) as caught:
        ops.concat([], axis=0)
    assert (
        str(caught.value)
        == """error[arguments]: concat of no tensors
  help: give a list of at least one"""
    )


def test_tensors_that_do_not_fit():
    with pytest.raises(tx.CallError):
        ops.stack([np.ones(2), np.ones(3), np.ones(2)], axis=0)


def test_adaptive_pooling_visits_its_windows_only():
    """Two results of 4096 elements each: a sum over a window, not over the axis."""
    kernel = str(tx.schedule(ops.adaptive_avgpool1d, V=64, W=4096))
    assert "in 0..65" in kernel and "in 0..4096" not in kernel
