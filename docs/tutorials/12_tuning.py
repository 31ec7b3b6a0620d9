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
# # Tuning
#
# **Claim:** legal schedules of one product differ by a large factor in time. A search measures some
# of them, proves each one, and keeps the default schedule unless another schedule is faster.
#
# {{result}}
#
# You have scheduled by hand ([Eight steps](03_eight_steps_to_a_fast_product.ipynb)). You need
# `pip install texpr[notebook]`. A schedule cannot be wrong here, only slow, so the search may try
# anything.

# %%
import tempfile

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

# %% tags=["setup"]
import os

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # few trials: for tests
TRIALS = 6 if FAST else 24
SEEDS = range(1 if FAST else 3)
SIZES = {"M": 48, "N": 64, "K": 32} if FAST else {"M": 144, "N": 192, "K": 128}

# %% [markdown]
# ## 1. A schedule with parameters
#
# A matrix product, and a Python function that schedules it in tiles. The best tiles depend on
# registers and caches, on the sizes, and on LLVM. Nobody knows them without measuring.
#
# The records of this notebook go to a folder of their own, and one core is used.

# %%
tx.options(cache_dir=tempfile.mkdtemp(), threads=1)
matmul = tx.op("""
op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {
  C[i, j] = sum(k: A[i, k] * B[k, j])
}
""")


def tiled(s, rows, columns, depth, order, unrolled):
    s.allow_fma()
    s.split("i", rows, tail="peel")
    s.split("j", columns, tail="peel")
    s.split("k", depth, tail="peel")
    outer = {"ijk": ("io", "jo", "ko"), "jik": ("jo", "io", "ko")}[order]
    s.reorder(*outer, "ki", "ii", "ji")
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
# * `random` draws schedules.
# * `genetic` crosses the fastest schedules and changes them a little.
# * `model` fits boosted trees to the times so far, from properties of the loops, and measures the
#   schedules with the best predictions.
#
# Each trial runs in a child process that proves the loops and checks the result. Times are
# recorded, so no search measures again what another one did.


# %%
def searches(strategy):
    settings = {"schedule": tiled, "space": space, "trials": TRIALS}
    return [
        tx.tune(matmul, **SIZES, **settings, strategy=strategy, seed=seed)
        for seed in SEEDS
    ]


found = {strategy: searches(strategy) for strategy in ("random", "genetic", "model")}
for strategy, results in found.items():
    fastest = ", ".join(f"{1e6 * result.curve()[-1]:.1f}" for result in results)
    print(f"{strategy:<8} {TRIALS} of {points}, the fastest by seed: {fastest} us")

# %%
figure, axes = plt.subplots(figsize=(7, 3.5))
numbers = range(1, TRIALS + 1)
for color, (strategy, results) in zip(("C0", "C1", "C2"), found.items()):
    curves = 1e6 * np.array([result.curve() for result in results])
    mean = np.exp(np.log(curves).mean(axis=0))
    axes.step(numbers, curves.T, color=color, alpha=0.3, linewidth=1, where="post")
    axes.step(numbers, mean, color=color, label=strategy, where="post")
axes.set(xlabel="trials", ylabel="fastest so far, us", yscale="log")
axes.set_title("thin: one seed, thick: the mean of the seeds", fontsize=9)
axes.legend()
plt.show()

# %% [markdown]
# With this many trials, the three often end close together: many schedules are nearly as fast as
# the fastest. `model` pays where a trial is dear and the space is large.
#
# Every point below is a trial of one of the searches. The size of a tile alone does not say how
# fast the schedule is.

# %%
every = [t for results in found.values() for result in results for t in result.trials]
trials = {t.script: t for t in every if np.isfinite(t.seconds)}.values()
figure, axes = plt.subplots(figsize=(7, 3.5))
for unrolled, marker in ((False, "x"), (True, "o")):
    shown = [t for t in trials if t.values["unrolled"] == unrolled]
    sizes = [t.values["rows"] * t.values["columns"] for t in shown]
    label = "rows unrolled" if unrolled else "rows in a loop"
    axes.scatter(
        sizes, [1e6 * t.seconds for t in shown], marker=marker, alpha=0.6, label=label
    )
axes.set(xlabel="elements of a tile", ylabel="us", xscale="log", yscale="log")
axes.legend()
plt.show()

# %% [markdown]
# ## 3. The choice
#
# At the end of a search, its three fastest schedules are measured once more, in turns with the
# *default* schedule. The default stays unless one of them is faster. So a choice is never slower
# than the default, in these last measurements.

# %%
chosen = min(
    (r for results in found.values() for r in results), key=lambda r: r.seconds
)
print(
    f"chosen {chosen.seconds * 1e6:.1f} us, "
    f"default {chosen.default_seconds * 1e6:.1f} us"
)
print(chosen.script)
assert all(r.seconds <= r.default_seconds for rs in found.values() for r in rs)

# %% [markdown]
# The choice is a schedule like any other: steps to print, to save and to apply again, and a proof
# of the whole.

# %%
again = tx.schedule(matmul, **SIZES).replay(chosen.script)
assert again.script() == chosen.script
print(again.certificate())

# %% [markdown]
# ## 4. Later calls use it
#
# At its first call with some sizes, the operator looks for records of these sizes on this machine,
# in this process and in others. `tx.options(tuned=False)` goes back to the default schedule. Both
# give the same product; sums may be rounded in another order.

# %%
rng = np.random.default_rng(0)
A = rng.standard_normal((SIZES["M"], SIZES["K"]), dtype=np.float32)
B = rng.standard_normal((SIZES["K"], SIZES["N"]), dtype=np.float32)
tuned_result = matmul(A, B)
with tx.options(tuned=False):
    default_result = tx.op(str(matmul))(A, B)
for result in (tuned_result, default_result):
    assert np.allclose(result, A @ B, atol=1e-4)

# %% [markdown]
# Without a function, `tx.tune` searches around the default schedule: its tiles smaller and larger,
# its steps with and without.

# %%
softmax = tx.op("""
op softmax(X: f32[N, D]) -> Y: f32[N, D] {
  m[i]    = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}
""")
around = tx.tune(softmax, N=64, D=256, trials=4 if FAST else 24)
print(
    f"{len(around.trials)} trials: {around.seconds * 1e6:.1f} us, "
    f"default {around.default_seconds * 1e6:.1f} us"
)
assert around.seconds <= around.default_seconds

# %% [markdown]
# ## 5. The claim

# %% tags=["result"]
times = sorted(t.seconds for t in trials)
print(
    f"{len(times)} of {points} schedules measured: the slowest takes "
    f"{times[-1] / times[0]:.0f} times as long as the fastest; "
    f"chosen {chosen.seconds * 1e6:.1f} us, "
    f"default {chosen.default_seconds * 1e6:.1f} us"
)
print(machine.describe())
assert FAST or times[-1] > 4 * times[0]

# %% [markdown]
# ## Exercises
#
# 1. Add the step `cache_read("B", "jo")` to `tiled`, as a parameter that is on or off, and search
#    again.
# 2. How many trials does `random` need until it is within a tenth of the fastest? Read it from
#    `curve()`.


# %% tags=["solution"]
def packed(s, rows, columns, pack):
    s.allow_fma().split("i", rows, tail="peel").split("j", columns, tail="peel")
    s.reorder("jo", "io", "k", "ii", "ji").unroll("ii")
    if pack:
        s.cache_read("B", "jo")
    s.vectorize("ji")


choices = {"rows": [2, 4, 6], "columns": [8, 16], "pack": [False, True]}
best = tx.tune(matmul, **SIZES, schedule=packed, space=choices, trials=TRIALS)
by_pack = {pack: np.inf for pack in (False, True)}
for trial in best.trials:
    if trial.values:
        pack = trial.values["pack"]
        by_pack[pack] = min(by_pack[pack], trial.seconds)
print({pack: f"{seconds * 1e6:.1f} us" for pack, seconds in by_pack.items()})

# %% tags=["solution"]
for result in found["random"]:
    curve = np.array(result.curve())
    print(
        "trials until within a tenth:",
        int(np.argmax(curve <= 1.1 * times[0])) + 1
        if (curve <= 1.1 * times[0]).any()
        else "not within these trials",
    )

# %% [markdown]
# Next: [One source, many processors](13_one_source_many_processors.ipynb). Records, deadlines and
# searches of whole programs are in [the guide](../guide/running.md).
