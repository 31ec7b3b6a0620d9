"""Buffers that each iteration fills anew: allocated once, in the innermost loop around all uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from texpr.ir.loop import Alloc, Kernel
from texpr.ir.printing.loop import show_kernel
from texpr.lang import parse_kernel
from texpr.poly.certificate.engine.obligations import Proof
from texpr.poly.certificate.engine.privatization import privatize_buffers
from texpr.poly.certificate.engine.statement_extraction import extract, parameters_of

LOOPS = """kernel k(X: f32[N, 4]) -> (Y: f32[N, 4])
{kernel}  for i in 0..N
{i}    for a in 0..4
{a}      R = X[i, a]  copy
      T[a] = R  copy
    for b in 0..4
      Y[i, b] = T[3 - b]
  if 1 < N
{condition}    for j in 0..N
{j}      for c in 0..4
        S[c] = X[j, c]  copy
      for d in 0..4
        Y[j, d] = S[d]
"""
PLACES = {"kernel": "  ", "i": "    ", "a": "      ", "condition": "    ", "j": "      "}
SHAPES = {"T": "f32[4]", "R": "f32", "S": "f32[4]"}


def loops(**buffers: str) -> Kernel:
    """The loops with each buffer allocated at a place."""
    lets = {
        place: "".join(f"{space}let {t}: {SHAPES[t]}\n" for t in SHAPES if buffers[t] == place)
        for place, space in PLACES.items()
    }
    return parse_kernel(LOOPS.format(**lets))


def of_kernel(k: Kernel) -> Kernel:
    return k


def in_body(k: Kernel) -> Kernel:
    """The kernel with its own buffers allocated by statements."""
    return replace(k, temporaries=(), body=(*map(Alloc, k.temporaries), *k.body))


def privatized(k: Kernel) -> Kernel | None:
    nest = extract(k, parameters_of(k))
    proof = privatize_buffers(Proof(nest, None, {}, None))  # type: ignore[arg-type]
    return None if proof is None else proof.nest.kernel


@pytest.mark.parametrize("of", [of_kernel, in_body])
@pytest.mark.parametrize(
    "places", [("kernel", "kernel", "kernel"), ("i", "i", "condition"), ("kernel", "a", "kernel")]
)
def test_buffers_move_to_their_loops(of: Callable[[Kernel], Kernel], places: tuple[str, str, str]):
    made = privatized(of(loops(**dict(zip("TRS", places)))))
    assert made is not None
    assert show_kernel(made) == show_kernel(loops(T="i", R="a", S="j"))
    assert privatized(made) is None
