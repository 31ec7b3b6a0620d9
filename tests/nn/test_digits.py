"""What the package promises: a digits network in fifteen lines."""

from __future__ import annotations

import pytest


def test_fifteen_lines_reach_97_percent():
    datasets = pytest.importorskip("sklearn.datasets")
    selection = pytest.importorskip("sklearn.model_selection")
    from texpr import nn

    x, y = datasets.load_digits(return_X_y=True)
    x, test_x, y, test_y = selection.train_test_split(x / 16, y, test_size=0.3, random_state=0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = nn.optim.Adam(model.parameters(), lr=3e-3)
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), optimizer, metrics=["accuracy"])
    trainer.fit(x, y, epochs=60, batch_size=64, progress=False)
    assert trainer.evaluate(test_x, test_y)["accuracy"] >= 0.97
