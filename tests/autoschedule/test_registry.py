"""The lists of templates: each takes some operator, and where one does not go through, a legal
schedule still comes out.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace

import numpy as np
import pytest

import texpr as tx
from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.template import NoMatch, Stage, apply_first
from texpr.autoschedule.driver import Choice, choose
from texpr.autoschedule.registry import CPU, GPU
from texpr.ir.build import integer
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.machine import Machine
from texpr.ir.verifier.program import verify_kernel
from texpr.support.errors import ScheduleError
from texpr.targets import find_target

PRODUCT = (
    "op product(A: {0}[{1}], B: {0}[{2}]) -> C: {3}[{4}] {{ C[i, j] = sum(k: {3}(A[i, k]) * {3}({5})) }}"
)
SOFTMAX = """op softmax(X: f32[N, M]) -> Y: f32[N, M] require M >= 1 {
  m[n] = max(k: X[n, k])
  e[n, k] = exp(X[n, k] - m[n])
  Y[n, k] = e[n, k] / sum(j: e[n, j]) }"""
HEADS = """op heads(Q: f32[H, S, D], K: f32[H, T, D], V: f32[H, T, E]) -> O: f32[H, S, E] require T >= 1 {
  s[h, i, j] = sum(d: Q[h, i, d] * K[h, j, d])
  m[h, i] = max(j: s[h, i, j])
  e[h, i, j] = exp(s[h, i, j] - m[h, i])
  O[h, i, v] = sum(j: e[h, i, j] * V[h, j, v]) / sum(j: e[h, i, j]) }"""
HALF = """op half(Q: bf16[H, S, D], K: bf16[H, S, D], V: bf16[H, S, D]) -> O: f32[H, S, D] require S >= 1 {
  s[h, i, j] = sum(d: f32(Q[h, i, d]) * f32(K[h, j, d])) * 0.25
  m[h, i] = max(j: s[h, i, j])
  e[h, i, j] = exp(s[h, i, j] - m[h, i])
  O[h, i, v] = sum(j: f32(bf16(e[h, i, j])) * f32(V[h, j, v])) / sum(j: e[h, i, j]) }"""
LU = """op lu(A: f64[N, N]) -> F: f64[N, N] {
  F[i, j] = (A[i, j] - sum(k in 0..j: F[i, k] * F[k, j])) / F[j, j]  for i in 0..N, j in 0..i
  F[i, j] = A[i, j] - sum(k in 0..i: F[i, k] * F[k, j])  for i in 0..N, j in i..N }"""
CONVOLUTION = """op image(X: f32[1, 9, 10, 8], W: f32[3, 3, 8, 16]) -> Y: f32[1, 9, 10, 16] {
  Y[n, y, x, k] = sum(r in 0..3, q in 0..3, c in 0..8: X[n, y + r - 1, x + q - 1, c | 0] * W[r, q, c, k]) }"""
CHANNELS_FIRST = """op first(X: f32[1, 8, 12, 12], W: f32[16, 8, 3, 3]) -> Y: f32[1, 16, 12, 12] {
  Y[n, k, y, x] = sum(c in 0..8, p, q in 0..3: X[n, c, y + p - 1, x + q - 1 | 0] * W[k, c, p, q]) }"""
PLANES = """op planes(X: f32[2, 4, 12, 16], W: f32[4, 3, 3]) -> Y: f32[2, 4, 12, 16] {
  Y[n, c, y, x] = sum(p, q in 0..3: X[n, c, y + p - 1, x + q - 1 | 0] * W[c, p, q]) }"""
SMALL_PLANES = """op planes(X: f32[2, 4, 7, 7], W: f32[4, 5, 5]) -> Y: f32[2, 4, 7, 7] {
  Y[n, c, y, x] = sum(p, q in 0..5: X[n, c, y + p - 2, x + q - 2 | 0] * W[c, p, q]) }"""
PIXELS = (
    "op pixels(A: f32[2, 8, 8, 32], B: f32[32, 64]) -> C: f32[2, 8, 8, 64] { C[n, y, x, j] = sum(k: A[n, y, "
    "x, k] * B[k, j]) }"
)
WOVEN = """op woven(X: f32[6, 20]) -> D: f32[6, 40] {
  D[n, 2*x] = X[n, x] * 2  for n in 0..6, x in 0..20
  D[n, 2*x + 1] = X[n, x] * 3  for n in 0..6, x in 0..20 }"""
TURNED = """op turned(X: f32[6, 20, 80]) -> V: f32[20, 6, 80] {
  let E: f32[6, 20, 80]
  E[0, c, t] = X[0, c, t] * 2
  E[r, c, t] = X[r, c, t] + X[0, c, t]  for r in 1..6
  V[c, r, t] = E[r, c, t] + E[0, c, t] }"""
SCAN = """op scan(X: f32[16, 70]) -> Y: f32[16, 70] {
  Y[i, 0] = X[i, 0]
  Y[i, t] = Y[i, t - 1] * 0.5 + X[i, t]  for i in 0..16, t in 1..70 }"""
SEIDEL = """op seidel(X: f64[20, 70]) -> Y: f64[20, 70] {
  Y[i, j] = if i == 0 or j == 0 then X[i, j] else 0.25 * (Y[i - 1, j] + Y[i, j - 1] + X[i, j]) }"""
OVERLAPPING = """op overlapping(X: f32[8, 20, 3]) -> D: f32[8, 22] {
  D[n, x] = 0
  D[n, x + q] += X[n, x, q]  for n in 0..8, x in 0..20, q in 0..3 }"""
HISTOGRAM = """op histogram(X: i32[100], W: f32[100]) -> D: f32[16] {
  D[j] = 0
  D[X[i] | drop] += W[i]  for i in 0..100 }"""
MOMENTS = """op moments(G: f32[100], M: f32[100], P: f32[100]) -> (N: f32[100], Q: f32[100]) {
  N[i] = M[i] * 0.9 + G[i]
  Q[i] = P[i] - 0.1 * N[i] }"""
TURN = "op turn(X: f32[32, 24]) -> Y: f32[24, 32] { Y[j, i] = X[i, j] * 2 }"
ADD = "op add(X: f32[10, 24], b: f32[10, 24]) -> Y: f32[10, 24] { Y[i, j] = X[i, j] + b[i, j] }"
TOTAL = "op total(X: f32[N]) -> Y: f32 { Y = sum(i: X[i]) }"
TOTAL_OF_ROWS = "op total(X: f32[N, M]) -> Y: f32 { Y = sum(i, j: X[i, j]) }"
COLUMNS = "op columns(X: f32[N, M]) -> Y: f32[M] { Y[j] = sum(i: X[i, j]) }"
TINY, SMALL = (1 << 11, 1 << 12), (1 << 14, 1 << 17)
"""Caches that small operators exceed."""


def product(dtype: str, total: str, m: int, n: int, k: int, *, across: bool = False) -> str:
    """A matrix product, with B or with its transpose."""
    sizes = f"{n}, {k}" if across else f"{k}, {n}"
    return PRODUCT.format(dtype, f"{m}, {k}", sizes, total, f"{m}, {n}", "B[j, k]" if across else "B[k, j]")


@dataclass(frozen=True)
class Case:
    """An operator that a template takes on a machine; `sizes` by name."""

    text: str
    target: str = "x86-64-v3"
    caches: tuple[int, ...] | None = None
    sizes: tuple[tuple[str, int], ...] = ()

    @property
    def machine(self) -> Machine:
        found = find_target(self.target).machine
        return found if self.caches is None else replace(found, caches=self.caches, cores=2)

    def schedule(self) -> tx.Schedule:
        return tx.schedule(tx.op(self.text), **dict(self.sizes))


HEADS_2, HALF_2, HALF_140 = (
    tuple(zip("HSTDE", s)) for s in ((2, 64, 100, 32, 32), (2, 128, 0, 64, 0), (140, 128, 0, 64, 0))
)
CASES: dict[str, Case] = {
    "ProducerChains": Case(SOFTMAX, caches=TINY, sizes=(("N", 40), ("M", 300))),
    "CommonAxis": Case(TURNED, caches=TINY),
    "InterleavedStores": Case(WOVEN),
    "TransposedOperand": Case(HEADS, caches=SMALL, sizes=HEADS_2),
    "SplitReduction": Case(TOTAL, sizes=(("N", 300_000),)),
    "BlockedRecurrence": Case(LU, sizes=(("N", 48),)),
    "TileRegisters": Case(product("bf16", "f32", 64, 64, 64), "x86-64-v4+amx"),
    "MatrixInstructions": Case(product("i8", "i32", 32, 32, 32), "aarch64+i8mm"),
    "DotInstructions": Case(product("i8", "i32", 5, 16, 64), "aarch64+dotprod"),
    "SkinnyGemm": Case(product("f32", "f32", 32, 128, 192), "x86-64-v4"),
    "StreamingReduction": Case(COLUMNS, caches=TINY, sizes=(("N", 300), ("M", 64))),
    "CollapsedRows": Case(PIXELS, caches=TINY),
    "DirectConvolution": Case(CONVOLUTION),
    "PackedGemm": Case(product("f32", "f32", 64, 64, 64), caches=TINY),
    "DepthwisePlane": Case(SMALL_PLANES),
    "DepthwiseWindow": Case(PLANES),
    "CollapsedLoops": Case(ADD),
    "LanesOverTerms": Case(SOFTMAX, sizes=(("N", 40), ("M", 300))),
    "LanesOverElements": Case(product("f32", "f32", 64, 64, 64)),
    "RegisterTranspose": Case(TURN),
    "Wavefront": Case(SEIDEL),
    "RowsSideBySide": Case(SCAN),
    "VectorizedElements": Case(ADD),
    "Naive": Case(TOTAL, sizes=(("N", 1),)),
    "RowPairs": Case(SOFTMAX, sizes=(("N", 300), ("M", 64))),
    "AttentionByTwoWarpgroups": Case(HALF, "sm_90a", sizes=HALF_140),
    "AttentionByWarpgroup": Case(HALF, "sm_90a", sizes=HALF_2),
    "AttentionByWarps": Case(HALF, "sm_80", sizes=HALF_2),
    "AttentionByThreads": Case(HEADS, "sm_80", sizes=HEADS_2),
    "WarpgroupGemm": Case(product("bf16", "f32", 128, 128, 128, across=True), "sm_90a"),
    "WarpGemm": Case(product("bf16", "f32", 64, 64, 64), "sm_80"),
    "GpuGemm": Case(product("f32", "f32", 64, 64, 64), "sm_80"),
    "GpuConvolution": Case(CHANNELS_FIRST, "sm_80"),
    "CollapsedTerms": Case(TOTAL_OF_ROWS, "sm_80", sizes=(("N", 300), ("M", 300))),
    "GpuSplitReduction": Case(TOTAL, "sm_80", sizes=(("N", 300_000),)),
    "RowReduction": Case(SOFTMAX, "sm_80", sizes=(("N", 40), ("M", 300))),
    "SameElements": Case(MOMENTS, "sm_80"),
    "SingleThread": Case(TOTAL_OF_ROWS, "sm_80", sizes=(("N", 300), ("M", 300))),
    "ColumnReduction": Case(COLUMNS, "sm_80", sizes=(("N", 300), ("M", 64))),
    "CollidingUpdates": Case(OVERLAPPING, "sm_80"),
    "AtomicUpdates": Case(HISTOGRAM, "sm_80"),
    "ThreadElements": Case(ADD, "sm_80"),
}
"""By the name of the template that takes the operator."""
for name in ("AttentionByTwoWarpgroups", "AttentionByWarpgroup", "AttentionByWarps"):
    CASES[name] = replace(CASES[name], sizes=tuple((k, n) for k, n in CASES[name].sizes if n))


def taken(choice: Choice) -> set[str]:
    return {each.template for each in choice.decisions if each.template is not None}


def chosen(case: Case) -> Choice:
    return choose(case.schedule().naive, case.machine)


def test_every_template_has_a_case_and_a_name_of_its_own():
    for templates in (CPU, GPU):
        names = list(dict.fromkeys(t.name for t in templates))
        assert (
            set(names) <= CASES.keys()
            and len(names) == len({id(t) for t in templates})
            and names[-1 - (templates is CPU)] == "Naive"
        )
        stages = [t.stage for t in templates]
        assert stages == sorted(stages) and set(stages) <= set(Stage)


@pytest.mark.parametrize("name", CASES)
def test_a_template_takes_its_case(name: str):
    assert name in taken(chosen(CASES[name]))


@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize("name", CASES)
def test_where_a_template_does_not_go_through_the_next_one_does(
    name: str, late: bool, monkeypatch: pytest.MonkeyPatch
):
    """None of its steps is left, and the loops are proven to compute the operator; those for
    CPUs give the interpreter's values.
    """
    case = CASES[name]
    kind = type(next(t for t in (*CPU, *GPU) if t.name == name))
    usual = kind.apply

    def fails(template, builder, match):
        if template.name != name:
            return usual(template, builder, match)
        if late:
            usual(template, builder, match)
        raise ScheduleError("it is sabotaged", code="test")

    before = chosen(case)
    monkeypatch.setattr(kind, "apply", fails)
    s = case.schedule()
    choice = choose(s.naive, case.machine)
    assert name not in taken(choice) and (name, "it is sabotaged") in {
        r for each in choice.decisions for r in each.rejected
    }
    assert f"not {name}: it is sabotaged" in choice.explain()
    assert choice.steps != before.steps or name in ("Naive", "SingleThread")
    assert not any(step.name == "annotate" for step in choice.steps)
    verify_kernel(choice.kernel)
    s.steps[:], s.kernel = choice.steps, choice.kernel
    assert s.certificate()
    if case.target.startswith("x86-64-v") and "amx" not in case.target and platform.machine() == "x86_64":
        assert_values(s)


def assert_values(s: tx.Schedule) -> None:
    rng = np.random.default_rng(0)
    arrays = []
    for t in s.naive.inputs:
        shape = [integer(n) or 0 for n in t.shape]
        found = rng.standard_normal(shape).astype({"f32": "f4", "f64": "f8"}[t.dtype.name])
        arrays.append(
            found + shape[0] * np.eye(shape[0], dtype=found.dtype) if s.program.name == "lu" else found
        )
    expected = interpret(s.program, arrays)
    found = s.compile()(*arrays)
    for one, other in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_allclose(one, np.asarray(other), rtol=2e-4, atol=2e-4)


class Refuses:
    """A template that matches everything and then sees that it does not fit."""

    name, stage = "Refuses", Stage.NESTS

    def match(self, builder, subject):
        return subject

    def apply(self, builder, match):
        builder.try_apply("split", "Y.i", 4)
        return None if builder.try_apply("vectorize", "Y.zz") else NoMatch("it does not fit")


def test_what_no_template_takes_is_left_as_it_is():
    builder = ScheduleBuilder(
        tx.schedule(tx.op("op f(X: f32[10]) -> Y: f32[10] { Y[i] = X[i] }")).naive,
        find_target("x86-64-v3").machine,
    )
    assert apply_first(builder, (Refuses(),), None, "Y") is None and builder.steps == []
    (decision,) = builder.decisions
    assert (decision.template, decision.rejected) == (None, (("Refuses", "it does not fit"),))


def test_a_fault_undoes_the_choices_for_its_nest(monkeypatch: pytest.MonkeyPatch):
    """Its loops were joined first: that step is left out, and nothing says that it was taken."""

    def fails(*_: object) -> None:
        raise IndexError("there is no loop `x`")

    case = CASES["CollapsedLoops"]
    kind = type(next(t for t in CPU if t.name == "VectorizedElements"))
    monkeypatch.setattr(kind, "apply", fails)
    choice = chosen(case)
    assert [step.name for step in choice.steps] == ["allow_fma", "annotate"]
    assert "CollapsedLoops" not in taken(choice) and "\n  Y: no template" in choice.explain()


def test_a_template_that_raises_is_a_fault_under_verify(monkeypatch: pytest.MonkeyPatch):
    kind = type(next(t for t in CPU if t.name == "VectorizedElements"))

    def fails(*_: object) -> None:
        raise ScheduleError("there is no loop `x`", code="test")

    monkeypatch.setattr(kind, "apply", fails)
    with tx.options(verify=True), pytest.raises(ScheduleError, match="no loop"):
        chosen(CASES["VectorizedElements"])
