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
# # A PyTorch module, ported
#
# **Claim:** a residual network written for PyTorch is ported by changing its imports and a few
# calls. With PyTorch's weights it gives the same outputs and gradients, and trains along the same
# curve, within rounding.
#
# {{result}}
#
# You know `torch.nn`. You need `pip install texpr[notebook]`. Where `torch` is not installed, the
# cells that need it say so and are skipped.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import texpr as tx
from texpr import nn, ops

# %% tags=["setup"]
import importlib.util
import os
import time

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # few steps: for tests
STEPS, BATCH = (3, 32) if FAST else (60, 64)
tx.options(threads=1)  # one core, whose time is measured
HAS_TORCH = importlib.util.find_spec("torch") is not None
SKIPPED = "torch is not installed: this cell was skipped"

# %% [markdown]
# ## 1. The module in PyTorch

# %%
if HAS_TORCH:
    import torch
    import torch.nn.functional as F

    class TorchBlock(torch.nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.bn1 = torch.nn.BatchNorm2d(channels)
            self.conv2 = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.bn2 = torch.nn.BatchNorm2d(channels)

        def forward(self, x):
            out = F.relu(self.bn1(self.conv1(x)))
            return F.relu(x + self.bn2(self.conv2(out)))

    class TorchNet(torch.nn.Module):
        def __init__(self, channels=16, classes=10):
            super().__init__()
            self.stem = torch.nn.Conv2d(1, channels, 3, padding=1)
            self.blocks = torch.nn.Sequential(*[TorchBlock(channels) for _ in range(2)])
            self.head = torch.nn.Linear(channels, classes)

        def forward(self, x):
            x = self.blocks(F.relu(self.stem(x)))
            x = F.max_pool2d(x, 2).mean(dim=(2, 3))
            return self.head(x)

    torch.manual_seed(0)
    torch.set_num_threads(1)
    theirs = TorchNet()
else:
    print(SKIPPED)

# %% [markdown]
# ## 2. The same in texpr
#
# Three things change:
#
# | PyTorch | texpr |
# |---|---|
# | `torch.nn` | `texpr.nn`, with the same layers, arguments and defaults |
# | `F.relu(x)`, `F.max_pool2d(x, 2)` | a method, `x.relu()`, an operator of `ops`, or a layer |
# | `dim=`, `keepdim=` | `axis=`, `keepdims=` |


# %%
class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        out = self.bn1(self.conv1(x)).relu()
        return (x + self.bn2(self.conv2(out))).relu()


class Net(nn.Module):
    def __init__(self, channels=16, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.Sequential(*[Block(channels) for _ in range(2)])
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.blocks(self.stem(x).relu())
        return self.head(self.pool(x).mean(axis=(2, 3)))


ours = Net()
print(ours.summary((BATCH, 1, 8, 8)))

# %% [markdown]
# A module of your own needs `super().__init__()`, as in PyTorch. What is different: parameters are
# `nn.Parameter(array)`, and a list of modules is `nn.ModuleList`. `forward` runs on values that are
# not there yet. So an `if` on a value is refused, and NumPy's functions that texpr does not know
# are, too.
#
# ## 3. The weights
#
# `load_state_dict` takes PyTorch's tensors as they are: names, shapes and layouts are the same.

# %%
if HAS_TORCH:
    ours.load_state_dict(theirs.state_dict())
    print(len(ours.state_dict()), "arrays, with PyTorch's names")
else:
    print(SKIPPED)

# %% [markdown]
# A name that is missing, or a shape that differs, is an error that lists it:

# %%
try:
    wrong = dict(ours.state_dict())
    wrong["head.weights"] = wrong.pop("head.weight")
    Net().load_state_dict(wrong)
except tx.Error as error:
    print(error)

# %% [markdown]
# ## 4. Outputs and gradients

# %%
images, labels = load_digits(return_X_y=True)
x = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
y = labels.astype(np.int64)


def gradients_here(model, x, y):
    loss = nn.CrossEntropyLoss()(model(tx.tensor(x)), tx.tensor(y))
    loss.backward()
    found = {name: np.asarray(p.grad) for name, p in model.named_parameters()}
    return loss.item(), found


def gradients_there(model, x, y):
    model.zero_grad()
    loss = F.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(y))
    loss.backward()
    found = {name: p.grad.numpy() for name, p in model.named_parameters()}
    return loss.item(), found


differences = {}
if HAS_TORCH:
    with torch.no_grad():
        expected = theirs.eval()(torch.from_numpy(x[:BATCH])).numpy()
    differences["outputs"] = np.abs(ours.eval()(x[:BATCH]) - expected).max()
    ours.train(), theirs.train()
    loss_here, here = gradients_here(ours, x[:BATCH], y[:BATCH])
    loss_there, there = gradients_there(theirs, x[:BATCH], y[:BATCH])
    assert here.keys() == there.keys()
    differences["gradients"] = max(np.abs(here[n] - there[n]).max() for n in there)
    print({name: f"{value:.0e}" for name, value in differences.items()})
    assert differences["outputs"] < 1e-4 and differences["gradients"] < 1e-3
else:
    print(SKIPPED)

# %% [markdown]
# ## 5. The same training
#
# The same batches, the same optimizer, one core for each. In texpr model, loss, gradients and
# update are compiled as one step; the loop in PyTorch is the usual one.

# %%
order = np.random.default_rng(0).integers(0, len(x), (STEPS, BATCH))


def train_here(model):
    optimizer = nn.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    step = nn.TrainingStep(model, nn.CrossEntropyLoss(), optimizer)
    losses, times = [], []
    for rows in order:
        start = time.process_time()
        losses.append(step(x[rows], y[rows]))
        times.append(time.process_time() - start)
    return losses, float(np.median(times))


def train_there(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses, times = [], []
    for rows in order:
        start = time.process_time()
        optimizer.zero_grad()
        loss = F.cross_entropy(
            model(torch.from_numpy(x[rows])), torch.from_numpy(y[rows])
        )
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        times.append(time.process_time() - start)
    return losses, float(np.median(times))


figure, axes = plt.subplots(figsize=(7, 3))
if HAS_TORCH:
    ours.load_state_dict(theirs.state_dict())
    losses_there, seconds_there = train_there(theirs)
    axes.semilogy(losses_there, label="PyTorch", linewidth=4, alpha=0.4)
losses_here, seconds_here = train_here(ours)
axes.semilogy(losses_here, label="texpr", linestyle="--")
axes.set(xlabel="step", ylabel="loss")
axes.legend()
plt.show()
assert FAST or losses_here[-1] < 0.5 * losses_here[0]

# %% [markdown]
# ## 6. Back to PyTorch
#
# `state_dict` gives arrays, and `torch.from_numpy` makes tensors of them.

# %%
if HAS_TORCH:
    theirs.load_state_dict(
        {name: torch.tensor(np.asarray(a)) for name, a in ours.state_dict().items()}
    )
    with torch.no_grad():
        back = theirs.eval()(torch.from_numpy(x[:BATCH])).numpy()
    print(f"largest difference: {np.abs(back - ours.eval()(x[:BATCH])).max():.0e}")
    assert np.abs(back - ours(x[:BATCH])).max() < 1e-3
else:
    print(SKIPPED)

# %% [markdown]
# ## 7. Sharp edges
#
# * Labels of classes are integers, one for each example; losses do not broadcast.
# * `softmax` without an axis takes the last one.
# * Each shape of a batch is compiled once, so a last batch of another size takes a moment.
# * Random numbers differ: the same seed gives other weights and another dropout than PyTorch's.
# * `view`, `permute` and `dim=` are as in PyTorch, devices are not: see the error.

# %%
for attempt in (
    lambda: ours.cuda(),
    lambda: nn.optim.Adam(ours),
    lambda: nn.MSELoss()(tx.tensor(x[:4, 0, 0]), tx.tensor(x[:4, 0, 0, :1])),
):
    try:
        attempt()
        raise AssertionError("no error")
    except (tx.Error, AttributeError) as error:
        print(error, end="\n\n")

# %% [markdown]
# ## 8. The claim

# %% tags=["result"]
if HAS_TORCH:
    early = max(abs(a - b) for a, b in zip(losses_here[:10], losses_there[:10]))
    print(
        f"outputs differ by {differences['outputs']:.0e}, gradients by "
        f"{differences['gradients']:.0e}, the losses of the first ten steps by "
        f"{early:.0e}; "
        f"a step of {BATCH} images takes {seconds_here * 1e3:.2f} ms "
        f"of one core, in PyTorch {seconds_there * 1e3:.2f} ms"
    )
    print(machine.describe("torch"))
    assert early < 1e-2
else:
    print(f"{SKIPPED}; a step of {BATCH} images takes {seconds_here * 1e3:.2f} ms")
    print(machine.describe())

# %% [markdown]
# ## Exercises
#
# 1. Port a block with `GroupNorm(4, channels)` and `silu` in place of `BatchNorm2d` and `relu`.
# 2. Tie two weights: an autoencoder whose decoder is the transpose of its encoder,
#    `F.linear(h, self.encoder.weight.T)`.
# 3. Where does a penalty on the weights, `0.01 * (w ** 2).sum()`, stand in a loop over tensors?


# %% tags=["solution"]
class GroupBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(4, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(4, channels)

    def forward(self, x):
        out = self.norm1(self.conv1(x)).silu()
        return (x + self.norm2(self.conv2(out))).silu()


assert GroupBlock(8)(np.ones((2, 8, 4, 4), np.float32)).shape == (2, 8, 4, 4)


# %% tags=["solution"]
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(64, 8)
        self.bias = nn.Parameter(np.zeros(64, np.float32))

    def forward(self, x):
        return ops.tanh(self.encoder(x)) @ self.encoder.weight + self.bias


flat = x[:256].reshape(256, 64)
tied = Tied()
adam = nn.optim.Adam(tied.parameters(), lr=1e-2)
history = nn.Trainer(tied, nn.MSELoss(), adam).fit(
    flat, flat, epochs=3 if FAST else 20, progress=False
)
print(f"{history['loss'][0]:.3f} -> {history['loss'][-1]:.3f}")
assert history["loss"][-1] < history["loss"][0]

# %% tags=["solution"]
layer = nn.Linear(64, 10)
scores = layer(tx.tensor(flat))
loss = nn.CrossEntropyLoss()(scores, tx.tensor(y[:256]))
loss = loss + 0.01 * (layer.weight**2).sum()  # part of the loss, before backward
loss.backward()
assert layer.weight.grad is not None

# %% [markdown]
# Next: [Debugging](09_debugging.ipynb), or
# [Train in Python, run from C](10_train_save_run_from_c.ipynb). Models also move by ONNX, see
# [the guide to models](../guide/models.md).
