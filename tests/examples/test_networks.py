"""The networks of `examples`, with few steps; `make examples` runs them in full, with bars on
what they reach.
"""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from examples import adding, characters


def test_the_text_and_its_entropy():
    text, codes, kinds = characters.read()
    assert "".join(kinds[k] for k in codes[:500]) == text[:500]
    alternating = np.tile([0, 1, 0, 2], 5000)
    assert abs(characters.bigram_entropy(alternating) - log(2) / 2) < 1e-3, (
        "0 is followed by two things, 1 and 2 by one"
    )
    data = characters.Text(codes)
    x, y = data[len(data) - 1]
    assert len(x) == characters.CONTEXT and np.array_equal(x[1:], y[:-1])


def test_a_writer_learns_and_writes(capsys):
    trainer, loss, entropy = characters.trained(epochs=1, layers=1, examples=1600)
    assert entropy < loss < 4.45, "better than all characters alike, which is 4.6"
    model, kinds = trainer.model, characters.read()[2]
    written = characters.sample(model, kinds, "The ", 20)
    assert (
        written.startswith("The ")
        and len(written) == 24
        and written == characters.sample(model, kinds, "The ", 20)
    )
    x = np.tile(np.arange(characters.CONTEXT), (2, 1))
    changed = x.copy()
    changed[:, 40:] = 7
    np.testing.assert_array_equal(
        model(x)[:, :, :40], model(changed)[:, :, :40], "what comes later is not seen"
    )


def test_numbers_that_are_remembered(capsys):
    x, y = adding.problem(50, 3)
    assert (x[:, :, 1].sum(1) == 2).all() and np.allclose((x[:, :, 0] * x[:, :, 1]).sum(1), y[:, 0])
    trainer, error = adding.trained(epochs=6, count=1280, length=6)
    assert error < 0.16 and trainer.history["loss"][-1] < trainer.history["loss"][0]


def test_digits_that_are_drawn():
    pytest.importorskip("sklearn")
    from examples import gan

    draw, images, losses = gan.trained(steps=150)
    samples = draw(np.random.default_rng(0).standard_normal((32, gan.NOISE)).astype(np.float32))
    assert (
        samples.shape == (32, 64) and 0 <= samples.min() <= samples.max() <= 1 and np.isfinite(losses).all()
    )
    assert abs(samples.mean() - images.mean()) < 0.15 and gan.picture(samples).shape == (18, 144)
    share, kinds = gan.recognised(images[:100])
    assert share > 0.8 and kinds == 10
