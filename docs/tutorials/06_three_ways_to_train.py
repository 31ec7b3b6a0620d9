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
# **Claim:** one network on handwritten digits is trained by a loop over tensors, by a function
# under `tx.jit`, and by a compiled training step. The loop and the compiled step give the same
# losses. They differ in what is compiled as one program, and so in the time of a step.
#
# {{result}}
#
# You know NumPy and have seen a network being trained. You need `pip install texpr[notebook]`.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import texpr as tx
from texpr import nn

# %% tags=["setup"]
import os
import tempfile
import time
from pathlib import Path

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # few steps: for tests
STEPS, EPOCHS, BATCH = (4, 2, 64) if FAST else (100, 15, 64)
tx.options(threads=1)  # one core, whose time is measured


def show_digits(images, titles) -> None:
    """A row of images of 8 x 8 pixels."""
    figure, axes = plt.subplots(1, 10, figsize=(10, 1.5))
    for axis in axes:
        axis.axis("off")
    for axis, image, title in zip(axes, images, titles):
        axis.imshow(image.reshape(8, 8), cmap="gray_r")
        axis.set_title(title, fontsize=9)
    plt.show()


# %% [markdown]
# ## 1. Data and network
#
# Arrays of NumPy: one row for each image, one number for each label.

# %%
images, labels = load_digits(return_X_y=True)
x, test_x, y, test_y = train_test_split(
    (images / 16).astype(np.float32), labels, test_size=0.3, random_state=0
)
order = np.random.default_rng(0).permutation(len(x))
batches = [order[k : k + BATCH] for k in range(0, len(x) - BATCH + 1, BATCH)]
print(f"{len(x)} images of 8 by 8 pixels to learn from, {len(test_x)} to be judged by")
show_digits(x[:10], y[:10])

# %% [markdown]
# Layers have the names, the argument order and the initial values of `torch.nn`. `manual_seed`
# makes the same network each time.


# %%
def network() -> nn.Module:
    nn.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


print(network().summary((BATCH, 64)))

# %% [markdown]
# ## 2. A loop over tensors
#
# Tensors are lazy: nothing runs until a value is needed. `backward` adds the gradient of the loss
# to the `grad` of each parameter, and `step` changes the parameters. Forward and backward are one
# compiled program, the update is another. Both are kept, and from the second step on Python only
# finds them again.

# %%
loss_of = nn.CrossEntropyLoss()


def by_loop(steps: int) -> tuple[list[float], list[float]]:
    model = network()
    optimizer = nn.optim.Adam(model.parameters(), lr=3e-3)
    losses, seconds = [], []
    for k in range(steps):
        rows = batches[k % len(batches)]
        start = time.process_time()
        optimizer.zero_grad()
        loss = loss_of(model(tx.tensor(x[rows])), tx.tensor(y[rows]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.process_time() - start)
    return losses, seconds


loop_losses, loop_seconds = by_loop(STEPS)
print(f"loss {loop_losses[0]:.4f} -> {loop_losses[-1]:.4f}")

# %% [markdown]
# ## 3. A function under `tx.jit`
#
# The same with bare tensors and no module: a function of the parameters and a batch. What it
# computes, gradients and update included, is one program, and a step is one native call. Here the
# update is plain gradient descent, so the losses differ from Adam's.


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
    parameters = {n: tx.tensor(v, requires_grad=True) for n, v in start.items()}
    losses, seconds = [], []
    for k in range(steps):
        rows = batches[k % len(batches)]
        begin = time.process_time()
        parameters, loss = descend(parameters, x[rows], y[rows], 0.5)
        parameters = {name: p.requires_grad_() for name, p in parameters.items()}
        losses.append(loss.item())
        seconds.append(time.process_time() - begin)
    return losses, seconds


jit_losses, jit_seconds = by_function(STEPS)
print(f"{descend}: loss {jit_losses[0]:.4f} -> {jit_losses[-1]:.4f}")
assert abs(jit_losses[0] - loop_losses[0]) < 1e-5, "one network, one batch: one loss"

# %% [markdown]
# ## 4. A compiled training step
#
# `nn.TrainingStep` captures model, loss, gradients and the optimizer's update together. `Trainer`
# uses it. It makes the steps of the loop above.


# %%
def by_step(steps: int) -> tuple[list[float], list[float]]:
    model = network()
    optimizer = nn.optim.Adam(model.parameters(), lr=3e-3)
    step = nn.TrainingStep(model, nn.CrossEntropyLoss(), optimizer)
    losses, seconds = [], []
    for k in range(steps):
        rows = batches[k % len(batches)]
        start = time.process_time()
        losses.append(step(x[rows], y[rows]))
        seconds.append(time.process_time() - start)
    return losses, seconds


step_losses, step_seconds = by_step(STEPS)
apart = max(abs(a - b) / b for a, b in zip(loop_losses, step_losses))
print(f"largest relative difference of the losses of {STEPS} steps: {apart:.0e}")
assert apart < 1e-3

# %%
figure, axis = plt.subplots(figsize=(7, 3))
axis.plot(loop_losses, label="loop over tensors, Adam", linewidth=4, alpha=0.4)
axis.plot(step_losses, label="TrainingStep, Adam", linestyle="--")
axis.plot(jit_losses, label="tx.jit, gradient descent")
axis.set(xlabel="step", ylabel="loss", yscale="log")
axis.legend()
plt.show()

# %% [markdown]
# ## 5. `Trainer`
#
# `Trainer` adds epochs, batches in random order, metrics, progress and callbacks.

# %%
model = network()
optimizer = nn.optim.Adam(model.parameters(), lr=3e-3)
trainer = nn.Trainer(model, nn.CrossEntropyLoss(), optimizer, metrics=["accuracy"])
history = trainer.fit(
    x, y, epochs=EPOCHS, batch_size=BATCH, validation_data=(test_x, test_y)
)
scores = model(test_x)
accuracy = float((scores.argmax(1) == test_y).mean())
wrong = np.flatnonzero(scores.argmax(1) != test_y)[:10]
show_digits(test_x[wrong], [f"{test_y[k]}, not {scores[k].argmax()}" for k in wrong])

# %% [markdown]
# The file of a model is in the safetensors format. A network that loads it predicts the same bits.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "digits.safetensors"
    nn.save(model, path)
    other = network()
    nn.load(other, path)
    assert np.array_equal(model(test_x), other(test_x))
    print(f"{path.stat().st_size:,} bytes")

# %% [markdown]
# ## 6. The claim
#
# The first step of each way compiles. The times are medians of the others: processor time, on one
# core.

# %% tags=["result"]
ways = {"loop": loop_seconds, "tx.jit": jit_seconds, "TrainingStep": step_seconds}
typical = {name: float(np.median(each[1:])) * 1e6 for name, each in ways.items()}
print(
    f"a step of {BATCH} images, on one core: "
    + ", ".join(f"{name} {us:.0f} us" for name, us in typical.items())
    + f"; losses of loop and TrainingStep differ by {apart:.0e}"
)
print(f"{accuracy:.1%} of {len(test_x)} test images are classified right")
print(machine.describe())
assert FAST or (accuracy > 0.965 and typical["TrainingStep"] < typical["loop"])

# %% [markdown]
# ## Exercises
#
# 1. Add momentum to `descend`: a velocity for each parameter that the function takes and returns.
# 2. Give the network a hidden layer more and `nn.Dropout(0.2)`. Where does `model.eval()` belong?
# 3. Train with `precision="bf16"`. How far apart are the losses?


# %% tags=["solution"]
@tx.jit
def with_momentum(parameters, speeds, x, y, rate):
    hidden = (x @ parameters["w1"] + parameters["b1"]).relu()
    scores = hidden @ parameters["w2"] + parameters["b2"]
    loss = tx.ops.mean_all(tx.ops.cross_entropy(scores, y))
    loss.backward()
    speeds = {name: 0.9 * v + parameters[name].grad for name, v in speeds.items()}
    return {n: p - rate * speeds[n] for n, p in parameters.items()}, speeds, loss


first, _, second = network()
arrays = {"w1": first.weight.data.T, "b1": first.bias.data}
arrays |= {"w2": second.weight.data.T, "b2": second.bias.data}
parameters = {n: tx.tensor(v, requires_grad=True) for n, v in arrays.items()}
speeds = {n: tx.tensor(np.zeros_like(v)) for n, v in arrays.items()}
losses = []
for k in range(STEPS):
    rows = batches[k % len(batches)]
    parameters, speeds, loss = with_momentum(parameters, speeds, x[rows], y[rows], 0.1)
    parameters = {n: p.requires_grad_() for n, p in parameters.items()}
    losses.append(loss.item())
print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
assert losses[-1] < losses[0]

# %% tags=["solution"]
nn.manual_seed(0)
deeper = nn.Sequential(
    nn.Linear(64, 128),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(128, 128),
    nn.ReLU(),
    nn.Linear(128, 10),
)
adam = nn.optim.Adam(deeper.parameters(), lr=3e-3)
nn.Trainer(deeper, nn.CrossEntropyLoss(), adam).fit(
    x, y, epochs=EPOCHS, batch_size=BATCH, progress=False
)
deeper.eval()  # before predictions by hand: dropout is for training alone
assert np.array_equal(deeper(test_x), deeper(test_x))
print(f"{(deeper(test_x).argmax(1) == test_y).mean():.1%}")

# %% tags=["solution"]
finals = {}
for precision in ("f32", "bf16"):
    model = network()
    adam = nn.optim.Adam(model.parameters(), lr=3e-3)
    again = nn.Trainer(model, nn.CrossEntropyLoss(), adam, precision=precision)
    finals[precision] = again.fit(x, y, epochs=2, batch_size=BATCH, progress=False)[
        "loss"
    ][-1]
print(finals)
assert abs(finals["bf16"] - finals["f32"]) < 0.05 * finals["f32"]

# %% [markdown]
# Next: [Your own loss, metric, callback and data](07_custom_training.ipynb). All of `nn` is in
# [the guide to networks](../guide/networks.md).
