"""Handwritten digits: a dense and a convolutional network, trained, saved, loaded.

Run with `python examples/digits.py`; it needs scikit-learn for the images. Everything that is
computed runs as compiled kernels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from texpr import nn


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images and labels, then test images and labels: 70 % and 30 % of 1797 images of 8 by
    8 pixels in 0..1.

    Each training image is there five times: as it is, and moved by one pixel in four directions.
    """
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 1, 8, 8).astype(np.float32) / 16
    x, test_x, y, test_y = train_test_split(images, labels, test_size=0.3, random_state=0, stratify=labels)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moved = [
        padded[:, :, row : row + 8, column : column + 8]
        for row, column in ((1, 1), (0, 1), (2, 1), (1, 0), (1, 2))
    ]
    return np.concatenate(moved), np.tile(y, 5), test_x, test_y


def slower(trainer: nn.Trainer, epoch: int, values: Mapping[str, float]) -> None:
    """A smaller learning rate after each epoch."""
    trainer.optimizer.lr *= 0.9


def dense() -> nn.Module:
    """A network of two dense layers."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


def convolutional() -> nn.Module:
    """A network of two convolutions and a dense layer."""
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 10),
    )


def trained(model: nn.Module, epochs: int) -> nn.Trainer:
    """Train a model; its accuracy on the test images is not looked at before the end."""
    x, y, _, _ = digits()
    print(model.summary((64, 1, 8, 8)))
    trainer = nn.Trainer(
        model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters(), lr=3e-3), metrics=["accuracy"]
    )
    trainer.fit(x, y, epochs=epochs, batch_size=64, callbacks=[slower])
    return trainer


def save_and_load(model: nn.Module, fresh: nn.Module, x: np.ndarray) -> None:
    """A model that was saved and loaded predicts the same."""
    with tempfile.TemporaryDirectory() as folder:
        nn.save(model, Path(folder) / "model.safetensors")
        nn.load(fresh, Path(folder) / "model.safetensors")
    assert np.array_equal(model(x), fresh(x)), "the loaded model predicts something else"


def main() -> None:
    """Train both."""
    _, _, test_x, test_y = digits()
    nn.manual_seed(0)
    accuracies = {}
    for name, make, epochs in (("mlp", dense, 25), ("cnn", convolutional, 12)):
        model = make()
        trainer = trained(model, epochs)
        save_and_load(model, make(), test_x[:64])
        accuracies[name] = trainer.evaluate(test_x, test_y)["accuracy"]
    for name, accuracy in accuracies.items():
        print(f"{name}_test_accuracy={accuracy:.4f}")


if __name__ == "__main__":
    main()
