"""Basic Pitch finds the notes of a chord, NSNet2 takes noise away."""

from __future__ import annotations

import numpy as np

from tests.models.running import loaded
from texpr import nn

LOWEST = 21
"""The note of the first key of a piano; 69 is 440 Hz."""
RATE, SAMPLES = 22_050, 43_844
WINDOW, HOP = 320, 160


def note(number: int, samples: int) -> np.ndarray:
    """A tone with five overtones that fades."""
    t = np.arange(samples) / RATE
    pitch = 440 * 2 ** ((number - 69) / 12)
    return sum(np.sin(2 * np.pi * k * pitch * t) / k**1.5 for k in range(1, 6)) * np.exp(-1.5 * t)


def notes_of(model: nn.Module, sound: np.ndarray) -> set[int]:
    """Notes that sound for half of the time or longer."""
    onsets, notes, contours = model(sound.astype(np.float32).reshape(1, SAMPLES, 1))
    assert onsets.shape == notes.shape == (1, 172, 88) and contours.shape == (1, 172, 264)
    return {LOWEST + int(k) for k in np.flatnonzero((notes[0] > 0.5).mean(0) > 0.5)}


def test_notes_of_chords():
    model = loaded("basic pitch")
    for chord in ({60, 64, 67}, {57, 60, 64}, {69}):
        assert notes_of(model, 0.2 * sum(note(n, SAMPLES) for n in chord)) == chord
    assert not notes_of(model, np.zeros(SAMPLES))


def spectrum(sound: np.ndarray) -> np.ndarray:
    """Windows of 20 ms, half over each other."""
    window = np.sqrt(np.hanning(WINDOW + 1)[:-1])
    frames = np.lib.stride_tricks.sliding_window_view(sound, WINDOW)[::HOP]
    return np.fft.rfft(frames * window, axis=1)


def sound_of(frames: np.ndarray) -> np.ndarray:
    """The sound of a spectrum."""
    window = np.sqrt(np.hanning(WINDOW + 1)[:-1])
    pieces = np.fft.irfft(frames, WINDOW, axis=1) * window
    whole = np.zeros(HOP * (len(pieces) + 1))
    for k, piece in enumerate(pieces):
        whole[k * HOP : k * HOP + WINDOW] += piece
    return whole


def ratio(wanted: np.ndarray, found: np.ndarray) -> float:
    """Signal to noise, in decibels."""
    return float(10 * np.log10((wanted**2).sum() / ((found - wanted) ** 2).sum()))


def voice(samples: int, rate: int) -> np.ndarray:
    """Syllables: harmonics of a voice under moving resonances, with pauses."""
    t = np.arange(samples) / rate
    phase = 2 * np.pi * np.cumsum(120 + 20 * np.sin(2 * np.pi * 2.5 * t)) / rate
    total = np.zeros(samples)
    for k in range(1, 40):
        pitch = 120 * k
        peaks = (600 + 200 * np.sin(2 * np.pi * 3 * t), 1500 + 400 * np.sin(2 * np.pi * 2 * t), 2600 + 0 * t)
        total += sum(np.exp(-(((pitch - p) / 150) ** 2)) for p in peaks) * np.sin(k * phase)
    return total * np.clip(np.sin(2 * np.pi * 4 * t) + 0.3, 0, 1) * 0.1


def test_noise_is_taken_away():
    model, rate = loaded("nsnet2"), 16_000
    clean = voice(3 * rate, rate)
    noise = np.random.default_rng(0).standard_normal(len(clean))
    noisy = clean + noise * np.sqrt((clean**2).mean() / (noise**2).mean())
    given = spectrum(noisy)
    gain = model(np.log10(np.maximum(np.abs(given) ** 2, 1e-12)).astype(np.float32)[None])[0]
    assert gain.shape == given.shape and gain.min() >= 0 and gain.max() <= 1
    found = sound_of(given * gain)
    later = slice(rate // 2, len(found) - WINDOW)  # the network has to hear the noise first
    before, after = (ratio(clean[later], s[later]) for s in (noisy, found))
    assert after > before + 4
