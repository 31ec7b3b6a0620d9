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
# # A pretrained model: fine-tuned, saved, run from C
#
# **Claim:** the last layer of a network that others trained learns a type of files that it did not
# know. The network is saved for other runtimes, and as a C function it gives the same answers.
#
# {{result}}
#
# The network is [Magika](https://github.com/google/magika) of Google, under the Apache license. It
# tells the types of files by 2,048 of their bytes. Its package has the file in ONNX:
# `pip install --no-deps magika==1.0.3`, beside `pip install texpr[notebook,onnx]` and `gcc`.

# %%
import json
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx
from texpr import nn

# %% tags=["setup"]
import os
import time

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # few steps: for tests
EPOCHS, CALLS = (4, 20) if FAST else (12, 200)
folder = Path(tempfile.mkdtemp())
package = Path(find_spec("magika").submodule_search_locations[0])
home = package / "models" / "standard_v3_3"


def run(*command: str) -> str:
    """Run a command in the folder; the text that it prints."""
    done = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


# %% [markdown]
# ## 1. Read
#
# Weights are parameters under the names that the file has. This exporter writes initializers.
# Others write `Constant` nodes, whose weights are parameters too.

# %%
model = tx.onnx.load(home / "model.onnx")
print(model)
for name, p in list(model.named_parameters())[:4]:
    print(f"{name[-60:]:<62}{list(p.shape)}")
print(f"{sum(p.data.size for p in model.parameters()):,} weights in all")

# %% [markdown]
# ## 2. Ask
#
# The input is the beginning and the end of a file, 1,024 bytes each, without space around them.
# Where a file is shorter, 256 stands for no byte.

# %%
HALF, NOTHING = 1024, 256
labels = json.loads((home / "config.min.json").read_text())["target_labels_space"]


def features(data: bytes) -> np.ndarray:
    begin, end = data[:4096].lstrip()[:HALF], data[-4096:].rstrip()[-HALF:]
    found = [NOTHING] * (2 * HALF)
    found[: len(begin)] = begin
    found[2 * HALF - len(end) :] = end
    return np.array([found], np.int32)


source = Path(tx.__file__).parent
for path in ("nn/export.py", "ops/library/softmax.tx", "runtime/native/pool.c"):
    if (source / path).exists():
        scores = model(features((source / path).read_bytes()))[0]
        best = int(scores.argmax())
        print(f"{path:<24}{labels[best]:<12}{scores[best]:.2f}")

# %% [markdown]
# Operators of texpr are no type that it knows. The last layer shall learn them, in the place of a
# type that we do not need.
#
# ## 3. Fine-tune
#
# Pieces of files are the examples: half of them for training, half for the test. Only the two
# parameters of the last layer are trained, which are those with an extent of 214 types.


# %%
def pieces(pattern: str, size: int = 900) -> np.ndarray:
    texts = [path.read_bytes() for path in sorted(source.glob(pattern))]
    return np.concatenate(
        [
            features(t[k : k + size])
            for t in texts
            for k in range(0, max(1, len(t) - size), size)
        ]
    )


new, python = labels.index("xpi"), labels.index("python")
ours = pieces("ops/library/*.tx")
theirs = pieces("nn/modules/*.py")[: len(ours)]
x = np.concatenate([ours[1::2], theirs[1::2]])
y = np.array([new] * len(ours[1::2]) + [python] * len(theirs[1::2]))
test_x = np.concatenate([ours[::2], theirs[::2]])
test_y = np.array([new] * len(ours[::2]) + [python] * len(theirs[::2]))
before = float((model(test_x).argmax(1) == test_y).mean())


class LogScores(nn.Module):
    """The network gives probabilities; its loss takes their logarithms."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x):
        return (self.network(x) + 1e-9).log()


for p in model.parameters():
    p.requires_grad = len(labels) in p.shape
head = [p for p in model.parameters() if p.requires_grad]
trainer = nn.Trainer(LogScores(model), nn.NLLLoss(), nn.optim.Adam(head, lr=3e-3))
history = trainer.fit(x, y, epochs=EPOCHS, batch_size=16, progress=False)
model.eval()
after = float((model(test_x).argmax(1) == test_y).mean())
print(f"{len(test_y)} pieces, right before {before:.2f}, after {after:.2f}")

figure, axes = plt.subplots(figsize=(5, 2.5))
axes.semilogy(history["loss"], marker="o")
axes.set(xlabel="epoch", ylabel="loss")
plt.show()

# %% [markdown]
# ## 4. Save
#
# In ONNX, for any runtime, with a batch of any size. Read again, it has the same weights and gives
# the same scores.

# %%
one = test_x[:1]
tx.onnx.save(
    model, folder / "tuned.onnx", one, dims={"bytes": {0: "batch"}}, inputs=["bytes"]
)
again = tx.onnx.load(folder / "tuned.onnx")
assert list(again.state_dict()) == list(model.state_dict())
assert np.allclose(again(test_x[:8]), model(test_x[:8]), atol=1e-6)
print(f"{(folder / 'tuned.onnx').stat().st_size / 1024:.0f} KiB of ONNX: {again}")

# %% [markdown]
# ## 5. Run from C
#
# The whole network is one function, with its weights inside. The program reads the bytes of a file
# in the form above, and writes scores.

# %%
nn.export(model, folder / "magika.a", one, header=folder / "magika.h", name="magika")
PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include "magika.h"
enum { CALLS = %d };
static int32_t bytes[2048];
static float scores[214];
int main(void) {
  FILE *in = fopen("bytes", "rb"), *out = fopen("scores", "wb");
  if (!in || !out || fread(bytes, sizeof bytes, 1, in) != 1) return 1;
  clock_t start = clock();
  for (int k = 0; k < CALLS; k++)
    if (texpr_magika_call(bytes, scores) != 0) return 2;
  printf("%%.9f", (double)(clock() - start) / CLOCKS_PER_SEC / CALLS);
  return fwrite(scores, sizeof scores, 1, out) != 1 || fclose(out) != 0;
}
"""
(folder / "main.c").write_text(PROGRAM % CALLS)
run("gcc", "-O2", "-Wall", "main.c", "magika.a", "-lm", "-o", "magika")
one.tofile(folder / "bytes")
seconds_in_c = float(run("./magika"))
scores = np.fromfile(folder / "scores", np.float32)
assert np.allclose(scores, model(one)[0], atol=1e-6)
print(f"{labels[int(scores.argmax())]}: {scores.max():.3f}")

# %% [markdown]
# ## 6. The claim

# %% tags=["result"]
start = time.process_time()
for _ in range(CALLS):
    model(one)
seconds_in_python = (time.process_time() - start) / CALLS
print(
    f"{after:.1%} of {len(test_y)} pieces right after training the last layer, "
    f"{before:.1%} before; "
    f"C and Python differ by {abs(scores - model(one)[0]).max():.1e}; a file takes "
    f"{seconds_in_c * 1e3:.1f} ms in C, {seconds_in_python * 1e3:.1f} ms from Python"
)
print(machine.describe())
assert after > 0.9 > before

# %% [markdown]
# ## Exercises
#
# 1. Train all weights with a small rate. Does it take fewer epochs?
# 2. Export with `weights="beside"`. How large are the two files?
# 3. Does the network still know other types after the training? Ask it for files of JSON.

# %% tags=["solution"]
other = tx.onnx.load(home / "model.onnx")
everything = nn.optim.Adam(other.parameters(), lr=1e-4)
trainer = nn.Trainer(LogScores(other), nn.NLLLoss(), everything)
trainer.fit(x, y, epochs=1 if FAST else 4, batch_size=16, progress=False)
right = (other.eval()(test_x).argmax(1) == test_y).mean()
print(f"right after {1 if FAST else 4} epochs of all weights: {right:.2f}")

# %% tags=["solution"]
nn.export(model, folder / "empty.o", one, weights="beside", name="magika")
for name in ("empty.o", "empty.o.weights"):
    print(f"{name}: {(folder / name).stat().st_size / 1024:.0f} KiB")

# %% tags=["solution"]
text = json.dumps({"name": "texpr", "numbers": list(range(400))}, indent=1).encode()
for each in (tx.onnx.load(home / "model.onnx"), model):
    print(labels[int(each(features(text))[0].argmax())])

# %% [markdown]
# Next: [Models in ONNX](../guide/models.md) has what can be read, how weights are named, and where
# the limits are.
