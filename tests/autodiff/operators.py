"""Operators of the language as programs, by name: what the gradient tests differentiate."""

from __future__ import annotations

from tests.autodiff.writing import (
    array,
    axes,
    call,
    equation,
    iff,
    invoke,
    maximum,
    names,
    or_value,
    program,
    reduce,
    to,
)
from texpr.ir.dtypes import F64, I64
from texpr.ir.expr import Guard
from texpr.ir.tensor import Program

INF = float("inf")


def matmul() -> Program:
    M, K, N, i, j, k = names("M K N i j k")
    A, B, C = array("A", M, K), array("B", K, N), array("C", M, N)
    value = reduce("sum", axes(k, K), A[i, k] * B[k, j])
    return program("matmul", [A, B], [C], [equation(C, (i, j), axes(i, M, j, N), value)], [M, K, N])


def conv2d(stride: int, pad: int) -> Program:
    N, C, H, W, K, R, Q = sizes = names("N C H W K R Q")
    n, k, y, x, c, r, q = names("n k y x c r q")
    U, V = (H + 2 * pad - R) // stride + 1, (W + 2 * pad - Q) // stride + 1
    X, F, b, Y = array("X", N, C, H, W), array("F", K, C, R, Q), array("b", K), array("Y", N, K, U, V)
    guard = (or_value(0),) if pad else ()
    read = X[n, c, y * stride + r - pad, x * stride + q - pad, *guard]
    value = b[k] + reduce("sum", axes(c, C, r, R, q, Q), read * F[k, c, r, q])
    return program(
        "conv2d", [X, F, b], [Y], [equation(Y, (n, k, y, x), axes(n, N, k, K, y, U, x, V), value)], sizes
    )


def softmax() -> Program:
    A, D, B, a, j, b, k = names("*A D *B *a j *b k")
    over = axes(a, A, j, D, b, B)
    X, m, e, Y = array("X", A, D, B, pack=1), array("m", A, B), array("e", A, D, B), array("Y", A, D, B)
    return program(
        "softmax",
        [X],
        [Y],
        [
            equation(m, (a, b), axes(a, A, b, B), reduce("max", axes(j, D), X[a, j, b])),
            equation(e, (a, j, b), over, call("exp", X[a, j, b] - m[a, b])),
            equation(Y, (a, j, b), over, e[a, j, b] / reduce("sum", axes(k, D), e[a, k, b])),
        ],
        [A, D, B],
        [0 < D],
    )


def logsumexp() -> Program:
    N, D, n, j, k = names("N D n j k")
    X, m, y = array("X", N, D), array("m", N), array("y", N)
    return program(
        "logsumexp",
        [X],
        [y],
        [
            equation(m, (n,), axes(n, N), reduce("max", axes(j, D), X[n, j])),
            equation(
                y,
                (n,),
                axes(n, N),
                m[n] + call("log", reduce("sum", axes(k, D), call("exp", X[n, k] - m[n]))),
            ),
        ],
        [N, D],
        [0 < D],
    )


def layernorm() -> Program:
    N, D, n, j, k = names("N D n j k")
    X, g, b, mu, var, Y = (
        array("X", N, D),
        array("g", D),
        array("b", D),
        array("mu", N),
        array("var", N),
        array("Y", N, D),
    )
    deviation = X[n, k] - mu[n]
    return program(
        "layernorm",
        [X, g, b],
        [Y],
        [
            equation(mu, (n,), axes(n, N), reduce("sum", axes(k, D), X[n, k]) / to(F64, D)),
            equation(var, (n,), axes(n, N), reduce("sum", axes(k, D), deviation * deviation) / to(F64, D)),
            equation(
                Y, (n, j), axes(n, N, j, D), (X[n, j] - mu[n]) * call("rsqrt", var[n] + 1e-5) * g[j] + b[j]
            ),
        ],
        [N, D],
    )


def relu() -> Program:
    S, s = names("*S *s")
    X, Y = array("X", S), array("Y", S)
    return program("relu", [X], [Y], [equation(Y, (s,), axes(s, S), maximum(X[s], 0))], [S])


def gelu() -> Program:
    S, s = names("*S *s")
    X, Y = array("X", S), array("Y", S)
    value = 0.5 * X[s] * (1 + call("erf", X[s] * 0.7071067811865476))
    return program("gelu", [X], [Y], [equation(Y, (s,), axes(s, S), value)], [S])


def maxpool(size: int, stride: int, pad: int) -> Program:
    H, W, y, x, r, q = names("H W y x r q")
    U, V = (H + (2 * pad) - size) // stride + 1, (W + (2 * pad) - size) // stride + 1
    X, Y = array("X", H, W), array("Y", U, V)
    read = X[y * stride + r - pad, x * stride + q - pad, or_value(-INF)]
    value = reduce("max", axes(r, size, q, size), read)
    return program("maxpool", [X], [Y], [equation(Y, (y, x), axes(y, U, x, V), value)], [H, W])


def embedding() -> Program:
    V, D, B, b, d = names("V D *B *b d")
    E, ids, Y = array("E", V, D), array("ids", B, dtype=I64, value_range=(0, V)), array("Y", B, D)
    return program(
        "embedding", [E, ids], [Y], [equation(Y, (b, d), axes(b, B, d, D), E[ids[b], d])], [V, D, B]
    )


def product() -> Program:
    N, D, n, j = names("N D n j")
    X, y = array("X", N, D), array("y", N)
    return program(
        "product", [X], [y], [equation(y, (n,), axes(n, N), reduce("prod", axes(j, D), X[n, j]))], [N, D]
    )


def concat() -> Program:
    A, N, M, B, a, i, b = names("*A N M *B *a i *b")
    X, Z, Y = array("X", A, N, B, pack=1), array("Z", A, M, B), array("Y", A, N + M, B)
    return program(
        "concat",
        [X, Z],
        [Y],
        [
            equation(Y, (a, i, b), axes(a, A, i, N, b, B), X[a, i, b]),
            equation(Y, (a, N + i, b), axes(a, A, i, M, b, B), Z[a, i, b]),
        ],
        [A, N, M, B],
    )


def heat() -> Program:
    N, i = names("N i")
    U, V = array("U", N), array("V", N)
    value = U[i] + 0.1 * (U[i - 1, Guard("clamp")] - 2 * U[i] + U[i + 1, Guard("clamp")])
    return program("heat", [U], [V], [equation(V, (i,), axes(i, N), value)], [N])


def attention() -> Program:
    B, L, M, D, b, i, j, d = names("B L M D b i j d")
    Q, K, V = array("Q", B, L, D), array("K", B, M, D), array("V", B, M, D)
    S, P, Y = array("S", B, L, M), array("P", B, L, M), array("O", B, L, D)
    score = reduce("sum", axes(d, D), Q[b, i, d] * K[b, j, d]) * call("rsqrt", to(F64, D))
    return program(
        "attention",
        [Q, K, V],
        [Y],
        [
            equation(S, (b, i, j), axes(b, B, i, L, j, M), iff(j <= i + M - L, score, -INF)),
            invoke([P], row_softmax(), S),
            equation(
                Y, (b, i, d), axes(b, B, i, L, d, D), reduce("sum", axes(j, M), P[b, i, j] * V[b, j, d])
            ),
        ],
        [B, L, M, D],
    )


def row_softmax() -> Program:
    """Softmax over the last of three dimensions."""
    A, D, B, a, j, b, k = names("A D B a j b k")
    X, m, e, Y = array("X", A, B, D), array("m", A, B), array("e", A, B, D), array("Y", A, B, D)
    over = axes(a, A, b, B, j, D)
    return program(
        "softmax",
        [X],
        [Y],
        [
            equation(m, (a, b), axes(a, A, b, B), reduce("max", axes(j, D), X[a, b, j])),
            equation(e, (a, b, j), over, call("exp", X[a, b, j] - m[a, b])),
            equation(Y, (a, b, j), over, e[a, b, j] / reduce("sum", axes(k, D), e[a, b, k])),
        ],
        [A, D, B],
        [0 < D],
    )


def cumsum() -> Program:
    L, D, t, d = names("L *D t *d")
    X, Y = array("X", L, D), array("Y", L, D)
    return program(
        "cumsum",
        [X],
        [Y],
        [equation(Y, (t, d), axes(t, L, d, D), Y[t - 1, d, or_value(0)] + X[t, d])],
        [L, D],
    )


def upsample() -> Program:
    H, W, y, x = names("H W y x")
    X, Y = array("X", H, W), array("Y", H * 2, W * 3)
    return program(
        "upsample", [X], [Y], [equation(Y, (y, x), axes(y, H * 2, x, W * 3), X[y // 2, x // 3])], [H, W]
    )
