"""Nested arguments: what is taken apart can be put together."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from texpr.nn.core import pytree

Pair = namedtuple("Pair", "first second")
ARRAYS = st.builds(np.arange, st.integers(1, 5))
TREES = st.recursive(
    ARRAYS | st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Pair, inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        return a is b
    if isinstance(a, dict):
        return type(a) is type(b) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)  # type: ignore[index, call-overload]
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))  # type: ignore[arg-type]
    return type(a) is type(b) and a == b


@given(TREES)
def test_a_tree_is_its_skeleton_and_its_tensors(value: object):
    nesting = pytree.skeleton(value)
    assert same(pytree.rebuild(nesting, pytree.leaves(value)), value)
    assert hash(nesting) == hash(pytree.skeleton(value)) and nesting == pytree.skeleton(value)


@given(TREES, TREES)
def test_trees_that_differ_without_tensors_have_other_skeletons(a: object, b: object):
    if not any(True for x in (a, b) for _ in pytree.leaves(x)) and not same(a, b) and a != b:
        assert pytree.skeleton(a) != pytree.skeleton(b)


def test_values_that_are_equal_and_say_different_things():
    values = [1, 1.0, True, 0.0, -0.0, 0, False, "1", None]
    assert len({pytree.skeleton({"scale": v}) for v in values}) == len(values)
    assert [pytree.rebuild(pytree.skeleton([v]), []) for v in values] == [[v] for v in values]


def test_data_classes_are_containers():
    @dataclass(frozen=True)
    class Batch:
        x: object
        scale: float

    value = Batch(np.ones(2), 0.5)
    again = pytree.rebuild(pytree.skeleton(value), [value.x])
    assert [*pytree.leaves(value)] == [value.x] and (again.x is value.x, again.scale) == (True, 0.5)
