"""Every public function of NumPy's called on tensors: NumPy's values, or a refusal that says why."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import texpr as tx
from scripts.reference.numpy_calls import CALLS, given, public_functions, universal_functions
from scripts.reference.numpy_page import FACTS, REFUSED, TENSOR, VALUES, every_call, leaves, outcome

KNOWN = dict(every_call())


def test_every_function_has_a_call():
    assert set(public_functions()) <= set(CALLS) and set(universal_functions()) <= set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_the_values_are_numpys_or_the_refusal_says_why(name: str):
    found = outcome(name, KNOWN[name])
    if found.kind == REFUSED:
        assert "of a tensor" in str(found.found) or "writes into a tensor" in str(found.found)
        assert "help: " in str(found.found)
        return
    expected, results = leaves(found.expected), leaves(found.found)
    assert len(expected) == len(results)
    if name in (
        "array2string",
        "array_repr",
        "array_str",
        "empty_like",
        "linalg.eig",
        "may_share_memory",
        "shares_memory",
    ):
        return  # texts, values that nobody should rely on, a sign that is free, memory
    for e, r in zip(expected, results):
        if isinstance(e, np.ndarray | np.generic):
            assert np.shape(r) == e.shape and np.asarray(r).dtype == e.dtype
            np.testing.assert_allclose(np.asarray(r), e, rtol=1e-9, atol=1e-12)
        else:
            assert r == e


@pytest.mark.parametrize("name", KNOWN)
def test_gradients_flow_or_are_refused(name: str):
    """Of tensors that require gradients, floats come with a gradient, or not at all."""
    kind = outcome(name, KNOWN[name]).kind
    arrays = given(lambda a: tx.tensor(a, requires_grad=a.dtype.kind == "f"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = leaves(KNOWN[name](arrays))
        except tx.CallError as error:
            assert kind != TENSOR, error
            return
    constant = name in (
        "zeros_like",
        "ones_like",
        "empty_like",
        "full_like",
        "copy",
        "sign",
        "imag",
        "angle",
        "spacing",
    )
    for x in found:
        if isinstance(x, tx.Tensor) and x.dtype.is_float and not constant and name != "can_cast":
            assert x.requires_grad or name in ("heaviside",), name
        if isinstance(x, np.ndarray):
            assert kind == VALUES and (constant or x.dtype.kind != "f"), name


COMPUTED_NOW = ("nanargmax", "nanargmin")
TRACED = [name for name in KNOWN if name not in COMPUTED_NOW]


@pytest.mark.parametrize("name", TRACED)
def test_in_a_traced_function_too(name: str):
    """Recorded as one program: the same values; what needs values is refused."""
    plain = outcome(name, KNOWN[name])
    used = given(lambda a: a)

    def traced(**arrays):
        return [x for x in leaves(KNOWN[name](type(used)(**arrays))) if hasattr(x, "shape")]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = tx.jit(traced)(**{k: tx.tensor(v) for k, v in vars(used).items()})
        except (tx.CallError, TypeError):
            assert plain.kind != TENSOR, name
            return
    assert plain.kind in (TENSOR, FACTS), name
    if plain.kind == TENSOR and name != "empty_like":
        for e, r in zip(leaves(plain.expected), leaves(found)):
            np.testing.assert_allclose(np.asarray(r), e, rtol=1e-9, atol=1e-12)
