"""Folders of Hugging Face: networks give what transformers gives (`scripts/peers/folders_torch.py`)."""

from __future__ import annotations

import io
import json
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr import nn

safetensors = pytest.importorskip("safetensors.numpy")
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


ROTATED = ["linear", "dynamic", "llama3", "yarn"]
HEADS = ["masked", "texts", "tokens", "answers"]


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "vit", *ROTATED, *HEADS])
def test_results_are_those_of_transformers(name: str, folders: Path):
    args, named, results = calls(name)
    model = nn.load(folders / name)
    assert not model.training
    found = model(*args, **named)
    found = found if isinstance(found, tuple) else (found,)
    for f, r in zip(found, results, strict=True):
        np.testing.assert_allclose(f, r, BOUND, BOUND)


def test_weights_of_16_bits_stay_so(folders: Path):
    """A network in bf16: each result within its 8 bits, of numbers as large as the largest."""
    (tokens,), _, (wanted,) = calls("narrow")
    model = nn.load(folders / "narrow")
    assert str(model.dtype) == "bf16" and model.state_dict()["lm_head.weight"].dtype.itemsize == 2
    found = np.asarray(model(tokens), np.float32)
    assert np.abs(found - wanted).max() < 2**-6 * np.abs(wanted).max()
    wide = model.float()(tokens)
    assert wide.dtype == np.float32 and np.abs(wide - wanted).max() < 2**-6 * np.abs(wanted).max()


def test_names_are_those_of_transformers(folders: Path):
    model = nn.load(folders / "gpt2")
    names = list(model.state_dict())
    assert "transformer.h.1.attn.c_attn.weight" in names and "lm_head.weight" in names
    assert "lm_head.weight" not in [n for n, _ in model.named_parameters()]  # tied
    index = json.loads((folders / "llama" / "model.safetensors.index.json").read_text())
    assert sorted(nn.load(folders / "llama").state_dict()) == sorted(index["weight_map"])


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
        "  help: known are GPT2LMHeadModel, LlamaForCausalLM, BertModel, BertForMaskedLM, "
        "BertForSequenceClassification, BertForTokenClassification, BertForQuestionAnswering, "
        "ViTForImageClassification; tx.onnx.load and tx.pt2.load read networks that are exported"
    )


YARN = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 16}
CONFIGURATIONS = {
    "activation": ("bert", {"hidden_act": "relu"}, "hidden_act is 'relu', and BertModel is read for 'gelu'"),
    "decoder": ("bert", {"is_decoder": True}, "is_decoder is True, and BertModel is read for False"),
    "heads": ("bert", {"hidden_size": 17}, "hidden_size is 17, no multiple of num_attention_heads, 4"),
    "heads of GPT-2": ("gpt2", {"n_head": 3}, "n_embd is 16, no multiple of n_head, 3"),
    "shared": (
        "llama",
        {"num_key_value_heads": 3},
        "num_attention_heads is 4, no multiple of num_key_value_heads, 3",
    ),
    "odd": ("llama", {"head_dim": 5}, "heads of 5 features cannot be rotated in pairs"),
    "zero": ("vit", {"patch_size": 0}, "patch_size is 0, expected a number from 1 on"),
    "negative": ("gpt2", {"n_layer": -1}, "n_layer is -1, expected a number from 1 on"),
    "true": ("gpt2", {"n_head": True}, "n_head is True, expected a number from 1 on"),
    "text": ("bert", {"vocab_size": "50"}, "vocab_size is '50', expected a number from 1 on"),
    "half": ("bert", {"intermediate_size": 24.5}, "intermediate_size is 24.5, expected a number from 1 on"),
    "large": ("llama", {"vocab_size": 1 << 40}, f"vocab_size is {1 << 40}, expected a number from 1 on"),
    "layers": ("llama", {"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000, and the folder has"),
    "epsilon": (
        "bert",
        {"layer_norm_eps": "small"},
        "layer_norm_eps is 'small', expected a number from 0 on",
    ),
    "nan": ("llama", {"rms_norm_eps": float("nan")}, "rms_norm_eps is nan, expected a number from 0 on"),
    "labels": ("vit", {"id2label": 7}, "id2label is 7, expected an object with a name for each label"),
    "rotations": (
        "llama",
        {"rope_parameters": {"rope_type": "longrope"}},
        "rope_type is 'longrope', and default, linear, dynamic, llama3, yarn are read",
    ),
    "factor": (
        "llama",
        {"rope_parameters": {"rope_type": "llama3"}},
        "factor of rotations is None, expected a number above 0",
    ),
    "old": (
        "llama",
        {"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": -2}},
        "factor of rotations is -2, expected a number above 0",
    ),
    "ramp": (
        "llama",
        {"rope_parameters": {**YARN, "beta_fast": "often"}},
        "beta_fast of rotations is 'often', expected a number above 0",
    ),
    "theta": (
        "llama",
        {"rope_parameters": {**YARN, "rope_theta": 1}},
        "rope_theta of rotations is 1, expected a number above 1",
    ),
    "list": ("llama", {"rope_parameters": [1]}, "rotations are [1], expected an object"),
}


@pytest.mark.parametrize("name, values, text", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_configurations_that_are_not_read(folders: Path, name: str, values: dict, text: str):
    place = folders / name / "config.json"
    changed(place, **values)
    assert refused(folders / name).startswith(f"error[checkpoint]: {place} does not fit: {text}")


def test_configurations_without_sizes(folders: Path):
    place = folders / "bert" / "config.json"
    place.write_text('{"architectures": ["BertModel"]}')
    assert refused(folders / "bert") == f"error[checkpoint]: {place} lacks 'hidden_size'"
    place.write_text('{"architectures": [["BertModel"]]}')
    assert "is of the network ['BertModel'], which is not known" in refused(folders / "bert")
    for text in ("{", "[" * 100_000):
        place.write_text(text)
        assert "is not valid JSON" in refused(folders / "bert")


def test_sizes_that_are_not_those_of_the_arrays(folders: Path):
    """Nothing is allocated before they are compared: this network would have 10^17 weights."""
    changed(folders / "gpt2" / "config.json", n_embd=1 << 28, vocab_size=1 << 28, n_inner=1 << 28)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = refused(folders / "gpt2").splitlines()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert lines[0] == f"error[checkpoint]: the arrays of {folders / 'gpt2'} do not fit its config.json"
    assert "    transformer.wte.weight is float32[50, 16], expected float32[268435456, 268435456]" in lines


def weights(folder: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    """Other arrays in a folder."""
    arrays = safetensors.load_file(folder / "model.safetensors")
    change(arrays)
    safetensors.save_file(arrays, folder / "model.safetensors")


def test_other_arrays(folders: Path):
    weights(folders / "vit", lambda a: a.update({"vit.more": np.zeros(3, np.float32)}))
    assert refused(folders / "vit").endswith("\n    unexpected: vit.more")
    weights(folders / "gpt2", lambda a: a.update({k: v.astype(np.int64) for k, v in a.items()}))
    assert "    transformer.ln_f.weight is int64[16], expected float32[16]\n" in refused(folders / "gpt2")


def test_old_files_of_bert(folders: Path):
    """Norms under their names in TensorFlow, heads that the network does not have."""

    def old(arrays: dict[str, np.ndarray]) -> None:
        for name in [n for n in arrays if "LayerNorm" in n]:
            other = name.replace("weight", "gamma").replace("bias", "beta")
            arrays[other] = arrays.pop(name)
        arrays["cls.seq_relationship.bias"] = np.zeros(2, np.float32)
        arrays["bert.pooler.dense.bias"] = np.zeros(8, np.float32)

    before = nn.load(folders / "masked").state_dict()
    weights(folders / "masked", old)
    after = nn.load(folders / "masked").state_dict()
    assert list(before) == list(after) and all(np.array_equal(before[n], after[n]) for n in before)


def test_pickled_weights(folders: Path):
    (folders / "bert" / "model.safetensors").rename(folders / "bert" / "pytorch_model.bin")
    assert refused(folders / "bert") == (
        f"error[checkpoint]: the weights of {folders / 'bert'} are pickled, and pickles run code that a file "
        "brings along\n  help: transformers' save_pretrained(folder) writes safetensors"
    )


def test_indexes_that_lie(folders: Path):
    folder = folders / "llama"
    place = folder / "model.safetensors.index.json"
    table = json.loads(place.read_text())["weight_map"]
    first, *others = sorted(set(table.values()))
    changed(place, weight_map={**table, "model.norm.weight": "model-9.safetensors"})
    assert refused(folder) == f"error[checkpoint]: {place}: `model-9.safetensors` is not there"
    changed(place, weight_map={**table, "model.more": first})
    assert refused(folder) == f"error[checkpoint]: {folder / first} lacks `model.more`"
    changed(place, weight_map={n: f for n, f in table.items() if f != first} | {"a": first})
    assert refused(folder).endswith(f", and {place.name} does not say so")
    changed(place, weight_map=[first])
    assert refused(folder) == f"error[checkpoint]: {place} has no object `weight_map`"
    assert others


@pytest.mark.parametrize("file", ["../bert/model.safetensors", "/etc/passwd", "..", ""])
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
    with pytest.raises(FileNotFoundError, match="names of the Hub are not downloaded: huggingface_hub.snap"):
        nn.load(folders / "nothing")


def test_folders_without_a_file(folders: Path):
    (folders / "gpt2" / "model.safetensors").unlink()
    assert refused(folders / "gpt2") == (
        f"error[checkpoint]: {folders / 'gpt2'} has no weights: neither model.safetensors nor "
        "model.safetensors.index.json\n  help: transformers' save_pretrained(folder) writes safetensors"
    )
    (folders / "gpt2" / "config.json").unlink()
    assert refused(folders / "gpt2") == (
        f"error[checkpoint]: {folders / 'gpt2'} is a folder without config.json\n"
        "  help: transformers' save_pretrained(folder) writes config.json and weights"
    )


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
def test_tokens_that_do_not_fit(folders: Path, name: str):
    model = nn.load(folders / name)
    with pytest.raises(tx.CallError) as found:
        model(np.zeros(3, np.int64))
    said = str(found.value).splitlines()
    assert said[0] == "error[shape]: tokens have shape [3], expected (batch, length)"
    assert said[2] == "  help: one text is a batch of one: tokens[None]" and len(said) == 3
    if name != "llama":
        sizes = json.loads((folders / name / "config.json").read_text())
        most = sizes.get("n_positions") or sizes["max_position_embeddings"]
        with pytest.raises(
            tx.CallError, match=rf"has {most + 1} tokens, and the network has {most} positions"
        ):
            model(np.zeros((1, most + 1), np.int64))


def test_weights_go_back_into_a_folder(folders: Path, tmp_path: Path):
    model, tokens = nn.load(folders / "gpt2"), np.array([[1, 2, 3]])
    (tmp_path / "config.json").write_bytes((folders / "gpt2" / "config.json").read_bytes())
    nn.save(model, tmp_path / "model.safetensors")
    assert np.array_equal(nn.load(tmp_path)(tokens), model(tokens))
