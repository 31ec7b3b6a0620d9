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
# # A matrix product in eight steps
#
# **Claim:** the formula of a matrix product stays as it is, one line. Eight scheduling steps take it from three plain loops to the speed
# of OpenBLAS. Each is proven, and from the second on all give the same bits.
#
# You know how to write an operator (tutorial 01). You need `texpr` and `matplotlib`.

# %%
import os

os.environ["OPENBLAS_NUM_THREADS"] = (
    "1"  # before NumPy is loaded: steps 1 to 7 are about one core
)

import time
from contextlib import nullcontext
from statistics import median

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # small sizes: for tests
N = 96 if FAST else 1024
matmul = tx.op(
    "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)
A, B = np.random.default_rng(0).standard_normal((2, N, N), dtype=np.float32)
C = np.empty((N, N), np.float32)


def fresh():
    return tx.schedule(matmul, M=N, N=N, K=N)


# %% [markdown]
# A schedule is a value; its methods are steps. To compare, we keep the schedule after each step, and time them all at the end.

# %%
stages = {"1 the formula": fresh()}
print(stages["1 the formula"])

# %% [markdown]
# ## 2. Walk along memory
#
# The innermost loop runs over `k`, down a column of `B`: every element comes from another line of memory. With `j` innermost, `B` and `C`
# are read along their rows. `allow_fma` allows `a * b + c` in one rounding, for which the machine has an instruction: it is a step, so it
# stands in the script.

# %%
stages["2 reorder"] = fresh().allow_fma().reorder("i", "k", "j")
print(stages["2 reorder"])

# %% [markdown]
# ## 3. Lanes
#
# One instruction computes 16 products (with AVX-512). `split` cuts the loop over `j` into strips of 64, `vectorize` runs a strip in
# lanes. What 64 leaves over gets loops of its own (`peel`).

# %%
stages["3 vectorize"] = (
    fresh()
    .allow_fma()
    .reorder("i", "k", "j")
    .split("j", 64, tail="peel")
    .vectorize("ji")
)

# %% [markdown]
# ## 4. A tile in registers
#
# Each product so far costs a load and a store of `C`. With `k` inside, the sums of a tile stay in registers while all terms are added: 6
# rows of 64, which are 24 of the 32 registers of AVX-512. And an element of `B` that was loaded serves six rows. 1024 is no multiple of
# 6: the last tile overlaps the one before it, and some sums are computed twice. That would be refused if the second time gave something
# else.

# %%
tile = fresh().allow_fma().split("j", 64, tail="overlap").split("i", 6, tail="overlap")
tile.reorder("jo", "io", "k", "ii", "ji").unroll("ii").vectorize("ji")
print(tile)
stages["4 register tile"] = tile

# %% [markdown]
# ## 5. Pack what is read again
#
# A strip of `B` is 64 columns wide, and its rows lie a whole row of `B` apart: too far for the caches and for what fetches ahead. All
# tiles of a strip read the same numbers, so we copy them once, to a buffer where they lie beside each other. `cache_read` writes the
# loops of the copy. That the buffer holds what was read, at every read, is part of the proof.

# %%
packed = fresh().replay(tile.script()).cache_read("B", "jo")
print(packed)
stages["5 pack"] = packed

# %% [markdown]
# ## 6. The copy in lanes, too
#
# The loops of a copy are loops like any others.

# %%
stages["6 copy in lanes"] = fresh().replay(packed.script()).vectorize("B_cache.d1")

# %% [markdown]
# ## 7. Blocks for the second cache
#
# `A` comes from memory once for every strip. Four strips together fit the second cache: then `A` comes a quarter as often. The buffer
# holds four panels now, and `layout` says how they lie in memory; the loops that read it stay as they are.

# %%
blocked = (
    fresh()
    .allow_fma()
    .split("j", 64, tail="pad")
    .split("jo", 4, tail="clip")
    .split("i", 6, tail="overlap")
)
blocked.reorder("joo", "io", "joi", "k", "ii", "ji").unroll("ii").vectorize("ji")
blocked.cache_read("B", "joo").split("B_cache.d1", 64).split(
    "B_cache.d0", 16, tail="clip"
)
blocked.reorder("B_cache.d0o", "B_cache.d1o", "B_cache.d0i", "B_cache.d1i").vectorize(
    "B_cache.d1i"
)
blocked.layout("B_cache", "a b -> b/64 a b%64")
print(blocked)
stages["7 blocks"] = blocked

# %% [markdown]
# ## 8. All cores
#
# Blocks of columns do not meet, which `parallel` proves before it accepts. Loops that carry a sum it refuses, and shows two iterations
# that meet (tutorial 03).

# %%
everywhere = fresh().replay(blocked.script()).parallel("joo")
try:
    fresh().replay(blocked.script()).parallel("k")
except tx.ScheduleError as error:
    print(error)

# %% [markdown]
# ## Nothing has changed
#
# The certificate is a second proof: from the final loops alone, whatever the steps were, that they compute the formula. It names every
# sum whose order differs from that of the formula. Here there is none, so from stage 2 on all have the same bits. (Stage 1 has no
# `allow_fma`.)

# %%
print(everywhere.certificate())
kernels = {title: schedule.compile() for title, schedule in stages.items()} | {
    "8 parallel": everywhere.compile()
}
expected = kernels["2 reorder"](A, B)
print(
    "same bits:",
    all(
        np.array_equal(kernel(A, B), expected)
        for title, kernel in kernels.items()
        if title != "1 the formula"
    ),
)

# %% [markdown]
# ## What each step brought
#
# Times are medians; kernels take turns, so that whatever else the machine does hits all of them. The first seven and NumPy's OpenBLAS use
# one core, and processor time; the last one uses all cores.

# %%
candidates = {
    title: (lambda kernel=kernel: kernel(A, B, out=C))
    for title, kernel in kernels.items()
}
candidates["OpenBLAS, one core"] = lambda: np.matmul(A, B, out=C)
seconds = {title: [] for title in candidates}
for turn in range(2 if FAST else 9):
    for title, run in candidates.items():
        if turn and title[0] in "12" and turn % 4:
            continue  # slow, and far from the others
        alone, clock = (
            (nullcontext(), time.perf_counter)
            if title == "8 parallel"
            else (tx.options(threads=1), time.process_time)
        )
        with alone:
            start = clock()
            run()
            seconds[title].append(clock() - start)
rate = {
    title: 2 * N**3 / max(median(taken), 1e-9) / 1e9 for title, taken in seconds.items()
}
for title, gflops in rate.items():
    print(
        f"{title:<20} {gflops:7.1f} GFLOP/s  {gflops / rate['OpenBLAS, one core']:6.1%} of OpenBLAS"
    )

# %%
figure, axes = plt.subplots(figsize=(8, 3.6))
titles = [title for title in rate if title[0].isdigit()]
bars = axes.bar(range(len(titles)), [rate[title] for title in titles], color="tab:blue")
axes.bar_label(bars, fmt="%.3g", fontsize=8)
axes.axhline(
    rate["OpenBLAS, one core"], color="tab:red", linewidth=1, label="OpenBLAS, one core"
)
axes.set(
    xticks=range(len(titles)),
    ylabel="GFLOP/s",
    title=f"f32 product of {N} x {N}: one line of mathematics, eight steps",
)
axes.set_xticklabels([title.replace(" ", "\n", 1) for title in titles], fontsize=8)
axes.legend(loc="upper left")
plt.show()

# %% [markdown]
# ## Nobody has to write this
#
# `auto()` finds the structure (two operands, a sum, what is reused where) and writes the same kind of script, for your sizes and machine.
# It is what a call of the operator uses. Print it, copy it, change it.

# %%
print(fresh().auto().script())
print(
    "the operator, called by name, agrees:",
    np.allclose(matmul(A, B), expected, rtol=1e-4, atol=1e-3),
)
