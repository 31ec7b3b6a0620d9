"""Texts that go on: what is kept of them changes nothing."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.nn.pretrained import writing

pytest.importorskip("safetensors")
DATA = Path(__file__).parent / "folders.zip"


def network(folder: Path, name: str, **values: object) -> Any:
    """A small network of random weights; `values` replace those of its configuration."""
    with zipfile.ZipFile(DATA) as file:
        file.extractall(folder, [n for n in file.namelist() if n.startswith(f"{name}/")])
    place = folder / name / "config.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), **values}))
    return nn.load(folder / name)


TEXT = np.array([[1, 2, 3], [4, 2, 9]])


def held(model: Any, places: int) -> np.ndarray:
    """No keys and values of two texts yet, by layer."""
    return np.zeros((model.layers, 2, 2, model.shared, places, model.size), np.float32)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_each_token_is_the_likeliest_after_those_before(name: str, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_SHORTEST", 2)  # 6 tokens are kept in 8 places, 3 are computed in 4
    model = network(tmp_path, name)
    found = model.generate(TEXT, 3)
    assert found.shape == (2, 6) and np.array_equal(found[:, :3], TEXT)
    whole = model(found)
    np.testing.assert_array_equal(found[:, 3:], whole[:, 2:-1].argmax(-1))
    assert np.array_equal(model.generate(TEXT, 3, temperature=2.0, top_k=1), found)
    assert np.array_equal(model.generate(TEXT, 0), TEXT)

    kept, place = held(model, 8), 0
    pairs = [(keys, values) for keys, values in kept]
    for part in (found[:, :4], found[:, 4:5], found[:, 5:]):
        logits, made = model(part, np.array(place), np.array(part.shape[1] - 1), pairs if place else None)
        kept[:, :, :, :, place : place + part.shape[1]] = made
        place += part.shape[1]
        np.testing.assert_allclose(logits, whole[:, place - 1], 1e-5, 1e-6)


def test_an_end_fills_up_texts_and_draws_follow_a_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_SHORTEST", 2)
    model = network(tmp_path, "llama")  # with the programs of the test before
    drawn = model.generate(TEXT, 5, temperature=1.0, seed=3)
    assert np.array_equal(drawn, model.generate(TEXT, 5, temperature=1.0, seed=3))
    assert not np.array_equal(drawn, model.generate(TEXT, 5, temperature=1.0, seed=4))
    end = int(drawn[0, 4])
    stopped = model.generate(TEXT, 5, temperature=1.0, seed=3, eos_token_id=end)
    first = 3 + int((drawn[0, 3:] == end).argmax())
    assert (
        np.array_equal(stopped[0, : first + 1], drawn[0, : first + 1]) and (stopped[0, first:] == end).all()
    )
    likeliest = int(model.generate(TEXT, 1)[0, -1])
    assert model.generate(TEXT[[0, 0]], 5, eos_token_id=likeliest).tolist() == [[1, 2, 3, likeliest]] * 2


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_texts_of_several_lengths_go_on_as_alone(name: str, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_SHORTEST", 4)  # 3 programs: 4 tokens, 4 that are kept, 1 more
    model = network(tmp_path, name)
    alone = model(np.array([[5, 9, 0, 0], [1, 2, 3, 8]]))  # no token sees what is behind it
    filled, mask = np.array([[7, 7, 5], [1, 2, 3]]), np.array([[0, 0, 1], [1, 1, 1]])
    found = model.generate(filled, 1, attention_mask=mask)
    assert np.array_equal(found[:, :3], filled)
    assert found[:, 3].tolist() == [alone[0, 0].argmax(), alone[1, 2].argmax()]

    kept, starts = held(model, 4), np.array([2, 0])
    first, made = model(np.pad(filled, ((0, 0), (0, 1))), (np.array(0), starts), np.array(2), None)
    np.testing.assert_allclose(first, [alone[0, 0], alone[1, 2]], 1e-5, 1e-6)
    kept[:, :, :, :, :3] = np.array(made)[:, :, :, :, :3]
    then, _ = model(np.array([[9], [8]]), (np.array(3), starts), np.array(0), [(k, v) for k, v in kept])
    np.testing.assert_allclose(then, [alone[0, 1], alone[1, 3]], 1e-5, 1e-6)


def test_draws_have_the_chances_of_the_logits():
    logits = np.log(np.tile([[0.5, 0.3, 0.15, 0.05]], (20_000, 1)))
    rng = np.random.default_rng(0)
    for temperature, top_k, chances in (
        (1.0, None, [0.5, 0.3, 0.15, 0.05]),
        (0.5, None, np.array([0.25, 0.09, 0.0225, 0.0025]) / 0.365),
        (1.0, 2, [0.625, 0.375, 0, 0]),
        (1.0, 9, [0.5, 0.3, 0.15, 0.05]),
    ):
        drawn = writing._chosen(logits, temperature, top_k, rng)
        np.testing.assert_allclose(np.bincount(drawn, minlength=4) / len(drawn), chances, atol=0.02)


REFUSED = {
    "tokens have shape [3], expected (batch, length)": ([1, 2, 3], {}),
    "generate: tokens are float64 of shape [1, 1], expected integers, at least one": ([[0.5]], {}),
    "generate: tokens are int64 of shape [1, 0], expected integers, at least one": (
        np.zeros((1, 0), int),
        {},
    ),
    "generate: max_new_tokens is -1, expected a whole number from 0 on": ([[1]], {"max_new_tokens": -1}),
    "generate: max_new_tokens is 1.5, expected a whole number from 0 on": ([[1]], {"max_new_tokens": 1.5}),
    "generate: top_k is 0, expected a whole number from 1 on": ([[1]], {"top_k": 0}),
    "generate: temperature is -1, expected a number from 0 on": ([[1]], {"temperature": -1}),
    "generate: attention_mask is int64 of shape [1, 2], expected 0 and 1 of shape [1, 1]": (
        [[1]],
        {"max_new_tokens": 1, "attention_mask": np.array([[1, 1]])},
    ),
    "generate: attention_mask is float64 of shape [1, 1], expected 0 and 1 of shape [1, 1]": (
        [[1]],
        {"max_new_tokens": 1, "attention_mask": np.array([[2.0]])},
    ),
    "generate: attention_mask of text 1 is [1, 0], expected zeros before ones": (
        [[1, 2], [3, 4]],
        {"max_new_tokens": 1, "attention_mask": np.array([[0, 1], [1, 0]])},
    ),
    "generate: temperature is nan, expected a number from 0 on": ([[1]], {"temperature": float("nan")}),
}


def test_what_cannot_be_is_refused(tmp_path):
    model = network(tmp_path, "gpt2")
    for message, (text, options) in REFUSED.items():
        with pytest.raises(tx.CallError) as found:
            model.generate(text, **options)
        assert found.value.message == message


def test_texts_longer_than_the_positions_are_refused(tmp_path):
    model = network(tmp_path, "gpt2")
    longest = model.transformer.wpe.num_embeddings
    with pytest.raises(tx.CallError) as found:
        model.generate([[1, 2]], longest - 1)
    assert str(found.value) == (
        f"error[shape]: generate: 2 tokens and {longest - 1} new ones, and the network has {longest} positions\n"
        f"  help: max_new_tokens={longest - 2}, or a shorter text"
    )
    turned = network(tmp_path, "dynamic")  # rotations of longer texts differ at all places
    with pytest.raises(tx.CallError, match="new ones, and the network has"):
        turned.generate([[1]], turned.longest)
