"""Memory and time of steps that trade one for the other:

    python -m bench.training_memory [--torch PYTHON]

A row each for a deep network with and without `nn.utils.checkpoint`, and for cross entropy of
4,096 x 512 features and 32,000 classes: `LinearCrossEntropyLoss`, `Linear` and `CrossEntropyLoss`,
and these two of PyTorch by the interpreter of an environment that has it. Memory is the growth of
the largest resident set of a process over that before the first step, in MiB; time is the least
of eight steps, in seconds of the processor. Each row is of a second process, which finds kernels on
disk: what compiling takes is not of the network.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from texpr.support.table import Table

ROOT = Path(__file__).parents[1]
_MEASURE = """
import json, resource, sys, time

def measure(step):
    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    before, times = peak(), []
    step()
    for _ in range(int(sys.argv[1])):
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    print(json.dumps([peak() - before, min(times, default=0)]))
"""
_DEEP = """
import numpy as np
from texpr import nn
nn.manual_seed(0)
blocks = [nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256), nn.LayerNorm(256)) for _ in range(16)]
for block in blocks:
    nn.utils.checkpoint(block, {on})
model = nn.Sequential(*blocks)
step = nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.01))
x = np.random.default_rng(0).normal(size=(2048, 256)).astype("f4")
measure(lambda: step(x, x))
"""
_CLASSES = """
import numpy as np
from texpr import nn
nn.manual_seed(0)
{parts}
parameters = [*model.parameters(), *loss.parameters()]
step = nn.TrainingStep(model, loss, nn.optim.SGD(parameters, lr=0.01))
random = np.random.default_rng(0)
x, y = random.normal(size=(4096, 512)).astype("f4"), random.integers(0, 32000, 4096)
measure(lambda: step(x, y))
"""
_FUSED = """
model, loss = nn.Linear(512, 512, bias=False), nn.LinearCrossEntropyLoss(512, 32000)
"""
_PLAIN = """
model = nn.Sequential(nn.Linear(512, 512, bias=False), nn.Linear(512, 32000, bias=False))
loss = nn.CrossEntropyLoss()
"""
_TORCH = """
import numpy as np, torch
model, head, loss = torch.nn.Linear(512, 512, bias=False), torch.nn.Linear(512, 32000, bias=False), torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.01)
random = np.random.default_rng(0)
x = torch.from_numpy(random.normal(size=(4096, 512)).astype("f4"))
y = torch.from_numpy(random.integers(0, 32000, 4096))
def step():
    optimizer.zero_grad()
    loss(head(model(x)), y).backward()
    optimizer.step()
measure(step)
"""


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", help="the interpreter of an environment that has torch")
    arguments = parser.parse_args()
    rows = {
        "16 blocks, everything kept": (sys.executable, _DEEP.format(on=False)),
        "16 blocks, checkpointed": (sys.executable, _DEEP.format(on=True)),
        "Linear and CrossEntropyLoss": (sys.executable, _CLASSES.format(parts=_PLAIN)),
        "LinearCrossEntropyLoss": (sys.executable, _CLASSES.format(parts=_FUSED)),
    }
    if arguments.torch:
        rows["Linear and CrossEntropyLoss of torch"] = arguments.torch, _TORCH
    table = Table({"step": "<38", "MiB": ">8.0f", "seconds": ">8.2f"})
    print(table.header())
    for name, (python, text) in rows.items():
        _measured(python, text, 0)
        print(table.row(name, *_measured(python, text, 8)), flush=True)
    return 0


def _measured(python: str, text: str, steps: int) -> list[float]:
    """Memory and time of a step in a process, the least time of so many behind the first."""
    run = subprocess.run(
        [python, "-c", _MEASURE + text, str(steps)], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return json.loads(run.stdout.splitlines()[-1])


if __name__ == "__main__":
    raise SystemExit(main())
