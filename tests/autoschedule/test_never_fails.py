"""Default schedules never raise: parts without iterations, loops that go, and a part that fails
leaves its nest as it is.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import texpr as tx
from texpr import autodiff
from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle
from texpr.autoschedule.core.nest import find_nests
from texpr.autoschedule.cpu.elementwise.elementwise import VectorizedElements
from texpr.autoschedule.driver import auto
from texpr.compiler import load
from texpr.compiler.imports import LIBRARY
from texpr.schedule.analysis.annotations import UNSCHEDULED
from texpr.targets import find_target
from texpr.tools.bench.certificates import usual

TARGETS = ("x86-64-v3", "x86-64-v4", "aarch64+sve", "armv7", "sm_80", "sm_90a")
CHAIN = """op hmm(pi: f64[S], A: f64[S, S], B: f64[T, S]) -> a: f64[T, S] require T >= 1, S >= 1 {
  a[0, s] = pi[s] * B[0, s] / sum(q in 0..S: pi[q] * B[0, q])
  a[t, s] = B[t, s] * sum(q in 0..S: a[t - 1, q] * A[q, s])  for t in 1..T, s in 0..S }"""
FALSE = """op f(X: i8[N], Z: i8[K, M]) -> t: i8[M, K] {
  t[i, j] = 1
  t[u + 2, v + u | drop] += max(Z[v - v, 2 * u + v - 1 | 0], Z[K - 1 - v, u - 1 | 0])  for u in 0..M, v in 0..K }"""
"""With one row nothing is updated: a condition says so, and no extent."""
COLUMN = """op conv(X: f32[2, 64, 16, 7], W: f32[16, 64, 1, 7], D: f32[2, 16, 16, 1]) -> Y: f32[2, 16, 16, 1] {
  Y[n, k, y, x] = max(sum(c, r, q in 0..7: X[n, c, y + r, x + q] * W[k, c, r, q]) + D[n, k, y, x], 0) }"""
"""One position along rows: the buffer in which a row of them would be collected has no loop
along them.
"""
SOFTMAX = """op softmax(X: f32[N, M]) -> Y: f32[N, M] require M >= 1 {
  m[n] = max(k: X[n, k])
  e[n, k] = exp(X[n, k] - m[n])
  Y[n, k] = e[n, k] / sum(j: e[n, j]) }"""


def default(text: str, target: str, **sizes: int) -> list[str]:
    """The steps of a default schedule, every part of which must succeed."""
    with tx.options(verify=True):
        steps, _ = auto(tx.schedule(tx.op(text), **sizes).kernel, find_target(target).machine)
    return [step.name for step in steps]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        *((CHAIN, {"T": t, "S": s}) for t, s in ((1, 33), (1, 64), (2, 33), (1, 100), (1, 1))),
        *((FALSE, {"M": m, "N": 16, "K": k}) for m, k in ((1, 1000), (0, 7), (3, 0))),
        (COLUMN, {}),
        *((SOFTMAX, {"N": n, "M": m}) for n, m in ((0, 33), (1, 1), (3, 1))),
    ],
)
def test_parts_without_iterations_are_not_scheduled(text, sizes, target):
    assert "annotate" not in default(text, target, **sizes)


@pytest.mark.parametrize(("t", "s"), [(1, 33), (1, 65), (1, 1000), (2, 33)])
def test_the_first_step_alone_is_computed(t, s):
    pi, a, b = (
        np.random.default_rng(0).random((3, s)),
        np.full((s, s), 1 / s),
        np.random.default_rng(1).random((t, s)),
    )
    found = tx.op(CHAIN)(pi[0], a, b)
    np.testing.assert_allclose(found[0], pi[0] * b[0] / (pi[0] @ b[0]), rtol=1e-12)


def test_nests_that_never_run_are_not_seen():
    assert [n.label for n in find_nests(tx.schedule(tx.op(CHAIN), T=1, S=33).kernel)] == ["a_sum", "a.0"]
    assert [n.label for n in find_nests(tx.schedule(tx.op(CHAIN), S=33).kernel)] == ["a_sum", "a.0", "a.1"]
    assert [n.label for n in find_nests(tx.schedule(tx.op(FALSE), M=1, K=9).kernel)] == ["t.0"]


def test_a_part_that_fails_leaves_its_nest_as_it_is(monkeypatch):
    """The others are scheduled, the kernel computes the same; the listing, the script and the
    note on the loop say which part failed.
    """

    def fails(template: object, builder: ScheduleBuilder, match: object) -> object:
        if match.nest.label == "e":  # type: ignore[attr-defined]
            builder.try_apply("split", "e.k", 7)
            raise IndexError("there is no `x`\n[7]")
        return usual(template, builder, match)

    usual = VectorizedElements.apply
    monkeypatch.setattr(VectorizedElements, "apply", fails)
    s = tx.schedule(tx.op(SOFTMAX), N=64, M=300).auto("x86-64-v3")
    assert (
        'annotate("e.k", unscheduled="IndexError: there is no x 7")' in s.script()
        and 'split("e.k", 7)' not in s.script()
    )
    assert "for e.k in 0..300  @unscheduled('IndexError: there is no x 7')" in str(s)
    assert "left as it is: IndexError: there is no x 7" in str(s) and 'vectorize("' in s.script()
    x = np.random.default_rng(0).standard_normal((64, 300)).astype(np.float32)
    np.testing.assert_allclose(
        tx.schedule(tx.op(SOFTMAX), N=64, M=300).replay(s.script()).compile()(x),
        tx.interpret(tx.op(SOFTMAX), x),
        rtol=1e-5,
    )
    with tx.options(verify=True), pytest.raises(IndexError):
        auto(tx.schedule(tx.op(SOFTMAX), N=64, M=300).kernel, find_target("x86-64-v3").machine)


AWKWARD = {
    "a panel behind a clamp": (
        "x86-64-v3",
        """op f(X: bf16[256, 256], Z: bf16[8]) -> Y: bf16[8, 256, 256] {
  Y[i, j, k] = sum(r in 0..256 where r <= i: Z[i + i | clamp] * X[2*k, j - r | 1])
}""",
    ),
    "triangles whose last rows are empty": (
        "x86-64-v3",
        """op f(X: u32[65], Z: u32[2, 65, 65, 65])
   -> (Y: u32[65, 65], t: u32[65, 65, 65]) {
  t[i, j, k] = sum(r in 0..k + 1, q in i + 1..65: X[k] + Z[0, r // 2, j, 0])
  Y[i, j] = sum(r in 0..65 where r != 1: X[2*i + j - 1 | 2])
}""",
    ),
    "attention without values": (
        "sm_80",
        """op f(Q: f64[2, 48, 12], K: f64[2, 130, 12], V: f64[2, 130, 0]) -> Y: f64[2, 48, 0] {
  S[h, q, k] = sum(d: Q[h, q, d] * K[h, k, d]) * 0.125
  m[h, q] = max(k: S[h, q, k])
  e[h, q, k] = exp(S[h, q, k] - m[h, q])
  Y[h, q, c] = sum(k: e[h, q, k] * V[h, k, c]) / sum(k: e[h, q, k])
}""",
    ),
    "a transposed convolution of no channels": (
        "x86-64-v3",
        """op f(X: f32[2, 0, 33, 33], W: f32[0, 3, 4, 4]) -> Y: f32[2, 3, 68, 68] {
  Y[n, k, y, x] = 0
  Y[n, k, 2*y + r, 2*x + q] += sum(c: X[n, c, y, x] * W[c, k, r, q])  for n in 0..2, k in 0..3, y in 0..33, x in 0..33, r in 0..4, q in 0..4
}""",
    ),
    "a sum in parts that are empty": (
        "x86-64-v3",
        """op f(X: f32[1, K, K]) -> Y: f32[1] {
  let t: f32[1, 1]
  t[i, j] = sum(r in j + 1..1, q in j..3 where q <= j: X[2, 0, r | 1])
  Y[i] = (if i == 0 then 2 else t[i, i]) * (t[i, 0] + X[i, 0, 0 | 1])
}""",
    ),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_no_part_is_given_up(name: str):
    """Nests that look as usual but for one that is not there; a refusal whose smallest example
    isl would look for without an end.
    """
    target, text = AWKWARD[name]
    steps, _ = auto(tx.schedule(tx.op(text)).kernel, find_target(target).machine)
    assert steps and not any(UNSCHEDULED in dict(step.options) for step in steps)


def test_a_loop_that_is_gone_has_one_iteration():
    builder = ScheduleBuilder(
        tx.schedule(tx.op(SOFTMAX), N=64, M=300).kernel, find_target("x86-64-v3").machine
    )
    loop, gone = LoopHandle("Y", "k"), LoopHandle("Y", "gone")
    assert builder.extents(loop) == [300] and builder.extents(gone) == [1]
    assert builder.split_if_longer(gone, 4) == (None, gone)
    assert builder.surviving_loops([loop, gone]) == [loop]
    assert UNSCHEDULED == "unscheduled"


REFUSING = {
    "gru": "recurrent",
    "attention": "attention",
    "batch_norm_training": "normalization",
    "conv2d": "convolution",
}


@pytest.mark.parametrize("name", REFUSING)
def test_what_a_default_schedule_is_refused_is_shown_to_nobody(name: str, monkeypatch: pytest.MonkeyPatch):
    """No kernel is printed for the places of errors, and no smallest example is looked for: the
    steps are the same.
    """
    library = LIBRARY / f"{REFUSING[name]}.tx"
    program = autodiff.grad(usual(vars(load(str(library), prove=False))[name]))
    printed: list[object] = []
    loops, legality = map(
        importlib.import_module, ("texpr.schedule.structure.loops", "texpr.poly.dependence.legality")
    )
    once = loops.source_kernel
    monkeypatch.setattr(loops, "source_kernel", lambda kernel: printed.append(kernel) or once(kernel))
    script = tx.Schedule(program, {}).auto().script()
    assert not printed
    for module in (loops, legality):
        monkeypatch.setattr(module, "is_unread", lambda: False)
    assert tx.Schedule(program, {}).auto().script() == script and printed
