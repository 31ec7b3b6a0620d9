"""Folders of Hugging Face: networks give what transformers gives (`scripts/peers/folders_torch.py`)."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr import nn

pytest.importorskip("safetensors")
DATA = Path(__file__).parent / "folders.zip"
BOUND = 1e-4


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    with zipfile.ZipFile(DATA) as file:
        file.extractall(tmp_path)
    return tmp_path


def calls(name: str):
    """Arguments by place and by name, and results."""
    with zipfile.ZipFile(DATA) as file, np.load(io.BytesIO(file.read(f"{name}.npz"))) as data:
        arrays = dict(data)
    named = {n.removeprefix("named_"): a for n, a in arrays.items() if n.startswith("named_")}
    args, results = ([a for n, a in arrays.items() if n.startswith(word)] for word in ("arg", "result"))
    return args, named, results


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "vit"])
def test_results_are_those_of_transformers(name: str, folders: Path):
    args, named, results = calls(name)
    model = nn.load(folders / name)
    assert not model.training
    found = model(*args, **named)
    found = found if isinstance(found, tuple) else (found,)
    for f, r in zip(found, results, strict=True):
        np.testing.assert_allclose(f, r, BOUND, BOUND)


def test_names_are_those_of_transformers(folders: Path):
    model = nn.load(folders / "gpt2")
    names = list(model.state_dict())
    assert "transformer.h.1.attn.c_attn.weight" in names and "lm_head.weight" in names
    assert "lm_head.weight" not in [n for n, _ in model.named_parameters()]  # tied
    index = json.loads((folders / "llama" / "model.safetensors.index.json").read_text())
    assert sorted(nn.load(folders / "llama").state_dict()) == sorted(index["weight_map"])


def test_text_goes_on(folders: Path):
    """A greedy choice of the next token; what is before decides it alone."""
    model = nn.load(folders / "llama")
    tokens = np.array([[1, 2, 3]])
    for _ in range(3):
        tokens = np.append(tokens, model(tokens)[:, -1:].argmax(-1), 1)
    assert tokens.shape == (1, 6)
    np.testing.assert_allclose(model(tokens)[:, :4], model(tokens[:, :4]), BOUND, BOUND)


def changed(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def refused(folder: Path) -> str:
    with pytest.raises(tx.CheckpointError) as found:
        nn.load(folder)
    return str(found.value)


def test_unknown_networks_say_which_are_known(folders: Path):
    place = folders / "bert" / "config.json"
    changed(place, architectures=["MambaForCausalLM"])
    assert refused(folders / "bert") == (
        f"error[checkpoint]: {place} is of the network 'MambaForCausalLM', which is not known\n"
        "  help: known are GPT2LMHeadModel, LlamaForCausalLM, BertModel, ViTForImageClassification; "
        "tx.onnx.load and tx.pt2.load read networks that are exported"
    )


def test_configurations_that_are_not_read(folders: Path):
    place = folders / "bert" / "config.json"
    changed(place, hidden_act="relu")
    assert "hidden_act is 'relu', and BertModel is read for 'gelu'" in refused(folders / "bert")
    changed(place, hidden_act="gelu", hidden_size=17)
    assert refused(folders / "bert").startswith("error[")
    place.write_text("{")
    assert "is not valid JSON" in refused(folders / "bert")
    changed(folders / "llama" / "config.json", rope_parameters={"rope_type": "llama3", "rope_theta": 1e4})
    assert "rope_type is 'llama3', and 'default' is read" in refused(folders / "llama")


@pytest.mark.parametrize("file", ["../bert/model.safetensors", "/etc/passwd", ".."])
def test_files_outside_of_the_folder(folders: Path, file: str):
    place = folders / "llama" / "model.safetensors.index.json"
    changed(place, weight_map={"lm_head.weight": file})
    assert refused(folders / "llama") == (
        f"error[checkpoint]: {place}: `{file}` is not the name of a file beside it"
    )


def test_weights_that_lack(folders: Path):
    changed(folders / "gpt2" / "config.json", n_layer=3)
    assert "missing: transformer.h.2.ln_1.weight" in refused(folders / "gpt2")


def test_wrong_arguments(folders: Path):
    with pytest.raises(tx.CallError, match="nn.load takes a module and a path, or a folder"):
        nn.load(nn.Linear(2, 3))  # type: ignore[call-overload]
    with pytest.raises(OSError):
        nn.load(folders / "nothing")
