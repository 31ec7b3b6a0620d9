"""Final loops that compute operators, in which tests plant faults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sound:
    """An operator, and a listing of loops that compute it."""

    op: str
    loops: str


KERNELS = {
    "matmul": Sound(
        "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
        """
kernel matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N])
  for io in 0..(M + 7) // 8 parallel
    for j in 0..N
      let acc: f32[8]  stack
      for i0 in 0..8
        acc[i0] = 0.0  start  at[io * 8 + i0, j]
      for k in 0..K
        for i1 in 0..8
          if io * 8 + i1 < M
            acc[i1] += A[io * 8 + i1, k] * B[k, j]  at[io * 8 + i1, j, k]
      for i2 in 0..8
        if io * 8 + i2 < M
          C[io * 8 + i2, j] = acc[i2]  at[io * 8 + i2, j]
""".replace("        acc[i0] = 0.0  start", "        if io * 8 + i0 < M\n          acc[i0] = 0.0  start"),
    ),
    "filled": Sound(
        "op filled(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
        """
kernel filled(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N])
  for i in 0..M
    let row: f32[(K + 7) // 8 * 8]
    for a in 0..(K + 7) // 8 * 8
      row[a] = if a < K then A[i, a] else 0.0  copy
    for j in 0..N
      let acc: f32
      acc = 0.0  start  at[i, j]
      for o in 0..(K + 7) // 8
        for k in 0..8
          acc += row[o * 8 + k] * (if o * 8 + k < K then B[o * 8 + k, j] else 0.0)  at[i, j, o * 8 + k]
      C[i, j] = acc  at[i, j]
""",
    ),
    "parts": Sound(
        "op parts(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }",
        """
kernel parts(X: f32[N]) -> (y: f32)
  let total: f32
  let part: f32[8]
  for l0 in 0..8
    part[l0] = 0.0  start  at[]
  for o in 0..N // 8
    for l1 in 0..8
      part[l1] += X[o * 8 + l1]  at[o * 8 + l1]
  for r in 0..N % 8
    part[r] += X[N // 8 * 8 + r]  at[N // 8 * 8 + r]
  total = 0.0  start  at[]
  for l2 in 0..8
    total += part[l2]  reassoc  at[]
  y = total  at[]
""".replace("  at[]", ""),
    ),
    "parts of rows": Sound(
        "op rows(X: i32[M, N], m: i32[N]) -> y: i32[M] { y[i] = sum(j: X[i, j]) }",
        """
kernel rows(X: i32[M, N], m: i32[N]) -> (y: i32[M])
  let total: i32[M]
  let part: i32[M, 8]
  for i0 in 0..M
    total[i0] = 0  start  at[i0]
    for l0 in 0..8
      part[i0, l0] = 0  start  at[i0]
  for o in 0..(N + 7) // 8
    for l1 in 0..8
      if o * 8 + l1 < N
        for i1 in 0..M
          part[i1, l1] += X[i1, o * 8 + l1]  reassoc  at[i1, o * 8 + l1]
  for i2 in 0..M
    for l2 in 0..8
      total[i2] += part[i2, l2]  reassoc  at[i2]
    y[i2] = total[i2]  at[i2]
""",
    ),
    "private histograms": Sound(
        "op hist(X: i32[N] in 0..16, w: f32[N], m: i32[N]) -> H: f32[16] { H[v] = 1  H[X[i]] += w[i] }",
        """
kernel hist(X: i32[N] in 0..16, w: f32[N], m: i32[N]) -> (H: f32[16])
  let part: f32[(N + 7) // 8, 16]
  for v0 in 0..16
    H[v0] = 1.0  at[v0]
  for o in 0..(N + 7) // 8 parallel
    for v1 in 0..16
      part[o, v1] = -0.0  part eq 1  at[v1]
    for l in 0..8
      if o * 8 + l < N
        part[o, i64(X[o * 8 + l])] += w[o * 8 + l]  eq 1  at[o * 8 + l]
  for v2 in 0..16
    for p in 0..(N + 7) // 8
      H[v2] += part[p, v2]  reassoc eq 1
""",
    ),
    "blur": Sound(
        """op blur(X: f32[N]) -> Y: f32[N] {
  T[i] = X[i] * 2 for i in 0..N
  Y[i] = T[i] + T[i + 1 | 0] }""",
        """
kernel blur(X: f32[N]) -> (Y: f32[N])
  for o in 0..(N + 3) // 4 parallel
    let T: f32[5]  stack
    for i0 in 0..5
      if o * 4 + i0 < N
        T[i0] = X[o * 4 + i0] * 2.0  at[o * 4 + i0]
    for i1 in 0..4
      if o * 4 + i1 < N
        Y[o * 4 + i1] = T[i1] + (if o * 4 + i1 + 1 < N then T[i1 + 1] else 0.0)  eq 1  at[o * 4 + i1]
""",
    ),
    "padded": Sound(
        "op padded(X: f32[N]) -> Y: f32[N] { Y[i] = X[i - 1 | 0] + X[i + 1 | 0] }",
        """
kernel padded(X: f32[N]) -> (Y: f32[N])
  let P: f32[N + 2]
  for p in 0..N + 2
    P[p] = if 1 <= p and p < N + 1 then X[p - 1] else 0.0  copy
  for i in 0..N
    Y[i] = P[i] + P[i + 2]  at[i]
""",
    ),
    "scan": Sound(
        "op scan(X: f32[N]) -> Y: f32[N] { Y[i] = Y[i - 1 | 0] + X[i] }",
        """
kernel scan(X: f32[N]) -> (Y: f32[N])
  for i in 0..N
    Y[i] = (if 1 <= i then Y[i - 1] else 0.0) + X[i]  at[i]
""",
    ),
    "scatter": Sound(
        "op scatter(idx: i32[N] in 0..V, X: f32[N]; V = 4) -> c: f32[V] {\n  c[v] = 0\n  c[idx[n]] += X[n] }",
        """
kernel scatter(idx: i32[N] in 0..4, X: f32[N]) -> (c: f32[4])
  for v in 0..4
    c[v] = 0.0  at[v]
  for n in 0..N
    c[i64(idx[n])] += X[n]  eq 1  at[n]
""",
    ),
    "chosen": Sound(
        "op chosen(X: f32[N], m: bool[N]) -> y: f32 { y = sum(i where m[i]: X[i]) }",
        """
kernel chosen(X: f32[N], m: bool[N]) -> (y: f32)
  let total: f32
  total = 0.0  start
  for i in 0..N
    if m[i]
      total += X[i]  at[i]
  y = total
""",
    ),
    "gathered": Sound(
        "op gathered(idx: i32[N] in 0..V, E: f32[V, D]) -> Y: f32[N, D] { Y[n, d] = E[idx[n], d] }",
        """
kernel gathered(idx: i32[N] in 0..V, E: f32[V, D]) -> (Y: f32[N, D])
  for n in 0..N
    for d in 0..D
      Y[n, d] = E[i64(idx[n]), d]  at[n, d]
""",
    ),
    "shared": Sound(
        "op shared(X: f32[N, 32]) -> Y: f32[N, 32] { Y[n, t] = X[n, 31 - t] for t in 0..32 }",
        """
kernel shared(X: f32[N, 32]) -> (Y: f32[N, 32])
  for n in 0..N block.x
    let S: f32[32]
    for t in 0..32 thread.x
      S[t] = X[n, t]  copy
      barrier
      Y[n, t] = S[31 - t]  at[n, t]
""",
    ),
    "products": Sound(
        "op products(X: f32[32], A: f32[M, N], B: f32[M, K]) -> Y: f32[32] require M * N >= 100 { Y[t] = "
        "X[t] }",
        """
kernel products(X: f32[32], A: f32[M, N], B: f32[M, K]) -> (Y: f32[32])
  require M * N >= 100
  let S: f32[32]
  for t in 0..32 thread.x
    S[t] = X[t]  copy
    if M * N <= t
      S[t - M * N] = X[t - M * N]  copy
    Y[t] = S[t]  at[t]
    barrier
""",
    ),
    "rounds": Sound(
        "op rounds(X: f32[8, 32]) -> y: f32[32] { y[t] = sum(k: X[k, 31 - t]) for t in 0..32 }",
        """
kernel rounds(X: f32[8, 32]) -> (y: f32[32])
  let S: f32[32]
  for t in 0..32 thread.x
    let acc: f32  stack
    acc = 0.0  start  at[t]
    for k in 0..8
      S[t] = X[k, t]  copy
      barrier
      acc += S[31 - t]  at[t, k]
      barrier
    y[t] = acc  at[t]
""",
    ),
    "lanes": Sound(
        "op lanes(X: f32[N, 16]) -> y: f32[N] { y[n] = max(i: X[n, i]) }",
        """
kernel lanes(X: f32[N, 16]) -> (y: f32[N])
  for n in 0..N parallel
    let best: f32  stack
    best = -inf  start  at[n]
    for i in 0..16 vector
      best max= X[n, i]  reassoc  at[n, i]
    y[n] = best  at[n]
""",
    ),
    "borrowed": Sound(
        "op borrowed(X: f32[4, 6]) -> y: f32[4] { y[n] = sum(k: X[n, k]) }",
        """
kernel borrowed(X: f32[4, 6]) -> (y: f32[4])
  let acc: f32[4]
  for n0 in 0..4
    acc[n0] = 0.0  start  at[n0]
  for o in 0..2
    for h in 0..2
      let tile: f32[2]  stack
      for a in 0..2
        tile[a] = acc[h * 2 + a]  copy
      for k in 0..3
        for b in 0..2
          tile[b] += X[h * 2 + b, o * 3 + k]  at[h * 2 + b, o * 3 + k]
      for c in 0..2
        acc[h * 2 + c] = tile[c]  copy
  for n1 in 0..4
    y[n1] = acc[n1]  at[n1]
""",
    ),
    "past": Sound(
        """op past(X: f32[M, 20]) -> Y: f32[M, 20] {
  T[i, j] = X[i, j + 1 | 0] + 1 for i in 0..M, j in 0..20
  Y[i, j] = T[i, j] * T[i, 19 - j] for i in 0..M, j in 0..20 }""",
        """
kernel past(X: f32[M, 20]) -> (Y: f32[M, 20])
  let T: f32[M, 24]
  for i0 in 0..M
    for o in 0..3
      for l in 0..8
        T[i0, o * 8 + l] = (if o * 8 + l + 1 < 20 then X[i0, o * 8 + l + 1] else 0.0) + 1.0  at[i0, o * 8 + l]
  for i1 in 0..M
    for j in 0..20
      Y[i1, j] = T[i1, j] * T[i1, 19 - j]  eq 1  at[i1, j]
""",
    ),
    "ends": Sound(
        """op ends(X: f32[6]) -> Y: f32[8] {
  let T: f32[8]
  T[i] = X[i] for i in 0..6
  T[6] = 1
  T[7] = 2
  Y[i] = T[i] + T[7 - i] }""",
        """
kernel ends(X: f32[6]) -> (Y: f32[8])
  let T: f32[8]
  for i in 0..6
    T[i] = X[i]  at[i]
  T[6] = 1.0  eq 1
  T[7] = 2.0  eq 2
  for k in 0..8
    Y[k] = T[k] + T[7 - k]  eq 3  at[k]
""",
    ),
    "into": Sound(
        "op into(X: f32[4, N]) -> Y: f32[8] {\n  Y[i] = 0\n  Y[i] += sum(k: X[i, k]) for i in 0..4 }",
        """
kernel into(X: f32[4, N]) -> (Y: f32[8])
  for v in 0..8
    Y[v] = 0.0  at[v]
  for i in 0..4
    let acc: f32
    acc = 0.0  start eq 1  at[i]
    for k in 0..N
      acc += X[i % 4, k]  eq 1  at[i, k]
    Y[i] += acc  eq 1  at[i]
""",
    ),
    "folded": Sound(
        """op folded(X: f32[N, M]) -> Y: f32[N, M] {
  T[n, m] = X[n, m] + 1
  Y[n, m] = T[n, m] * 2 }""",
        """
kernel folded(X: f32[N, M]) -> (Y: f32[N, M])
  let T: f32[N, M]
  for n in 0..N
    for m in 0..M
      T[n, m] = X[n, m] + 1.0  at[n, m]
  for n1 in 0..N
    for m1 in 0..M
      Y[n1, m1] = T[n1, m1] * 2.0  eq 1  at[n1, m1]
""",
    ),
    "signs": Sound(
        """op signs(X: f32[N], k: i64[N], m: i64, n: i64) -> Y: f32[N] {
  Y[i] = if k[i] * k[0] < 0 or m * n < 0 then X[i] else X[i] * 2 }""",
        """
kernel signs(X: f32[N], k: i64[N], m: i64, n: i64) -> (Y: f32[N])
  for i in 0..N
    Y[i] = if k[i] * k[0] < 0 or m * n < 0 then X[i] else X[i] * 2.0  at[i]
""",
    ),
    "wrapping": Sound(
        """op wrapping(X: f32[N], k: i64[N], b: i8[N]) -> Y: f32[N] {
  Y[i] = if k[i] + 1 > k[i] and abs(k[i]) >= 0 and (k[i] // -1 > 0 or k[i] >= 0) and b[i] + 1 > b[i] then X[i] else X[i] * 2 }""",
        """
kernel wrapping(X: f32[N], k: i64[N], b: i8[N]) -> (Y: f32[N])
  for i in 0..N
    Y[i] = if k[i] + 1 > k[i] and abs(k[i]) >= 0 and (k[i] // -1 > 0 or k[i] >= 0) and b[i] + 1 > b[i] then X[i] else X[i] * 2.0  at[i]
""",
    ),
    "permuted": Sound(
        """op permuted(X: f32[N], p: i32[N] in 0..N distinct, q: i32[2, N] in 0..N distinct) -> Y: f32[N] {
  Y[i] = 0
  Y[p[i]] += X[i]
  Y[q[r, i]] += X[i] }""",
        """
kernel permuted(X: f32[N], p: i32[N] in 0..N distinct, q: i32[2, N] in 0..N distinct) -> (Y: f32[N])
  for i0 in 0..N
    Y[i0] = 0.0  at[i0]
  for i1 in 0..N parallel
    Y[i64(p[i1])] += X[i1]  eq 1  at[i1]
  for r in 0..2
    for i2 in 0..N parallel
      Y[i64(q[r, i2])] += X[i2]  eq 2  at[r, i2]
""",
    ),
    "guarded": Sound(
        """op guarded(X: f32[N], p: i64[1] in 0..1 distinct) -> Y: f32[1] {
  Y[i] = 0 for i in 0..1
  Y[if i < 1 then p[i] else 0] += X[i] for i in 0..N }""",
        """
kernel guarded(X: f32[N], p: i64[1] in 0..1 distinct) -> (Y: f32[1])
  for i0 in 0..1
    Y[i0] = 0.0  at[i0]
  for i in 0..N
    Y[if i < 1 then p[i] else 0] += X[i]  eq 1  at[i]
""",
    ),
    "lengths": Sound(
        "op lengths(X: f32[N, M], n: i64[N] in 0..M) -> Y: f32[N] { Y[i] = sum(j in 0..n[i]: X[i, j]) }",
        """
kernel lengths(X: f32[N, M], n: i64[N] in 0..M) -> (Y: f32[N])
  for i in 0..N parallel
    let total: f32  stack
    total = 0.0  start  at[i]
    for j in 0..n[i]
      total += X[i, j]  at[i, j]
    Y[i] = total  at[i]
""",
    ),
    "tiles": Sound(
        "op tiles(E: f32[V, D], k: i32[B] in 0..V) -> Y: f32[B, D] { Y[b, d] = E[k[b], d] }",
        """
kernel tiles(E: f32[V, D], k: i32[B] in 0..V) -> (Y: f32[B, D])
  let C: f32[1, D]
  for b in 0..B
    for d0 in 0..D
      C[0, d0] = E[i64(k[b]), d0]  copy
    for d1 in 0..D
      Y[b, d1] = C[0, d1]  at[b, d1]
""",
    ),
    "successors": Sound(
        "op successors(X: f32[N], k: i64[N]) -> y: f32 { y = sum(i where k[i] + 1 > k[i]: X[i]) }",
        """
kernel successors(X: f32[N], k: i64[N]) -> (y: f32)
  let total: f32
  total = 0.0  start
  for i in 0..N
    if k[i] + 1 > k[i]
      total += X[i]  at[i]
  y = total
""",
    ),
    "stencils": Sound(
        """op stencils(X: f32[N]) -> Y: f32[N] {
  a[i] = X[i - 1 | clamp] + X[i]
  Y[i] = a[i + 1 | clamp] * a[i] }""",
        """
kernel stencils(X: f32[N]) -> (Y: f32[N])
  for i in 0..N
    Y[i] = (X[max(0, min(i, N - 2))] + X[min(i + 1, N - 1)]) * (X[max(0, i - 1)] + X[i])  eq 1  at[i]
""",
    ),
}

REUSED = {
    "window": Sound(
        """op window(X: f32[N]) -> Y: f32[N] {
  T[i] = X[i] * 2
  Y[i] = T[i - 1 | clamp] + T[i] + T[i + 1 | 0] }""",
        """
kernel window(X: f32[N]) -> (Y: f32[N])
  let T: f32[3]
  if 0 < N
    T[0] = X[0] * 2.0  at[0]
  for i in 0..N
    if i + 1 < N
      T[(i + 1) % 3] = X[i + 1] * 2.0  at[i + 1]
    Y[i] = T[max(0, i - 1) % 3] + T[i % 3] + (if i + 1 < N then T[(i + 1) % 3] else 0.0)  eq 1  at[i]
""",
    ),
    "turns": Sound(
        """op turns(X: f32[N, 4]) -> Y: f32[N, 4] {
  T[n, j] = X[n, j] * 2
  Y[n, j] = T[n, j] + T[n, 3 - j] for n in 0..N, j in 0..4 }""",
        """
kernel turns(X: f32[N, 4]) -> (Y: f32[N, 4])
  let T: f32[2, 4]
  for p in 0..min(N, 1)
    for j0 in 0..4
      T[p % 2, j0] = X[p, j0] * 2.0  at[p, j0]
  for n in 0..N
    if n + 1 < N
      for j1 in 0..4
        T[(n + 1) % 2, j1] = X[n + 1, j1] * 2.0  at[n + 1, j1]
    for j2 in 0..4
      Y[n, j2] = T[n % 2, j2] + T[n % 2, 3 - j2]  eq 1  at[n, j2]
""",
    ),
    "constant": Sound(
        """op constant(X: f32[6, 4]) -> Y: f32[6, 4] {
  T[n, j] = X[n, j] * 2
  Y[n, j] = T[n, j] + T[n, 3 - j] for n in 0..6, j in 0..4 }""",
        """
kernel constant(X: f32[6, 4]) -> (Y: f32[6, 4])
  let T: f32[3, 4]
  for p in 0..2
    for j0 in 0..4
      T[p % 3, j0] = X[p, j0] * 2.0  at[p, j0]
  for n in 0..4
    for j1 in 0..4
      T[(n + 2) % 3, j1] = X[n + 2, j1] * 2.0  at[n + 2, j1]
    for j2 in 0..4
      Y[n, j2] = T[n % 3, j2] + T[n % 3, 3 - j2]  eq 1  at[n, j2]
  for e in 0..2
    for j3 in 0..4
      Y[e + 4, j3] = T[(e + 4) % 3, j3] + T[(e + 4) % 3, 3 - j3]  eq 1  at[e + 4, j3]
""",
    ),
    "carried": Sound(
        """op carried(X: f32[N, M]) -> Y: f32[N, M] {
  let c: f32[N, M]
  c[t, m] = c[t - 1, m | 0] * 2 + X[t, m]
  Y[t, m] = c[t, m] * 3 }""",
        """
kernel carried(X: f32[N, M]) -> (Y: f32[N, M])
  let c: f32[M]
  for t in 0..N
    for m0 in 0..M
      c[m0] = (if 1 <= t then c[m0] else 0.0) * 2.0 + X[t, m0]  at[t, m0]
    for m1 in 0..M
      Y[t, m1] = c[m1] * 3.0  eq 1  at[t, m1]
""",
    ),
    "sums": Sound(
        "op sums(X: f32[N, M]) -> Y: f32[N] { Y[n] = sum(m: X[n, m]) }",
        """
kernel sums(X: f32[N, M]) -> (Y: f32[N])
  let acc: f32[2]
  for p in 0..min(N, 1)
    acc[0] = 0.0  start  at[p]
    for m0 in 0..M
      acc[0] += X[p, m0]  at[p, m0]
  for n in 0..N
    if n + 1 < N
      acc[(n + 1) % 2] = 0.0  start  at[n + 1]
      for m1 in 0..M
        acc[(n + 1) % 2] += X[n + 1, m1]  at[n + 1, m1]
    Y[n] = acc[n % 2]  at[n]
""",
    ),
    "copies": Sound(
        "op copies(X: f32[N, 4], w: f32[4]) -> Y: f32[N] { Y[n] = sum(j: X[n, j] * w[j]) }",
        """
kernel copies(X: f32[N, 4], w: f32[4]) -> (Y: f32[N])
  let B: f32[2, 4]
  for p in 0..min(N, 1)
    for j0 in 0..4
      B[p % 2, j0] = X[p, j0]  copy
  for n in 0..N
    let acc: f32
    if n + 1 < N
      for j1 in 0..4
        B[(n + 1) % 2, j1] = X[n + 1, j1]  copy
    acc = 0.0  start  at[n]
    for j2 in 0..4
      acc += B[n % 2, j2] * w[j2]  at[n, j2]
    Y[n] = acc  at[n]
""",
    ),
    "packed": Sound(
        "op packed(X: f32[64, K]) -> Y: f32[64, K] { Y[j, k] = X[63 - j, k] for j in 0..64 }",
        """
kernel packed(X: f32[64, K]) -> (Y: f32[64, K])
  let P: f32[4, K, 16]
  for j0 in 0..64
    for k0 in 0..K
      P[j0 // 16, k0, j0 % 16] = X[j0, k0]  copy
  for jo in 0..4
    for ji in 0..16
      for k1 in 0..K
        Y[jo * 16 + ji, k1] = P[3 - jo, k1, 15 - ji]  at[jo * 16 + ji, k1]
""",
    ),
    "nested": Sound(
        "op nested(X: f32[N, K]) -> y: f32[N] { y[n] = sum(k: X[n, k]) }",
        """
kernel nested(X: f32[N, K]) -> (y: f32[N])
  let outer: f32[4]
  for b in 0..(N + 3) // 4
    let acc: f32[4]  stack
    for n0 in 0..4
      if b * 4 + n0 < N
        acc[n0] = 0.0  start  at[b * 4 + n0]
    for o in 0..(K + 7) // 8
      for d0 in 0..4
        if b * 4 + d0 < N
          outer[d0] = acc[d0]  copy
      for n1 in 0..4
        let inner: f32
        inner = outer[n1]  copy
        for k in 0..8
          if b * 4 + n1 < N and o * 8 + k < K
            inner += X[b * 4 + n1, o * 8 + k]  at[b * 4 + n1, o * 8 + k]
        outer[n1] = inner  copy
      for d1 in 0..4
        if b * 4 + d1 < N
          acc[d1] = outer[d1]  copy
    for n2 in 0..4
      if b * 4 + n2 < N
        y[b * 4 + n2] = acc[n2]  at[b * 4 + n2]
""",
    ),
}
"""Buffers whose elements hold one value after another."""
