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
# # Ten minutes
#
# **Claim:** a kernel that is written as three equations, and scheduled in one line, gives the same
# answer as NumPy in less time.
#
# {{result}}
#
# You need `pip install texpr[notebook]`. Everything here runs on the CPU.

# %%
import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

# %% tags=["setup"]
import os
import time

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # small sizes: for tests
ROWS, COLUMNS = (64, 128) if FAST else (2048, 1024)


def excerpt(text: str, mark: str) -> str:
    """A few lines of the text around the first that contains `mark`."""
    lines = [line.expandtabs(8)[:86] for line in text.splitlines()]
    at = next((k for k, line in enumerate(lines) if mark in line), 3)
    return "\n".join(lines[at - 3 : at + 7])


def milliseconds(calls: dict, turns: int) -> dict[str, float]:
    """The median processor time of each call, on one core; the first turn warms up."""
    times = {name: [] for name in calls}
    with tx.options(threads=1):
        for name, call in list(calls.items()) * (turns + 1):
            start = time.process_time()
            call()
            times[name].append((time.process_time() - start) * 1e3)
    return {name: float(np.median(each[1:])) for name, each in times.items()}


# %% [markdown]
# ## 1. A kernel
#
# An operator is mathematics: tensors in, tensors out, equations between them. `m` and `e` are
# intermediates; their shapes follow from their equations. No loop, no buffer and no order of
# evaluation is written down.

# %%
softmax = tx.op("""
op softmax(X: f32[N, D]) -> Y: f32[N, D] {
  m[i]    = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}
""")

# %% [markdown]
# ## 2. A call on NumPy arrays
#
# The operator is compiled on the first call, and the code is kept.

# %%
X = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
Y = softmax(X)
print(Y.shape, Y.dtype, "rows sum to", Y.sum(axis=1)[:3])

# %% [markdown]
# Mistakes are found before anything runs, for all sizes at once. Here `X` is read one past its end:

# %%
try:
    tx.op("op difference(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] - X[i] }")
except tx.CheckError as error:
    print(error)

# %% [markdown]
# ## 3. The loops
#
# The loops are a *schedule*, apart from the operator. The first schedule is the naive one: a loop
# nest for each equation.

# %%
naive = tx.schedule(softmax, N=ROWS, D=COLUMNS)
print(naive)

# %% [markdown]
# A step changes the loops, and each step is proven not to change the answer. Rows do not meet, so
# their loop may run in parallel:

# %%
print(tx.schedule(softmax, N=ROWS, D=COLUMNS).parallel("m.i"))

# %% [markdown]
# All iterations over `j` go into one number. So their loop may not run in parallel, and the error
# has the smallest example:

# %%
try:
    tx.schedule(softmax, N=ROWS, D=COLUMNS).parallel("m.j")
except tx.ScheduleError as error:
    print(error)

# %% [markdown]
# The default schedule, `auto()`, consists of the same steps that you can write by hand. It prints
# as a script to edit, and as the loops that the script makes:

# %%
scheduled = tx.schedule(softmax, N=ROWS, D=COLUMNS).auto()
print(scheduled.script())

# %%
print(scheduled)

# %% [markdown]
# ## 4. The machine code
#
# LLVM turns the loops into machine code. Here are a few lines of the exponential: no library is
# called.

# %%
fast, slow = scheduled.compile(), naive.compile()
print(excerpt(fast.asm, "vfmadd" if "vfmadd" in fast.asm else "fmla"))

# %% [markdown]
# ## 5. The gradient
#
# The gradient of an operator is an operator, in the same language. It takes the gradient of the
# output as a further input.

# %%
gradient = tx.grad(softmax)
print(gradient)

# %%
dY = np.random.default_rng(1).standard_normal(X.shape).astype(np.float32)
dX = gradient(X, dY)
by_hand = Y * (dY - (dY * Y).sum(axis=1, keepdims=True))
np.testing.assert_allclose(dX, by_hand, rtol=1e-3, atol=1e-6)

# %% [markdown]
# ## 6. A picture
#
# The language is not for networks alone. Mandelbrot's set is a recurrence: the first index of `re`
# and `im` is time.

# %%
mandelbrot = tx.op("""
op mandelbrot(cx: f64[W], cy: f64[H]; STEPS = 40) -> count: i64[H, W]
    require STEPS >= 0 {
  let re: f64[STEPS + 1, H, W]
  let im: f64[STEPS + 1, H, W]
  re[0, y, x] = 0
  im[0, y, x] = 0
  re[t+1, y, x] = re[t, y, x] * re[t, y, x] - im[t, y, x] * im[t, y, x] + cx[x]
      for t in 0..STEPS
  im[t+1, y, x] = 2 * re[t, y, x] * im[t, y, x] + cy[y]  for t in 0..STEPS
  r2[t, y, x] = re[t+1, y, x] * re[t+1, y, x] + im[t+1, y, x] * im[t+1, y, x]
      for t in 0..STEPS
  count[y, x] = sum(t in 0..STEPS: if r2[t, y, x] <= 4 then 1 else 0)
}
""")
width = 60 if FAST else 300
count = mandelbrot(
    np.linspace(-2.1, 0.6, width), np.linspace(-1.2, 1.2, width * 8 // 9)
)
assert count.max() == 40 and count.min() < 3
figure, axes = plt.subplots(figsize=(4.5, 4))
axes.imshow(np.log1p(count), cmap="magma", extent=(-2.1, 0.6, -1.2, 1.2))
axes.set(title="steps inside |z| <= 2", xlabel="re c", ylabel="im c")
plt.show()

# %% [markdown]
# ## 7. The claim
#
# The same answer as NumPy, and the times: processor time on one core, the median of several calls
# that take turns.


# %%
def numpy_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


np.testing.assert_allclose(softmax(X), numpy_softmax(X), rtol=2e-6, atol=1e-7)
np.testing.assert_allclose(fast(X), numpy_softmax(X), rtol=2e-6, atol=1e-7)
out = np.empty_like(X)
calls = {
    "naive loops": lambda: slow(X, out),
    "scheduled": lambda: fast(X, out),
    "NumPy": lambda: numpy_softmax(X),
}
times = milliseconds(calls, turns=3 if FAST else 15)

figure, axes = plt.subplots(figsize=(5, 2))
axes.barh(list(times), list(times.values()))
axes.set(xlabel="milliseconds", title=f"softmax of {ROWS} x {COLUMNS} floats")
plt.show()

# %% tags=["result"]
ratio = times["NumPy"] / times["scheduled"]
print(
    f"softmax of {ROWS} x {COLUMNS} floats, equal to NumPy's, on one core: "
    f"{times['scheduled']:.2f} ms, "
    f"NumPy {times['NumPy']:.1f} ms, {ratio:.1f} times as long"
)
print(machine.describe())
assert FAST or ratio > 2

# %% [markdown]
# ## Exercises
#
# 1. Write `logsumexp`: one number for each row, the logarithm of the sum of exponentials. Keep the
#    maximum, so that large numbers do not overflow.
# 2. `difference` above reads past the end. Say two ways to mend it: a shorter output, or a *guard*.
# 3. Apply the printed script of `auto()` yourself, with `replay`. Are the bits the same?

# %% tags=["solution"]
logsumexp = tx.op("""
op logsumexp(X: f32[N, D]) -> y: f32[N] {
  m[i] = max(j: X[i, j])
  y[i] = m[i] + log(sum(j: exp(X[i, j] - m[i])))
}
""")
large = X[:4] + 100
expected = np.log(np.exp(large.astype(np.float64)).sum(axis=1))
np.testing.assert_allclose(logsumexp(large), expected, rtol=1e-6)

# %% tags=["solution"]
shorter = tx.op(
    "op shorter(X: f32[N]) -> Y: f32[N - 1] require N >= 1 { Y[i] = X[i + 1] - X[i] }"
)
guarded = tx.op(  # outside of X stands 0
    "op guarded(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1 | 0] - X[i] }"
)
row = np.float32([1, 4, 9])
print(shorter(row), guarded(row))
assert shorter(row).tolist() == [3, 5] and guarded(row).tolist() == [3, 5, -9]

# %% tags=["solution"]
again = tx.schedule(softmax, N=ROWS, D=COLUMNS).replay(scheduled.script()).compile()
print("the same bits:", np.array_equal(again(X), fast(X)))
assert np.array_equal(again(X), fast(X))

# %% [markdown]
# Next: [What is legal](02_what_is_legal.ipynb), or
# [A NumPy user's first hour](04_numpy_first_hour.ipynb). The rules of the language are in
# [the reference](../reference/language.md).
