"""Writes networks as ONNX files:  python -m bench.models.export FOLDER BATCH NAME ..."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

from bench.models.networks import NETWORKS, file_of, torch_module

OPSET = 17


def main(folder: Path, batch: int, names: list[str]) -> None:
    """Write those that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = file_of(folder, name, batch)
        if not path.exists():
            partial = path.with_suffix(".part")
            given = (torch.from_numpy(NETWORKS[name].input(batch)),)
            torch.onnx.export(
                torch_module(name),
                given,
                str(partial),
                dynamo=False,
                opset_version=OPSET,
                input_names=["x"],
                output_names=["y"],
            )
            os.replace(partial, path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
