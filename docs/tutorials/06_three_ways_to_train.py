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
# # Three ways to train
#
# **Claim:** one network on handwritten digits, trained by a loop in Python over lazy tensors, by a function under `tx.jit`, and by
# `Trainer`, takes the same steps. They differ in what is compiled as one, and so in the time of a step.
#
# You need `texpr`, `scikit-learn` for the images, and `matplotlib`.

# %%
import os
import statistics
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import texpr as tx
from texpr import nn

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # few steps: for tests
STEPS, EPOCHS, BATCH = (4, 2, 64) if FAST else (100, 15, 64)

images, labels = load_digits(return_X_y=True)
x, test_x, y, test_y = train_test_split(
    (images / 16).astype(np.float32),
    labels,
    test_size=0.3,
    random_state=0,
    stratify=labels,
)
order = np.random.default_rng(0).permutation(len(x))
batches = [order[k : k + BATCH] for k in range(0, len(x) - BATCH + 1, BATCH)]
print(f"{len(x)} images of 8 by 8 pixels to learn from, {len(test_x)} to be judged by")

figure, axes = plt.subplots(1, 10, figsize=(10, 1.3))
for axis, image, label in zip(axes, x, y):
    axis.imshow(image.reshape(8, 8), cmap="gray_r")
    axis.set(title=label, xticks=[], yticks=[])
plt.show()

# %% [markdown]
# ## The network
#
# Layers have the names, the argument order and the initial values of `torch.nn`. `manual_seed` makes the same network three times.


# %%
def network() -> nn.Module:
    nn.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


print(network().summary((BATCH, 64)))

# %% [markdown]
# ## 1. A loop in Python
#
# Tensors are lazy: nothing runs until somebody looks. `backward` differentiates what the loss was computed from and adds to the `grad` of
# each parameter; `step` changes the parameters. Forward and backward are one compiled program, the update is another, and both are
# kept: from the second step on, Python only finds them again.

# %%
loss_of = nn.CrossEntropyLoss()


def by_hand(steps: int) -> tuple[list[float], list[float]]:
    model = network()
    optimizer = nn.optim.Adam(model.parameters(), lr=3e-3)
    losses, seconds = [], []
    for k in range(steps):
        rows = batches[k % len(batches)]
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of(model(tx.tensor(x[rows])), tx.tensor(y[rows]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    return losses, seconds


hand_losses, hand_seconds = by_hand(STEPS)
print(f"loss {hand_losses[0]:.4f} -> {hand_losses[-1]:.4f}")

# %% [markdown]
# ## 2. `tx.jit`
#
# The same with bare tensors and no module: a function of the parameters and a batch, run once on tensors without values. What it computes,
# gradients and update included, is one program, and a step is one native call. Here plain gradient descent, so the losses differ from
# those of Adam.


# %%
@tx.jit
def descend(parameters, x, y, rate):
    hidden = (x @ parameters["w1"] + parameters["b1"]).relu()
    scores = hidden @ parameters["w2"] + parameters["b2"]
    loss = tx.ops.mean_all(tx.ops.cross_entropy(scores, y))
    loss.backward()
    return {name: p - rate * p.grad for name, p in parameters.items()}, loss


def by_function(steps: int) -> tuple[list[float], list[float]]:
    first, _, second = network()
    start = {
        "w1": first.weight.data.T,
        "b1": first.bias.data,
        "w2": second.weight.data.T,
        "b2": second.bias.data,
    }
    parameters = {
        name: tx.tensor(value, requires_grad=True) for name, value in start.items()
    }
    losses, seconds = [], []
    for k in range(steps):
        rows = batches[k % len(batches)]
        begin = time.perf_counter()
        parameters, loss = descend(parameters, x[rows], y[rows], 0.5)
        parameters = {name: p.requires_grad_() for name, p in parameters.items()}
        losses.append(loss.item())
        seconds.append(time.perf_counter() - begin)
    return losses, seconds


jit_losses, jit_seconds = by_function(STEPS)
print(f"{descend}: loss {jit_losses[0]:.4f} -> {jit_losses[-1]:.4f}")
assert abs(jit_losses[0] - hand_losses[0]) < 1e-5, "one network, one batch: one loss"

# %% [markdown]
# ## 3. `TrainingStep`, which `Trainer` uses
#
# Model, loss, gradients and the optimizer's update are captured together. It makes the steps of the loop above.


# %%
def compiled(steps: int) -> tuple[list[float], list[float]]:
    model = network()
    step = nn.TrainingStep(
        model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters(), lr=3e-3)
    )
    losses, seconds = [], []
    for k in range(steps):
        rows = batches[k % len(batches)]
        start = time.perf_counter()
        losses.append(step(x[rows], y[rows]))
        seconds.append(time.perf_counter() - start)
    return losses, seconds


step_losses, step_seconds = compiled(STEPS)
apart = max(abs(a - b) / b for a, b in zip(hand_losses, step_losses))
print(f"the losses of {STEPS} steps are those of the loop, to {apart:.0e}")
assert apart < 1e-3
for name, seconds in (
    ("loop in Python", hand_seconds),
    ("tx.jit", jit_seconds),
    ("TrainingStep", step_seconds),
):
    print(
        f"{name:<15} first step {seconds[0] * 1e3:7.1f} ms, then {statistics.median(seconds[1:]) * 1e6:6.0f} us"
    )

# %%
figure, axis = plt.subplots(figsize=(7, 3))
axis.plot(hand_losses, label="loop in Python, Adam", linewidth=4, alpha=0.4)
axis.plot(step_losses, label="TrainingStep, Adam", linestyle="--")
axis.plot(jit_losses, label="tx.jit, gradient descent")
axis.set(xlabel="step", ylabel="loss", yscale="log")
axis.legend()
plt.show()

# %% [markdown]
# ## Training for real
#
# `Trainer` adds epochs, batches in random order, metrics, progress and callbacks.

# %%
model = network()
trainer = nn.Trainer(
    model,
    nn.CrossEntropyLoss(),
    nn.optim.Adam(model.parameters(), lr=3e-3),
    metrics=["accuracy"],
)
history = trainer.fit(
    x, y, epochs=EPOCHS, batch_size=BATCH, validation_data=(test_x, test_y)
)
scores = model(test_x)
accuracy = float((scores.argmax(1) == test_y).mean())
print(f"{accuracy:.1%} of the test images are told right")
assert FAST or accuracy > 0.965

# %%
wrong = np.flatnonzero(scores.argmax(1) != test_y)[:10]
figure, axes = plt.subplots(1, 10, figsize=(10, 1.5))
for axis in axes:
    axis.axis("off")
for axis, k in zip(axes, wrong):
    axis.imshow(test_x[k].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{test_y[k]}, not {scores[k].argmax()}", fontsize=8)
plt.show()

# %% [markdown]
# ## Saved and loaded
#
# The file is in the safetensors format; a network that loads it predicts the same bits.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "digits.safetensors"
    nn.save(model, path)
    other = network()
    nn.load(other, path)
    assert np.array_equal(model(test_x), other(test_x))
    print(f"{path.stat().st_size:,} bytes")

# %% [markdown]
# **What you have seen:** tensors that compute when looked at, `backward` and `step` by hand, a function compiled as a whole, and the
# trainer above them; the same numbers each time.
