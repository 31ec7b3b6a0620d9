"""Elements that computed data chooses, read where the program reads what is computed of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import texpr as tx
from texpr.ir.build import add
from texpr.ir.expr import Mul, Node, Read, Select, index
from texpr.ir.traverse import rewrite
from texpr.support.errors import CertificateError

TEXT = """
op f(X: f32[N, M], c: i32[N]) -> Y: f32[N] require M >= 1 {
  m[i] = argmax(j: X[i, j])
  a[i, j] = X[i, j] * 2.0
  Y[i] = if c[i] > 0 then a[i, m[i]] else 0.0
}"""


def inlined(**sizes: int) -> tx.Schedule:
    return tx.schedule(tx.op(TEXT), **sizes).inline("a")


@pytest.mark.parametrize("sizes", [{}, {"N": 3, "M": 4}])
def test_what_is_computed_of_them_may_stand_in_their_place(sizes: dict[str, int]):
    assert inlined(**sizes).certificate().bit_exact


def _next(n: Node) -> Node | None:
    match n:
        case Mul(Read(indices=(i, Read() as m)) as read, factor):
            return Mul(replace(read, indices=(i, add(m, index(1)))), factor)
    return None


def _is_chosen(n: Node) -> bool:
    return isinstance(n, Select) and isinstance(n.then, Mul)


FAULTS: dict[str, Callable[[Node], Node | None]] = {
    "the element behind it": _next,
    "whatever the condition": lambda n: n.then if _is_chosen(n) else None,
    "where it does not hold": lambda n: replace(n, then=n.orelse, orelse=n.then) if _is_chosen(n) else None,
}


@pytest.mark.parametrize("name", FAULTS)
def test_others_are_outside(name: str):
    s = inlined(N=3, M=4)
    wrong = rewrite(s.kernel, FAULTS[name])
    assert wrong is not s.kernel
    s.kernel = wrong
    with pytest.raises(CertificateError) as error:
        s.certificate()
    assert error.value.label == "bounds"


CHOSEN_TWICE = """
op f(Z: i8[K], p: i32[M] in 0..K distinct) -> Y: i8[M, M] require K >= 1 {
  let t: i8[M, M]
  t[i, j] = Z[0]
  t[p[u], p[v] | clamp] min= Z[0]
  Y[i, j] = t[i, j]
}"""
IN_PARTS = """
op f(X: i64[M], p: i32[M] in 0..M distinct) -> Y: i64[M, M] {
  let t0: i64[M, M, M]
  let t1: i64[M, M, M]
  t0[i, j, k] = X[j % 2 | clamp]
  t1[i, j, k] = abs(X[i + 2 | clamp] * 2)  where i % 3 != 1
  t1[i, j, k] = t0[i, p[i], p[k]]  where not i % 3 != 1
  Y[i, j] = t0[j - 1, i + j, p[j] | clamp]  for i in 0..max(M - 1, 0)
  Y[i, j] = Y[i - 2, j | 1] + t1[p[i], p[j], j * 2 + j - 1 | clamp]  for i in max(M - 1, 0)..M
}"""


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (CHOSEN_TWICE, {"M": 1, "K": 2}),
        (CHOSEN_TWICE, {"M": 2, "K": 3}),
        (IN_PARTS, {"M": 2}),
        (IN_PARTS, {"M": 3}),
    ],
)
def test_two_elements_of_a_permutation_in_one_instance(text: str, sizes: dict[str, int]):
    """They are one where their places are: no instance is left in which they are not."""
    assert tx.schedule(tx.op(text), **sizes).certificate()
