"""Compares operators of the standard library of NNEF 2.0 with Khronos' own executor, in one graph.

    PYTHONPATH=. python scripts/skriptnd_peer.py --library DIR --peer PYTHON

DIR is the folder of `scripts/skriptnd_library.py`; PYTHON has the package of `skriptnd-pyproject` from
the same repository, and pybind11. Its compiler takes a minute or two. `--result FILE.npz` keeps what it
computed, and takes it from there if the file is there.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import texpr as tx

PEERS = Path(__file__).parent / "peers"
GRAPH = PEERS / "skriptnd_operators.sknd"
BOUND = 1e-5


def main() -> int:
    """The command: 1 if an output differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", required=True, help="the folder of the files .sknd")
    parser.add_argument("--peer", help="a Python that has Khronos' package")
    parser.add_argument("--result", help="what the peer computed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(shutil.copytree(given.library, f"{folder}/model")) / "main.sknd"
        shutil.copy(GRAPH, model)
        result = Path(given.result or f"{folder}/result.npz").resolve()
        if not result.exists():
            subprocess.run(
                [given.peer, PEERS / "skriptnd_executor.py", model, result], check=True, cwd=folder
            )
        return compare(model, result)


def compare(model: Path, result: Path) -> int:
    """The differences of all outputs, printed; 1 if one is above the bound."""
    graph = tx.nnef.load_skriptnd(model).Operators
    with np.load(result) as held:
        arrays = [held[f"arr_{k}"] for k in range(len(graph.inputs))]
        expected = [held[f"out_{k}"] for k in range(len(graph.outputs))]
    found: Any = tx.interpret(graph(*(a.shape for a in arrays)), *arrays)
    wrong = 0
    for name, f, e in zip(graph.outputs, found, expected):
        alike = np.shape(f) == np.shape(e)
        difference = float((np.abs(f - e) / np.maximum(1, np.abs(e))).max()) if alike else np.inf
        wrong += difference > BOUND
        print(f"{name:15} {difference:.1e}" + ("  differs" if difference > BOUND else ""))
    print(f"{len(expected)} outputs, {wrong} differ by more than {BOUND}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
