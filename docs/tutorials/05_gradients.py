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
# # Gradients are operators
#
# **Claim:** write a fused layer as four equations, and its gradient is the formula that the
# literature derives by hand. It is text to read, check, schedule, compile and differentiate again,
# and PyTorch can call it.
#
# {{result}}
#
# You know how to write an operator ([Ten minutes](01_ten_minutes.ipynb)). You need
# `pip install texpr[notebook]`. Section 6 uses `torch` where it is installed.

# %%
import matplotlib.pyplot as plt
import numpy as np

import texpr as tx
from texpr import nn

# %% tags=["setup"]
import importlib.util
import os
import time

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # small sizes: for tests
ROWS, COLUMNS, EPOCHS = (32, 64, 2) if FAST else (1024, 768, 30)


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
# ## 1. A fused layer
#
# Layer normalisation and then GELU: the rows get mean 0 and variance 1, a weight and a bias, and
# pass through x Phi(x). Written as one operator, the normalised rows never go to memory.

# %%
norm_gelu = tx.op("""
op norm_gelu<T: float>(X: T[N, D], weight: T[D], bias: T[D]; eps = 1e-5)
    -> Y: T[N, D] require D >= 1 {
  m[n]    = sum(k: X[n, k]) / T(D)
  v[n]    = sum(k: (X[n, k] - m[n]) * (X[n, k] - m[n])) / T(D)
  Z[n, k] = (X[n, k] - m[n]) * rsqrt(v[n] + eps) * weight[k] + bias[k]
  Y[n, k] = 0.5 * Z[n, k] * (1 + erf(Z[n, k] * 0.7071067811865476))
}
""")
rng = np.random.default_rng(0)
X = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
W, B = (rng.standard_normal(COLUMNS, dtype=np.float32) for _ in range(2))
print(norm_gelu(X, W, B).shape)

# %% [markdown]
# ## 2. Its gradient
#
# `tx.grad` takes an operator and gives an operator: of the same inputs, and of a gradient for each
# output. Reverse mode works on the equations, and the result is simplified.
#
# It is the formula of layer normalisation. With the normalised row x and its gradient g, dX is
# g - mean(g) - x mean(g x), divided by the deviation. Deviations from a mean add up to 0: this is
# used, not computed.

# %%
gradient = tx.grad(norm_gelu)
print(gradient)

# %% [markdown]
# The printed text is a text of the language. It parses back to the same operator.

# %%
dY = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
dX, dW, dB = gradient(X, W, B, dY)
again = tx.op(str(gradient))(X, W, B, dY)
assert all((a == b).all() for a, b in zip(again, (dX, dW, dB)))

# %% [markdown]
# ## 3. Is it right?
#
# `tx.check_grad` compares the gradient with central differences, and reverse mode with forward
# mode, in f64 and along random directions. It raises an error if they differ. The gradient is an
# operator, so its own gradient can be checked, too.

# %%
few = X[:4, :8], W[:8], B[:8]
first = tx.check_grad(norm_gelu, *few)
second = tx.check_grad(gradient, *few, dY[:4, :8])
print(f"relative differences: {first:.1e}, of second derivatives {second:.1e}")

# %% [markdown]
# Differences alone would not do. With large steps they are wrong, with small steps they are noise.
# The derived gradient has no step.

# %%
wide = [a.astype(np.float64) for a in few]
direction, seed = rng.standard_normal(wide[0].shape), dY[:4, :8].astype(np.float64)
exact = np.vdot(tx.interpret(gradient, *wide, seed)[0], direction)
steps = 10.0 ** np.arange(-12, 0.1, 0.5)
measured = []
for h in steps:
    up, down = (
        tx.interpret(norm_gelu, wide[0] + move * direction, *wide[1:])
        for move in (h, -h)
    )
    measured.append(np.vdot(seed, up - down) / (2 * h))
figure, axes = plt.subplots(figsize=(7, 3.5))
axes.loglog(steps, np.abs(np.array(measured) - exact) / abs(exact), marker="o")
axes.set(
    xlabel="step of the central difference",
    ylabel="relative difference",
    title="differences against the derived gradient",
)
plt.show()
assert min(np.abs(np.array(measured) - exact)) < 1e-8 * abs(exact)

# %% [markdown]
# A wrong gradient does not get through. A gradient by hand is registered with `tx.register_vjp`;
# this one forgets the factor 2.

# %%
square = tx.op("op square(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * X[i] }")
wrong = "op square_vjp(X: f32[N], dY: f32[N]) -> dX: f32[N] { dX[i] = dY[i] * X[i] }"
tx.register_vjp("square", wrong)
try:
    tx.check_grad(square, np.ones(3, np.float32))
except tx.CheckError as error:
    print(error)

# %% [markdown]
# ## 4. Forward and backward that share
#
# For training, `tx.vjp` gives two halves. The first gives the output, and the values on the way
# that the second needs; nothing is computed twice. The signatures say which values are kept.

# %%
forward, backward = tx.vjp(norm_gelu)
print(forward.signature)
print(backward.signature)

# %%
kept = dict(zip((p.name for p in forward.signature.outputs), forward(X, W, B)))
known = {"X": X, "weight": W, "bias": B, "dY": dY} | kept
parts = backward(**{p.name: known[p.name] for p in backward.signature.inputs})
assert all(np.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(parts, (dX, dW, dB)))


def in_numpy():
    mean = X.mean(1, keepdims=True)
    deviation = 1 / np.sqrt(X.var(1, keepdims=True) + 1e-5)
    x = (X - mean) * deviation
    z = x * W + B
    # NumPy has no erf: a function of about the same cost stands here
    dz = dY * (0.5 * (1 + np.tanh(0.8 * z)) + 0.4 * z * np.exp(-0.5 * z * z))
    g = dz * W
    dx = deviation * (g - g.mean(1, keepdims=True) - x * (g * x).mean(1, keepdims=True))
    return dx, (dz * x).sum(0), dz.sum(0)


inputs = [known[p.name] for p in backward.signature.inputs]
calls = {
    "layer": lambda: norm_gelu(X, W, B),
    "backward": lambda: backward(*inputs),
    "the formula in NumPy": in_numpy,
}
times = milliseconds(calls, turns=3 if FAST else 15)
print(", ".join(f"{name}: {value:.2f} ms" for name, value in times.items()))

# %% [markdown]
# ## 5. In a network
#
# A module calls operators; its gradient is derived where it is trained.


# %%
class NormGelu(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(np.ones(features, np.float32))
        self.bias = nn.Parameter(np.zeros(features, np.float32))

    def forward(self, x):
        return norm_gelu(x, self.weight, self.bias)


nn.manual_seed(0)
points = rng.uniform(-2, 2, (512, 2)).astype(np.float32)
heights = (np.sin(2 * points[:, :1]) * np.cos(points[:, 1:])).astype(np.float32)
model = nn.Sequential(
    nn.Linear(2, 32), NormGelu(32), nn.Linear(32, 32), NormGelu(32), nn.Linear(32, 1)
)
trainer = nn.Trainer(
    model, loss=nn.MSELoss(), optimizer=nn.optim.Adam(model.parameters(), lr=1e-2)
)
history = trainer.fit(points, heights, epochs=EPOCHS, batch_size=64, progress=False)
losses = history["loss"]
plt.figure(figsize=(7, 3))
plt.semilogy(losses, marker="o")
plt.xlabel("epoch")
plt.ylabel("mean squared error")
plt.show()
assert losses[-1] < losses[0]

# %% [markdown]
# ## 6. From PyTorch
#
# `torch.autograd.Function` wants a forward and a backward: these are the two halves. Tensors on the
# CPU share their memory with NumPy.

# %%
if importlib.util.find_spec("torch") is None:
    print("torch is not installed here")
else:
    import torch

    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(context, *inputs):
            arrays = [x.detach().numpy() for x in inputs]
            given = dict(zip(("X", "weight", "bias"), arrays))
            names = [p.name for p in forward.signature.outputs]
            context.known = given | dict(zip(names, forward(**given)))
            return torch.from_numpy(context.known["Y"])

        @staticmethod
        def backward(context, grad):
            known = context.known | {"dY": grad.contiguous().numpy()}
            inputs = [known[p.name] for p in backward.signature.inputs]
            return tuple(torch.from_numpy(d) for d in backward(*inputs))

    ours, theirs = (
        [torch.tensor(a, requires_grad=True) for a in (X, W, B)] for _ in range(2)
    )
    Fused.apply(*ours).backward(torch.from_numpy(dY))
    expected = torch.nn.functional.gelu(
        torch.nn.functional.layer_norm(theirs[0], (COLUMNS,), *theirs[1:])
    )
    expected.backward(torch.from_numpy(dY))
    for name, a, b in zip(("dX", "dweight", "dbias"), ours, theirs):
        print(f"{name} differs from torch's by {(a.grad - b.grad).abs().max():.1e}")
        assert torch.allclose(a.grad, b.grad, rtol=1e-3, atol=1e-3)
    few64 = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in few]
    print("torch.autograd.gradcheck:", torch.autograd.gradcheck(Fused.apply, few64))

# %% [markdown]
# ## 7. The claim
#
# The times are processor time on one core.

# %% tags=["result"]
print(
    f"the gradient differs from central differences by {first:.0e}, "
    f"its gradient by {second:.0e}; "
    f"for {ROWS} x {COLUMNS} floats, backward takes {times['backward']:.2f} ms, "
    f"the formula in NumPy {times['the formula in NumPy']:.1f} ms"
)
print(machine.describe())
assert first < 1e-6 and second < 1e-6
assert FAST or times["backward"] < times["the formula in NumPy"]

# %% [markdown]
# ## Exercises
#
# 1. Print the gradient of `y[i] = sum(j: A[i, j] * x[j])` in `x` alone. Which product is it?
# 2. Print the gradient of the exponential average `y[t] = a * x[t] + (1 - a) * y[t-1 | 0]`. In
#    which direction does it run?
# 3. Correct the factor of `square` above, and check the gradient again.

# %% tags=["solution"]
matvec = tx.op(
    "op matvec(A: f32[N, M], x: f32[M]) -> y: f32[N] { y[i] = sum(j: A[i, j] * x[j]) }"
)
print(tx.grad(matvec, wrt=["x"]))  # the product with the transposed matrix

# %% tags=["solution"]
average = tx.op("""
op average(x: f32[T], a: f32) -> y: f32[T] {
  y[t] = a * x[t] + (1 - a) * y[t-1 | 0]
}
""")
print(tx.grad(average, wrt=["x"]))  # from the last value to the first
assert tx.check_grad(average, rng.random(9, np.float32), np.float32(0.2)) < 1e-6

# %% tags=["solution"]
tx.register_vjp("square", wrong.replace("dY[i] * X[i]", "2 * dY[i] * X[i]"))
assert tx.check_grad(square, np.ones(3, np.float32)) < 1e-6

# %% [markdown]
# Next: [Three ways to train](06_three_ways_to_train.ipynb). The rules of differentiation are in
# [the guide to gradients](../guide/gradients.md).
