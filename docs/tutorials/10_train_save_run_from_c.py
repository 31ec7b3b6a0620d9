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
# **Claim:** a trained network is one C function in one object file. A C program that links it gives the same bits as Python, knows
# nothing of Python or texpr, and answers in the time that the arithmetic takes.
#
# You need `texpr[onnx]`, `scikit-learn` for the images, `matplotlib`, and `gcc`.

# %%
import os
import subprocess
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
EPOCHS, CALLS = (4, 100) if FAST else (20, 10_000)
folder = Path(tempfile.mkdtemp())

images, labels = load_digits(return_X_y=True)
x, test_x, y, test_y = train_test_split(
    (images / 16).astype(np.float32),
    labels,
    test_size=0.3,
    random_state=0,
    stratify=labels,
)

# %% [markdown]
# ## Train
#
# Nothing here knows that the network will leave.

# %%
nn.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
trainer = nn.Trainer(
    model,
    loss=nn.CrossEntropyLoss(),
    optimizer=nn.optim.Adam(model.parameters(), lr=1e-3),
    metrics=["accuracy"],
)
trainer.fit(x, y, epochs=EPOCHS, batch_size=64, progress=False)
print(trainer.evaluate(test_x, test_y))

# %% [markdown]
# ## Save
#
# `nn.export` captures the forward pass for inputs of one shape, fuses and plans it as a call in Python would be, and links all of its
# kernels and its weights into one object. The suffix of the file says what is wanted: `.o`, `.a` or `.so`.

# %%
model.eval()
one = test_x[:1]
nn.export(model, folder / "digits.o", one, header=folder / "digits.h", name="digits")
weights = sum(p.data.nbytes for p in model.parameters())
print(
    f"{(folder / 'digits.o').stat().st_size / 1024:.0f} KiB, of which {weights / 1024:.0f} are weights\n"
)
print((folder / "digits.h").read_text())

# %% [markdown]
# The header is all that a C programmer gets, so it says what one has to know: shapes, alignment, memory, threads, what is returned.
#
# ## Run
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
  printf("%%.2f us for an image\\n", 1e6 * (double)(clock() - start) / CLOCKS_PER_SEC / CALLS);
  return 0;
}
"""
(folder / "main.c").write_text(PROGRAM % (len(test_x), CALLS))
test_x.tofile(folder / "images")
subprocess.run(
    ["gcc", "-O2", "-Wall", "-Werror", "main.c", "digits.o", "-o", "digits"],
    cwd=folder,
    check=True,
)
print(
    subprocess.run(
        ["./digits"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout,
    end="",
)
needed = subprocess.run(
    ["readelf", "-d", "digits"], cwd=folder, check=True, capture_output=True, text=True
).stdout
print(
    "it needs:",
    ", ".join(line.split()[-1] for line in needed.splitlines() if "NEEDED" in line),
)

# %%
scores = np.fromfile(folder / "scores", np.float32).reshape(-1, 10)
same = np.concatenate([model(image[None]) for image in test_x])
assert scores.tobytes() == same.tobytes(), "C and Python differ"
accuracy = float((scores.argmax(1) == test_y).mean())
print(
    f"{len(scores)} images, accuracy {accuracy:.4f}; every bit is what Python computes"
)

answers = scores.argmax(1)
shown = [*np.flatnonzero(answers != test_y)[:5], *np.flatnonzero(answers == test_y)[:5]]
figure, axes = plt.subplots(1, len(shown), figsize=(len(shown), 1.5))
for axis, k in zip(axes, shown):
    axis.imshow(test_x[k].reshape(8, 8), cmap="gray_r")
    axis.set_title(
        f"{answers[k]} for {test_y[k]}",
        fontsize=9,
        color="tab:red" if answers[k] != test_y[k] else "black",
    )
    axis.set(xticks=[], yticks=[])
plt.show()

# %% [markdown]
# What the C program says, for what it is: errors in red. And the time of a call from here, most of which is Python:

# %%
start = time.process_time()
for k in range(CALLS):
    model(test_x[k % len(test_x)][None])
print(
    f"the same call from Python: {1e6 * (time.process_time() - start) / CALLS:.2f} us"
)

# %% [markdown]
# ## Weights beside
#
# With `weights="beside"` the object is small, and weights are a file that the program reads and passes. The header says where in it each
# array lies, so a later training needs no new code.

# %%
nn.export(
    model,
    folder / "empty.o",
    one,
    header=folder / "empty.h",
    weights="beside",
    name="digits",
)
code, beside = (
    path.stat().st_size for path in (folder / "empty.o", folder / "empty.o.weights")
)
print(f"{code / 1024:.0f} KiB of code, {beside / 1024:.0f} KiB of weights")
print(
    "\n".join(
        line
        for line in (folder / "empty.h").read_text().splitlines()
        if "weights" in line and "*" in line
    )
)

# %% [markdown]
# ## Other processors
#
# The same call with another target writes code for another processor: `target="aarch64"` for a phone or a Raspberry Pi, `"armv7"` for an
# older one. `docs/guide/ahead_of_time.md` has kernels, training steps and static libraries; `examples/arm.py` trains a network by such code.

# %%
for target in ("x86-64-v3", "aarch64", "armv7"):
    nn.export(model, folder / f"{target}.o", one, target=target, name="digits")
    print(f"{target:<10} {(folder / f'{target}.o').stat().st_size / 1024:.0f} KiB")

# %% [markdown]
# ## Other runtimes
#
# In ONNX the network is data for other libraries. Batches of any size fit, as the dimension has a name; read back, it is a module whose
# parameters are trained further. `docs/guide/models.md` has what is read and written.

# %%
tx.onnx.save(model, folder / "digits.onnx", one, dims={"x": {0: "batch"}})
again = tx.onnx.load(folder / "digits.onnx")
assert np.allclose(again(test_x), model(test_x), atol=1e-4)
print(f"{(folder / 'digits.onnx').stat().st_size / 1024:.0f} KiB of ONNX: {again}")

# %% [markdown]
# ## Exercises
#
# 1. Export for batches of 32 images and compare the time per image.
# 2. Put the two functions of `x86-64` and `x86-64-v4` (give them other names) into one program that chooses when it starts.
# 3. Save a kernel of your own with `kernel.save`, and call it from C++.
