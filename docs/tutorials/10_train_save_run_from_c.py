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
# # Train in Python, run from C
#
# **Claim:** a trained network is one C function in one object file. A C program that links it gives
# the same bits as Python, and knows nothing of Python or texpr.
#
# {{result}}
#
# You know `Trainer` ([Three ways to train](06_three_ways_to_train.ipynb)). You need
# `pip install texpr[notebook,onnx]`, and `gcc` to compile the C program.

# %%
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import texpr as tx
from texpr import nn

# %% tags=["setup"]
import os
import time

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # few steps: for tests
EPOCHS, CALLS = (4, 100) if FAST else (20, 10_000)
folder = Path(tempfile.mkdtemp())


def run(*command: str) -> str:
    """Run a command in the folder; the text that it prints."""
    done = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


# %% [markdown]
# ## 1. Train
#
# Nothing here depends on where the network will run.

# %%
images, labels = load_digits(return_X_y=True)
x, test_x, y, test_y = train_test_split(
    (images / 16).astype(np.float32), labels, test_size=0.3, random_state=0
)
nn.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = nn.optim.Adam(model.parameters(), lr=1e-3)
trainer = nn.Trainer(model, nn.CrossEntropyLoss(), optimizer, metrics=["accuracy"])
trainer.fit(x, y, epochs=EPOCHS, batch_size=64, progress=False)
print(trainer.evaluate(test_x, test_y))

# %% [markdown]
# ## 2. Export
#
# `nn.export` captures the forward pass for inputs of one shape. It fuses and plans the pass as for
# a call in Python, and links all kernels and weights into one object. The suffix of the file says
# the kind: `.o`, `.a` or `.so`.

# %%
model.eval()
one = test_x[:1]
nn.export(model, folder / "digits.o", one, header=folder / "digits.h", name="digits")
sizes = {
    "object": (folder / "digits.o").stat().st_size,
    "weights": sum(p.data.nbytes for p in model.parameters()),
}
print({name: f"{size / 1024:.0f} KiB" for name, size in sizes.items()}, "\n")
print((folder / "digits.h").read_text())

# %% [markdown]
# The header is all that a C programmer gets. So it has the shapes, the alignment, the memory, the
# threads and the meaning of the returned number.
#
# ## 3. Run
#
# This program classifies every test image, then measures a single answer.

# %%
PROGRAM = """
#include <stdio.h>
#include <time.h>
#include "digits.h"
enum { IMAGES = %d, CALLS = %d };
static float x[IMAGES][64], y[IMAGES][10];
int main(void) {
  FILE *file = fopen("images", "rb");
  if (file == 0 || fread(x, sizeof x, 1, file) != 1) return 1;
  for (int k = 0; k < IMAGES; k++)
    if (texpr_digits_call(x[k], y[k]) != 0) return 2;
  file = fopen("scores", "wb");
  if (file == 0 || fwrite(y, sizeof y, 1, file) != 1 || fclose(file) != 0) return 1;
  clock_t start = clock();
  for (int k = 0; k < CALLS; k++) texpr_digits_call(x[k %% IMAGES], y[0]);
  printf("%%.12f\\n", (double)(clock() - start) / CLOCKS_PER_SEC / CALLS);
  return 0;
}
"""
(folder / "main.c").write_text(PROGRAM % (len(test_x), CALLS))
test_x.tofile(folder / "images")
run("gcc", "-O2", "-Wall", "-Werror", "main.c", "digits.o", "-o", "digits")
seconds_in_c = float(run("./digits"))
needed = [
    line.split()[-1]
    for line in run("readelf", "-d", "digits").splitlines()
    if "NEEDED" in line
]
print("libraries that it needs:", *needed)

# %%
scores = np.fromfile(folder / "scores", np.float32).reshape(-1, 10)
same = np.concatenate([model(image[None]) for image in test_x])
assert scores.tobytes() == same.tobytes(), "C and Python differ"
answers = scores.argmax(axis=1)
accuracy = float((answers == test_y).mean())

wrong, right = (
    np.flatnonzero(answers != test_y)[:5],
    np.flatnonzero(answers == test_y)[:5],
)
figure, axes = plt.subplots(1, 10, figsize=(10, 1.5))
for axis, k in zip(axes, [*wrong, *right]):
    color = "tab:red" if answers[k] != test_y[k] else "black"
    axis.imshow(test_x[k].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{answers[k]} for {test_y[k]}", fontsize=9, color=color)
    axis.set(xticks=[], yticks=[])
plt.show()

# %% [markdown]
# These are answers of the C program, with errors in red.
#
# ## 4. Weights in a file of their own
#
# With `weights="beside"` the object is small, and weights are a file that the program reads and
# passes. The header says where in the file each array lies, so a later training needs no new code.

# %%
nn.export(
    model,
    folder / "empty.o",
    one,
    header=folder / "empty.h",
    weights="beside",
    name="digits",
)
for name in ("empty.o", "empty.o.weights"):
    print(f"{name}: {(folder / name).stat().st_size / 1024:.0f} KiB")
lines = (folder / "empty.h").read_text().splitlines()
print("\n".join(line for line in lines if "weights" in line and "*" in line))

# %% [markdown]
# ## 5. Other processors
#
# The same call with another target writes code for another processor: `target="aarch64"` for a
# phone or a Raspberry Pi, `"armv7"` for an older one. [The guide](../guide/ahead_of_time.md) has
# kernels, training steps and static libraries.

# %%
for target in ("x86-64-v3", "aarch64", "armv7"):
    nn.export(model, folder / f"{target}.o", one, target=target, name="digits")
    print(f"{target:<10} {(folder / f'{target}.o').stat().st_size / 1024:.0f} KiB")

# %% [markdown]
# ## 6. Other runtimes
#
# In ONNX the network is data for other libraries. The first dimension has a name, so batches of any
# size fit. Read back, it is a module whose parameters can be trained further.

# %%
tx.onnx.save(model, folder / "digits.onnx", one, dims={"x": {0: "batch"}})
again = tx.onnx.load(folder / "digits.onnx")
assert np.allclose(again(test_x), model(test_x), atol=1e-4)
print(f"{(folder / 'digits.onnx').stat().st_size / 1024:.0f} KiB of ONNX: {again}")

# %% [markdown]
# ## 7. The claim
#
# The time of an answer in C, and of the same call from Python, most of which is Python.

# %% tags=["result"]
start = time.process_time()
for k in range(CALLS):
    model(test_x[k % len(test_x)][None])
seconds_in_python = (time.process_time() - start) / CALLS
print(
    f"{len(scores)} images, {accuracy:.1%} right, every bit as in Python; "
    f"an image takes "
    f"{seconds_in_c * 1e6:.2f} us in C, {seconds_in_python * 1e6:.1f} us from Python; "
    f"the object has {sizes['object'] / 1024:.0f} KiB"
)
print(machine.describe())
assert FAST or accuracy > 0.95

# %% [markdown]
# ## Exercises
#
# 1. Export for batches of 32 images. Does an image take less time?
# 2. Save a kernel of your own with `kernel.save`, and call it from C.
# 3. Train the network longer, and export it again with `weights="beside"`. Which files change?

# %% tags=["solution"]
nn.export(
    model, folder / "batch.o", test_x[:32], header=folder / "batch.h", name="batch"
)
(folder / "batch.c").write_text("""
#include <stdio.h>
#include <time.h>
#include "batch.h"
static float x[32][64], y[32][10];
int main(void) {
  clock_t start = clock();
  for (int k = 0; k < 1000; k++) if (texpr_batch_call(x[0], y[0]) != 0) return 2;
  printf("%.12f", (double)(clock() - start) / CLOCKS_PER_SEC / 1000 / 32);
  return 0;
}
""")
run("gcc", "-O2", "batch.c", "batch.o", "-o", "batch")
print(
    f"{float(run('./batch')) * 1e6:.2f} us an image, alone {seconds_in_c * 1e6:.2f} us"
)

# %% tags=["solution"]
scale = tx.op("op scale(X: f32[N], a: f32) -> Y: f32[N] { Y[i] = a * X[i] }")
kernel = tx.schedule(scale, N=4).auto().compile()
kernel.save(folder / "scale.o", header=folder / "scale.h")
(folder / "scale.c").write_text("""
#include <stdio.h>
#include "scale.h"
int main(void) {
  float x[4] = {1, 2, 3, 4}, a = 0.5f, y[4];
  if (texpr_scale_call(x, &a, y) != 0) return 2;
  printf("%g %g %g %g", y[0], y[1], y[2], y[3]);
  return 0;
}
""")
run("gcc", "-Wall", "scale.c", "scale.o", "-o", "scale")
print(run("./scale"))
assert run("./scale") == "0.5 1 1.5 2"

# %% tags=["solution"]
paths = [folder / "empty.o", folder / "empty.o.weights"]
old = [path.read_bytes() for path in paths]
trainer.fit(x, y, epochs=1, progress=False)
nn.export(model.eval(), paths[0], one, weights="beside", name="digits")
changed = [path.name for path, was in zip(paths, old) if path.read_bytes() != was]
print("changed:", changed)
assert changed == ["empty.o.weights"]

# %% [markdown]
# Next: [One source, many processors](13_one_source_many_processors.ipynb), or
# [A small transformer](11_a_transformer.ipynb).
