"""Silero VAD says how likely a piece of sound is speech: in ONNX, and with the same weights from
safetensors.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from bench.pretrained.packaged import PACKAGED, folder
from tests.models.running import loaded, session
from texpr import nn

RATE, STEP, BEFORE = 16_000, 512, 64


class Detector(nn.Module):
    """The network behind the weights: spectrum, four convolutions, an LSTM cell, a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.mirrored = nn.ReflectionPad1d((0, 64))
        self.stft_conv = nn.Conv1d(1, 258, 256, stride=128, bias=False)
        self.conv1 = nn.Conv1d(129, 128, 3, padding=1)
        self.conv2 = nn.Conv1d(128, 64, 3, stride=2, padding=1)
        self.conv3 = nn.Conv1d(64, 64, 3, stride=2, padding=1)
        self.conv4 = nn.Conv1d(64, 128, 3, padding=1)
        self.lstm_cell = nn.LSTMCell(128, 128)
        self.final_conv = nn.Conv1d(128, 1, 1)

    def forward(self, x, h, c):
        spectrum = self.stft_conv(self.mirrored(x.expand_dims(1)))
        x = (spectrum[:, :129] ** 2 + spectrum[:, 129:] ** 2) ** 0.5
        for layer in (self.conv1, self.conv2, self.conv3, self.conv4):
            x = layer(x).relu()
        h, c = self.lstm_cell(x.squeeze(2), (h, c))
        return self.final_conv(h.relu().expand_dims(2)).sigmoid().mean(axis=2), h, c


def sounds() -> dict[str, np.ndarray]:
    """A second each: nothing, a tone, noise."""
    t, rng = np.arange(RATE, dtype=np.float32) / RATE, np.random.default_rng(0)
    return {
        "silence": np.zeros_like(t),
        "tone": 0.3 * np.sin(2 * np.pi * 440 * t),
        "noise": 0.1 * rng.standard_normal(RATE).astype(np.float32),
    }


def steps(sound: np.ndarray):
    """Pieces of 512 samples behind the last 64 of those before."""
    padded = np.concatenate([np.zeros(BEFORE, np.float32), sound])
    for k in range(0, len(sound) - STEP + 1, STEP):
        yield padded[None, k : k + BEFORE + STEP]


def chances(model, sound: np.ndarray) -> np.ndarray:
    state, found = np.zeros((2, 1, 128), np.float32), []
    for x in steps(sound):
        y, state = model(x, state)
        found.append(y.item())
    return np.array(found)


@pytest.mark.parametrize("name", ["silero", "silero op15", "silero op18", "silero half", "silero openvino"])
def test_what_is_no_speech(name):
    """Step by step with the state between, beside ONNX Runtime."""
    entry = PACKAGED[name]
    model, runtime = loaded(name), session(entry.path)
    for sound in sounds().values():
        found = chances(model, sound)
        assert found[3:].max() < 0.5
        wanted = chances(lambda x, s: runtime.run(None, {"input": x, "state": s, **entry.fixed}), sound)
        np.testing.assert_allclose(found, wanted, atol=1e-4)


NAMES = {
    "stft_conv.weight": "model.stft.forward_basis_buffer",
    **{
        f"conv{k + 1}.{part}": f"model.encoder.{k}.reparam_conv.{part}"
        for k in range(4)
        for part in ("weight", "bias")
    },
    **{
        f"lstm_cell.{part}": f"model.decoder.rnn.{part}"
        for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    },
    **{f"final_conv.{part}": f"model.decoder.decoder.2.{part}" for part in ("weight", "bias")},
}
"""Of the weights in safetensors, and in ONNX."""


def test_onnx_and_safetensors_agree():
    """The same weights, in a network of layers and in the graph of the ONNX file. The two files
    come from different trainings, so the graph gets the weights of the other one.
    """
    loaded("silero op15")
    network = Detector().eval()
    nn.load(network, folder("silero_vad") / "data/silero_vad_16k.safetensors")
    graph = tx.onnx.load(PACKAGED["silero op15"].path)
    graph.load_state_dict({NAMES[n]: v for n, v in network.state_dict().items()})

    def step(x: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y, *new = network(x, states[0], states[1])
        return y, np.stack(new)

    for sound in sounds().values():
        found = chances(lambda x, s: graph(x, s, np.array(RATE)), sound)
        np.testing.assert_allclose(chances(step, sound), found, atol=1e-5)
        assert found[3:].max() < 0.5
