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
# # What is legal
#
# **Claim:** a step that could change the answer is refused with the smallest example, and a step
# that could not is accepted. The finished loops carry a proof of their own.
#
# {{result}}
#
# You know how to write an operator ([Ten minutes](01_ten_minutes.ipynb)). You need
# `pip install texpr[notebook]`.

# %%
import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

# %% tags=["setup"]
import itertools
import os

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # small sizes: for tests

# %% [markdown]
# ## 1. A loop that may not run in parallel
#
# A Gauss-Seidel sweep: every point needs its left and its upper neighbour of the same sweep.
# Therefore it converges faster than Jacobi's method, and therefore it is hard to run in parallel.

# %%
sweep = tx.op("""
op sweep(U: f32[N, M]) -> V: f32[N, M] {
  V[i, j] = 0.25 * (V[i-1, j | 0] + V[i, j-1 | 0] + U[i+1, j | 0] + U[i, j+1 | 0])
}
""")
print(tx.schedule(sweep))

# %% [markdown]
# The listing says of each loop whether its iterations are independent. These are not, and
# `parallel` is refused. The error points into the operator's text. It names the smallest sizes and
# two iterations that clash, and it proposes legal steps, which have been proven.

# %%
try:
    tx.schedule(sweep).parallel("j")
except tx.ScheduleError as error:
    refusal = error
    print(error)

# %% [markdown]
# A refusal is no opinion: `replay()` runs both orders in the interpreter and shows the first
# element that differs.

# %%
print(refusal.replay())
print(refusal.witness)

# %% [markdown]
# ## 2. The picture of the dependences
#
# Each dot is an iteration, each arrow a value that must be there before. Dots of one colour would
# run at once. On the left, arrows join dots of one colour. On the right, all points with the same
# `i + j` have one colour, and no arrow joins two of them.

# %%
ROWS, COLUMNS = 5, 7
points = list(itertools.product(range(ROWS), range(COLUMNS)))
arrow = {"arrowstyle": "->", "color": "0.6", "shrinkA": 6, "shrinkB": 6}
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6))
for ax, color, title in (
    (axes[0], lambda i, j: i, 'parallel("j"): refused'),
    (axes[1], lambda i, j: i + j, "anti-diagonals: legal"),
):
    for i, j in points:
        for to in ((i + 1, j), (i, j + 1)):
            if to in points:
                ax.annotate("", to[::-1], (j, i), arrowprops=arrow)
    i, j = np.array(points).T
    ax.scatter(j, i, s=110, c=color(i, j), cmap="viridis", zorder=3)
    ax.set(title=title, xlabel="j", ylabel="i")
    ax.invert_yaxis()
plt.show()

# %% [markdown]
# ## 3. Skewing makes it legal
#
# `skew` shifts the loop over `j` by `i`. After `reorder`, an anti-diagonal is one iteration of the
# outer loop. Now the inner loop may run in parallel, for every size of `U`.

# %%
wavefront = tx.schedule(sweep).skew("j", "i").reorder("j", "i").parallel("i")
print(wavefront)

# %%
U = np.random.default_rng(0).random((40, 60), np.float32)
same = np.array_equal(wavefront.compile()(U), tx.interpret(sweep, U))
print("the same bits as the interpreter:", same)
assert same

# %% [markdown]
# ## 4. The order within a sum
#
# Float addition is not associative, so its order is part of the meaning. A step that changes the
# order must say so, and the script shows it.

# %%
total = tx.op("op total(X: f32[K]) -> y: f32 { y = sum(k: X[k]) }")
try:
    tx.schedule(total, K=1024).split("k", 16).rfactor("ki")
except tx.ScheduleError as error:
    print(error)

# %%
lanes = tx.schedule(total, K=1024).split("k", 16).rfactor("ki", reassoc=True)
lanes.reorder("ko", "ki").vectorize("ki")
print(lanes.script())

# %% [markdown]
# Integers wrap, in whatever order they are added. The largest of many numbers does not depend on
# the order either. Both need no permission.

# %%
largest = tx.op("op largest(X: f32[K]) -> y: f32 { y = max(k: X[k]) }")
print(tx.schedule(largest, K=1024).split("k", 16).rfactor("ki").script())

# %% [markdown]
# ## 5. Fusing a producer: blur in a sliding window
#
# The vertical pass of a blur needs three rows of the horizontal pass. `compute_at` produces them
# where they are needed. With `slide=True` a row that is there already is kept, so each row is
# computed once.

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
X = np.random.default_rng(0).random((H, W), np.float32)
assert np.array_equal(separate.compile()(X), windowed.compile()(X))

# %% [markdown]
# ## 6. The certificate
#
# Each step was proven when it was applied. The certificate does not trust those proofs. It reads
# the finished loops anew and proves them against the operator:
#
# * every output is computed once, and every sum is complete;
# * every read gets the right value, and nothing is out of bounds;
# * no two threads race.

# %%
print(wavefront.certificate())

# %%
print(lanes.certificate())

# %% [markdown]
# ## 7. The claim
#
# Every single step of five kinds, on every loop of three operators, at sizes that the errors choose
# themselves. An accepted step has to give the bits of the interpreter. A step that is refused for
# its order has to show an element that would change.

# %%
sums = tx.op("op sums(X: f32[N, K]) -> y: f32[N] { y[i] = sum(k: X[i, k]) }")
loops = {sweep: ["i", "j"], blur: ["T.i", "T.j", "Y.i", "Y.j"], sums: ["i", "k"]}
image = np.random.default_rng(0).random((9, 12), np.float32)


def is_as_it_should_be(op: tx.Op, step: str, *names: str) -> tuple[str, bool] | None:
    """Accepted or refused, and True if a run agrees; None if no such step exists."""
    schedule = tx.schedule(op)
    try:
        getattr(schedule, step)(*names)
    except tx.ScheduleError as error:
        return (
            ("refused", bool(error.replay().tensor)) if error.code == "order" else None
        )
    same = np.array_equal(schedule.compile()(image), tx.interpret(op, image))
    return "accepted", same


verdicts = []
for op, names in loops.items():
    for step in ("parallel", "vectorize", "reverse"):
        verdicts += [is_as_it_should_be(op, step, name) for name in names]
    for step in ("reorder", "fuse"):
        pairs = itertools.permutations(names, 2)
        verdicts += [is_as_it_should_be(op, step, *pair) for pair in pairs]
verdicts = [verdict for verdict in verdicts if verdict]

# %% tags=["result"]
accepted = [good for kind, good in verdicts if kind == "accepted"]
refused = [good for kind, good in verdicts if kind == "refused"]
print(
    f"{len(verdicts)} steps on three operators: {len(accepted)} accepted, of which "
    f"{sum(accepted)} give the same bits; {len(refused)} refused, of which "
    f"{sum(refused)} would change an element"
)
print(machine.describe())
assert all(accepted) and all(refused) and len(accepted) > 5 and len(refused) > 5

# %% [markdown]
# ## Exercises
#
# 1. `sweep` reads `V[i-1, j]` and `V[i, j-1]`. Is `tile("i", "j", sizes=(8, 8))` legal? And if it
#    reads `V[i-1, j+1]` instead of `V[i-1, j]`? Guess, then try.
# 2. Take `reorder` out of section 3. Why is `parallel("i")` refused then?
# 3. For which factors may `split("t", f).vectorize("ti")` be applied to
#    `Y[t] = Y[t-4 | 0] + X[t]`?

# %% tags=["solution"]
# Both dependences of `sweep` point right and down: a tile needs only tiles before it.
tx.schedule(sweep).tile("i", "j", sizes=(8, 8))
other = tx.op("""
op other(U: f32[N, M]) -> V: f32[N, M] {
  V[i, j] = 0.25 * (V[i-1, j+1 | 0] + V[i, j-1 | 0] + U[i+1, j | 0] + U[i, j+1 | 0])
}
""")
try:  # this dependence points up and right: a tile's last column needs the next tile
    tx.schedule(other).tile("i", "j", sizes=(8, 8))
    raise AssertionError
except tx.ScheduleError as error:
    print(error)

# %% tags=["solution"]
# Without `reorder` the loop over `i` is the outer one, and its iterations meet.
try:
    tx.schedule(sweep).skew("j", "i").parallel("i")
    raise AssertionError
except tx.ScheduleError as error:
    print(error)

# %% tags=["solution"]
echo = tx.op("op echo(X: f32[T]) -> Y: f32[T] { Y[t] = Y[t-4 | 0] + X[t] }")
legal = []
for f in range(1, 10):
    try:
        tx.schedule(echo).split("t", f).vectorize("ti")
        legal.append(f)
    except tx.ScheduleError:
        pass
print("legal factors:", legal)  # up to the distance of the dependence
assert max(legal) == 4
