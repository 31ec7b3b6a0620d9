"""Operators of several stages, and schedules that compute each stage where it is used."""

from __future__ import annotations

from dataclasses import dataclass

BLUR = """op blur(X: f32[M, N]) -> Y: f32[M, N] {
  h[i, j] = X[i, j-1 | clamp] + X[i, j] + X[i, j+1 | clamp]
  Y[i, j] = (h[i-1, j | clamp] + h[i, j] + h[i+1, j | clamp]) / 9
}"""
UNSHARP = """op unsharp(X: f32[M, N]) -> Y: f32[M, N] {
  h[i, j] = 0.25 * X[i, j-1 | clamp] + 0.5 * X[i, j] + 0.25 * X[i, j+1 | clamp]
  v[i, j] = 0.25 * h[i-1, j | clamp] + 0.5 * h[i, j] + 0.25 * h[i+1, j | clamp]
  s[i, j] = 2 * X[i, j] - v[i, j]
  r[i, j] = s[i, j] / (v[i, j] + 0.001)
  Y[i, j] = r[i, j] * X[i, j]
}"""
HARRIS = """op harris(X: f32[M, N]) -> Y: f32[M, N] {
  dx[i, j] = X[i, j+1 | clamp] - X[i, j-1 | clamp] + 0 * X[i, j]
  dy[i, j] = X[i+1, j | clamp] - X[i-1, j | clamp] + 0 * X[i, j]
  xx[i, j] = dx[i, j] * dx[i, j]
  yy[i, j] = dy[i, j] * dy[i, j]
  xy[i, j] = dx[i, j] * dy[i, j]
  sxx[i, j] = xx[i-1, j | clamp] + xx[i, j] + xx[i+1, j | clamp] + xx[i, j-1 | clamp] + xx[i, j+1 | clamp]
  syy[i, j] = yy[i-1, j | clamp] + yy[i, j] + yy[i+1, j | clamp] + yy[i, j-1 | clamp] + yy[i, j+1 | clamp]
  sxy[i, j] = xy[i-1, j | clamp] + xy[i, j] + xy[i+1, j | clamp] + xy[i, j-1 | clamp] + xy[i, j+1 | clamp]
  Y[i, j] = sxx[i, j] * syy[i, j] - sxy[i, j] * sxy[i, j] - 0.04 * (sxx[i, j] + syy[i, j]) * (sxx[i, j] + syy[i, j])
}"""
SOFTMAX = """op softmax(X: f32[M, N]) -> Y: f32[M, N] {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}"""
LAYERNORM = """op layernorm(X: f32[M, N], w: f32[N], b: f32[N]) -> Y: f32[M, N] {
  mean[i] = sum(j: X[i, j]) / f32(N)
  c[i, j] = X[i, j] - mean[i]
  var[i] = sum(j: c[i, j] * c[i, j]) / f32(N)
  Y[i, j] = c[i, j] / sqrt(var[i] + 0.00001) * w[j] + b[j]
}"""
ATTENTION = """op attention(Q: f32[T, D], K: f32[S, D], V: f32[S, D]) -> O: f32[T, D] {
  s[t, u] = sum(d: Q[t, d] * K[u, d])
  m[t] = max(u: s[t, u])
  p[t, u] = exp(s[t, u] - m[t])
  z[t] = sum(u: p[t, u])
  o[t, d] = sum(u: p[t, u] * V[u, d])
  O[t, d] = o[t, d] / z[t]
}"""
CONV = """op conv(X: f32[C, H, W], F: f32[K, C, 3, 3], b: f32[K]) -> Y: f32[K, H, W] {
  A[k, y, x] = sum(c, r, s: X[c, y + r - 1, x + s - 1 | 0] * F[k, c, r, s])  for y in 0..H, x in 0..W
  Y[k, y, x] = max(0, A[k, y, x] + b[k])
}"""
LSTM = """op lstm(X: f32[T, I], Wx: f32[4 * N, I], Wh: f32[4 * N, N], b: f32[4 * N]) -> (h: f32[T, N]) {
  let c: f32[T, N]
  x[t, g] = sum(i: Wx[g, i] * X[t, i]) + b[g]
  gate[t, g] = x[t, g] + sum(n: Wh[g, n] * h[t-1, n | 0])
  c[t, n] = sigmoid(gate[t, n + N]) * c[t-1, n | 0] + sigmoid(gate[t, n]) * tanh(gate[t, n + 2 * N])
  h[t, n] = sigmoid(gate[t, n + 3 * N]) * tanh(c[t, n])
}"""


@dataclass(frozen=True, slots=True)
class Example:
    """An operator, the sizes it is measured at, small ones to check it with, and named scripts."""

    text: str
    large: dict[str, int]
    small: tuple[dict[str, int], ...]
    scripts: dict[str, str]


def _lines(*steps: str) -> str:
    return "\n".join(steps)


_IMAGES = ({"M": 33, "N": 65}, {"M": 1, "N": 3}, {"M": 40, "N": 70})
_ROWS = (
    'peel("h.j", 1, 1)',
    'split("h.j", 64, tail="peel")',
    'vectorize("h.ji")',
    'split("Y.j", 64, tail="peel")',
    'vectorize("Y.ji")',
)
_INLINED = ('peel("Y.j", 1, 1)', 'split("Y.j", 64, tail="peel")', 'vectorize("Y.ji")', 'parallel("Y.i")')
_SUMS = 'split("{0}", 64)', 'rfactor("{0}i", reassoc=True)', 'vectorize("{0}i")', 'vectorize("{0}i_sum")'


def _sum(loop: str) -> list[str]:
    """A sum in 64 lanes."""
    return [step.format(loop) for step in _SUMS]


EXAMPLES = {
    "blur": Example(
        BLUR,
        {"M": 2048, "N": 2048},
        _IMAGES,
        {
            "tile": _lines(
                'split("Y.i", 8)',
                'split("Y.j", 16)',
                'reorder("Y.io", "Y.jo", "Y.ii", "Y.ji")',
                'compute_at("h", "Y.jo")',
                'parallel("Y.io")',
            ),
            "strip": _lines(*_ROWS, 'split("Y.i", 32)', 'compute_at("h", "Y.io")', 'parallel("Y.io")'),
            "row": _lines(*_ROWS, 'compute_at("h", "Y.i")', 'parallel("Y.i")'),
            "window": _lines(
                'split("Y.i", 64)',
                'compute_at("h", "Y.ii", slide=True)',
                'fold_storage("h", 0)',
                'parallel("Y.io")',
            ),
            "ahead": _lines(
                *_ROWS,
                'split("Y.i", 8)',
                'split("Y.io", 8)',
                'compute_at("h", "Y.ioi")',
                'pipeline("h")',
                'parallel("Y.ioo")',
            ),
            "inlined": _lines('inline("h")', *_INLINED),
        },
    ),
    "unsharp": Example(
        UNSHARP,
        {"M": 1024, "N": 2048},
        _IMAGES,
        {
            "inlined": _lines(
                'inline("r")',
                'inline("s")',
                'compute_at("v", "Y.i")',
                'compute_at("h", "Y.i")',
                'parallel("Y.i")',
            ),
            "strips": _lines(
                'inline("r")',
                'inline("s")',
                'split("Y.i", 16)',
                'compute_at("v", "Y.ii")',
                'compute_at("h", "Y.ii", slide=True)',
                'fold_storage("h", 0)',
                'parallel("Y.io")',
            ),
            "all": _lines('inline("r")', 'inline("s")', 'inline("v")', 'inline("h")', *_INLINED),
        },
    ),
    "harris": Example(
        HARRIS,
        {"M": 1024, "N": 1024},
        _IMAGES,
        {
            "rows": _lines(
                *(f'inline("{t}")' for t in ("xx", "yy", "xy", "sxx", "syy", "sxy")),
                'split("Y.i", 16)',
                'compute_at("dx", "Y.io")',
                'compute_at("dy", "Y.io")',
                'parallel("Y.io")',
            ),
            "tiles": _lines(
                'split("Y.i", 8)',
                'split("Y.j", 16)',
                'reorder("Y.io", "Y.jo", "Y.ii", "Y.ji")',
                *(f'compute_at("{t}", "Y.jo")' for t in ("sxx", "syy", "sxy", "xx", "yy", "xy", "dx", "dy")),
                'parallel("Y.io")',
            ),
        },
    ),
    "softmax": Example(
        SOFTMAX,
        {"M": 2048, "N": 1024},
        ({"M": 5, "N": 130}, {"M": 1, "N": 1}),
        {
            "row": _lines(
                *_sum("m.j"),
                *_sum("Y_sum.k"),
                'split("e.j", 64)',
                'vectorize("e.ji")',
                'split("Y.j", 64)',
                'vectorize("Y.ji")',
                'compute_at("Y_sum", "Y.i")',
                'compute_at("e", "Y.i")',
                'compute_at("m", "Y.i")',
                'parallel("Y.i")',
            ),
            "upward": _lines(
                'reverse_compute_at("e", "m.i")',
                'reverse_compute_at("Y_sum", "m.i")',
                'reverse_compute_at("Y", "m.i")',
                'parallel("m.i")',
            ),
        },
    ),
    "layernorm": Example(
        LAYERNORM,
        {"M": 2048, "N": 1024},
        ({"M": 5, "N": 130}, {"M": 1, "N": 1}),
        {
            "row": _lines(
                'inline("c")', 'compute_at("var", "Y.i")', 'compute_at("mean", "Y.i")', 'parallel("Y.i")'
            )
        },
    ),
    "attention": Example(
        ATTENTION,
        {"T": 512, "S": 512, "D": 64},
        ({"T": 9, "S": 5, "D": 3}, {"T": 16, "S": 16, "D": 8}),
        {
            "block": _lines(
                'split("O.t", 8)', *(f'compute_at("{t}", "O.to")' for t in "ozpms"), 'parallel("O.to")'
            )
        },
    ),
    "conv": Example(
        CONV,
        {"C": 32, "H": 56, "W": 56, "K": 32},
        ({"C": 2, "H": 5, "W": 9, "K": 3},),
        {
            "epilogue": _lines(
                'split("A.x", 8)',
                'reorder("A.k", "A.y", "A.xo", "A.c", "A.r", "A.s", "A.xi")',
                'reverse_compute_at("Y", "A.xo")',
                'parallel("A.k")',
            )
        },
    ),
    "lstm": Example(
        LSTM,
        {"T": 64, "I": 64, "N": 64},
        ({"T": 5, "I": 3, "N": 4}, {"T": 1, "I": 1, "N": 1}),
        {
            "gates": _lines(
                'compute_at("x", "gate.t")',
                'fold_storage("x", 0)',
                'fold_storage("gate", 0)',
                'fold_storage("c", 0)',
            )
        },
    ),
}
