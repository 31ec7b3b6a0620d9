"""Advice on which function reads a file that another one was given."""

from __future__ import annotations

import os
from pathlib import Path

from texpr.support.errors import CheckpointError

MOST_NAMED = 3
"""Files that an error names."""
_PICKLED = (
    "it may be pickled, and pickles run code that a file brings along: write it by PyTorch with "
    "safetensors.torch.save_model(model, path)"
)
_BY_SUFFIX = {
    ".onnx": "tx.onnx.load(path) reads models in ONNX",
    ".pt2": "tx.pt2.load(path) reads archives of torch.export",
    ".safetensors": "nn.load(model, path) reads weights into a network",
    ".nnef": "tx.nnef.load(path) reads models in NNEF",
    ".tgz": "tx.nnef.load(path) reads models in NNEF",
    ".tar": "tx.nnef.load(path) reads models in NNEF",
    ".sknd": "tx.nnef.load_skriptnd(path) reads operators in SkriptND",
    **dict.fromkeys((".pt", ".pth", ".ckpt", ".bin", ".pkl"), _PICKLED),
}


def advise_reader(path: str | os.PathLike[str]) -> str:
    """Name the function that reads such a file or folder, judged by names alone.

    Returns:
        one line, or nothing for an unknown suffix.
    Example:
        >>> advise_reader("cnn.pt2")
        'tx.pt2.load(path) reads archives of torch.export'
    """
    place = Path(path)
    if (place / "graph.nnef").exists():
        return _BY_SUFFIX[".nnef"]
    if (place / "config.json").exists():
        return "nn.load(folder) reads folders of Hugging Face"
    return _BY_SUFFIX.get("".join(place.suffixes[-1:]), "")


def refuse_folder(path: str | os.PathLike[str], suffix: str, code: str) -> None:
    """Nothing for a file, or a path where nothing is.

    Raises:
        CheckpointError: it is a folder; its files of the format are named.
        OSError: the folder cannot be read.
    Example:
        >>> refuse_folder("cnn.onnx", ".onnx", "onnx")
    """
    place = Path(path)
    if not place.is_dir():
        return
    files = sorted(each.name for each in place.iterdir() if each.suffix == suffix)
    more = ", ..." if len(files) > MOST_NAMED else ""
    named = f"load a file of it: {', '.join(files[:MOST_NAMED])}{more}"
    raise CheckpointError(
        f"{place} is a folder",
        code=code,
        help=named if files else advise_reader(place) or f"give the path of a {suffix} file",
    )
