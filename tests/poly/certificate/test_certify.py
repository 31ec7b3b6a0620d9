"""Certificates: what they say of kernels, and faults planted in final loops, which all are
refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from time import perf_counter

import pytest

import texpr as tx
from tests.repo.source import ROOT
from texpr.compiler.pass_pipeline import ready
from texpr.lang import parse_kernel
from texpr.passes import specialize
from texpr.poly.certificate import certify
from texpr.poly.certificate.engine import obligations as proof
from texpr.poly.certificate.engine.obligations import Proof

OPS = {
    "matmul": "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
    "blur": """op blur(X: f32[N]) -> Y: f32[N] {
  T[i] = X[i - 1 | 0] + X[i]
  Y[i] = T[i] + T[i + 1 | 0] }""",
    "scan": "op scan(X: f32[N]) -> Y: f32[N] { Y[i] = Y[i - 1 | 0] + X[i] }",
    "count": """op count(idx: i32[N] in 0..V; V = 4) -> c: i32[V] {
  c[v] = 0
  c[idx[n]] += 1 }""",
    "scatter": """op scatter(idx: i32[N] in 0..V, X: f32[N]; V = 4) -> c: f32[V] {
  c[v] = 0
  c[idx[n]] += X[n] }""",
    "some": "op some(X: f32[N], m: bool[N]) -> y: f32 { y = sum(i where m[i]: X[i]) }",
}


def program(name: str, **sizes: int):
    """What the certificate compares with, for these sizes."""
    made = tx.op(OPS[name]).program()
    return ready(specialize(made, {v: sizes[v.name] for v in made.sizes if v.name in sizes}))


def scheduled(name: str, steps: str, **sizes: int) -> tx.Schedule:
    return tx.schedule(tx.op(OPS[name]), **sizes).replay(steps)


def without_times(text: str) -> str:
    return re.sub(r" +\d+\.\d ms", "", text)


def test_what_a_certificate_says():
    certificate = scheduled("matmul", 'split("k", 8)\nrfactor("ki", reassoc=True)\ncontract()').certificate()
    assert (
        without_times(str(certificate))
        == """\
certificate of matmul: reassociated: C; contracted: a * b + c is rounded once
  values          7 questions   every store computes its instance of its equation, from the right elements
  bounds          8 questions   every element used exists
  initialised     5 questions   every element used was written before
  covered         1 questions   every element of every output is computed
  once            3 questions   no sum is started twice, and no element defined twice that data chooses
  sums            9 questions   every sum has all its terms, once each, before it is used
  order           3 questions   sums run in the order of the program, or may not
  races           0 questions   iterations that run at once use no common element"""
    )
    assert not certificate.bit_exact
    assert "<caption>matmul: reassociated: C; contracted" in certificate._repr_html_()


def test_the_time_of_a_certificate_is_that_of_its_parts():
    """What inner questions take counts once, for them."""
    s = scheduled("matmul", 'split("k", 8)\nrfactor("ki", reassoc=True)')
    since = perf_counter()
    certificate = s.certificate()
    most = perf_counter() - since
    taken = [seconds for _, seconds in certificate.obligations.values()]
    assert sum(taken) == certificate.seconds <= most and min(taken) >= 0
    assert all(seconds > 0 for questions, seconds in certificate.obligations.values() if questions)


def test_what_inner_questions_take_counts_for_them_alone(monkeypatch):
    times = iter((0, 1, 3, 7, 15, 31))
    monkeypatch.setattr(proof, "perf_counter", lambda: next(times))
    asked = Proof(None, None, {}, None)  # type: ignore[arg-type]
    with asked.obligation("values"), asked.obligation("bounds"), asked.obligation("sums"):
        pass
    assert [asked.counts[name].seconds for name in ("values", "bounds", "sums")] == [1 + 16, 2 + 8, 4]


@pytest.mark.parametrize("name", OPS)
def test_what_lowering_makes_is_bit_exact(name: str):
    assert tx.schedule(tx.op(OPS[name])).certificate().bit_exact


def test_it_shares_nothing_with_the_checks_of_steps():
    allowed = {"affine", "forms", "solver", "certify"}
    for path in sorted(Path(ROOT, "texpr", "poly", "certify").glob("*.py")):
        for module in re.findall(r"^(?:from|import) (texpr\S*)", path.read_text(), re.MULTILINE):
            parts = module.split(".")
            assert parts[1] in ("ir", "support") or parts[1] == "poly" and parts[2] in allowed, (
                f"{path.name} imports {module}"
            )


MATMUL = """kernel matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N])
  for C.i in 0..M
    for C.j in 0..N
      let C_acc: f32[1]  stack
      C_acc[0] = 0.0  start  at[i, j]
      for C.k in 0..K
        C_acc[0] += A[i, k] * B[k, j]  at[i, j, k]
      C[i, j] = C_acc[0]  at[i, j]
"""


def refusal(name: str, text: str, **sizes: int) -> str:
    with pytest.raises(tx.ScheduleError) as e:
        certify(parse_kernel(text), program(name, **sizes))
    assert e.value.code == "certificate"
    return str(e.value)


def test_a_refusal_names_store_obligation_and_instance():
    assert (
        refusal("matmul", MATMUL.replace("0..K", "0..K - 1"))
        == """\
error[certificate]: the loops of matmul are not proven to compute it: a contribution to C_acc is missing
  --> kernel:7:9
  7 |         C_acc[0] += A[i, k] * B[k, j]
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ sums
    at M=1, K=1, N=1: iteration (i=0, j=0, k=0)
  help: a step or a pass is wrong, or the proof is not found; tx.options(certify="warn") compiles it all the same"""
    )


def test_what_nobody_reads_holds_anything():
    """Rows of none: the producer is left out by a pass, and what reads it never runs."""
    text = (
        "op f(X: f32[K, K], V: f32[M]) -> Y: f32[M] { let t: f32[K, K]  t[i, j] = X[i, j]  Y[i] = t[0, 0] }"
    )
    assert tx.schedule(tx.op(text), K=0).certificate().bit_exact


NESTED = """op f(X: f32[K, N], V: f32[N], Z: f32[M]) -> Y: f32[K] require N >= 2 {
  T[i, j, k] = Z[i // 2] for i in 0..M, j in 0..N, k in 0..K
  Y[i] = T[0, i, 1 | 1] - (if (if V[i | 0] < T[i, i, i + 2 | 1] then T[i, 0, i | clamp] else V[0]) <= 0.5 then max(r in 0..3: Z[i | clamp])
    else 0) }"""
TWICE = """op f(X: f32, Z: f32[M, K]) -> Y: f32[K, M] {
  Y[i, j] = X
  Y[u, v | clamp] min= Z[v, u | 2] for u in 0..K, v in 0..M }"""


def test_data_that_is_asked_of_data():
    """A choice inside a condition of a sum: the frames of two statements have variables of their
    own for it.
    """
    assert tx.schedule(tx.op(NESTED)).certificate().bit_exact


def test_an_element_of_an_output_may_begin_twice():
    assert tx.schedule(tx.op(TWICE)).split("Y.0.j", 2, tail="overlap").certificate().bit_exact
