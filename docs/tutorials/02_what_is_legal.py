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
# # When is a schedule legal?
#
# **Claim:** a step that could change the answer is refused with the smallest example, a step that could not is accepted, and the finished
# loop nest carries a proof of its own.
#
# You know how to write an operator and split a loop (tutorial 01). You need `texpr` and `matplotlib`.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # small sizes: for tests

# %% [markdown]
# ## 1. A loop that may not run in parallel
#
# A Gauss-Seidel sweep: every point needs its left and its upper neighbour of the same sweep, which is what makes it converge faster than
# Jacobi's method, and what makes it hard to run in parallel.

# %%
sweep = tx.op("""
op sweep(U: f32[N, M]) -> V: f32[N, M] {
  V[i, j] = 0.25 * (V[i-1, j | 0] + V[i, j-1 | 0] + U[i+1, j | 0] + U[i, j+1 | 0])
}
""")
print(tx.schedule(sweep))

# %% [markdown]
# The listing says of each loop whether its iterations are independent. These are not, and `parallel` is refused. The error points into the
# operator's text, names the smallest sizes and the two iterations that clash, and proposes what *is* legal. The proposals have been proven.

# %%
try:
    tx.schedule(sweep).parallel("j")
except tx.ScheduleError as error:
    refusal = error
    print(error)

# %% [markdown]
# A refusal is no opinion: `replay()` runs both orders in the interpreter and shows the first element that differs.

# %%
print(refusal.replay())
print(refusal.witness)

# %% [markdown]
# ## 2. The picture behind it
#
# Each dot is an iteration, each arrow a value that must be there before. Dots of one colour would run at once. On the left arrows join dots
# of one colour; on the right, where all points with the same `i + j` have one colour, none does.

# %%
ROWS, COLUMNS = 5, 7
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6))
for ax, colour, title in (
    (axes[0], lambda i, j: i, 'parallel("j"): refused'),
    (axes[1], lambda i, j: i + j, "anti-diagonals: legal"),
):
    for i in range(ROWS):
        for j in range(COLUMNS):
            for di, dj in ((1, 0), (0, 1)):
                if i + di < ROWS and j + dj < COLUMNS:
                    ax.annotate(
                        "",
                        (j + dj, i + di),
                        (j, i),
                        arrowprops={
                            "arrowstyle": "->",
                            "color": "0.6",
                            "shrinkA": 6,
                            "shrinkB": 6,
                        },
                    )
            ax.scatter(
                j,
                i,
                s=110,
                color=plt.get_cmap("viridis")(colour(i, j) / (ROWS + COLUMNS - 2)),
                zorder=3,
            )
    ax.set(
        title=title, xlabel="j", ylabel="i", xticks=range(COLUMNS), yticks=range(ROWS)
    )
    ax.invert_yaxis()
plt.show()

# %% [markdown]
# ## 3. Skew, and it becomes legal
#
# `skew` shifts the loop over `j` by `i`, so that an anti-diagonal becomes one iteration of the outer loop after `reorder`. Now the inner
# loop may run in parallel, for every size of `U`.

# %%
wavefront = tx.schedule(sweep).skew("j", "i").reorder("j", "i").parallel("i")
print(wavefront)

# %%
U = np.random.default_rng(0).random((40, 60), np.float32)
print(
    "same bits as the interpreter:",
    np.array_equal(wavefront.compile()(U), tx.interpret(sweep, U)),
)

# %% [markdown]
# ## 4. The order within a sum
#
# Float addition is not associative, so its order is part of the meaning. A step that changes it must say so, and the script shows it.

# %%
total = tx.op("op total(X: f32[K]) -> y: f32 { y = sum(k: X[k]) }")
try:
    tx.schedule(total, K=1024).split("k", 16).rfactor("ki")
except tx.ScheduleError as error:
    print(error)

# %%
lanes = (
    tx.schedule(total, K=1024)
    .split("k", 16)
    .rfactor("ki", reassoc=True)
    .reorder("ko", "ki")
    .vectorize("ki")
)
print(lanes.script())

# %% [markdown]
# Integers wrap, whatever the order, and the largest of many numbers does not depend on it: those need no permission.

# %%
largest = tx.op("op largest(X: f32[K]) -> y: f32 { y = max(k: X[k]) }")
print(tx.schedule(largest, K=1024).split("k", 16).rfactor("ki").script())

# %% [markdown]
# ## 5. Fusing a producer: blur in a sliding window
#
# The vertical pass of a blur needs three rows of the horizontal pass. `compute_at` produces them where they are needed. With `slide=True`
# a row that is there already is kept, so each is computed once.

# %%
blur = tx.op("""
op blur(X: f32[H, W]) -> Y: f32[H, W] {
  T[i, j] = (X[i, j-1 | clamp] + X[i, j] + X[i, j+1 | clamp]) / 3
  Y[i, j] = (T[i-1, j | clamp] + T[i, j] + T[i+1, j | clamp]) / 3
}
""")
H, W = (48, 64) if FAST else (1080, 1920)
separate = tx.schedule(blur, H=H, W=W)
windowed = tx.schedule(blur, H=H, W=W).compute_at("T", "Y.i", slide=True)
print(windowed)

# %%
kernels = {"two passes": separate.compile(), "sliding window": windowed.compile()}
X = np.random.default_rng(0).random((H, W), np.float32)
results = {name: kernel(X) for name, kernel in kernels.items()}
print("equal:", np.array_equal(*results.values()))

# %% [markdown]
# ## 6. The certificate
#
# Each step was proven when it was applied. The certificate does not trust those proofs: it reads the finished loop nest anew and proves it
# against the operator: every output computed once, every read the right value, every sum complete, nothing out of bounds, no race.

# %%
print(wavefront.certificate())

# %%
print(lanes.certificate())

# %% [markdown]
# ## Exercises
#
# 1. `sweep` reads `V[i-1, j]` and `V[i, j-1]`. Which of `tile("i", "j", sizes=(8, 8))` and the same for `V[i-1, j+1]` is legal? Guess, try.
# 2. Take `reorder` out of section 3. Why is `parallel("i")` refused then?
# 3. For which factors may `split("t", f).vectorize("ti")` be applied to `Y[t] = Y[t-4 | 0] + X[t]`?
