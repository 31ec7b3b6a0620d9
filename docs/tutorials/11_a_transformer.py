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
# **Claim:** a transformer of two layers, trained for minutes on the text of Python's own documentation, says the next character better
# than any table of pairs of characters can, and writes text that looks like it.
#
# You need `texpr` and `matplotlib`. The text is `pydoc_data.topics`, which every Python has.

# %%
import os
import tempfile
from pathlib import Path
from pydoc_data import topics

import matplotlib.pyplot as plt
import numpy as np

import texpr as tx
from texpr import nn
from texpr.nn.data import DataLoader, Dataset

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # little text, one layer: for tests
CONTEXT, WIDTH, LAYERS, BATCH = (16, 16, 1, 8) if FAST else (64, 64, 2, 32)

text = "\n".join(topics.topics.values())
characters = sorted(set(text))
place = {c: k for k, c in enumerate(characters)}
codes = np.array([place[c] for c in text])
print(f"{len(text):,} characters, {len(characters)} different ones")

# %% [markdown]
# ## The bar
#
# Count which character follows which. The entropy of these counts is the smallest mean of `-log p` that a table of pairs can have.

# %%
size = len(characters)
pairs = np.bincount(codes[:-1] * size + codes[1:], minlength=size * size).reshape(
    size, size
)
shares = pairs / np.maximum(pairs.sum(1, keepdims=True), 1)
entropy = -(pairs[pairs > 0] * np.log(shares[pairs > 0])).sum() / pairs.sum()
print(f"no character known: {np.log(size):.3f} nats; the one before: {entropy:.3f}")

# %% [markdown]
# ## Batches
#
# A data set has a length and gives examples by their numbers; here a window of the text, and the same moved on by one. The loader shuffles
# them, in an order that depends on its seed and the epoch.


# %%
class Text(Dataset):
    def __init__(self, codes):
        self.codes = codes

    def __len__(self):
        return (len(self.codes) - CONTEXT - 1) // (CONTEXT // 2)

    def __getitem__(self, index):
        start = index * (CONTEXT // 2)
        return self.codes[start : start + CONTEXT], self.codes[
            start + 1 : start + CONTEXT + 1
        ]


cut = len(codes) * 9 // 10
limit = 2000 if FAST else None
seen = DataLoader(Text(codes[:cut][:limit]), BATCH, shuffle=True, drop_last=True)
unseen = DataLoader(Text(codes[cut:][:limit]), BATCH, drop_last=True)
print(f"{len(seen)} batches of {BATCH} windows of {CONTEXT} characters")

# %% [markdown]
# ## The model
#
# Layers have the names and arguments of `torch.nn`. The mask hides what comes later; it is a buffer, part of the model and not trained.


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
        self.register_buffer(
            "mask",
            nn.Transformer.generate_square_subsequent_mask(CONTEXT),
            persistent=False,
        )
        nn.init.normal_(self.embedding.weight, std=0.1)
        nn.init.normal_(self.place, std=0.1)

    def forward(self, x):
        return self.scores(
            self.encoder(self.embedding(x) + self.place, self.mask)
        ).swapaxes(1, 2)


nn.manual_seed(0)
model = Writer()
print(f"{sum(p.size for p in model.parameters()):,} parameters")

# %% [markdown]
# ## One step, looked at
#
# `tx.profile()` says for each kernel of the compiled step how long it took, and how close that is to what this machine could do at best.

# %%
optimizer = nn.optim.AdamW(model.parameters(), lr=3e-3).clip_grad_norm_(1.0)
trainer = nn.Trainer(model, nn.CrossEntropyLoss(), optimizer)
x, y = next(iter(unseen))
trainer.step(x, y)
with tx.profile() as profile:
    trainer.step(x, y)
print("\n".join(line[:105] for line in str(profile).splitlines()[:6]))

# %% [markdown]
# ## Training
#
# The learning rate rises and falls within the training, step by step. A checkpoint holds all that is needed to go on after a crash.

# %%
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "writer.safetensors"
    epochs = 2
    schedule = nn.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=3e-3, total_steps=epochs * len(seen) + 1
    )
    losses = []

    class Losses(nn.Callback):
        def on_step_end(self, trainer, step, values):
            losses.append(values["loss"])

    history = trainer.fit(
        seen,
        epochs=epochs,
        validation_data=unseen,
        resume=file,
        callbacks=[
            nn.callbacks.LearningRate(schedule, every="step"),
            nn.callbacks.Checkpoint(file, every=200),
            Losses(),
        ],
    )
    print(f"the checkpoint has {file.stat().st_size:,} bytes")

loss = history["val_loss"][-1]
print(f"loss {loss:.3f} on text that was not seen, entropy of pairs {entropy:.3f}")
assert FAST or loss < entropy

# %%
figure, axis = plt.subplots(figsize=(7, 3))
axis.plot(losses, linewidth=0.8, label="batches")
axis.axhline(entropy, color="gray", linestyle="--", label="entropy of pairs")
axis.set(xlabel="step", ylabel="nats per character")
axis.legend()
plt.show()

# %% [markdown]
# ## Writing
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
print(write("The ", 40 if FAST else 500))

# %% [markdown]
# ## What it looks at
#
# The attention of the first layer, averaged over its heads: how much each character, from top to bottom, takes from those before it.

# %%
sentence = codes[cut : cut + CONTEXT][None]
first = model.encoder.layers[0]
inside = first.norm1(model.embedding(sentence) + model.place.data)
_, weights = first.self_attn(inside, inside, inside, attn_mask=model.mask.data)
assert np.allclose(weights.sum(-1), 1, atol=1e-5) and np.allclose(
    np.triu(weights[0], 1), 0
)
figure, axis = plt.subplots(figsize=(5, 5))
axis.imshow(weights[0] ** 0.5, cmap="gray_r")
axis.set(title="attention", xticks=[], yticks=[])
plt.show()

# %% [markdown]
# **What you have seen:** a data set and its loader, a transformer in a dozen lines, where the time of a step goes, a training that could be
# resumed, and text from a model that knows more than pairs.
