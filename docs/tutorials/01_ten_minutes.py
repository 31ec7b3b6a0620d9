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
# **Claim:** a kernel written as three equations, scheduled in one line, gives the same answer as NumPy in less time.
#
# You need `texpr` and `matplotlib`. Everything below runs on the CPU in well under a minute.

# %%
import os
import re
import statistics
import time

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # small sizes: for tests
ROWS, COLUMNS = (64, 128) if FAST else (2048, 1024)

# %% [markdown]
# ## 1. Write a kernel
#
# An operator is mathematics: tensors in, tensors out, equations between them. `m` and `e` are intermediates; their shapes follow from
# their equations. No loop, no buffer, no order of evaluation.

# %%
softmax = tx.op("""
op softmax(X: f32[N, D]) -> Y: f32[N, D] {
  m[i]    = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}
""")

# %% [markdown]
# ## 2. Call it on NumPy arrays
#
# It is compiled on the first call and kept.

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
# ## 3. Look at the loops
#
# The loops are a *schedule*, apart from the operator. At first they are the naive ones, one nest per equation:

# %%
naive = tx.schedule(softmax, N=ROWS, D=COLUMNS)
print(naive)

# %% [markdown]
# A schedule is changed in steps, and each step is proven not to change the answer. One that would is refused. All steps
# of a row's maximum go into one number, so this loop cannot run in parallel:

# %%
try:
    tx.schedule(softmax, N=ROWS, D=COLUMNS).parallel("m.j")
except tx.ScheduleError as error:
    print(error)

# %% [markdown]
# The default schedule is made of the same steps that you can write by hand. It prints as a script to edit:

# %%
scheduled = tx.schedule(softmax, N=ROWS, D=COLUMNS).auto()
print(scheduled.script())

# %%
print(scheduled)

# %% [markdown]
# ## 4. Look at the code
#
# LLVM turns the loop nest into machine code. Here is a part of both texts where the exponential is computed: no library is called.

# %%
fast, slow = scheduled.compile(), naive.compile()


def excerpt(text: str, pattern: str, lines: int = 12) -> str:
    """The lines around the first that `pattern` is found in."""
    every = text.splitlines()
    at = next((k for k, line in enumerate(every) if re.search(pattern, line)), 0)
    return "\n".join(line[:120] for line in every[max(0, at - 3) : at + lines - 3])


print(excerpt(fast.llvm, "= .*@llvm.fma"))

# %%
print(excerpt(fast.asm, "vfmadd|fmla"))

# %% [markdown]
# ## 5. Differentiate it
#
# The gradient of an operator is an operator again, in the same language. It takes the gradient of the output as a further input.

# %%
gradient = tx.grad(softmax)
print(gradient)

# %%
dY = np.random.default_rng(1).standard_normal(X.shape).astype(np.float32)
dX = gradient(X, dY)
np.testing.assert_allclose(
    dX, Y * (dY - (dY * Y).sum(axis=1, keepdims=True)), rtol=1e-3, atol=1e-6
)

# %% [markdown]
# ## 6. A picture
#
# The language is not only for networks. Mandelbrot's set is a recurrence: time is the first index of `re` and `im`.

# %%
mandelbrot = tx.op("""
op mandelbrot(cx: f64[W], cy: f64[H]; STEPS = 40) -> count: i64[H, W] require STEPS >= 0 {
  let re: f64[STEPS + 1, H, W]
  let im: f64[STEPS + 1, H, W]
  re[0, y, x] = 0
  im[0, y, x] = 0
  re[t+1, y, x] = re[t, y, x] * re[t, y, x] - im[t, y, x] * im[t, y, x] + cx[x]  for t in 0..STEPS
  im[t+1, y, x] = 2 * re[t, y, x] * im[t, y, x] + cy[y]  for t in 0..STEPS
  count[y, x] = sum(t in 0..STEPS: if re[t+1, y, x] * re[t+1, y, x] + im[t+1, y, x] * im[t+1, y, x] <= 4 then 1 else 0)
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
# The same answer as NumPy, and the times. Each is the median of several runs, taken in turn.


# %%
def numpy_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


out = np.empty_like(X)
contenders = {
    "naive loops": lambda: slow(X, out),
    "scheduled": lambda: fast(X, out),
    "NumPy": lambda: numpy_softmax(X),
}
times: dict[str, list[float]] = {name: [] for name in contenders}
for turn in range(4 if FAST else 16):
    for name, run in contenders.items():
        start = time.perf_counter()
        run()
        if turn:  # the first turn warms up
            times[name].append((time.perf_counter() - start) * 1e3)
medians = {name: statistics.median(each) for name, each in times.items()}

figure, axes = plt.subplots(figsize=(5, 2))
axes.barh(list(medians), list(medians.values()))
axes.set(xlabel="milliseconds", title=f"softmax of {ROWS} x {COLUMNS} floats")
plt.show()
print(", ".join(f"{name} {ms:.3f} ms" for name, ms in medians.items()))

# %%
np.testing.assert_allclose(softmax(X), numpy_softmax(X), rtol=2e-6, atol=1e-7)
np.testing.assert_allclose(fast(X), numpy_softmax(X), rtol=2e-6, atol=1e-7)
print(
    f"equal to NumPy, in {medians['NumPy'] / medians['scheduled']:.1f} times less time"
    if not FAST
    else "equal to NumPy"
)

# %% [markdown]
# Next: `docs/reference/language.md` explains every rule of the language; `examples/operators` has 65 operators from linear algebra to games.
