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
# # A NumPy user's first hour
#
# **Claim:** a function written for NumPy takes tensors as it is. It then runs as one program
# without temporary arrays, gives the same numbers in less time, and has gradients.
#
# {{result}}
#
# You know NumPy. You need `pip install texpr[notebook]`.

# %%
import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

# %% tags=["setup"]
import os
import time

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # small sizes: for tests


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
# ## 1. From arrays to tensors and back
#
# `tx.tensor` takes an array without a copy. `numpy()`, `item()` and `tolist()` give values back,
# and a tensor prints its values.

# %%
a = np.arange(12, dtype=np.float32).reshape(3, 4)
x = tx.tensor(a)
print(x)
print(x.shape, x.dtype, x.sum().item())

# %% [markdown]
# ## 2. The same indices, operators and functions
#
# Indexing, broadcasting and reductions are NumPy's. So are the functions `np.exp`, `np.where`,
# `np.concatenate`, `np.einsum` and many others: given a tensor, they give a tensor.

# %%
print(x[1:, ::-2])
print(x[x > 8])
print((x - x.mean(axis=0)) / x.std(axis=0, keepdims=True))
print(np.where(x > 5, np.sqrt(x), 0)[1])
print(np.einsum("ij,kj->ik", x, x))

# %% [markdown]
# Two things differ. The result of an index is a value of its own, never a view. And where texpr has
# no such function, as for `np.sort`, NumPy computes on the values.

# %%
row = x[0]
x[0] = 100  # `x` is another value now; `row` keeps the old one
print(row, x[0], np.sort(row)[::-1])

# %% [markdown]
# ## 3. Dtypes
#
# Dtypes are NumPy's, with shorter names. A Python number takes the dtype of the tensor. The sum of
# integers has 64 bits.

# %%
i = tx.tensor(np.arange(4, dtype=np.int32))
values = (i + 1, i * 0.5, i / 2, i.sum(), x * 2, x * np.float64(2))
print(*(value.dtype for value in values))

# %% [markdown]
# ## 4. Nothing runs until you look
#
# An expression of tensors is a description. When a value is needed, everything it depends on is
# compiled as one program. The program is kept, so a loop in Python compiles its body once.
#
# Here is a kernel density estimate, as one writes it in NumPy. Its intermediate `z` has an element
# for each pair of a grid point and a sample.


# %%
def density(samples, grid, width):
    z = (grid[:, None] - samples) / width
    return np.exp(-0.5 * z * z).mean(axis=1) / (width * 2.5066283)


rng = np.random.default_rng(0)
COUNT, POINTS = (500, 40) if FAST else (20_000, 200)
samples = np.where(rng.random(COUNT) < 0.3, -1.5, 0.8) + 0.6 * rng.standard_normal(
    COUNT
)
samples = samples.astype(np.float32)
grid = np.linspace(-4, 4, POINTS, dtype=np.float32)
width = np.float32(0.15)

by_numpy = density(samples, grid, width)
lazy = density(tx.tensor(samples), tx.tensor(grid), width)  # nothing has run
np.testing.assert_allclose(lazy.numpy(), by_numpy, rtol=1e-4, atol=1e-6)

figure, axes = plt.subplots(figsize=(7, 2.8))
axes.hist(samples, bins=80, density=True, color="0.85")
axes.plot(grid, lazy)
axes.set(xlabel="x", ylabel="density")
plt.show()

# %% [markdown]
# The profile lists the kernels that ran. The pairs are computed within the sum and are never in
# memory.

# %%
with tx.profile() as profile:
    density(tx.tensor(samples), tx.tensor(grid), width).numpy()
print(profile)

# %% [markdown]
# ## 5. A function as one call
#
# `tx.jit` runs the Python code once for each structure of its arguments. From then on, a call is
# one native call, with arrays in and tensors out.

# %%
fast_density = tx.jit(density)
np.testing.assert_allclose(
    fast_density(samples, grid, width), by_numpy, rtol=1e-4, atol=1e-6
)
print(fast_density)

# %% [markdown]
# A function under `tx.jit` sees shapes, not values. An `if` on a value is refused, with a way out:

# %%
try:
    tx.jit(lambda v: v if v.sum() > 0 else -v)(np.ones(3))
except tx.Error as error:
    print(error)

# %% [markdown]
# ## 6. Gradients
#
# A leaf is a tensor with `requires_grad=True`. `backward` differentiates what a number was computed
# from. Here the width of the kernel is chosen by the likelihood of other samples.

# %%
others = tx.tensor(samples[: COUNT // 10] + np.float32(0.02))
some = tx.tensor(samples[COUNT // 2 : COUNT // 2 + COUNT // 10])
log_width = tx.tensor(np.float32(np.log(1.0)), requires_grad=True)
widths = []
for _ in range(4 if FAST else 40):
    loss = -np.log(density(some, others, np.exp(log_width)) + 1e-6).mean()
    loss.backward()
    with tx.no_grad():
        log_width -= 0.2 * log_width.grad
    log_width.grad = None
    widths.append(float(np.exp(log_width.item())))
print(f"width {widths[0]:.3f} -> {widths[-1]:.3f}, loss {loss.item():.4f}")
assert widths[-1] < widths[0]

# %% [markdown]
# ## 7. Loops that NumPy does not have
#
# Each value of an exponential average needs the value before it. In NumPy that is a loop in Python.
# Written as an operator, it is one equation, and it takes arrays and tensors alike.

# %%
average = tx.op("""
op average(x: f32[T], a: f32) -> y: f32[T] {
  y[t] = a * x[t] + (1 - a) * y[t-1 | 0]
}
""")
signal = np.sin(np.linspace(0, 12, 300)) + 0.4 * rng.standard_normal(300)
signal = signal.astype(np.float32)
smooth = average(tx.tensor(signal), 0.1)

expected, last = [], np.float32(0)
for value in signal:
    last = np.float32(0.1) * value + np.float32(0.9) * last
    expected.append(last)
np.testing.assert_allclose(smooth, expected, rtol=1e-4, atol=1e-5)

figure, axes = plt.subplots(figsize=(7, 2.4))
axes.plot(signal, color="0.8")
axes.plot(smooth)
plt.show()

# %% [markdown]
# ## 8. Sharp edges
#
# * `tx.tensor` copies an array, `tx.as_tensor` shares its memory. What you write into such an array
#   before a result computes is what the result sees. Call `realize()` first.
# * Comparisons, `bool(x)`, printing and masks as indices compute at once.
# * Arrays are made by NumPy: `tx.tensor(np.zeros(3))`.

# %%
memory = np.arange(3.0)
doubled = tx.as_tensor(memory) * 2
memory[:] = 7
print(doubled)

early = (tx.as_tensor(memory) * 2).realize()
memory[:] = 0
print(early)

# %% [markdown]
# ## 9. The claim
#
# Processor time on one core, the median of several calls.

# %%
calls = {
    "NumPy": lambda: density(samples, grid, width),
    "lazy tensors": lambda: density(tx.tensor(samples), tx.tensor(grid), width).numpy(),
    "tx.jit": lambda: fast_density(samples, grid, width).numpy(),
}
times = milliseconds(calls, turns=3 if FAST else 11)
figure, axes = plt.subplots(figsize=(6, 1.8))
axes.barh(list(times), list(times.values()))
axes.set(xlabel="milliseconds")
plt.show()

# %% tags=["result"]
error = np.abs(fast_density(samples, grid, width).numpy() - by_numpy).max()
print(
    f"a density of {COUNT} samples at {POINTS} points, one core: "
    f"NumPy {times['NumPy']:.1f} ms, "
    f"tensors {times['lazy tensors']:.1f} ms, tx.jit {times['tx.jit']:.1f} ms; "
    f"largest difference {error:.0e}"
)
print(machine.describe())
assert error < 1e-4 and (FAST or times["NumPy"] > 2 * times["tx.jit"])

# %% [markdown]
# ## Exercises
#
# 1. Write the distances of all pairs of 2-D points with broadcasting, and find each point's nearest
#    other point.
# 2. The derivative of the density by `grid` is its slope. Find it with `backward`, and compare with
#    differences.
# 3. Write an operator for the largest value so far, and compare with `np.maximum.accumulate`.

# %% tags=["solution"]
points = rng.random((50, 2), np.float32)


def nearest(p):
    d = ((p[:, None] - p) ** 2).sum(axis=-1)
    return (d + np.eye(len(p), dtype=np.float32) * 10).argmin(axis=1)


assert np.array_equal(nearest(tx.tensor(points)), nearest(points))
print(nearest(tx.tensor(points))[:10])

# %% tags=["solution"]
places, wide = grid.astype(np.float64), samples.astype(np.float64)
leaf = tx.tensor(places, requires_grad=True)
density(tx.tensor(wide), leaf, 0.15).sum().backward()  # each point has its own samples
step = 1e-5
up, down = (density(wide, places + sign * step, 0.15) for sign in (1.0, -1.0))
np.testing.assert_allclose(leaf.grad, (up - down) / (2 * step), rtol=1e-5, atol=1e-7)

# %% tags=["solution"]
largest = tx.op("""
op largest(x: f32[T]) -> y: f32[T] {
  y[t] = max(x[t], y[t-1 | -inf])
}
""")
assert np.array_equal(largest(signal), np.maximum.accumulate(signal))

# %% [markdown]
# Next: [Gradients are operators](05_gradients.ipynb), or
# [Three ways to train](06_three_ways_to_train.ipynb). All methods are in
# [the guide to tensors](../guide/tensors.md).
