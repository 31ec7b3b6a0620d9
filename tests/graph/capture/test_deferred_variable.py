"""Variables whose values lie elsewhere until they are asked for."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from texpr.graph import Variable
from texpr.ir.dtypes import F64


class Elsewhere:
    """A value that lies elsewhere, and counts how often it is read."""

    def __init__(self, value: np.ndarray) -> None:
        self.value, self.times = value, 0
        self.stand_in = np.zeros_like(value)

    def read(self, memory: np.ndarray) -> np.ndarray:
        self.times += 1
        found = memory.view(self.value.dtype).reshape(self.value.shape)
        found[...] = self.value
        return found


def _deferred(value: np.ndarray) -> tuple[Variable, Elsewhere]:
    found = Elsewhere(value)
    variable = Variable(found.stand_in, "w")
    variable.defer(found)
    return variable, found


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "?"])
def test_a_value_elsewhere_is_read_when_its_array_is_asked_for(shape: tuple[int, ...], dtype: str):
    value = np.arange(6).reshape(2, 3)[tuple(slice(n) for n in (*shape, *[None] * (2 - len(shape))))]
    value = np.ones(shape, dtype) if value.shape != shape else value.astype(dtype)
    v, found = _deferred(value)
    assert (v.shape, v.ndim, int(v.size), v.nbytes, v.device) == (
        shape, value.ndim, value.size, value.nbytes, "cpu",
    )  # fmt: skip
    assert found.times == 0 and v.is_deferred
    for k in (1, 2):
        np.testing.assert_array_equal(v.numbers(), value)
        assert found.times == k
    np.testing.assert_array_equal(np.array(v, copy=True), value)
    array = v.data
    np.testing.assert_array_equal(array, value)
    np.testing.assert_array_equal(v.numbers(), value)
    assert found.times == 4 and not v.is_deferred and v.data is array and v.exposed


CHANGES_OF_DEFERRED = {
    "assigned": lambda v: setattr(v, "data", np.full((2, 2), 5, "f4")),
    "replaced": lambda v: v.replace(np.full((2, 2), 5, "f4")),
    "converted": lambda v: v.convert(F64),
    "pickled": lambda v: None,
    "written": lambda v: v.data.fill(5),
}


@pytest.mark.parametrize("change", CHANGES_OF_DEFERRED)
def test_changes_of_a_value_elsewhere(change: str):
    v, found = _deferred(np.full((2, 2), 3, "f4"))
    CHANGES_OF_DEFERRED[change](v)
    v = pickle.loads(pickle.dumps(v)) if change == "pickled" else v
    np.testing.assert_array_equal(
        v.numbers(), np.full((2, 2), 3 if change in ("converted", "pickled") else 5)
    )
    assert not v.is_deferred and (found.value == 3).all()


def test_threads_that_ask_for_a_value_elsewhere_have_one_array():
    v, found = _deferred(np.ones((64, 64), "f4"))
    with ThreadPoolExecutor(4) as pool:
        arrays = list(pool.map(lambda _: v.data, range(16)))
    assert all(a is arrays[0] for a in arrays) and found.times == 1


def test_names_that_a_variable_does_not_have():
    v, _ = _deferred(np.ones(2, "f4"))
    with pytest.raises(AttributeError, match="shap"):
        v.shap  # noqa: B018
    assert v.is_deferred and not hasattr(v, "_currant")
