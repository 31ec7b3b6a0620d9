"""Operators and the schedules of them that `python -m texpr bench` times: among the steps, every
kind at least once.
"""

from __future__ import annotations

PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
GELU = (
    "op gelu(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = 0.5 * X[i, j] * (1 + tanh(0.8 * (X[i, j] + 0.045 * "
    "X[i, j] ** 3))) }"
)
BYTES = "op bytes(A: u8[M, K], B: i8[K, N]) -> C: i32[M, N] { C[i, j] = sum(k: i32(A[i, k]) * i32(B[k, j])) }"
LINEAR = (
    "op linear(A: bf16[M, K], B: bf16[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: f32(A[i, k]) * f32(B[j, k])) "
    "}"
)
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
WAVE = "op wave(X: f32[N, M]) -> A: f32[N, M] { A[i, j] = A[i-1, j | 0] * 2 + A[i, j-1 | 0] + X[i, j] }"
SEIDEL = """
op seidel(U0: f32[N, M]; SWEEPS = 4) -> V: f32[N, M] {
  let U: f32[SWEEPS + 1, N, M]
  U[0, i, j] = U0[i, j]
  U[t+1, i, j] = 0.25 * (U[t+1, i-1, j | 0] + U[t+1, i, j-1 | 0] + U[t, i+1, j | 0] + U[t, i, j+1 | 0])  for t in 0..SWEEPS
  V[i, j] = U[SWEEPS, i, j]
}
"""
ELIMINATION = """
op lu(A: f32[N, N]) -> F: f32[N, N] {
  F[i, j] = (A[i, j] - sum(k in 0..j: F[i, k] * F[k, j])) / F[j, j]  for i in 0..N, j in 0..i
  F[i, j] = A[i, j] - sum(k in 0..i: F[i, k] * F[k, j])  for i in 0..N, j in i..N
}
"""
TRIANGLE = "op triangle(A: f32[N, N], x: f32[N]) -> y: f32[N] { y[i] = sum(j where j <= i: A[i, j] * x[j]) }"
ATTENTION = """
op attention(Q: f32[L, D], K: f32[M, D], V: f32[M, E]) -> O: f32[L, E] require M >= 1 {
  S[i, j] = sum(d: Q[i, d] * K[j, d]) * rsqrt(f32(D))
  m[i] = max(j: S[i, j])
  P[i, j] = exp(S[i, j] - m[i])
  z[i] = sum(j: P[i, j])
  O[i, e] = sum(j: P[i, j] * V[j, e]) / z[i]
}
"""
CHAIN = """
op chain(A: f32[I, J], B: f32[J, K], C: f32[K, L]) -> Y: f32[I, L] require K >= 1 {
  Y[i, l] = sum(j, k: A[i, j] * B[j, k] * C[k, l])
}
"""
HISTOGRAM = "op histogram(X: i32[N] in 0..16, w: f32[N]) -> H: f32[16] { H[b] = 0  H[X[i]] += w[i] }"
LOWER = """
op lower(X: f32[N, N], V: f32[N, M]) -> O: f32[N, M] {
  let E: f32[N, N]
  E[i, j] = exp(X[i, j])  where j <= i
  O[i, v] = sum(j where j <= i: E[i, j] * V[j, v])
}
"""
WARPGROUPS = """\
tile("i", "j", "k", sizes=(64, 64, 64))
split("ki", 16, tail="exact")
reorder("io", "jo", "ko", "kio", "ii", "ji", "kii")
set_scope("C_acc", "register")
cache_read("A", "ko")
set_scope("A_cache", "shared")
swizzle("A_cache", 8, 8, 64)
cache_read("B", "ko")
set_scope("B_cache", "shared")
swizzle("B_cache", 8, 8, 64)
split("io", 2, tail="exact")
bind("jo", "block.x")
bind("ioo", "block.y")
bind("ioi", "cluster.x")
tensorize("ii", "zero_wgmma_n64")
tensorize("ii", "store_wgmma_n64")
tensorize("ii", "wgmma_bf16_n64", reassoc=True)
unroll("kio")
"""
SCRIPTS = {
    "product": (
        PRODUCT,
        'split("i", 32)\nsplit("j", 64)\nreorder("io", "jo", "k", "ii", '
        '"ji")\nvectorize("ji")\nparallel("io")',
    ),
    "product, packed": (
        PRODUCT,
        """\
tile("i", "j", "k", sizes=(8, 16, 4))
cache_read("B", "ko")
layout("B_cache", "k j -> j/16 k j%16")
pad("B_cache", 1, 4)
cache_write("C_acc", "ko", name="part")
set_scope("part", "stack")
prefetch("A", "ki", 8)
allow_fma()
annotate("io", tuned=8)
nontemporal("C")""",
    ),
    "product, jammed": (
        PRODUCT,
        """\
unroll_and_jam("i", 4)
split("k", 8)
rfactor("ki", reassoc=True)
unroll("ki")
bind("io", "block.x")
specialize(N=64)""",
    ),
    "product, registers of any length": (
        PRODUCT,
        """\
split("i", 8, tail="peel")
cache_write("C_acc", "io")
reorder("io", "j", "k", "ii")
unroll("ii")
vectorize_scalable("j", 2)""",
    ),
    "product, shared": (
        PRODUCT,
        """\
tile("i", "j", "k", sizes=(64, 64, 32))
reorder("ko", "ii", "ji")
cache_read("B", "ko")
set_scope("B_cache", "shared")
swizzle("B_cache", 4, 8, 64)
bind("ii", "thread.y")
bind("ji", "thread.x")""",
    ),
    "gelu by tanh, as a quotient": (GELU, 'tanh_to_sigmoid("Y")'),
    "product, rounded": (PRODUCT, 'tf32("k")'),
    "product of warpgroups": (
        LINEAR,
        WARPGROUPS
        + """\
pipeline("ko", 4, asynchronous=True, lead=2)
async_mma("ko", 1)
bulk_copy("ko")
multicast("B_cache", "ioi")""",
    ),
    "product of warpgroups, together": (
        LINEAR,
        WARPGROUPS + 'pipeline("ko", 2, asynchronous=True)\ncommit_mma_group("kio")',
    ),
    "product of bytes": (
        BYTES,
        """\
split("j", 16, tail="exact")
split("k", 4, tail="exact")
reorder("jo", "i", "ko", "ji", "ki")
cache_read("B", "jo")
layout("B_cache", "k j -> k/4 j k%4")
tensorize("ji", "vpdpbusd")""",
    ),
    "blur": (
        BLUR,
        'tile("Y.i", "Y.j", sizes=(32, 64))\ncompute_at("T", '
        '"Y.jo")\nvectorize("Y.ji")\nvectorize("T.j")\nparallel("Y.io")',
    ),
    "blur, sliding": (BLUR, 'compute_at("T", "Y.i", slide=True)\nfold_storage("T", 0)'),
    "blur, ahead": (BLUR, 'compute_at("T", "Y.i", recompute=True)\npipeline("T")'),
    "blur, at once": (BLUR, 'inline("T")\npeel("Y.i", 1, 1)\npeel("Y.j", 1, 1)'),
    "convolution": (
        CONVOLUTION,
        """\
tile("Z.y", "Z.x", sizes=(16, 32))
tile("Z.yi", "Z.xi", sizes=(4, 16))
reorder("Z.c", "Z.r", "Z.q", "Z.yii", "Z.xii")
parallel("Z.k")
tile("Y.y", "Y.x", sizes=(16, 32))
parallel("Y.k")""",
    ),
    "convolution, cached": (
        CONVOLUTION,
        """\
tile("Z.k", "Z.x", sizes=(8, 16))
reorder("Z.n", "Z.ko", "Z.y", "Z.xo", "Z.c", "Z.r", "Z.q", "Z.ki", "Z.xi")
cache_read("F", "Z.ko")
cache_read("X", "Z.y")
cache_write("Z_acc", "Z.xo")
vectorize("Z.xi")
parallel("Z.n")""",
    ),
    "convolution, fused": (CONVOLUTION, 'reverse_compute_at("Y", "Z.x")\nfission("Z.n")'),
    "convolution, joined": (CONVOLUTION, 'merge("Z.n", "Y.n")\nmerge("Z.k", "Y.k")'),
    "wave": (WAVE, 'skew("j", "i")\nreorder("j", "i")\nparallel("i")'),
    "wave, in tiles": (WAVE, 'tile("i", "j", sizes=(16, 16))'),
    "wave, its middle": (WAVE, 'peel("i", 1, 1)\npeel("j", 1, 1)\ntile("i", "j", sizes=(16, 16))'),
    "seidel": (
        SEIDEL,
        """\
skew("U.1.j", "U.1.i")
reorder("U.1.j", "U.1.i")
parallel("U.1.i")
reverse("V.i")
split("V.i", 4)
fuse("V.io", "V.ii")
fold_storage("U", "t")""",
    ),
    "seidel, its middle": (SEIDEL, 'peel("U.1.i", 1, 1)\npeel("U.1.j", 1, 1)\nfold_storage("U", "t")'),
    "elimination": (
        ELIMINATION,
        """\
split("F.0.j", 16)
expand_dim("F_acc", "F.0.ji")
split("F.0.k", 16, tail="peel")
fission("F.0.ji", "F.0.ko", name="jr")
reorder("F.0.ko", "F.0.ki", "F.0.ji")
vectorize("F.0.ji")""",
    ),
    "triangle": (TRIANGLE, 'split("i", 8)\nsplit("j", 16)\npartition("jo")'),
    "convolution, trimmed": (
        CONVOLUTION,
        'drop_padding("r", finite=True)\ndrop_padding("q", finite=True)\npartition("r")',
    ),
    "attention, divided once": (ATTENTION, 'reciprocal("O")'),
    "attention, along": (ATTENTION, 'online_softmax("m", 64, reassoc=True)'),
    "attention, by powers": (ATTENTION, 'exp_to_exp2("P")'),
    "products of three, two by two": (CHAIN, 'factor_out("k", reassoc=True)'),
    "products of three, one beforehand": (CHAIN, 'premultiply("j", 1, 2, reassoc=True)'),
    "histogram": (HISTOGRAM, 'atomic("H", reassoc=True)\nbind("i", "thread.x")'),
    "rows below a diagonal": (LOWER, 'mask_to_zero("E", finite=True)'),
    "attention": (
        ATTENTION,
        """\
split("O.i", 8)
compute_at("z", "O.io")
compute_at("P", "O.io")
compute_at("m", "O.io")
compute_at("S", "O.io")
reorder("O.j", "O.ii", "O.e")
split("O.e", 16)
vectorize("O.ei")
split("P.j", 16)
vectorize("P.ji")
parallel("O.io")""",
    ),
}
"""Texts of operators, and scripts."""
SIZES = {
    "product of bytes": {"N": 512, "K": 512},
    **dict.fromkeys(
        ("product of warpgroups", "product of warpgroups, together"), {"M": 256, "N": 256, "K": 512}
    ),
}
"""Sizes that are constants, since an instruction takes whole vectors; all others are symbolic."""
COMPILED = {
    "add of 10^6 floats": (
        "op add(A: f32[N], B: f32[N]) -> C: f32[N] { C[i] = A[i] + B[i] }",
        {"N": 1_000_000},
        15,
    ),
    "bias and relu, 1000x1024": (
        "op relu(X: f32[M, N], b: f32[N]) -> Y: f32[M, N] { Y[i, j] = max(X[i, j] + b[j], 0) }",
        {"M": 1000, "N": 1024},
        15,
    ),
    "bias and tanh, 1000x1024": (
        "op squash(X: f32[M, N], b: f32[N]) -> Y: f32[M, N] { Y[i, j] = tanh(X[i, j] + b[j]) }",
        {"M": 1000, "N": 1024},
        15,
    ),
    "product 512": (PRODUCT, {"M": 512, "N": 512, "K": 512}, 150),
}
"""Kernels that `python -m texpr bench compile` makes by default schedules: text, sizes,
milliseconds that were promised.
"""
