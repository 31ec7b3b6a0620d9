"""A transformer that writes like Python's own documentation, character by character.

Run with `python examples/characters.py`; it needs nothing but texpr. The text is
`pydoc_data.topics`, which every Python has. The bar is what no table of pairs of characters gets
below: the entropy of a character that follows a known one.
"""

from __future__ import annotations

from pydoc_data import topics

import numpy as np

from texpr import nn
from texpr.nn.data import DataLoader, Dataset

CONTEXT, WIDTH = 64, 64


class Text(Dataset):
    """Windows of a text, half of them overlapping, with what follows each of their characters."""

    def __init__(self, codes: np.ndarray) -> None:
        self.codes = codes

    def __len__(self) -> int:
        return (len(self.codes) - CONTEXT - 1) // (CONTEXT // 2)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        start = index * (CONTEXT // 2)
        return self.codes[start : start + CONTEXT], self.codes[start + 1 : start + CONTEXT + 1]


class Writer(nn.Module):
    """Scores of the next character after every one of (batch, time) characters: (batch,
    characters, time).
    """

    def __init__(self, characters: int, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, WIDTH)
        self.place = nn.Parameter(np.zeros((CONTEXT, WIDTH), np.float32))
        layer = nn.TransformerEncoderLayer(
            WIDTH, 4, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(WIDTH))
        self.scores = nn.Linear(WIDTH, characters)
        self.register_buffer(
            "mask", nn.Transformer.generate_square_subsequent_mask(CONTEXT), persistent=False
        )
        nn.init.normal_(self.embedding.weight, std=0.1)
        nn.init.normal_(self.place, std=0.1)

    def forward(self, x):
        return self.scores(self.encoder(self.embedding(x) + self.place, self.mask)).swapaxes(1, 2)


def read() -> tuple[str, np.ndarray, list[str]]:
    """The text, its characters as numbers, and the characters."""
    text = "\n".join(topics.topics.values())
    characters = sorted(set(text))
    place = {c: k for k, c in enumerate(characters)}
    return text, np.array([place[c] for c in text]), characters


def bigram_entropy(codes: np.ndarray) -> float:
    """The mean of -log p(character | the one before), in nats, with the probabilities that the
    text itself has.
    """
    size = int(codes.max()) + 1
    pairs = np.bincount(codes[:-1] * size + codes[1:], minlength=size * size).reshape(size, size)
    shares = pairs / np.maximum(pairs.sum(axis=1, keepdims=True), 1)
    return float(-(pairs[pairs > 0] * np.log(shares[pairs > 0])).sum() / pairs.sum())


def sample(
    model: nn.Module, characters: list[str], start: str, length: int, seed: int = 0, temperature: float = 0.7
) -> str:
    """Text that goes on after `start`, one character after the other."""
    generator, place = np.random.default_rng(seed), {c: k for k, c in enumerate(characters)}
    codes = [place[c] for c in start]
    window = np.zeros((1, CONTEXT), np.int64)
    model.eval()
    for _ in range(length):
        seen = codes[-CONTEXT:]
        window[0, : len(seen)] = seen  # what comes later is hidden by the mask
        scores = model(window)[0, :, len(seen) - 1].astype(np.float64) / temperature
        shares = np.exp(scores - scores.max())
        codes.append(int(generator.choice(len(characters), p=shares / shares.sum())))
    return "".join(characters[k] for k in codes)


def trained(epochs: int = 2, layers: int = 2, examples: int | None = None) -> tuple[nn.Trainer, float, float]:
    """A writer, its loss on the last tenth of the text, which it has not seen, and the bigram
    entropy.
    """
    nn.manual_seed(0)
    _, codes, characters = read()
    cut = len(codes) * 9 // 10
    seen, unseen = Text(codes[:cut][:examples]), Text(codes[cut:][:examples])
    model = Writer(len(characters), layers)
    loader = DataLoader(seen, batch_size=32, shuffle=True, drop_last=True)
    optimizer = nn.optim.AdamW(model.parameters(), lr=3e-3).clip_grad_norm_(1.0)
    schedule = nn.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=epochs * len(loader) + 1)
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), optimizer)
    trainer.fit(loader, epochs=epochs, callbacks=[nn.callbacks.LearningRate(schedule, every="step")])
    loss = trainer.evaluate(DataLoader(unseen, batch_size=32, drop_last=True))["loss"]
    return trainer, loss, bigram_entropy(codes)


def main() -> None:
    """Train and write."""
    trainer, loss, entropy = trained()
    print(sample(trainer.model, read()[2], "The ", 600))
    print(f"characters_loss={loss:.4f} bigram_entropy={entropy:.4f}")
    assert loss < entropy, "a table of pairs would do as well"


if __name__ == "__main__":
    main()
