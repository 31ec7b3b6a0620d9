"""A recurrent network that remembers: the sum of the two numbers of a sequence that are marked.

Run with `python examples/adding.py`; it needs nothing but texpr. Who always says 1 has an error of
1/6. Hochreiter and Schmidhuber, Long Short-Term Memory, 1997, experiment 4.
"""

from __future__ import annotations

import numpy as np

from texpr import nn

LENGTH, HIDDEN, BATCH = 24, 32, 64


def problem(count: int, seed: int, length: int = LENGTH) -> tuple[np.ndarray, np.ndarray]:
    """Sequences (count, time, 2) of numbers in 0..1 and marks, one in each half; the sums of the
    marked numbers (count, 1).
    """
    random = np.random.default_rng(seed)
    numbers, marks = random.uniform(size=(count, length)), np.zeros((count, length))
    marks[np.arange(count), random.integers(0, length // 2, count)] = 1
    marks[np.arange(count), random.integers(length // 2, length, count)] = 1
    return np.stack([numbers, marks], axis=2).astype(np.float32), (numbers * marks).sum(
        1, keepdims=True
    ).astype(np.float32)


class Adder(nn.Module):
    """The sum, from the last hidden state."""

    def __init__(self, hidden: int = HIDDEN) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, batch_first=True)
        self.sum = nn.Linear(hidden, 1)
        self.lstm.bias_hh_l0.data[hidden : 2 * hidden] = (
            1  # remember at first; Gers et al., Learning to Forget, 2000
        )

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        return self.sum(h[0])


def trained(epochs: int, count: int = 6400, length: int = LENGTH) -> tuple[nn.Trainer, float]:
    """A network and its mean squared error on sequences that it has not seen."""
    nn.manual_seed(0)
    model = Adder()
    optimizer = nn.optim.Adam(model.parameters(), lr=5e-3).clip_grad_norm_(1.0)
    schedule = nn.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    trainer = nn.Trainer(model, nn.MSELoss(), optimizer)
    trainer.fit(
        *problem(count, 0, length),
        epochs=epochs,
        batch_size=BATCH,
        callbacks=[nn.callbacks.LearningRate(schedule)],
    )
    return trainer, trainer.evaluate(*problem(1024, 1, length))["loss"]


def main() -> None:
    """Train and test."""
    trainer, error = trained(epochs=20)
    x, y = problem(3, 2)
    for said, true in zip(trainer.predict(x)[:, 0], y[:, 0]):
        print(f"the sum is {true:.3f}, the network says {said:.3f}")
    print(f"adding_error={error:.5f}")
    assert error < 0.002, "the network has not learned to add"


if __name__ == "__main__":
    main()
