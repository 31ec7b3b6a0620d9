"""Schedules and kernels go to other processes: what they were made of, made again there."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import texpr as tx

TEXT = "op f(X: f32[N], Z: f32[N, M]) -> Y: f32[N] { t[i] = sum(j: Z[i, j])  Y[i] = X[i] + t[i] }"
X, Z = np.arange(6, dtype="f4"), np.arange(30, dtype="f4").reshape(6, 5)
SCHEDULES = {
    "naive": lambda: tx.schedule(tx.op(TEXT)),
    "steps": lambda: tx.schedule(tx.op(TEXT), N=6).split("Y.i", 4).vectorize("Y.ii"),
    "default": lambda: tx.schedule(tx.op(TEXT), N=6, M=5).auto(),
    "derived": lambda: tx.schedule(tx.op(TEXT)).derived(["X"]),
    "dtypes": lambda: tx.schedule(tx.op(TEXT.replace("f(", "f<T: float>(").replace("f32", "T")), T="f32"),
}


@pytest.mark.parametrize(
    "again",
    [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name, again):
    s = SCHEDULES[name]()
    found = again(s)
    assert found.script() == s.script() and str(found) == str(s)
    if name != "derived":
        np.testing.assert_array_equal(found.compile()(X, Z), s.compile()(X, Z))


def test_loops_that_were_put_in_place_by_hand():
    s = SCHEDULES["steps"]()
    s.kernel = SCHEDULES["naive"]().kernel
    assert str(pickle.loads(pickle.dumps(s))) == str(s)


@pytest.mark.parametrize("name", ["naive", "steps", "default"])
def test_kernels(name):
    kernel = SCHEDULES[name]().compile()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(X, Z), kernel(X, Z))


def test_another_process(tmp_path):
    path = tmp_path / "schedule.pickle"
    path.write_bytes(pickle.dumps(SCHEDULES["steps"]()))
    code = f"""import numpy as np, pickle
s = pickle.loads(open({str(path)!r}, "rb").read())
print(s.script(), s.compile()(np.arange(6, dtype="f4"), np.arange(30, dtype="f4").reshape(6, 5)).sum())"""
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out == f"{SCHEDULES['steps']().script()} {X.sum() + Z.sum()}\n"
