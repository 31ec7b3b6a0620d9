"""Kernels that hand over a tensor of which some elements have no definition: all others are
computed, once, and in time.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import texpr as tx
from tests.poly.certificate.tables import Rows, changed
from texpr.compiler.pass_pipeline import ready
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify

TRIANGLE = "let e: f32[4, 4]  e[i, j] = X[i, j] * 2 for j in 0..i + 1"
OF_TRIANGLE = """
kernel f(X: f32[4, 4]) -> (e: f32[4, 4])
  for i in 0..4
    for j in 0..i + 1
      e[i, j] = X[i, j] * 2.0  at[i, j]
"""
PIECES = "let e: f32[4, 4]  e[0, j] = X[0, j]  e[2 * i, j] = X[i, j] * 2 for i in 1..2"
OF_PIECES = """
kernel f(X: f32[4, 4]) -> (e: f32[4, 4])
  for j in 0..4
    e[0, j] = X[0, j]  at[j]
    e[2, j] = X[1, j] * 2.0  eq 1  at[1, j]
"""
FOLD = "let e: f32[4, 4]  e[i, j] = X[i, j] for j in 0..i + 1  e[i, 0] += sum(k: X[i, k])"
OF_FOLD = """
kernel f(X: f32[4, 4]) -> (e: f32[4, 4])
  for i in 0..4
    for j in 0..i + 1
      e[i, j] = X[i, j]  at[i, j]
  for i1 in 0..4
    let acc: f32
    acc = 0.0  start eq 1  at[i1]
    for k in 0..4
      acc += X[i1, k]  eq 1  at[i1, k]
    e[i1, 0] += acc  eq 1  at[i1]
"""
ROWS: Rows = {
    **changed(
        TRIANGLE,
        OF_TRIANGLE,
        {
            "all that is defined": ("", "", ""),
            "none of the last column": ("0..i + 1", "0..min(i + 1, 3)", "covered"),
            "none of the diagonal": ("0..i + 1", "0..i", "covered"),
            "another value": ("X[i, j] * 2.0", "X[j, i] * 2.0", "values"),
            "more than is defined": ("0..i + 1", "0..min(i + 2, 4)", "values"),
        },
    ),
    **changed(
        PIECES,
        OF_PIECES,
        {
            "two pieces": ("", "", ""),
            "one of them": ("    e[2, j] = X[1, j] * 2.0  eq 1  at[1, j]\n", "", "covered"),
            "in the wrong row": ("e[2, j]", "e[3, j]", "covered"),
        },
    ),
    **changed(
        FOLD,
        OF_FOLD,
        {
            "a fold": ("", "", ""),
            "of which a row is left out": ("for i1 in 0..4", "for i1 in 0..3", "sums"),
            "of which a term is left out": ("for k in 0..4", "for k in 0..3", "sums"),
        },
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_kernels_that_hand_over_parts(name: str):
    equations, loops, obligation = ROWS[name]
    program = ready(
        tx.op(f"op f(X: f32[4, 4]) -> Y: f32[4] {{ {equations}  Y[i] = X[i, 0] + e[0, 0] }}").program()
    )
    handed = program.equations[0].target
    program = replace(
        program, outputs=(handed,), equations=tuple(e for e in program.equations if e.target is handed)
    )
    try:
        certify(parse_kernel(loops), program)
    except tx.CertificateError as e:
        assert e.label == obligation, str(e)
    else:
        assert not obligation
