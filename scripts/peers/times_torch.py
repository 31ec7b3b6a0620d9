"""Times of operators in PyTorch on one thread: `times_torch.py FOLDER SECONDS`, with what
`gradients_torch.py` reads. Writes times.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
from gradients_torch import OPERATORS


def seconds(call: Callable[[], object], limit: float) -> float:
    """The median time of a call."""
    call()
    times = []
    begun = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begun < limit:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times[1:])


def main(folder: Path, limit: float) -> None:
    torch.set_num_threads(1)
    arrays = dict(np.load(folder / "arrays.npz"))
    found: list[float | None] = []
    for k, (name, constants) in enumerate(json.loads((folder / "cases.json").read_text())):
        x = []
        while f"{k}.x{len(x)}" in arrays:
            x.append(torch.from_numpy(np.array(arrays[f"{k}.x{len(x)}"])))
        f = OPERATORS.get(name)
        try:
            found.append(None if f is None else seconds(lambda f=f, x=x, c=constants: f(*x, **c), limit))
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
            found.append(None)
    (folder / "times.json").write_text(json.dumps(found))


if __name__ == "__main__":
    with torch.no_grad():
        main(Path(sys.argv[1]), float(sys.argv[2]))
