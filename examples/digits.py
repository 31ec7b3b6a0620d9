"""Handwritten digits: a dense and a convolutional network, trained, saved, loaded.

Run with `python examples/digits.py`. Everything that is computed runs as compiled kernels.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from texpr import nn

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def digits() -> Data:
    """Training images and labels, then test images and labels: 70 % and 30 % of 1797 images of 8 by 8 pixels in 0..1."""
    images, labels = load_digits(return_X_y=True)
    x, test_x, y, test_y = train_test_split(images.astype(np.float32) / 16, labels, test_size=0.3, random_state=0, stratify=labels)
    return x, y, test_x, test_y


def train_mlp(data: Data) -> float:
    """A dense network; its accuracy on the test images."""
    x, y, test_x, test_y = data
    nn.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    print(model.summary((64, 64)))
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters(), lr=3e-3), metrics=["accuracy"])
    trainer.fit(x, y, epochs=30, batch_size=64)
    return trainer.evaluate(test_x, test_y)["accuracy"]


def cnn() -> nn.Module:
    """A convolutional network for images of 8 by 8 pixels."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10))


def train_cnn(data: Data) -> float:
    """A convolutional network, saved and loaded; its accuracy on the test images."""
    x, y, test_x, test_y = data
    x, test_x = x.reshape(-1, 1, 8, 8), test_x.reshape(-1, 1, 8, 8)
    nn.manual_seed(0)
    model = cnn()
    print(model.summary((64, 1, 8, 8)))
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters(), lr=2e-3), metrics=["accuracy"])

    def slow_down(trainer: nn.Trainer, epoch: int, values: object) -> None:
        trainer.optimizer.lr *= 0.9

    trainer.fit(x, y, epochs=15, batch_size=64, callbacks=[slow_down])
    with tempfile.TemporaryDirectory() as folder:
        nn.save(model, Path(folder) / "cnn.safetensors")
        copy = cnn()
        nn.load(copy, Path(folder) / "cnn.safetensors")
    assert np.array_equal(trainer.predict(test_x), copy(test_x)), "the loaded model predicts something else"
    return trainer.evaluate(test_x, test_y)["accuracy"]


def main() -> None:
    """Train both."""
    data = digits()
    mlp, convolutional = train_mlp(data), train_cnn(data)
    print(f"mlp_test_accuracy={mlp:.4f}")
    print(f"cnn_test_accuracy={convolutional:.4f}")


if __name__ == "__main__":
    main()
