"""Whole networks in NNEF beside other libraries: those that torch-to-nnef writes are loaded, compared with
PyTorch, saved again and run by tract; networks of texpr are saved, read by Khronos' parser and run by
tract.

    PYTHONPATH=. python scripts/nnef_networks.py --peers .nnef-peers/bin/python [NAMES...]

`make nnef` makes the environment and calls it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import texpr as tx
from texpr import nn

SCRIPTS = Path(__file__).parent / "peers"
BOUND = 1e-4
"""Of the largest difference, of numbers of the order of 1."""


def own_networks() -> dict[str, tuple[Callable[[], Any], tuple[int, ...]]]:
    """Networks of texpr, and the shapes of their inputs."""
    return {
        "texpr mlp": (
            lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.Softmax(1)),
            (3, 8),
        ),
        "texpr convolutions": (
            lambda: nn.Sequential(
                nn.Conv2d(3, 8, 3, padding=1, stride=2),
                nn.BatchNorm2d(8),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(8, 8, 3, padding=1, groups=4),
                nn.SiLU(),
                nn.AvgPool2d(2),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.Linear(8, 5),
                nn.LayerNorm(5),
                nn.LogSoftmax(1),
            ),
            (2, 3, 16, 16),
        ),
    }


def compared(place: Path, folder: Path, peers: str) -> bool:
    """A line of an archive that torch-to-nnef wrote; True if it is equal to PyTorch's."""
    arrays = np.load(place.parent / (place.name.removesuffix(".nnef.tgz") + ".npz"))
    start = time.perf_counter()
    try:
        model = tx.nnef.load(place)
        y = model(arrays["input"])
    except tx.Error as error:
        print(f"{place.name}: {str(error).splitlines()[0]}", flush=True)
        return False
    difference = float(np.abs(y - arrays["output"]).max())
    seconds = time.perf_counter() - start
    again = saved(model, None, folder / f"again_{place.name}", [arrays["input"]], [y], peers)
    print(
        f"{place.name}: differs from torch by {difference:.1e}, {seconds:.0f} s; saved: {again}", flush=True
    )
    return difference <= BOUND


def saved(
    model: Any, example: Any, place: Path, given: Sequence[np.ndarray], wanted: Sequence[np.ndarray],
    peers: str,
) -> str:  # fmt: skip
    """What the other readers say of a model after `tx.nnef.save`."""
    tx.nnef.save(model, place, example)
    arrays = place.with_suffix(".npz")
    held: dict[str, Any] = {f"input{k}": a for k, a in enumerate(given)}
    held |= {f"output{k}": a for k, a in enumerate(wanted)}
    np.savez(arrays, **held)
    command = [peers, str(SCRIPTS / "nnef_readers.py"), str(place), str(arrays)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip()[-200:]


def main() -> int:
    """All networks, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--peers", required=True, help="a Python with torch, torchvision, torch-to-nnef, nnef and tract"
    )
    parser.add_argument("--folder", type=Path, default=Path("build/nnef"))
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [asked.peers, str(SCRIPTS / "nnef_networks.py"), str(asked.folder), *asked.names], check=True
    )
    right = [compared(p, asked.folder, asked.peers) for p in sorted(asked.folder.glob("tract/*.nnef.tgz"))]
    rng = np.random.default_rng(0)
    for name, (make, shape) in own_networks().items():
        nn.manual_seed(1)
        model, x = make().eval(), rng.normal(size=shape).astype("f4")
        place = asked.folder / f"{name.replace(' ', '_')}.tgz"
        print(f"{name}: {saved(model, x, place, [x], [model(x)], asked.peers)}", flush=True)
    print(f"{sum(right)} of {len(right)} networks are equal to torch's at {BOUND}")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
