# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Tuning: drawing, breeding, learning
#
# **Claim:** legal schedules of one product differ tenfold in time. A search comes near the fastest of some hundred after measuring a
# few dozen, and every one it measures is proven.
#
# You need `texpr` and `matplotlib`. A schedule cannot be wrong here, only slow: so the search may try anything.

# %%
import os
import tempfile

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # few trials: for tests
TRIALS = 6 if FAST else 24
SEEDS = range(1 if FAST else 3)
SIZES = {"M": 48, "N": 64, "K": 32} if FAST else {"M": 144, "N": 192, "K": 128}
_ = tx.options(
    cache_dir=tempfile.mkdtemp(), threads=1
)  # records of this notebook alone, and one core

# %% [markdown]
# ## 1. A schedule with parameters
#
# A matrix product, and a Python function that schedules it in tiles. Which tiles are best depends on registers and caches, on the sizes,
# and on what LLVM makes of them: nobody knows without trying.

# %%
matmul = tx.op(
    "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)


def tiled(s, rows, columns, depth, order, unrolled):
    s.allow_fma().split("i", rows, tail="peel").split("j", columns, tail="peel").split(
        "k", depth, tail="peel"
    )
    s.reorder(
        *{"ijk": ("io", "jo", "ko"), "jik": ("jo", "io", "ko")}[order], "ki", "ii", "ji"
    )
    if unrolled:
        s.unroll("ii")
    s.vectorize("ji")


space = {
    "rows": [1, 2, 3, 4, 6, 8, 12, 16],
    "columns": [8, 16, 32, 48, 64, 96, 128],
    "depth": [8, 32, 64, 128],
    "order": ["ijk", "jik"],
    "unrolled": [False, True],
}
points = int(np.prod([len(values) for values in space.values()]))
print(points, "schedules")

# %% [markdown]
# ## 2. Three ways to search
#
# `random` draws schedules. `genetic` crosses the fastest ones and changes them a little. `model` fits boosted trees to the times measured
# so far, with what is known of the loops (how many bytes each cache has to fetch, how much runs in vectors), and measures what it thinks
# fastest. Each trial runs in a child process that proves the loops, checks the result, and may be killed. Times are recorded, so that no
# search measures again what another one did.


# %%
def searches(strategy):
    return [
        tx.tune(
            matmul,
            **SIZES,
            schedule=tiled,
            space=space,
            trials=TRIALS,
            strategy=strategy,
            seed=seed,
        )
        for seed in SEEDS
    ]


found = {strategy: searches(strategy) for strategy in ("random", "genetic", "model")}
for strategy, results in found.items():
    fastest = ", ".join(f"{1e6 * result.curve()[-1]:.1f}" for result in results)
    print(
        f"{strategy:<8} {TRIALS} of {points} measured, the fastest by seed: {fastest} us"
    )

# %%
figure, axes = plt.subplots(figsize=(7, 3.5))
for color, (strategy, results) in enumerate(found.items()):
    curves = 1e6 * np.array([result.curve() for result in results])
    axes.plot(
        range(1, TRIALS + 1),
        curves.T,
        color=f"C{color}",
        alpha=0.3,
        linewidth=1,
        drawstyle="steps-post",
    )
    axes.plot(
        range(1, TRIALS + 1),
        np.exp(np.log(curves).mean(axis=0)),
        color=f"C{color}",
        label=strategy,
        drawstyle="steps-post",
    )
axes.set(
    xlabel="trials",
    ylabel="fastest so far, us",
    yscale="log",
    title=f"{points} schedules; thick: the mean of the seeds",
)
axes.legend()
plt.show()

# %% [markdown]
# What the searches saw: every point is a trial of one of them. The size of a tile alone does not tell how fast it is.

# %%
trials = {
    t.script: t
    for results in found.values()
    for result in results
    for t in result.trials
    if np.isfinite(t.seconds)
}.values()
figure, axes = plt.subplots(figsize=(7, 3.5))
for unrolled, marker in ((False, "x"), (True, "o")):
    shown = [t for t in trials if t.values["unrolled"] == unrolled]
    axes.scatter(
        [t.values["rows"] * t.values["columns"] for t in shown],
        [1e6 * t.seconds for t in shown],
        marker=marker,
        alpha=0.6,
        label="rows written out" if unrolled else "rows in a loop",
    )
axes.set(xlabel="elements of a tile", ylabel="us", xscale="log", yscale="log")
axes.legend()
plt.show()

# %% [markdown]
# ## 3. What was chosen
#
# The three fastest are measured once more, in turns with the *default* schedule, which stays unless one of them is faster. So what is
# chosen is never slower than what was there.

# %%
chosen = found["model"][-1]
print(
    f"chosen {chosen.seconds * 1e6:.1f} us, default {chosen.default_seconds * 1e6:.1f} us"
)
print(chosen.script)
assert chosen.seconds <= chosen.default_seconds

# %% [markdown]
# It is a schedule like any other: steps to print, to save and to apply again, and a proof of the whole.

# %%
again = tx.schedule(matmul, **SIZES).replay(chosen.script)
assert again.script() == chosen.script
print(again.certificate())

# %% [markdown]
# ## 4. Later calls use it
#
# The operator looks for records of its sizes on this machine when it is first called with them, in this process and in others.
# `tx.options(tuned=False)` goes back to the default schedule. Both give the same product; sums may be rounded in another order.

# %%
rng = np.random.default_rng(0)
A = rng.standard_normal((SIZES["M"], SIZES["K"]), dtype=np.float32)
B = rng.standard_normal((SIZES["K"], SIZES["N"]), dtype=np.float32)
tuned_result = matmul(A, B)
with tx.options(tuned=False):
    default_result = tx.op(str(matmul))(A, B)
assert np.allclose(tuned_result, A @ B, atol=1e-4) and np.allclose(
    default_result, A @ B, atol=1e-4
)

# %% [markdown]
# Without a function, `tx.tune` searches around the default schedule: its tiles smaller and larger, its steps with and without.

# %%
softmax = tx.op("""
op softmax(X: f32[N, D]) -> Y: f32[N, D] {
  m[i]    = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}
""")
result = tx.tune(softmax, N=64, D=256, trials=4 if FAST else 24)
print(
    f"{len(result.trials)} trials: {result.seconds * 1e6:.1f} us, default {result.default_seconds * 1e6:.1f} us"
)
assert result.seconds <= result.default_seconds
