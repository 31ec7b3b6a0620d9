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
# # Your own loss, metric, callback and data
#
# **Claim:** a training takes code of yours at four places. A loss of four equations finds a rare
# digit that plain cross-entropy overlooks. Its gradient is derived, and its step is compiled as
# that of any other loss.
#
# {{result}}
#
# You know `Trainer` ([Three ways to train](06_three_ways_to_train.ipynb)). You need
# `pip install texpr[notebook]`.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import texpr as tx
from texpr import nn
from texpr.nn.data import DataLoader, Dataset

# %% tags=["setup"]
import os
import time

from texpr.tools import machine

tx.options(threads=1)  # one core, whose time is measured
FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # few steps: for tests
EPOCHS, BATCH = (2, 64) if FAST else (20, 64)

# %% [markdown]
# ## 1. The task
#
# Handwritten digits, of which the eights are rare: the training has a few, the test has its full
# share.

# %%
images, labels = load_digits(return_X_y=True)
x, test_x, y, test_y = train_test_split(
    (images / 16).astype(np.float32),
    labels,
    test_size=0.4,
    random_state=0,
    stratify=labels,
)
kept = np.concatenate([np.flatnonzero(y != 8), np.flatnonzero(y == 8)[:8]])
x, y = x[kept], y[kept]
counts = np.bincount(y, minlength=10)
print("examples of each digit:", counts)

# %% [markdown]
# ## 2. Data of your own
#
# A data set has a length and gives an example by its number. This one moves each image by a pixel
# in a direction that depends on the number, so that a run can be repeated. `DataLoader` makes
# batches, in an order that is a function of the seed and the epoch.


# %%
class Moved(Dataset):
    """Images and labels, and each image once more, moved by up to one pixel."""

    def __init__(self, x, y):
        self.x, self.y = x, y
        self.moves = np.random.default_rng(0).integers(-1, 2, (len(x), 2))

    def __len__(self):
        return 2 * len(self.x)

    def __getitem__(self, index):
        at = index % len(self.x)
        image = self.x[at]
        if index >= len(self.x):
            image = np.roll(image.reshape(8, 8), self.moves[at], axis=(0, 1)).ravel()
        return image, self.y[at]


data = DataLoader(Moved(x, y), BATCH, shuffle=True, seed=0)
batch_x, batch_y = next(iter(data))
print(len(data), "batches of", batch_x.shape, batch_x.dtype, batch_y.shape)

figure, axes = plt.subplots(1, 10, figsize=(10, 1.5))
for axis, image, label in zip(axes, batch_x, batch_y):
    axis.imshow(image.reshape(8, 8), cmap="gray_r")
    axis.set(title=int(label), xticks=[], yticks=[])
plt.show()

# %% [markdown]
# ## 3. A loss of your own
#
# The focal loss [(Lin et al., 2017)](https://arxiv.org/abs/1708.02002) gives less weight to
# examples that are right already, and here each class has a weight, too. `in 0..C` says which
# labels there are; another label is an error with its place.

# %%
focal = tx.op("""
op focal<T: float>(z: T[N, C], y: i64[N] in 0..C, w: T[C]; gamma = 1.0) -> l: T[N] {
  m[n] = max(c: z[n, c])
  s[n] = sum(c: exp(z[n, c] - m[n]))
  logp[n] = z[n, y[n]] - m[n] - log(s[n])
  l[n] = -w[y[n]] * (1 - exp(logp[n])) ** gamma * logp[n]
}
""")


class FocalLoss(nn.Loss):
    labels = True  # targets are numbers of classes

    def __init__(self, weight, reduction="mean"):
        super().__init__(reduction)
        self.register_buffer("weight", weight)  # saved with the model, not trained

    def each(self, input, target):  # of each example; the base applies `reduction`
        return focal(input, target, self.weight)


# %% [markdown]
# Its gradient is derived where it is trained. Check it once, as any operator:

# %%
z = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
weights = np.ones(4, np.float32)
difference = tx.check_grad(focal, z, np.array([0, 1, 2, 3, 1]), weights)
print(f"differs from central differences by {difference:.0e}")

# %% [markdown]
# ## 4. A metric of your own
#
# A metric takes outputs and targets of a batch as arrays. It gives a mean, or a mean and its weight
# beside other batches. Here the weight is the number of eights in the batch.


# %%
def recall_of_8(outputs, targets):
    eights = targets == 8
    right = outputs.argmax(axis=1)[eights] == 8
    return (float(right.mean()) if right.size else 0.0), int(right.size)


# %% [markdown]
# ## 5. A callback of your own
#
# A callback has methods for the events of a training. What it measured is its state, which
# `Checkpoint` saves with the model. `on_epoch_end` may end the training.


# %%
class Watch(nn.Callback):
    """Keeps the loss of each step, and ends the training at a recall that is enough."""

    def __init__(self, enough):
        self.enough, self.losses, self.recalls = enough, [], []

    def on_step_end(self, trainer, step, values):
        self.losses.append(values["loss"])

    def on_epoch_end(self, trainer, epoch, values):
        self.recalls.append(values["val_recall_of_8"])
        return self.recalls[-1] >= self.enough

    def state_dict(self):
        return {"losses": self.losses, "recalls": self.recalls}

    def load_state_dict(self, state):
        self.losses, self.recalls = list(state["losses"]), list(state["recalls"])


# %% [markdown]
# ## 6. The four together


# %%
def train(loss):
    nn.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = nn.optim.Adam(model.parameters(), lr=1e-3)
    watch = Watch(enough=0.85)
    trainer = nn.Trainer(model, loss, optimizer, metrics=["accuracy", recall_of_8])
    history = trainer.fit(
        DataLoader(Moved(x, y), BATCH, shuffle=True, seed=0),
        epochs=EPOCHS,
        validation_data=(test_x, test_y),
        callbacks=[watch],
        progress=False,
    )
    return trainer, history, watch


balance = (len(y) / 10 / counts).astype(np.float32)
losses = {"cross-entropy": nn.CrossEntropyLoss(), "focal": FocalLoss(balance)}
runs = {name: train(loss) for name, loss in losses.items()}

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
for name, (_, _, watch) in runs.items():
    left.semilogy(watch.losses, linewidth=0.8, label=name)
    right.plot(watch.recalls, marker=".", label=name)
left.set(xlabel="step", ylabel="loss")
right.set(xlabel="epoch", ylabel="recall of the eights in the test")
right.legend()
figure.tight_layout()
plt.show()

# %% [markdown]
# `CrossEntropyLoss(weight=...)` knows weights of classes, too. The exponent is what it does not
# know, and the first exercise asks what each of the two is worth.
#
# ## 7. The claim
#
# Recalls at the end of the training, and the median processor time of a step, on one core.


# %%
def step_time(trainer):
    times = []
    for _ in range(5 if FAST else 200):
        start = time.process_time()
        trainer.step(batch_x, batch_y)
        times.append(time.process_time() - start)
    return float(np.median(times)) * 1e6


recall = {
    name: history["val_recall_of_8"][-1] for name, (_, history, _) in runs.items()
}
exact = {name: history["val_accuracy"][-1] for name, (_, history, _) in runs.items()}
step_us = {name: step_time(trainer) for name, (trainer, _, _) in runs.items()}

# %% tags=["result"]
for name in runs:
    print(
        f"{name}: {recall[name]:.0%} of the eights found, "
        f"{exact[name]:.1%} of all digits right, {step_us[name]:.0f} us a step"
    )
print(machine.describe())
assert difference < 1e-6 and (FAST or recall["focal"] > recall["cross-entropy"])

# %% [markdown]
# ## Exercises
#
# 1. Train with `gamma` 0, which leaves the weights alone, and with weights of 1. Which of the two
#    finds the eights?
# 2. Write the metric "top 2": the share of targets among the two best scores.
# 3. Write a callback that is a function and prints an epoch's line every five epochs.


# %% tags=["solution"]
class Variant(FocalLoss):
    def __init__(self, weight, gamma):
        super().__init__(weight)
        self.gamma = gamma

    def each(self, input, target):
        return focal(input, target, self.weight, gamma=self.gamma)


for title, loss in (
    ("weights alone", Variant(balance, 0.0)),
    ("exponent alone", Variant(np.ones(10, np.float32), 1.0)),
):
    _, history, _ = train(loss)
    print(f"{title}: {history['val_recall_of_8'][-1]:.0%}")


# %% tags=["solution"]
def top_2(outputs, targets):
    best = np.argsort(outputs, axis=1)[:, -2:]
    return float((best == targets[:, None]).any(axis=1).mean())


scores = runs["focal"][0].model(test_x)
print(f"{top_2(scores, test_y):.1%}")
assert top_2(scores, test_y) >= (scores.argmax(axis=1) == test_y).mean()


# %% tags=["solution"]
def now_and_then(trainer, epoch, values):
    if epoch % 5 == 0:
        print(f"epoch {epoch}: loss {values['loss']:.3f}")


trainer, _, _ = runs["focal"]
history = trainer.fit(x, y, epochs=6, progress=False, callbacks=[now_and_then])

# %% [markdown]
# Next: [A PyTorch module, ported](08_a_pytorch_module_ported.ipynb), or
# [Debugging](09_debugging.ipynb).
