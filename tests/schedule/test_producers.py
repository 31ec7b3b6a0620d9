"""Steps that move what computes a tensor: laws at sizes around a tile, pictures, complaints."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.schedule.drawing import TEXTS, Scheduled, check, random_arrays
from texpr.ir.interpret_loop import ORDERS
from texpr.passes.guards import drop_guards
from texpr.passes.place import place

OPS = {name: tx.op(text) for name, text in TEXTS.items()} | {
    "halves_of": tx.op("op halves_of(X: f32[N]) -> Y: f32[N] { h[i] = X[i] * 2  Y[i] = h[i // 2] + h[N - 1 - i] }"),
    "evens": tx.op("""op evens(X: f32[N]) -> Y: f32[2 * N] {
        let t: f32[2 * N]
        t[2 * i] = X[i]
        t[2 * i + 1] = X[i] * 2  for i in 0..N
        Y[k] = t[2 * N - 1 - k] }"""),
    "half": tx.op("op half(X: f16[N]) -> Y: f16[N] { h[i] = f16(X[i] * 1.1)  Y[i] = f16(h[i] * h[i] + h[i - 1 | 0]) }"),
    "brain": tx.op("op brain(X: bf16[N]) -> Y: f32[N] { h[i] = bf16(X[i] * 1.1)  Y[i] = f32(h[i]) * 3 }"),
    "masked": tx.op("op masked(X: f32[M, N]) -> Y: f32[M] { h[i, j] = X[i, j] * 2  Y[i] = sum(j where h[i, j] > 0: h[i, j]) }"),
    "sums": tx.op("op sums(X: f32[N]) -> (a: f32[N], b: f32[N]) { a[i] = X[i] + 1  b[i] = a[i] * a[N - 1 - i] }"),
    "running": tx.op("op running(X: f32[N]) -> Y: f32[N] { let h: f32[N]  h[i] = h[i - 1 | 0] + X[i]  Y[i] = h[i] * 2 }"),
    "deep": tx.op("""op deep(X: f32[N]) -> Y: f32[N] {
        a[i] = X[i - 2 | 0] + X[i - 1 | 0] + X[i] + X[i + 1 | 0] + X[i + 2 | 0]
        b[i] = a[i - 2 | 0] + a[i - 1 | 0] + a[i] + a[i + 1 | 0] + a[i + 2 | 0]
        c[i] = b[i - 2 | 0] + b[i - 1 | 0] + b[i] + b[i + 1 | 0] + b[i + 2 | 0]
        d[i] = c[i - 2 | 0] + c[i - 1 | 0] + c[i] + c[i + 1 | 0] + c[i + 2 | 0]
        Y[i] = d[i - 2 | 0] + d[i - 1 | 0] + d[i] + d[i + 1 | 0] + d[i + 2 | 0] }"""),
}
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9)
"""Around tiles of 4 and of 8."""

INLINE = {
    "blur": ("blur", {}, 's.inline("h")'),
    "chain": ("chain", {}, 's.inline("t")'),
    "choice": ("padded", {}, 's.inline("t")'),
    "flip": ("halves_of", {}, 's.inline("h")'),
    "interleaved": ("evens", {}, 's.inline("t")'),
    "into_a_sum": ("softmax", {}, 's.inline("e")'),
    "into_a_condition": ("masked", {}, 's.inline("h")'),
    "half": ("half", {}, 's.inline("h")'),
    "brain": ("brain", {}, 's.inline("h")'),
    "tiled": ("softmax", {}, 's.split("e.i", 4).split("e.j", 4).inline("e")'),
    "readers_tiled": ("softmax", {}, 's.split("Y.j", 4).inline("e")'),
    "moved": ("lag", {}, 's.compute_at("h", "Y.i").inline("h")'),
    "of_an_output": ("sums", {}, 's.inline("a")'),
}


@pytest.mark.parametrize("name", INLINE)
def test_inline(name, golden):
    picture_and_law(golden, *INLINE[name])


def picture_and_law(golden, op: str, sizes: dict[str, int], text: str) -> None:
    """The picture after the steps, and every bit at every size."""
    s = tx.schedule(OPS[op], **sizes)
    exec(text, {"s": s})
    again = tx.schedule(OPS[op], **sizes).replay(s.script())
    assert str(again) == str(s)
    golden(f"{text}\n\n{s}\n\n{s.script()}")
    for n in SIZES:
        keeps_every_bit(s, {v: sizes.get(v.name, n) for v in s.program.sizes})


def keeps_every_bit(s: tx.Schedule, sizes: dict) -> None:
    arrays = random_arrays(s.program, sizes)
    case = Scheduled(s.program, sizes, s.kernel, s.steps)
    with np.errstate(all="ignore"):
        for order in ORDERS:
            check(case, s.kernel, arrays, order)
        check(case, drop_guards(place(s.kernel)), arrays)


REFUSED = {
    "softmax": ['s.inline("m")', 's.inline("X")', 's.inline("Y")', "s.inline(3)", 's.inline("m_acc")'],
    "scatter": ['s.inline("Y")'],
    "running": ['s.inline("h")'],
    "deep": ['s.inline("a").inline("b").inline("c").inline("d")'],
}


@pytest.mark.parametrize("op", REFUSED)
def test_refused(op, golden):
    golden("\n".join(complaint(tx.schedule(OPS[op]), text) for text in REFUSED[op]))


def complaint(s: tx.Schedule, text: str) -> str:
    """What a step that must be refused says, the step on top."""
    with pytest.raises((tx.ScheduleError, tx.ResourceError)) as error:
        exec(text, {"s": s})
    return f"# {text}\n{error.value}\n"
