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
# # A small transformer
#
# **Claim:** a transformer of two layers, trained on the text of Python's own documentation,
# predicts the next character better than any table of pairs of characters can, and writes text of
# that kind.
#
# {{result}}
#
# You know `Trainer` ([Three ways to train](06_three_ways_to_train.ipynb)). You need
# `pip install texpr[notebook,checkpoint]`. The text is `pydoc_data.topics`, which every Python has.

# %%
import tempfile
from pathlib import Path
from pydoc_data import topics

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx
from texpr import nn
from texpr.nn.data import DataLoader, Dataset

# %% tags=["setup"]
import os
import textwrap
import time

from texpr.tools import machine

tx.options(threads=1)  # one core, whose time is measured
FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # little text, one layer: for tests
CONTEXT, WIDTH, LAYERS, BATCH = (16, 16, 1, 8) if FAST else (64, 64, 2, 32)

# %%
text = "\n".join(topics.topics.values())
characters = sorted(set(text))
place = {c: k for k, c in enumerate(characters)}
codes = np.array([place[c] for c in text])
print(f"{len(text):,} characters, {len(characters)} different ones")

# %% [markdown]
# ## 1. The bar
#
# Count which character follows which. The entropy of these counts is the smallest mean of `-log p`
# that a table of pairs can have on this text. The unit is the nat.

# %%
size = len(characters)
pairs = np.bincount(codes[:-1] * size + codes[1:], minlength=size * size)
pairs = pairs.reshape(size, size)
shares = pairs / np.maximum(pairs.sum(1, keepdims=True), 1)
entropy = -(pairs[pairs > 0] * np.log(shares[pairs > 0])).sum() / pairs.sum()
print(f"no character known: {np.log(size):.3f} nats; the one before: {entropy:.3f}")

# %% [markdown]
# ## 2. Batches
#
# A data set has a length and gives examples by their numbers: here a window of the text, and the
# window one character later. The loader shuffles them, in an order that depends on its seed and the
# epoch.


# %%
class Text(Dataset):
    def __init__(self, codes):
        self.codes = codes

    def __len__(self):
        return (len(self.codes) - CONTEXT - 1) // (CONTEXT // 2)

    def __getitem__(self, index):
        start = index * (CONTEXT // 2)
        window = self.codes[start : start + CONTEXT + 1]
        return window[:-1], window[1:]


cut = len(codes) * 9 // 10
limit = 2000 if FAST else None
seen = DataLoader(Text(codes[:cut][:limit]), BATCH, shuffle=True, drop_last=True)
unseen = DataLoader(Text(codes[cut:][:limit]), BATCH, drop_last=True)
print(f"{len(seen)} batches of {BATCH} windows of {CONTEXT} characters")

# %% [markdown]
# ## 3. The model
#
# Layers have the names and arguments of `torch.nn`. The mask hides the characters that come later.
# It is a buffer: part of the model, and not trained.


# %%
class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(size, WIDTH)
        self.place = nn.Parameter(np.zeros((CONTEXT, WIDTH), np.float32))
        layer = nn.TransformerEncoderLayer(
            WIDTH,
            4,
            4 * WIDTH,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH))
        self.scores = nn.Linear(WIDTH, size)
        mask = nn.Transformer.generate_square_subsequent_mask(CONTEXT)
        self.register_buffer("mask", mask, persistent=False)
        nn.init.normal_(self.embedding.weight, std=0.1)
        nn.init.normal_(self.place, std=0.1)

    def forward(self, x):
        hidden = self.encoder(self.embedding(x) + self.place, self.mask)
        return self.scores(hidden).swapaxes(1, 2)


nn.manual_seed(0)
model = Writer()
print(f"{sum(p.size for p in model.parameters()):,} parameters")

# %% [markdown]
# ## 4. The profile of a step
#
# `tx.profile()` lists the kernels of the compiled step, each with its time and with its share of
# the machine's limit (`roofline`).

# %%
optimizer = nn.optim.AdamW(model.parameters(), lr=3e-3).clip_grad_norm_(1.0)
trainer = nn.Trainer(model, nn.CrossEntropyLoss(), optimizer)
x, y = next(iter(unseen))
trainer.step(x, y)
with tx.profile() as profile:
    trainer.step(x, y)
print("\n".join(line[:86] for line in str(profile).splitlines()[:7]))

# %% [markdown]
# ## 5. Training
#
# The learning rate rises and falls within the training, step by step. A checkpoint holds the whole
# state, so that a training can go on after a crash.

# %%
EPOCHS = 2
steps = EPOCHS * len(seen) + 1
schedule = nn.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
losses = []


class Losses(nn.Callback):
    def on_step_end(self, trainer, step, values):
        losses.append(values["loss"])


start = time.process_time()
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "writer.safetensors"
    callbacks = [
        nn.callbacks.LearningRate(schedule, every="step"),
        nn.callbacks.Checkpoint(file, every=200),
        Losses(),
    ]
    history = trainer.fit(
        seen,
        epochs=EPOCHS,
        validation_data=unseen,
        resume=file,
        callbacks=callbacks,
    )
    print(f"the checkpoint has {file.stat().st_size:,} bytes")
seconds = time.process_time() - start
loss = history["val_loss"][-1]

# %%
figure, axis = plt.subplots(figsize=(7, 3))
axis.plot(losses, linewidth=0.8, label="batches")
axis.axhline(entropy, color="gray", linestyle="--", label="entropy of pairs")
axis.set(xlabel="step", ylabel="nats per character")
axis.legend()
plt.show()

# %% [markdown]
# ## 6. Writing
#
# Draw a character from the scores, append it, and ask again.


# %%
def write(start: str, length: int, temperature: float = 0.7) -> str:
    generator = np.random.default_rng(0)
    written = [place[c] for c in start]
    window = np.zeros((1, CONTEXT), np.int64)
    for _ in range(length):
        known = written[-CONTEXT:]
        window[0, : len(known)] = known
        scores = model(window)[0, :, len(known) - 1].astype(np.float64) / temperature
        chances = np.exp(scores - scores.max())
        written.append(int(generator.choice(size, p=chances / chances.sum())))
    return "".join(characters[k] for k in written)


model.eval()
print(textwrap.fill(write("The ", 40 if FAST else 500), 86, replace_whitespace=False))

# %% [markdown]
# ## 7. Attention
#
# The attention of the first layer, averaged over its heads. Each row is a character, from top to
# bottom. A row shows how much the character takes from the characters before it.

# %%
sentence = codes[cut : cut + CONTEXT][None]
first = model.encoder.layers[0]
inside = first.norm1(model.embedding(sentence) + model.place.data)
_, weights = first.self_attn(inside, inside, inside, attn_mask=model.mask.data)
assert np.allclose(weights.sum(-1), 1, atol=1e-5)
assert np.allclose(np.triu(weights[0], 1), 0)
figure, axis = plt.subplots(figsize=(5, 5))
axis.imshow(weights[0] ** 0.5, cmap="gray_r")
axis.set(title="attention", xticks=[], yticks=[])
plt.show()

# %% [markdown]
# ## 8. The claim

# %% tags=["result"]
print(
    f"loss {loss:.3f} nats a character on unseen text; the best table of pairs has "
    f"{entropy:.3f}; "
    f"{len(losses)} steps of {BATCH} windows in {seconds:.0f} s of one core"
)
print(machine.describe())
assert FAST or loss < entropy

# %% [markdown]
# ## Exercises
#
# 1. Write text at the temperatures 0.2 and 1.5. How does it change?
# 2. How good can a table of *triples* be? Compute the entropy of the next character, given two.
# 3. Set the mask to zeros and train a hundred steps. The loss falls faster: is the model better?

# %% tags=["solution"]
for temperature in (0.2, 1.5):  # low: the likeliest characters; high: nearly any
    written = write("The ", 40 if FAST else 120, temperature)
    print(textwrap.fill(f"{temperature}: {written!r}", 86))

# %% tags=["solution"]
first_two = codes[:-2] * size + codes[1:-1]
_, of_two = np.unique(first_two, return_inverse=True)
_, counts_two = np.unique(of_two, return_counts=True)
_, counts_three = np.unique(of_two * size + codes[2:], return_counts=True)
entropy_of = lambda c: -(c / c.sum() * np.log(c / c.sum())).sum()  # noqa: E731
given_two = entropy_of(counts_three) - entropy_of(counts_two)
print(f"given two characters: {given_two:.3f} nats, of text that it has seen")
assert given_two < entropy

# %% tags=["solution"]
nn.manual_seed(0)
cheat = Writer()
cheat.mask.data = np.zeros((CONTEXT, CONTEXT), np.float32)
step = nn.TrainingStep(
    cheat, nn.CrossEntropyLoss(), nn.optim.AdamW(cheat.parameters(), lr=3e-3)
)
for _, (x, y) in zip(range(10 if FAST else 100), seen):
    without_mask = step(x, y)
print(f"loss {without_mask:.3f}, with the mask {losses[min(99, len(losses) - 1)]:.3f}")
# No: it reads the next character, which stands in its window. It cannot write.

# %% [markdown]
# Next: [Tuning](12_tuning.ipynb).
