"""Advice on which function reads a file that another one was given."""

from __future__ import annotations

import os
from pathlib import Path

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
