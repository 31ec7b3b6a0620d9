"""Optimizers and schedulers of texpr.nn beside those of PyTorch, in f64: 50 steps of each
optimizer, 40 epochs of each scheduler.

    python scripts/optimizers.py --torch PYTHON [--record]

A row per construction of `tests/nn/optimizer_table.py` with the largest relative difference of the
parameters after each step (bar: 1e-10), or of rates and momenta (bar: 0). `--record` writes what
the tests compare with where there is no PyTorch. 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.nn.trajectories import schedule, trajectory  # noqa: E402
from texpr.support.table import Table  # noqa: E402

BARS = {"optimizers": 1e-10, "schedulers": 0.0}
_TABLE = Table({"": "<", "construction": "<100", "error": ">7.1e"})


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", required=True, help="the interpreter of an environment that has torch")
    parser.add_argument("--record", action="store_true", help="write the references of the tests")
    arguments = parser.parse_args()
    peer = ROOT / "scripts" / "peers" / "optimizers_torch.py"
    expected = json.loads(
        subprocess.run([arguments.torch, str(peer)], check=True, capture_output=True, text=True).stdout
    )
    if arguments.record:
        last = {text: steps[-1] for text, steps in expected["optimizers"].items()}
        lines = [f"{json.dumps(t)}: {json.dumps(v)}" for t, v in {**last, **expected["schedulers"]}.items()]
        (ROOT / "tests" / "nn" / "optimizers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    missed = 0
    for kind, run in (("optimizers", trajectory), ("schedulers", schedule)):
        worst = 0.0
        for text, values in expected[kind].items():
            error = distance(run(text), np.array(values))
            worst, bad = max(worst, error), not error <= BARS[kind]
            missed += bad
            print(_TABLE.row("!" if bad else "", text, error), flush=True)
        print(_TABLE.row("", f"worst of {len(expected[kind])} {kind}, bar {BARS[kind]:g}", worst))
    return int(missed > 0)


def distance(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest number."""
    return (
        float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
        if found.shape == expected.shape
        else np.inf
    )


if __name__ == "__main__":
    sys.exit(main())
