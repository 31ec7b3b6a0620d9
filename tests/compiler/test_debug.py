"""`tx.debug.watch` and `tx.interpret(..., break_at=...)`: values inside an operator."""

from __future__ import annotations

import linecache
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples

SOFTMAX = tx.op("""
op softmax2(X: f32[N, D]) -> Y: f32[N, D] {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}
""")
SCALED = tx.op("op scaled(X: f32[N]) -> Y: f32[N] { m = max(i: X[i])  Y[i] = X[i] / m }")
RUNNING = tx.op("op running(X: f64[N]) -> Y: f64[N] { Y[i] = Y[i - 1 | 0] + X[i] }")
ADDED = tx.op(
    "op added(X: f64[N], p: i64[N] in 0..M, Z: f64[M]) -> Y: f64[M] { Y[i] = Z[i]  Y[p[n]] += X[n] }"
)
x = np.random.default_rng(0).normal(size=(3, 4)).astype("f4")


def test_values_are_those_of_the_interpreter_and_results_do_not_change():
    seen = tx.debug.watch(SOFTMAX, "m", "e", "X", "Y", to=None)
    assert (seen(x) == SOFTMAX(x)).all() and seen.exact
    found = seen.values[0]
    assert (found["X"] == x).all() and (found["Y"] == SOFTMAX(x)).all()
    assert (found["m"] == x.max(1)).all()
    np.testing.assert_allclose(found["e"], np.exp(x - x.max(1, keepdims=True)), rtol=1e-6)
    assert (seen.interpret(x) == tx.interpret(SOFTMAX, x)).all()
    assert (seen.values[1]["m"] == found["m"]).all() and seen.values[1]["e"].shape == (3, 4)


@examples(12)  # each compiles
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
def test_every_call_adds_its_values(n, d, seed):
    x = np.random.default_rng(seed).normal(size=(n, d)).astype("f4")
    seen = tx.debug.watch(SOFTMAX, "m", to=None)
    assert (seen(x) == SOFTMAX(x)).all() and (seen(x[:1]) == SOFTMAX(x[:1])).all()
    assert [v["m"].shape for v in seen.values] == [(n,), (1,)] and (seen.values[0]["m"] == x.max(1)).all()


def test_lines(capsys):
    seen = tx.debug.watch(SCALED, "m", "Y", where=lambda v: ~np.isfinite(v))
    seen(np.float32([0, -1, 0]))
    assert capsys.readouterr().out == "scaled: Y[0] = nan\nscaled: Y[1] = -inf\nscaled: Y[2] = nan\n"
    seen(np.ones(3, "f4"))
    assert capsys.readouterr().out == ""
    seen(np.zeros(15, "f4"))
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 11 and out[-1] == "scaled: Y: 5 more of 15"
    tx.debug.watch(SCALED, "m")(np.float32([1, 2]))
    assert capsys.readouterr().out == "scaled: m = 2.0\n"


def test_tensors_outputs_and_options():
    lines: list[str] = []
    seen = tx.debug.watch(SCALED, "m", to=lines.append)
    result = seen(tx.tensor(np.float32([1, 4])))
    assert isinstance(result, tx.Tensor) and result.tolist() == [0.25, 1.0] and lines == ["scaled: m = 4.0"]
    out = np.zeros(2, "f4")
    assert seen(np.float32([1, 4]), out=out) is out and out.tolist() == [0.25, 1.0]
    shifted = tx.op("op shifted(X: f64[N]; s) -> Y: f64[N] { t[i] = X[i] * s  Y[i] = t[i] + 1 }")
    inside = tx.debug.watch(shifted, "t", to=None)
    assert inside(np.float64([2, 3]), s=2).tolist() == [5, 7]
    assert inside.values[0]["t"].tolist() == [4, 6]


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda: tx.debug.watch(SCALED, "n")(np.ones(2, "f4")), "scaled has no tensor `n`"),
        (lambda: tx.debug.watch(SCALED), "watch takes names of tensors"),
        (lambda: tx.debug.watch("op", "m"), "watch takes an operator, not str"),
        (lambda: tx.debug.watch(SCALED, "m")(np.ones((2, 2), "f4")), "`X` has 2 dimensions, expected 1"),
        (lambda: tx.interpret(SCALED, np.ones(2, "f4"), break_at="n"), "scaled computes no `n`"),
        (lambda: tx.interpret(SCALED, np.ones(2, "f4"), break_at="X[0]"), "scaled computes no `X`"),
        (lambda: tx.interpret(SCALED, np.ones(2, "f4"), break_at="Y"), "`Y` has 1 axis, Y has 0 indices"),
        (lambda: tx.interpret(SCALED, np.ones(2, "f4"), break_at=3), "`3` is no element"),
        (
            lambda: tx.debug.watch(SCALED, "Y", where=lambda v: v[:1] > 0)(np.ones(2, "f4")),
            "`where` gives [1] for `Y` of shape [2]",
        ),
        (lambda: tx.interpret(SCALED, np.ones(2, "f4"), break_at="Y[2]"), "no equation computes Y[2]"),
        (lambda: tx.interpret(SCALED, np.ones(2, "f4"), break_at="Y[i]"), "`Y[i]` is no element"),
    ],
)
def test_mistakes(wrong, message):
    with pytest.raises(tx.CallError) as caught:
        wrong()
    assert message in str(caught.value)


@pytest.fixture
def stops(monkeypatch):
    """The names of each frame in which a debugger would stop."""
    found: list[dict[str, object]] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: found.append(dict(sys._getframe(1).f_locals)))
    return found


def test_a_stop_has_indices_operands_and_the_value(stops):
    result = tx.interpret(SOFTMAX, x, break_at="e[1, 2]")
    assert (result == tx.interpret(SOFTMAX, x)).all()
    (names,) = stops
    assert (names["i"], names["j"], names["N"], names["D"]) == (1, 2, 3, 4)
    assert names["reads"] == {"X[i, j]": x[1, 2], "m[i]": x[1].max()}
    assert names["value"] == pytest.approx(np.exp(x[1, 2] - x[1].max()), rel=1e-6)
    assert (names["m"] == x.max(1)).all()
    assert linecache.getline("<e[1, 2]>", 1) == "breakpoint()  # e[i, j] = exp(X[i, j] - m[i])\n"


def test_recurrences_and_updates_stop_at_each_instance(stops):
    tx.interpret(RUNNING, np.arange(4.0), break_at="Y[2]")
    assert [(s["i"], s["value"], s["reads"]["X[i]"]) for s in stops] == [(2, 3.0, 2.0)]
    stops.clear()
    tx.interpret(ADDED, np.arange(4.0), np.array([1, 0, 1, 1]), np.zeros(2), break_at="Y[1]")
    assert [s["value"] for s in stops] == [0, 0, 2, 3] and [s.get("n") for s in stops[1:]] == [0, 2, 3]


def test_in_pdb():
    text = (
        "import numpy as np, texpr as tx\n"
        "op = tx.op('op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * 2 }')\n"
        "print(tx.interpret(op, np.float32([1, 2]), break_at='Y[1]'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        input="p i, N\np reads\nc\n",
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "(1, 2)" in done.stdout and "{'X[i]': np.float32(2.0)}" in done.stdout and "[2. 4.]" in done.stdout
