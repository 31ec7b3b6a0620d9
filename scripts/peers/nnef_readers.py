"""Runs a model in NNEF by Sonos' tract, and has Khronos' own parser read it; prints a line for each.

    python scripts/peers/nnef_readers.py MODEL ARRAYS.npz

It runs where nnef and tract are. The arrays are `input0`, ... and `output0`, ... in order.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile

import nnef
import numpy as np
import tract


def parsed(place: str) -> str:
    """How many operations Khronos' parser finds, after inference of shapes."""
    try:
        with tempfile.TemporaryDirectory() as folder, tarfile.open(place) as archive:
            archive.extractall(folder, filter="data")  # its parser takes folders alone
            graph = nnef.load_graph(folder)
        nnef.infer_shapes(graph)
    except Exception as error:
        return f"nnef refuses it: {str(error).splitlines()[0]}"
    return f"nnef reads {len(graph.operations)} operations"


def run(place: str, given: list[np.ndarray], wanted: list[np.ndarray]) -> str:
    """The largest difference of tract's outputs."""
    try:
        model = tract.nnef().with_tract_extra().with_tract_transformers().load(place).into_runnable()
        found = [r.to_numpy() for r in model.run(given)]
    except Exception as error:
        return f"tract refuses it: {str(error)[:200]!r}"
    return f"tract differs by {max(float(np.abs(f - w).max()) for f, w in zip(found, wanted)):.1e}"


def main() -> None:
    """One line."""
    place, arrays = sys.argv[1], np.load(sys.argv[2])
    given = [arrays[n] for n in arrays if n.startswith("input")]
    wanted = [arrays[n] for n in arrays if n.startswith("output")]
    print(f"{parsed(place)}, {run(place, given, wanted)}")


if __name__ == "__main__":
    main()
