"""Which function reads a file, by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

import texpr as tx
from texpr import nn
from texpr.nn.reader_advice import advise_reader


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("a.onnx", "tx.onnx.load"),
        ("a.pt2", "tx.pt2.load"),
        ("a.safetensors", "nn.load(model, path)"),
        ("a.nnef.tgz", "tx.nnef.load"),
        ("a.sknd", "tx.nnef.load_skriptnd"),
        ("a.pth", "it may be pickled"),
    ],
)
def test_files(name: str, function: str):
    assert advise_reader(name).startswith(function)


def test_folders_and_others(tmp_path: Path):
    assert advise_reader(tmp_path) == advise_reader("a.txt") == ""
    (tmp_path / "config.json").touch()
    assert advise_reader(tmp_path) == "nn.load(folder) reads folders of Hugging Face"
    (tmp_path / "graph.nnef").touch()
    assert advise_reader(tmp_path) == "tx.nnef.load(path) reads models in NNEF"


def test_readers_that_are_given_another_file(tmp_path: Path):
    pytest.importorskip("onnx")
    other = tmp_path / "a.pt2"
    other.write_bytes(b"PK\x03\x04")
    pickled = tmp_path / "a.pth"
    pickled.write_bytes(b"PK\x03\x04 no safetensors")
    help = "\n  help: tx.pt2.load(path) reads archives of torch.export"
    for read, text in (
        (nn.load, f"error[checkpoint]: {other} is a file, expected a folder{help}"),
        (tx.nnef.load, f"error[nnef]: {other}, byte 0: it is no archive of tar: file could not be opened"),
        (tx.onnx.load, f"error[onnx]: {other} cannot be read as ONNX: "),
    ):
        with pytest.raises(tx.CheckpointError) as found:
            read(other)
        assert str(found.value).startswith(text) and str(found.value).endswith(help)
        assert str(found.value).count("\n") == 1
    with pytest.raises(tx.CheckpointError, match="safetensors.torch.save_model"):
        nn.load(nn.Linear(1, 1), pickled)


@pytest.mark.parametrize(("load", "suffix"), [(tx.onnx.load, ".onnx"), (tx.pt2.load, ".pt2")])
def test_a_folder_is_refused_with_the_files_in_it(tmp_path, load, suffix):
    pytest.importorskip("onnx")
    code = suffix[1:]

    def refused() -> str:
        with pytest.raises(tx.CheckpointError) as found:
            load(tmp_path)
        return str(found.value)

    first = f"error[{code}]: {tmp_path} is a folder\n  help: "
    assert refused() == f"{first}give the path of a {suffix} file"
    (tmp_path / "config.json").touch()
    assert refused() == f"{first}nn.load(folder) reads folders of Hugging Face"
    for name in "dcba":
        (tmp_path / f"{name}{suffix}").touch()
    assert refused() == f"{first}load a file of it: a{suffix}, b{suffix}, c{suffix}, ..."
