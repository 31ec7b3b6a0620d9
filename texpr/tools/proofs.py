"""`python -m texpr bench proofs`: what checking a step and certifying a finished nest cost, against what was promised."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from texpr.compiler import op, schedule
from texpr.compiler.schedule import Schedule
from texpr.schedule.script import parse_script

STEP_BAR, CONVOLUTION_BAR, PRODUCT_BAR = 10.0, 100.0, 60.0
"""Milliseconds of processor time: of a step, of the certificate of a tiled convolution with what follows it, of a packed product."""

PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
CONVOLUTION = """
op convolution(X: f32[N, C, H, W], F: f32[K, C, R, Q], b: f32[K]; S = 1, P = 1)
   -> Y: f32[N, K, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1] require R <= H + 2*P, Q <= W + 2*P {
  let Z: f32[N, K, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1]
  Z[n, k, y, x] = b[k] + sum(c, r, q: X[n, c, S*y + r - P, S*x + q - P | 0] * F[k, c, r, q])
  Y[n, k, y, x] = max(Z[n, k, y, x], 0)
}
"""
BLUR = """
op blur(X: f32[H, W]) -> Y: f32[H, W] {
  T[i, j] = (X[i, j-1 | clamp] + X[i, j] + X[i, j+1 | clamp]) / 3
  Y[i, j] = (T[i-1, j | clamp] + T[i, j] + T[i+1, j | clamp]) / 3
}
"""
SCRIPTS = {
    "product": (PRODUCT, 'split("i", 32)\nsplit("j", 64)\nreorder("io", "jo", "k", "ii", "ji")\nvectorize("ji")\nparallel("io")'),
    "blur": (BLUR, 'tile("Y.i", "Y.j", sizes=(32, 64))\ncompute_at("T", "Y.jo")\nvectorize("Y.ji")\nvectorize("T.j")\nparallel("Y.io")'),
    "convolution": (CONVOLUTION, """\
tile("Z.y", "Z.x", sizes=(16, 32))
tile("Z.yi", "Z.xi", sizes=(4, 16))
reorder("Z.c", "Z.r", "Z.q", "Z.yii", "Z.xii")
parallel("Z.k")
tile("Y.y", "Y.x", sizes=(16, 32))
parallel("Y.k")"""),
}


def rows(runs: int) -> Iterator[tuple[str, float, float]]:
    """What was timed, the median in milliseconds, and its bar: each step of each script with all sizes symbolic, then certificates."""
    for name, (text, script) in SCRIPTS.items():
        times = [_steps(schedule(op(text)), script) for _ in range(runs)]
        for k, step in enumerate(parse_script(script)):
            yield f"{name}: {step}", median(t[k] for t in times), STEP_BAR
    yield "certificate of the convolution", _certified(*SCRIPTS["convolution"], runs), CONVOLUTION_BAR
    packed = schedule(op(PRODUCT), M=2048, N=2048, K=2048).auto().script()
    yield "certificate of the packed product", _certified(PRODUCT, packed, runs, M=2048, N=2048, K=2048), PRODUCT_BAR


def _steps(s: Schedule, script: str) -> list[float]:
    return [_milliseconds(lambda step=step: s.apply(step)) for step in parse_script(script)]


def _certified(text: str, script: str, runs: int, **sizes: int) -> float:
    """Of schedules made anew, since what is proven of a kernel is remembered."""
    return median(_milliseconds(schedule(op(text), **sizes).replay(script).certificate) for _ in range(runs))


def _milliseconds(run) -> float:
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3
