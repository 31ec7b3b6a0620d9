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
# # Eight steps to a fast product
#
# **Claim:** the formula of a matrix product stays as it is, one line. Eight scheduling steps take
# it from three plain loops to the neighbourhood of OpenBLAS, and to all cores. Each step is proven,
# and from the second on all give the same bits.
#
# {{result}}
#
# You know how to write an operator ([Ten minutes](01_ten_minutes.ipynb)). You need
# `pip install texpr[notebook]`. Sections 1 to 3 are about a smaller operator, and about three
# steps: `split`, `reorder`, `vectorize`.

# %% tags=["setup"]
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded: one core to compare
import time

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # small sizes: for tests


def seconds(calls: dict, turns: int, clock=time.process_time) -> dict[str, float]:
    """The shortest time of each call; the calls take turns."""
    times = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            start = clock()
            call()
            times[name].append(clock() - start)
    return {name: max(min(each), 1e-9) for name, each in times.items()}


# %%
import matplotlib.pyplot as plt
import numpy as np

import texpr as tx
from texpr.targets import find_target

# %% [markdown]
# ## 1. Something small: the sums of columns
#
# One number for each column of `X`. The schedule is a value, and printed it shows the loops.

# %%
column_sums = tx.op("""
op column_sums(X: f32[N, M]) -> y: f32[M] {
  y[j] = sum(i: X[i, j])
}
""")
SIDE = 128 if FAST else 2048
plain = tx.schedule(column_sums, N=SIDE, M=SIDE)
print(plain)

# %% [markdown]
# The innermost loop runs over `i`, down a column. Neighbours of a column lie a whole row apart in
# memory. So each element comes from another cache line, and most of the line is not used.
#
# `reorder` names the loops from the outside in. Now the innermost loop walks along a row:

# %%
along = tx.schedule(column_sums, N=SIDE, M=SIDE).reorder("i", "j")
print(along)

# %% [markdown]
# Each sum still adds its own terms in the same order, so the step is legal and no bit changes.
# `reorder` splits what stands beside the inner loop, the start and the end of each sum, into loops
# of their own.

# %% [markdown]
# ## 2. Strips and lanes
#
# A vector instruction adds several neighbours at once. `split` cuts a loop into strips:
# `j` becomes `jo`, which counts strips, and `ji`, which runs within a strip. `vectorize` then runs
# a strip in the lanes of a register.

# %%
core = find_target("native").machine
LANES = core.vector_bytes // 4
print(f"{LANES} floats in a vector, {core.vector_registers} vector registers")

in_lanes = tx.schedule(column_sums, N=SIDE, M=SIDE).reorder("i", "j")
in_lanes.split("j", LANES).vectorize("ji")
print(in_lanes)

# %% [markdown]
# `vectorize` proves that the iterations of the strip do not depend on each other. The loop over
# `i` carries the sums, so it is refused:

# %%
try:
    tx.schedule(column_sums, N=SIDE, M=SIDE).vectorize("i")
except tx.ScheduleError as error:
    print(error)

# %% [markdown]
# The order in which a matrix of 4 rows and 8 columns is read, from dark to light. Elements of one
# vector have one colour.

# %%
rows, columns = np.indices((4, 8))
orders = {
    "plain: down the columns": columns * 4 + rows,
    'reorder("i", "j")': rows * 8 + columns,
    'split("j", 4).vectorize("ji")': (rows * 8 + columns) // 4 * 4,
}
figure, axes = plt.subplots(1, 3, figsize=(10, 2))
for ax, (title, order) in zip(axes, orders.items()):
    ax.imshow(order, cmap="viridis")
    ax.set_title(title, fontsize=9)
    ax.set(xlabel="j", ylabel="i", xticks=[], yticks=[])
plt.show()

# %%
X = np.random.default_rng(0).random((SIDE, SIDE), np.float32)
stages = {"plain": plain, "reorder": along, "lanes": in_lanes}
kernels = {title: schedule.compile() for title, schedule in stages.items()}
sums = [kernel(X) for kernel in kernels.values()]
assert np.array_equal(sums[0], sums[1]) and np.array_equal(sums[0], sums[2])
calls = {title: (lambda kernel=kernel: kernel(X)) for title, kernel in kernels.items()}
with tx.options(threads=1):
    times = seconds(calls | {"NumPy": lambda: X.sum(axis=0)}, turns=2 if FAST else 9)
for title, time_of_one in times.items():
    print(f"{title:<8} {time_of_one * 1e3:8.2f} ms")

# %% [markdown]
# The step that counts here is `reorder`: memory is what the loop waits for. Vectors matter where
# each number is used several times, and a matrix product is such a case.
#
# ## 3. The formula of a product
#
# We keep the schedule after each step, and measure them all at the end.

# %%
matmul = tx.op("""
op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {
  C[i, j] = sum(k: A[i, k] * B[k, j])
}
""")
N = 96 if FAST else 1024
A, B = np.random.default_rng(0).standard_normal((2, N, N), dtype=np.float32)
C = np.empty((N, N), np.float32)


def fresh():
    return tx.schedule(matmul, M=N, N=N, K=N)


stages = {"1 formula": fresh()}
print(stages["1 formula"])

# %% [markdown]
# ## 4. Memory and lanes: steps 2 and 3
#
# The same two steps as above. `allow_fma` permits `a * b + c` with a single rounding, for which the
# processor has an instruction. It changes bits, so it is a step and stands in the script.

# %%
stages["2 reorder"] = fresh().allow_fma().reorder("i", "k", "j")
print(stages["2 reorder"])

# %%
WIDE = core.vector_registers >= 32
STRIP = LANES * (4 if WIDE else 2)
stages["3 vectorize"] = fresh().allow_fma().reorder("i", "k", "j")
stages["3 vectorize"].split("j", STRIP, tail="peel").vectorize("ji")
print(stages["3 vectorize"])

# %% [markdown]
# `tail="peel"` says where the columns go that the strips leave over: into loops of their own.
#
# ## 5. A tile in registers: step 4
#
# Each product so far costs a load and a store of `C`. With `k` inside, the sums of a tile stay in
# registers while all terms are added. A tile has 6 rows and `STRIP` columns. Its sums take 12 of 16
# vector registers, or 24 of 32. And each element of `B` that was loaded serves six rows.
#
# The number of rows is no multiple of 6: the last tile overlaps the one before it
# (`tail="overlap"`), and some sums are computed twice. The step would be refused if the second time
# gave another result.

# %%
tile = fresh().allow_fma()
tile.split("j", STRIP, tail="overlap").split("i", 6, tail="overlap")
tile.reorder("jo", "io", "k", "ii", "ji").unroll("ii").vectorize("ji")
print(tile)
stages["4 tile"] = tile

# %% [markdown]
# ## 6. Packed operands: steps 5 and 6
#
# All tiles of a strip read the same part of `B`, whose rows lie far apart. `cache_read` copies the
# part once, to a buffer where its rows lie beside each other, and writes the loops of the copy.
# The proof covers the copy: at every read, the buffer holds the element that was read before.

# %%
packed = fresh().replay(tile.script()).cache_read("B", "jo")
print(packed)
stages["5 pack"] = packed

# %% [markdown]
# The loops of a copy are loops like any others, so they can run in lanes, too.

# %%
stages["6 copy in lanes"] = fresh().replay(packed.script()).vectorize("B_cache.d1")

# %% [markdown]
# ## 7. Blocks for the second-level cache: step 7
#
# `A` comes from memory once for every strip. Several strips together fit the second-level cache:
# then `A` comes less often. The buffer now holds several panels, and `layout` says how they lie in
# memory. The loops that read the buffer stay as they are.

# %%
blocked = fresh().allow_fma().split("j", STRIP, tail="pad")
blocked.split("jo", 4 if WIDE else 8, tail="clip").split("i", 6, tail="overlap")
blocked.reorder("joo", "io", "joi", "k", "ii", "ji").unroll("ii").vectorize("ji")
blocked.cache_read("B", "joo")
blocked.split("B_cache.d1", STRIP).split("B_cache.d0", 16, tail="clip")
blocked.reorder("B_cache.d0o", "B_cache.d1o", "B_cache.d0i", "B_cache.d1i")
blocked.vectorize("B_cache.d1i")
blocked.layout("B_cache", f"a b -> b/{STRIP} a b%{STRIP}")
print(blocked)
stages["7 blocks"] = blocked

# %% [markdown]
# ## 8. All cores: step 8
#
# Blocks of columns do not meet, and `parallel` proves it. A loop that carries a sum is refused,
# with two iterations that meet ([What is legal](02_what_is_legal.ipynb)).

# %%
stages["8 parallel"] = fresh().replay(blocked.script()).parallel("joo")
try:
    fresh().replay(blocked.script()).parallel("k")
except tx.ScheduleError as error:
    print(error)

# %% [markdown]
# ## 9. The second proof
#
# The certificate proves from the final loops alone, whatever the steps were, that they compute the
# formula. It names every sum whose order differs from the formula's. Here there is none, so from
# stage 2 on all have the same bits. (Stage 1 has no `allow_fma`.)

# %%
print(stages["8 parallel"].certificate())
kernels = {title: schedule.compile() for title, schedule in stages.items()}
expected = kernels["2 reorder"](A, B)
same = [np.array_equal(kernels[title](A, B), expected) for title in list(stages)[1:]]
print("the same bits from stage 2 on:", all(same))
assert all(same)

# %% [markdown]
# ## 10. The claim
#
# Processor time on one core, the shortest of several calls.

# %%
calls = {
    title: (lambda kernel=kernel: kernel(A, B, out=C))
    for title, kernel in kernels.items()
}
shared = {title: calls[title] for title in ("7 blocks", "8 parallel")}
del calls["8 parallel"]
slow = {title: calls.pop(title) for title in ("1 formula", "2 reorder")}
turns = 2 if FAST else 9
with tx.options(threads=1):
    times = seconds(slow, turns=1 if FAST else 3)
    times |= seconds(calls | {"OpenBLAS": lambda: np.matmul(A, B, out=C)}, turns)
blas = 2e-9 * N**3 / times.pop("OpenBLAS")
rate = {title: 2e-9 * N**3 / each for title, each in times.items()}

figure, axes = plt.subplots(figsize=(8, 3.6))
bars = axes.bar(range(len(rate)), list(rate.values()))
axes.bar_label(bars, fmt="%.3g", fontsize=8)
axes.axhline(blas, color="tab:red", linewidth=1, label="OpenBLAS, one core")
axes.set(ylabel="GFLOP/s", title=f"f32 product of {N} x {N}")
axes.set_xticks(range(len(rate)), [t.replace(" ", "\n", 1) for t in rate], fontsize=8)
axes.legend(loc="upper left")
plt.show()

# %% tags=["result"]
print(f"f32 product of {N} x {N}, as a share of OpenBLAS on one core:")
print(", ".join(f"{title} {gflops / blas:.1%}" for title, gflops in rate.items()))
print(machine.describe())
assert FAST or rate["7 blocks"] > max(0.6 * blas, 20 * rate["1 formula"])

# %% [markdown]
# The eighth stage gives each core a part of the same work. Its time is read from the clock, so
# it depends on the other programs that run on the machine.

# %%
by_clock = seconds(shared, 4 * turns, clock=time.perf_counter)
for title, each in by_clock.items():
    print(f"{title:<10} {each * 1e3:6.2f} ms by the clock")

# %% [markdown]
# ## 11. The same, written by `auto()`
#
# `auto()` finds the structure, two operands, a sum and what is reused, and writes a script of the
# same kind for your sizes and your processor. A call of the operator uses it. Print it, copy it,
# change it.

# %%
print(fresh().auto().script())
assert np.allclose(matmul(A, B), expected, rtol=1e-4, atol=1e-3)

# %% [markdown]
# ## Exercises
#
# 1. Schedule the sums of *rows*, `y[i] = sum(j: X[i, j])`, in lanes. Why does `vectorize("j")` not
#    do, and which step do you need?
# 2. Give the tile of step 4 twelve rows. Does it stay in registers? Look for stores to the stack in
#    `kernel.asm`, or measure.
# 3. In step 7, take `tail="overlap"` for the rows away. Which other tails are legal?

# %% tags=["solution"]
# All terms of a row go into one number. `rfactor` makes a number for each lane. This
# changes the order of a float sum, so it has to be permitted.
row_sums = tx.op("op row_sums(X: f32[N, M]) -> y: f32[N] { y[i] = sum(j: X[i, j]) }")
by_rows = tx.schedule(row_sums, N=SIDE, M=SIDE).split("j", LANES)
by_rows.rfactor("ji", reassoc=True).reorder("i", "jo", "ji").vectorize("ji")
np.testing.assert_allclose(by_rows.compile()(X), X.sum(axis=1), rtol=1e-5)
print(by_rows)

# %% tags=["solution"]
tall = fresh().allow_fma()
tall.split("j", STRIP, tail="overlap").split("i", 12, tail="overlap")
tall.reorder("jo", "io", "k", "ii", "ji").unroll("ii").vectorize("ji")
kernel = tall.compile()
for name, each in (("6 rows", kernels["4 tile"]), ("12 rows", kernel)):
    stores = [line for line in each.asm.splitlines() if "rsp)" in line or "[sp" in line]
    print(f"{name}: {len(stores)} instructions use the stack")
assert np.array_equal(kernel(A, B), expected)

# %% tags=["solution"]
for tail in ("overlap", "clip", "peel", "pad", "exact"):
    try:
        s = fresh().allow_fma().split("j", STRIP, tail="pad").split("i", 6, tail=tail)
        s.reorder("jo", "io", "k", "ii", "ji").unroll("ii").vectorize("ji")
        print(
            f"{tail}: legal, the same bits:",
            np.array_equal(s.compile()(A, B), expected),
        )
    except tx.ScheduleError as error:
        print(f"{tail}: {error.message}")

# %% [markdown]
# Next: [Tuning](12_tuning.ipynb) searches for the numbers in such a script. All steps are in
# [the guide](../guide/scheduling.md).
