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
# # Debugging
#
# **Claim:** from a message, a wrong number, a NaN, a refused step or a slow kernel, two or three
# calls lead to the place of the fault.
#
# {{result}}
#
# You have written an operator ([Ten minutes](01_ten_minutes.ipynb)) and trained a network
# ([Three ways to train](06_three_ways_to_train.ipynb)). You need `pip install texpr[notebook]`.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx
from texpr import nn

# %% tags=["setup"]
import os

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # small sizes: for tests
SIDE = 64 if FAST else 512
messages = []


def message_of(attempt) -> str:
    """The text of the error that the attempt raises."""
    try:
        attempt()
    except tx.Error as error:
        messages.append(str(error))
        return str(error)
    raise AssertionError("no error")


# %% [markdown]
# ## 1. How to read a message
#
# The first line has the code in brackets and the fault. Below it come the place in the operator's
# text, the smallest sizes at which the fault shows, and what would help.

# %%
print(message_of(lambda: tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i - 1] }")))

# %% [markdown]
# A help line is a proposal, not the truth. The guard `X[i - 1 | 0]` reads 0 before the first
# element. If you meant a shorter output, change the shape instead. Likewise, a name that nothing
# binds may be meant as an index of a sum, or be a typing error:

# %%
print(message_of(lambda: tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * k }")))

# %% [markdown]
# In a call, the message names the sizes; in a network, also the layer:

# %%
narrow = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(4, 2))
print(message_of(lambda: narrow(np.ones((3, 4), np.float32))))

# %% [markdown]
# ## 2. A wrong number
#
# The variance of large numbers comes out wrong, though the formula is right:

# %%
variance = tx.op("""
op variance<T: float>(X: T[N, D]) -> v: T[N] require D >= 1 {
  m[n] = sum(k: X[n, k]) / T(D)
  q[n] = sum(k: X[n, k] * X[n, k]) / T(D)
  v[n] = q[n] - m[n] * m[n]
}
""")
X = (np.random.default_rng(0).standard_normal((3, 1000)) + 1000).astype(np.float32)
exact = X.astype(np.float64).var(axis=1)
print("texpr:", variance(X), "exact:", exact)

# %% [markdown]
# Three questions find the cause.
#
# **Is the compiled code wrong?** `tx.interpret` computes the equations one by one, slowly, in the
# same dtypes. Here both are far from the truth, so it is not the code.

# %%
print("interpreted:", tx.interpret(variance, X))

# %% [markdown]
# **Is it rounding?** The operator is written for any float type, so call it in f64. Now it is
# right, so the equations are right and rounding is the cause.

# %%
print("in f64:", variance(X.astype(np.float64)))

# %% [markdown]
# **Which equation loses the digits?** Make the intermediates outputs, and look at them. `q` and
# `m * m` agree in almost all of their digits, so their difference has few that are right.

# %%
looked_at = tx.op("""
op looked_at<T: float>(X: T[N, D]) -> (m: T[N], q: T[N]) require D >= 1 {
  m[n] = sum(k: X[n, k]) / T(D)
  q[n] = sum(k: X[n, k] * X[n, k]) / T(D)
}
""")
m, q = looked_at(X)
print("q:", q, " m*m:", m * m)

# %% [markdown]
# The mended operator takes differences first:

# %%
mended = tx.op("""
op mended<T: float>(X: T[N, D]) -> v: T[N] require D >= 1 {
  m[n] = sum(k: X[n, k]) / T(D)
  v[n] = sum(k: (X[n, k] - m[n]) * (X[n, k] - m[n])) / T(D)
}
""")
offsets = 10.0 ** np.arange(0, 5)
errors = {"E[x^2] - E[x]^2": [], "E[(x - m)^2]": []}
for offset in offsets:
    moved = (X - 1000 + offset).astype(np.float32)
    truth = moved.astype(np.float64).var(axis=1)
    for title, op in zip(errors, (variance, mended)):
        errors[title].append(np.abs(op(moved) / truth - 1).max() + 1e-9)

figure, axes = plt.subplots(figsize=(6, 2.8))
for title, each in errors.items():
    axes.loglog(offsets, each, marker="o", label=title)
axes.set(xlabel="mean of the numbers", ylabel="relative error")
axes.legend()
plt.show()
before, after = (np.abs(op(X) / exact - 1).max() for op in (variance, mended))
assert after < 1e-5 < before

# %% [markdown]
# ## 3. A wrong gradient
#
# `tx.check_grad` compares any operator's gradient with differences. In a network, the usual fault
# is a parameter without a gradient: `.data` and `detach` cut the way. `Trainer` warns.


# %%
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(np.ones(4, np.float32))
        self.linear = nn.Linear(4, 2)

    def forward(self, x):
        return self.linear(x * tx.tensor(self.scale.data))  # should be x * self.scale


def train(model, x, y):
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), optimizer)
    return trainer.fit(x, y, progress=False)


x = np.random.default_rng(0).standard_normal((32, 4)).astype(np.float32)
y = np.arange(32) % 2
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    train(Scaled(), x, y)
print(caught[0].message)
messages.append(str(caught[0].message))

# %% [markdown]
# ## 4. NaN
#
# A loss that is not finite stops the training before the parameters change. The message names the
# first layer whose output is not finite.


# %%
class Log(nn.Module):
    def forward(self, x):
        return x.log()


model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), Log(), nn.Linear(4, 2))
print(message_of(lambda: train(model, x, y)))

# %% [markdown]
# Layers are modules to call, so look at what goes in: zeros, whose logarithm is infinite.

# %%
inside = model[1](model[0](x))
print("smallest input of the layer:", inside.min())

# %% [markdown]
# ## 5. A refused step
#
# The refusal shows two iterations that must keep their order. `replay` runs both orders at the
# smallest sizes.

# %%
prefix = tx.op("op prefix(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + Y[i-1 | 0] }")
try:
    tx.schedule(prefix).vectorize("i")
except tx.ScheduleError as error:
    messages.append(str(error))
    print(error)
    print(error.replay())

# %% [markdown]
# ## 6. Slow code
#
# First ask which kernel takes the time, and whether it is far from the machine's limit
# (`roofline`).

# %%
A, B = np.random.default_rng(0).random((2, SIDE, SIDE), np.float32)


def program(a, b):
    return ((a @ b).relu() - a.mean(axis=0)).softmax().sum(axis=0)


program(tx.tensor(A), tx.tensor(B)).numpy()  # compiled now
with tx.profile() as profile:
    program(tx.tensor(A), tx.tensor(B)).numpy()
print(profile)

# %% [markdown]
# Then ask why a kernel has its loops: `explain()` lists the templates that the default schedule
# tried, with the reason against each. The listing names loops that run in order, which are the ones
# to change.

# %%
scheduled = tx.schedule(tx.ops.matmul, M=SIDE, N=SIDE, K=SIDE).auto()
print("\n".join(str(scheduled.compile().explain()).splitlines()[9:]))

# %% [markdown]
# ## 7. The claim
#
# Each of the messages above has to name a place: a column of the text, a layer, a parameter or two
# iterations.

# %% tags=["result"]
places = ("-->", "in the layer", "of layer", "parameter [")
named = [any(place in message for place in places) for message in messages]
print(
    f"{sum(named)} of {len(named)} messages name the place of the fault; "
    f"the wrong variance is off by {before:.0%}, the mended one by {after:.0e}"
)
print(machine.describe())
assert all(named) and len(named) == 6

# %% [markdown]
# ## Exercises
#
# 1. `sum(i: exp(X[i]))` of large numbers is infinite. Show that the code is right and that rounding
#    is not the cause, and mend the operator.
# 2. Why does `tx.jit` refuse `if x.sum() > 0`? Write the function with `tx.where`.
# 3. Mend `Scaled`, and check that its parameter changes.

# %% tags=["solution"]
naive = tx.op("op naive<T: float>(X: T[N]) -> y: T { y = log(sum(i: exp(X[i]))) }")
large = np.float32([1000, 1001])
print(naive(large), tx.interpret(naive, large), naive(large.astype(np.float64)))
stable = tx.op("""
op stable<T: float>(X: T[N]) -> y: T {
  m = max(i: X[i])
  y = m + log(sum(i: exp(X[i] - m)))
}
""")
print(stable(large))  # exp(1000) is beyond the range of f32 and of f64
assert np.isclose(stable(large), 1001.3133)


# %% tags=["solution"]
@tx.jit
def absolute(v):
    return tx.where(v.sum() > 0, v, -v)  # both are described, the value chooses


assert absolute(-np.ones(3)).tolist() == [1, 1, 1]


# %% tags=["solution"]
class Mended(Scaled):
    def forward(self, x):
        return self.linear(x * self.scale)


model = Mended()
with warnings.catch_warnings():
    warnings.simplefilter("error")
    train(model, x, y)
print(model.scale.data)
assert not np.array_equal(model.scale.data, np.ones(4))

# %% [markdown]
# The command line has the same means: `python -m texpr check`, `trace` and `view` show a program on
# its way to machine code.
