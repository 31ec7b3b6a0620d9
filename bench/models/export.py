"""Writes networks as ONNX files:  python -m bench.models.export FOLDER BATCH NAME ..."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

from bench.models.networks import EVERY, file_of, torch_module

OPSET = 17


def main(folder: Path, batch: int, names: list[str]) -> None:
    """Write those that are not there; one that torch cannot write is said to be so."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = file_of(folder, name, batch)
        try:
            if not path.exists():
                _export(name, batch, path)
        except Exception as problem:  # the others are still wanted
            print(f"{name} is not exported: {type(problem).__name__}: {problem}", file=sys.stderr)


def _export(name: str, batch: int, path: Path) -> None:
    partial = path.with_suffix(".part")
    torch.onnx.export(
        torch_module(name),
        (torch.from_numpy(EVERY[name].input(batch)),),
        str(partial),
        dynamo=False,
        opset_version=OPSET,
        input_names=["x"],
        output_names=["y"],
    )
    os.replace(partial, path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
