"""Every operator of the library, and its gradients, on arrays that end, or begin, at a page that
cannot be touched.
"""

from __future__ import annotations

import pytest

from tests.guarded import differentiable, run
from texpr import ops


@pytest.mark.parametrize("name", differentiable(0))
def test_operators_stay_inside_their_arrays(name: str):
    run("tests.guarded:library_case", name, 0, text=str(getattr(ops, name)))


@pytest.mark.parametrize("name", differentiable(1))
def test_gradients_stay_inside_their_arrays(name: str):
    run("tests.guarded:library_case", name, 1, text=f"the gradient of {getattr(ops, name)}")


@pytest.mark.parametrize("name", differentiable(2))
def test_second_gradients_stay_inside_their_arrays(name: str):
    run("tests.guarded:library_case", name, 2, text=f"the gradient of the gradient of {getattr(ops, name)}")
