"""Two networks that play against each other: one draws digits, the other tells drawn digits from
real ones.

Run with `python examples/gan.py`; it needs scikit-learn for the images and matplotlib to write
`digits_drawn.png`. A third network, trained on real digits alone, judges the result. Goodfellow et
al., Generative Adversarial Nets, 2014.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from texpr import nn

NOISE, BATCH = 32, 64


def generator() -> nn.Module:
    """Noise to images of 8 by 8 pixels in 0..1."""
    return nn.Sequential(
        nn.Linear(NOISE, 128),
        nn.BatchNorm1d(128),
        nn.ReLU(),
        nn.Linear(128, 128),
        nn.BatchNorm1d(128),
        nn.ReLU(),
        nn.Linear(128, 64),
        nn.Sigmoid(),
    )


def discriminator() -> nn.Module:
    """How real an image looks, before the sigmoid."""
    return nn.Sequential(
        nn.Linear(64, 128),
        nn.LeakyReLU(0.2),
        nn.Dropout(0.3),
        nn.Linear(128, 64),
        nn.LeakyReLU(0.2),
        nn.Linear(64, 1),
    )


def trained(steps: int) -> tuple[nn.Module, np.ndarray, list[tuple[float, float]]]:
    """The generator, real images, and the losses of both networks."""
    nn.manual_seed(0)
    random = np.random.default_rng(0)
    images = (load_digits().data / 16).astype(np.float32)
    draw, judge = generator(), discriminator()
    loss = nn.BCEWithLogitsLoss()
    judge_step = nn.TrainingStep(judge, loss, nn.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.999)))
    draw_step = nn.TrainingStep(
        nn.Sequential(draw, judge), loss, nn.optim.Adam(draw.parameters(), lr=1e-3, betas=(0.5, 0.999))
    )
    real, drawn = np.full((BATCH, 1), 0.9, np.float32), np.zeros((BATCH, 1), np.float32)
    losses = []
    for _ in range(steps):
        noise = random.standard_normal((BATCH, NOISE)).astype(np.float32)
        both = np.concatenate([images[random.integers(0, len(images), BATCH)], draw(noise)])
        first = judge_step(both, np.concatenate([real, drawn]))
        losses.append(
            (
                first,
                draw_step(
                    random.standard_normal((BATCH, NOISE)).astype(np.float32), np.ones((BATCH, 1), np.float32)
                ),
            )
        )
    return draw.eval(), images, losses


def recognised(samples: np.ndarray) -> tuple[float, int]:
    """The share of images that a network trained on real digits takes for one of them with a
    probability of 0.9 at least, and how many of the ten digits there are among these.
    """
    images, labels = load_digits(return_X_y=True)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters(), lr=3e-3))
    trainer.fit((images / 16).astype(np.float32), labels, epochs=15, batch_size=64, progress=False)
    scores = model.eval()(samples)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    sure = (shares / shares.sum(1, keepdims=True)).max(1) >= 0.9
    return float(sure.mean()), len(set(scores.argmax(1)[sure]))


def picture(samples: np.ndarray, columns: int = 16) -> np.ndarray:
    """Images side by side, with a line between them."""
    rows = len(samples) // columns
    cells = np.pad(
        samples[: rows * columns].reshape(rows, columns, 8, 8),
        ((0, 0), (0, 0), (0, 1), (0, 1)),
        constant_values=0.5,
    )
    return cells.transpose(0, 2, 1, 3).reshape(rows * 9, columns * 9)


def main(path: str = "digits_drawn.png") -> None:
    """Train, judge, draw."""
    draw, _, losses = trained(steps=12000)
    samples = draw(np.random.default_rng(1).standard_normal((512, NOISE)).astype(np.float32))
    share, kinds = recognised(samples)
    from matplotlib.image import imsave

    imsave(path, np.kron(1 - picture(samples[:128]), np.ones((6, 6))), cmap="gray", vmin=0, vmax=1)
    means = np.mean(losses[-500:], axis=0)
    print(f"losses {means[0]:.3f} and {means[1]:.3f}; samples are in {Path(path).name}")
    print(f"gan_recognised={share:.4f} gan_digits={kinds}")
    assert share >= 0.6 and kinds >= 9, "the drawings are not taken for digits"


if __name__ == "__main__":
    main(*sys.argv[1:])
