"""Short-time spectra, mel scales, counts of short sequences, steps of optimizers, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import helper  # noqa: E402

from tests.onnx.models import model, run  # noqa: E402

F, D = np.float32, np.float64
RNG = np.random.default_rng(0)
TRAINING = "ai.onnx.preview.training"


@pytest.mark.parametrize("windowed", [True, False])
@pytest.mark.parametrize("kind", ["real", "flat", "complex"])
@pytest.mark.parametrize("onesided", [0, 1])
def test_short_time_spectra(kind, windowed, onesided):
    signal = RNG.standard_normal((2, 23, 2 if kind == "complex" else 1))
    window = np.hanning(8) if windowed else None
    given = signal[..., 0] if kind == "flat" else signal
    found = run(
        "STFT",
        [given, np.array(5), window, None if windowed else np.array(8)],
        17,
        constants=(1, 3)[: 1 if windowed else 2],
        onesided=onesided,
    )
    values = signal[..., 0] + 1j * signal[..., 1] if kind == "complex" else signal[..., 0]
    parts = np.stack([values[:, k : k + 8] * (1 if window is None else window) for k in range(0, 16, 5)], 1)
    wanted = np.fft.fft(parts)[..., : 5 if onesided and kind != "complex" else 8]
    np.testing.assert_allclose(found, np.stack([wanted.real, wanted.imag], -1), rtol=0, atol=1e-13)


def test_parts_longer_than_the_signal():
    with pytest.raises(tx.CallError, match=r"parts of 9 of a signal \[1, 8, 1\], 1 apart"):
        run("STFT", [np.zeros((1, 8, 1), F), np.array(1), None, np.array(9)], 17, constants=(1, 3))


@pytest.mark.parametrize("bands", [0, 3, 8])
def test_triangles_on_the_mel_scale(bands):
    """Slope by slope; a band whose edges are the same element is that element alone."""
    n, rate, low, high = 64, 8000, 100.0, 3500.0
    found = run(
        "MelWeightMatrix",
        [np.array(bands), np.array(n), np.array(rate), F(low), F(high)],
        17,
        constants=range(5),
        output_datatype=11,
    )
    mel = [2595 * np.log10(1 + f / 700) for f in (low, high)]
    places = [mel[0] + k * (mel[1] - mel[0]) / (bands + 2) for k in range(bands + 2)]
    edges = [int(700 * (10 ** (m / 2595) - 1) * (n + 1) // rate) for m in places]
    wanted = np.zeros((n // 2 + 1, bands))
    for k, (first, middle, last) in enumerate(zip(edges, edges[1:], edges[2:])):
        wanted[middle, k] = 1
        for i in range(first, middle):
            wanted[i, k] = (i - first) / (middle - first)
        for i in range(middle, last):
            wanted[i, k] = (last - i) / (last - middle)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    with pytest.raises(tx.CallError, match="8 bands of 0 samples, 1 of them a second"):
        run("MelWeightMatrix", [np.array(8), np.array(0), np.array(1), F(0), F(1)], 17, constants=range(5))


def counted(x, pool, starts, least, most, skips, width, places, weights, mode):
    """The definition, sequence by sequence."""
    y, ends, number = np.zeros(width, F), [*starts[1:], len(pool)], 0
    for n, (start, end) in enumerate(zip(starts, ends), 1):
        for k in range(start, end, n):
            times = sum(
                list(x[i : i + (n - 1) * s + 1 : s]) == pool[k : k + n]
                for s in range(1, 2 if n == 1 else skips + 2)
                for i in range(len(x) - (n - 1) * s)
            )
            w = 1 if weights is None or mode == "TF" else weights[number]
            y[places[number]] += (min(times, 1) if mode == "IDF" else times) * w if least <= n <= most else 0
            number += 1
    return y


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize(("skips", "least", "most"), [(2, 1, 1), (0, 2, 3), (2, 1, 3)])
def test_counts_of_short_sequences(mode, skips, least, most):
    pool, starts, places = [0, 2, 1, 2, 0, 1, 2, 2, 1, 0, 2], [0, 2, 8], [5, 0, 1, 4, 2, 3]
    weights = [0.5, 2.0, 3.0, 0.25, 1.5, 4.0]
    x = RNG.integers(0, 3, (4, 9))
    wishes = dict(min_gram_length=least, max_gram_length=most, max_skip_count=skips)
    found = run(
        "TfIdfVectorizer",
        [x],
        9,
        mode=mode,
        pool_int64s=pool,
        ngram_counts=starts,
        ngram_indexes=places,
        weights=weights,
        **wishes,
    )
    wanted = [counted(row.tolist(), pool, starts, least, most, skips, 6, places, weights, mode) for row in x]
    assert found.dtype == F and np.array_equal(found, np.stack(wanted))
    one = run(
        "TfIdfVectorizer",
        [x[0].astype(np.int32)],
        9,
        mode=mode,
        pool_int64s=pool,
        ngram_counts=starts,
        ngram_indexes=places,
        weights=weights,
        **wishes,
    )
    assert np.array_equal(one, wanted[0])


def test_steps_of_two_tensors():
    x, g, v, h = (RNG.random((2, 3)) for _ in range(4))
    z = x[0] + 1, g[0] - 0.5, v[0], h[0]
    rate, count = np.array(0.1), np.array(3)
    given = [rate, count, x, z[0], g, z[1], v, z[2], h, z[3]]
    found = run(
        "Adam", given, 1, 6, domain=TRAINING, alpha=0.95, beta=0.8, epsilon=1e-7, norm_coefficient=0.01
    )
    for k, tensors in enumerate(((x, g, v, h), z)):
        x, g, v, h = tensors
        a, b = D(F(0.95)), D(F(0.8))
        g = D(F(0.01)) * x + g
        v, h = a * v + (1 - a) * g, b * h + (1 - b) * g * g
        step = 0.1 * np.sqrt(1 - b**3) / (1 - a**3) * v / (np.sqrt(h) + D(F(1e-7)))
        for y, wanted in zip(found[k::2], (x - step, v, h)):
            np.testing.assert_allclose(y, wanted, rtol=1e-13)
    with pytest.raises(tx.CallError, match="should be a multiple of 4"):
        run("Adam", given[:7], 1, 3, domain=TRAINING)


def test_gradients_of_a_node():
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["p"]),
        helper.make_node("Sin", ["p"], ["s"]),
        helper.make_node(
            "Gradient", ["a", "b", "c"], ["da", "db", "dc"], domain=TRAINING, xs=["a", "b", "c"], y="s"
        ),
    ]
    made = model(nodes, [(n, [3]) for n in "abc"], [(n, [3]) for n in ("da", "db", "dc")], domains=[TRAINING])
    a, b, c = RNG.standard_normal((3, 3)).astype(F)
    da, db, dc = tx.onnx.load(made)(a, b, c)
    np.testing.assert_allclose(da, b * np.cos(a * b), rtol=1e-6)
    np.testing.assert_allclose(db, a * np.cos(a * b), rtol=1e-6)
    assert not dc.any()
