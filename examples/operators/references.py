"""What every operator of the `.tx` files beside this one computes, in NumPy: one function of the
same name and arguments.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def gemm(alpha: Array, beta: Array, A: Array, B: Array, C: Array) -> Array:
    return alpha * A @ B + beta * C


def two_mm(alpha: Array, beta: Array, A: Array, B: Array, C: Array, D: Array) -> Array:
    return alpha * A @ B @ C + beta * D


def three_mm(A: Array, B: Array, C: Array, D: Array) -> Array:
    return (A @ B) @ (C @ D)


def atax(A: Array, x: Array) -> Array:
    return A.T @ (A @ x)


def bicg(A: Array, p: Array, r: Array) -> tuple[Array, Array]:
    return A.T @ r, A @ p


def mvt(A: Array, x1: Array, x2: Array, y1: Array, y2: Array) -> tuple[Array, Array]:
    return x1 + A @ y1, x2 + A.T @ y2


def gesummv(alpha: Array, beta: Array, A: Array, B: Array, x: Array) -> Array:
    return alpha * A @ x + beta * B @ x


def syrk(alpha: Array, beta: Array, A: Array, C: Array) -> Array:
    return np.tril(alpha * A @ A.T + beta * C) + np.triu(C, 1)


def trmm(alpha: Array, A: Array, B: Array) -> Array:
    return alpha * (np.tril(A, -1) + np.eye(len(A))).T @ B


def doitgen(A: Array, C: Array) -> Array:
    return A @ C


def trisolv(L: Array, b: Array) -> Array:
    return np.linalg.solve(np.tril(L), b)


def cholesky(A: Array) -> Array:
    return np.linalg.cholesky(A)


def lu(A: Array) -> Array:
    F = A.copy()
    for k in range(len(F)):
        F[k + 1 :, k] /= F[k, k]
        F[k + 1 :, k + 1 :] -= np.outer(F[k + 1 :, k], F[k, k + 1 :])
    return F


def covariance(X: Array) -> Array:
    return np.cov(X, rowvar=False)


def correlation(X: Array) -> Array:
    return np.corrcoef(X, rowvar=False)


def power_iteration(A: Array, start: Array, STEPS: int) -> tuple[Array, Array]:
    x = start
    for _ in range(STEPS):
        x = A @ x / np.linalg.norm(A @ x)
    return x, (A @ x) @ x / (x @ x)


def gram_schmidt(A: Array) -> tuple[Array, Array]:
    Q, R = np.linalg.qr(A.T)
    signs = np.sign(np.diag(R))
    return (R * signs[:, None]).T, (Q * signs).T


def jacobi_1d(A: Array, STEPS: int) -> Array:
    for _ in range(STEPS):
        A = np.concatenate([A[:1], (A[:-2] + A[1:-1] + A[2:]) / 3, A[-1:]])
    return A


def jacobi_2d(A: Array, STEPS: int) -> Array:
    for _ in range(STEPS):
        B = A.copy()
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A = B
    return A


def heat_3d(A: Array, STEPS: int) -> Array:
    inside = (slice(1, -1),) * 3
    for _ in range(STEPS):
        B = A.copy()
        second = [np.diff(np.moveaxis(A, axis, 0), 2, axis=0) for axis in range(3)]
        B[inside] += 0.125 * sum(np.moveaxis(d[:, 1:-1, 1:-1], 0, axis) for axis, d in enumerate(second))
        A = B
    return A


def seidel_2d(A: Array, STEPS: int) -> Array:
    A = A.copy()
    for _ in range(STEPS):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = A[i - 1 : i + 2, j - 1 : j + 2].sum() / 9
    return A


def fdtd_2d(EX: Array, EY: Array, HZ: Array, source: Array) -> tuple[Array, Array, Array]:
    ex, ey, hz = EX.copy(), EY.copy(), HZ.copy()
    for value in source:
        ey[0] = value
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def life(A: Array, STEPS: int) -> Array:
    moves = [(r, q) for r in (-1, 0, 1) for q in (-1, 0, 1) if (r, q) != (0, 0)]
    for _ in range(STEPS):
        n = sum(np.roll(A, move, (0, 1)) for move in moves)
        A = ((n == 3) | ((n == 2) & (A == 1))).astype(np.uint8)
    return A


def edit_distance(A: Array, B: Array) -> Array:
    row = list(range(len(B) + 1))
    for i, a in enumerate(A):
        new = [i + 1]
        for j, b in enumerate(B):
            new.append(min(row[j + 1] + 1, new[j] + 1, row[j] + int(a != b)))
        row = new
    return np.int32(row[-1])


def common_subsequence(A: Array, B: Array) -> Array:
    row = [0] * (len(B) + 1)
    for a in A:
        new = [0]
        for j, b in enumerate(B):
            new.append(row[j] + 1 if a == b else max(row[j + 1], new[j]))
        row = new
    return np.int32(row[-1])


def knapsack(weight: Array, value: Array, CAPACITY: int) -> Array:
    best = np.zeros(CAPACITY + 1)
    for w, v in zip(weight, value):
        best[w:] = np.maximum(best[w:], best[: CAPACITY + 1 - w] + v)
    return best[-1]


def viterbi(start: Array, change: Array, emit: Array, seen: Array) -> tuple[Array, Array]:
    score, before = [start + emit[:, seen[0]]], [np.zeros(len(start), np.int64)]
    for v in seen[1:]:
        ways = score[-1][:, None] + change
        before.append(ways.argmax(0))
        score.append(ways.max(0) + emit[:, v])
    return np.array(score), np.array(before)


def floyd_warshall(W: Array) -> Array:
    for k in range(len(W)):
        W = np.minimum(W, W[:, k : k + 1] + W[k])
    return W


def _windows(X: Array, radius: int) -> Array:
    padded = np.pad(X, radius, mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, (2 * radius + 1, 2 * radius + 1))


def box(X: Array, R: int = 1) -> Array:
    return _windows(X, R).mean((2, 3))


def gaussian(X: Array) -> Array:
    taps = np.array([1, 4, 6, 4, 1]) / 16
    return np.einsum("yxab,a,b->yx", _windows(X, 2), taps, taps)


def sobel(X: Array) -> Array:
    P = np.pad(X, 1, mode="reflect")
    smooth_down = P[:-2] + 2 * P[1:-1] + P[2:]
    smooth_across = P[:, :-2] + 2 * P[:, 1:-1] + P[:, 2:]
    return np.hypot(smooth_down[:, 2:] - smooth_down[:, :-2], smooth_across[2:] - smooth_across[:-2])


def bilateral(X: Array, s: Array, r: Array) -> Array:
    near = _windows(X, 2)
    offsets = np.arange(-2, 3)
    distance = offsets[:, None] ** 2 + offsets**2
    w = np.exp(-distance / (2 * s * s) - (near - X[:, :, None, None]) ** 2 / (2 * r * r))
    return (w * near).sum((2, 3)) / w.sum((2, 3))


def mandelbrot(cx: Array, cy: Array, STEPS: int = 50) -> Array:
    c = cx + 1j * cy[:, None]
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(STEPS):
            z = z * z + c
            count += z.real**2 + z.imag**2 <= 4
    return count


def prefix_sum(X: Array) -> Array:
    return np.cumsum(X)


def moving_average(X: Array, K: int) -> Array:
    return np.convolve(X, np.ones(K) / K, "valid")


def exponential_average(X: Array, a: Array) -> Array:
    out = [X[0]]
    for x in X[1:]:
        out.append((1 - a) * out[-1] + a * x)
    return np.array(out)


def dft(X: Array) -> tuple[Array, Array]:
    F = np.fft.fft(X)
    return F.real, F.imag


def horner(c: Array, x: Array) -> Array:
    return np.polynomial.polynomial.polyval(x, c)


def convolve(X: Array, W: Array) -> Array:
    return np.convolve(X, W)


def histogram(X: Array, BINS: int) -> Array:
    return np.bincount(X, minlength=BINS)


def nearest_centre(X: Array, C: Array) -> tuple[Array, Array]:
    d = ((X[:, None] - C) ** 2).sum(2)
    return d.argmin(1), d.min(1)


def move_centres(X: Array, label: Array, C: Array) -> Array:
    return np.array([X[label == k].mean(0) if (label == k).any() else c for k, c in enumerate(C)])


def gravity(P: Array, mass: Array, soft: Array) -> Array:
    d = P[None] - P[:, None]
    return (mass[:, None] * d / ((d**2).sum(2) + soft**2)[:, :, None] ** 1.5).sum(1)


def steps_below(edges: Array, x: Array) -> Array:
    return (edges <= x[:, None]).sum(1)


def increasing(X: Array) -> Array:
    best: list[int] = []
    for i, x in enumerate(X):
        best.append(1 + max((best[j] for j in range(i) if X[j] < x), default=0))
    return np.array(best)


def matrix_chain(d: Array, names: Array) -> Array:
    n = len(names)
    C = np.zeros((n, n), np.int64)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            C[i, j] = min(C[i, k] + C[k + 1, j] + d[i] * d[k + 1] * d[j + 1] for k in range(i, j))
    return C


def tridiagonal(a: Array, b: Array, c: Array, d: Array) -> Array:
    return np.linalg.solve(np.diag(a[1:], -1) + np.diag(b) + np.diag(c[:-1], 1), d)


def qr_columns(A: Array) -> tuple[Array, Array]:
    Q, R = np.linalg.qr(A)
    signs = np.sign(np.diag(R))
    return Q * signs, R * signs[:, None]


def solve_upper(U: Array, b: Array) -> Array:
    return np.linalg.solve(np.triu(U), b)


def solve_right(U: Array, B: Array) -> Array:
    return np.linalg.solve(np.triu(U).T, B.T).T


def ldl(A: Array) -> tuple[Array, Array]:
    C = np.linalg.cholesky(A)
    return C / np.diag(C), np.diag(C) ** 2


def durbin(r: Array) -> Array:
    column = np.concatenate([[1], r[:-1]])
    places = np.arange(len(r))
    return np.linalg.solve(column[abs(places[:, None] - places)], -r)


def nussinov(base: Array) -> Array:
    n = len(base)
    P = np.zeros((n, n), np.int32)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            P[i, j] = max(
                P[i + 1, j - 1] + int(base[i] + base[j] == 3), *(P[i, k] + P[k + 1, j] for k in range(i, j))
            )
    return P


def search_tree(p: Array) -> Array:
    n = len(p)
    C = np.zeros((n + 1, n + 1))
    for length in range(1, n + 1):
        for i in range(n + 1 - length):
            j = i + length
            C[i, j] = p[i:j].sum() + min(C[i, root] + C[root + 1, j] for root in range(i, j))
    return C


def palindrome(X: Array) -> Array:
    n = len(X)
    P = np.eye(n, dtype=np.int32)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            P[i, j] = P[i + 1, j - 1] + 2 if X[i] == X[j] else max(P[i + 1, j], P[i, j - 1])
    return P


def knight(N: int, M: int) -> Array:
    W = np.zeros((N, M), np.int64)
    W[0, 0] = 1
    for diagonal in range(N + M - 1):
        for i in range(max(0, diagonal - M + 1), min(N, diagonal + 1)):
            for r, q in ((2, 1), (1, 2), (2, -1), (-1, 2)):
                if i + r in range(N) and diagonal - i + q in range(M):
                    W[i + r, diagonal - i + q] += W[i, diagonal - i]
    return W


def smith_waterman(A: Array, B: Array, match: Array, mismatch: Array, gap: Array) -> Array:
    H = np.zeros((len(A) + 1, len(B) + 1))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            H[i + 1, j + 1] = max(
                0, H[i, j] + (match if a == b else mismatch), H[i, j + 1] - gap, H[i + 1, j] - gap
            )
    return H.max()


def gotoh(A: Array, B: Array, open: Array, extend: Array) -> Array:
    S, E, F = (np.full((len(A) + 1, len(B) + 1), -np.inf) for _ in range(3))
    S[0, 0] = 0
    for i in range(len(A) + 1):
        for j in range(len(B) + 1):
            if j > 0:
                E[i, j] = max(S[i, j - 1] - open, E[i, j - 1] - extend)
            if i > 0:
                F[i, j] = max(S[i - 1, j] - open, F[i - 1, j] - extend)
            pair = S[i - 1, j - 1] + (1 if A[i - 1] == B[j - 1] else -1) if i > 0 and j > 0 else -np.inf
            S[i, j] = max(S[i, j], pair, E[i, j], F[i, j])
    return S[-1, -1]


def warping(A: Array, B: Array) -> Array:
    D = np.full((len(A) + 1, len(B) + 1), np.inf)
    D[0, 0] = 0
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            D[i + 1, j + 1] = abs(a - b) + min(D[i, j], D[i, j + 1], D[i + 1, j])
    return D[-1, -1]


def viterbi_path(start: Array, change: Array, emit: Array, seen: Array) -> Array:
    score, before = viterbi(start, change, emit, seen)
    path = [int(score[-1].argmax())]
    for choices in before[:0:-1]:
        path.append(int(choices[path[-1]]))
    return np.array(path[::-1])


def smoothing(start: Array, change: Array, emit: Array, seen: Array) -> Array:
    a, b = [start * emit[:, seen[0]]], [np.ones(len(start))]
    for v in seen[1:]:
        a.append(a[-1] @ change * emit[:, v])
    for v in seen[:0:-1]:
        b.append(change @ (emit[:, v] * b[-1]))
    p = np.array(a) * np.array(b[::-1])
    return p / p.sum(1, keepdims=True)


def biquad(X: Array, b: Array, a: Array) -> Array:
    y = [0.0, 0.0]
    for n in range(len(X)):
        x = [X[n - k] if n >= k else 0 for k in range(3)]
        y.append((b @ x - a[1] * y[-1] - a[2] * y[-2]) / a[0])
    return np.array(y[2:])


def nearest_set(X: Array) -> Array:
    return abs(np.arange(len(X))[:, None] - np.flatnonzero(X)).min(1)


def summed_area(X: Array) -> Array:
    return X.cumsum(0).cumsum(1)


def catalan(N: int) -> Array:
    C = [1]
    for n in range(N - 1):
        C.append(C[-1] * 2 * (2 * n + 1) // (n + 2))
    return np.array(C)
