"""A small convolutional network, trained by code for ARM processors in QEMU, beside the same
training on this machine.

Run with `python examples/arm.py`; it needs scikit-learn for the images, and on Debian: qemu-user
gcc-aarch64-linux-gnu libc6-dev-arm64-cross, for armv7 gcc-arm-linux-gnueabihf
libc6-dev-armhf-cross. A step is compiled ahead of time for the other processor, a C program makes
all steps, and both curves must agree to 1e-4.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_digits

from texpr import nn

BATCH, TOLERANCE = 32, 1e-4
AARCH64, ARMV7 = ("aarch64-linux-gnu-gcc", "qemu-aarch64"), ("arm-linux-gnueabihf-gcc", "qemu-arm")
EMULATORS = {
    "aarch64": (*AARCH64, "max"),
    "aarch64+sve": (*AARCH64, "max,sve-default-vector-length=64"),
    "a64fx": (*AARCH64, "a64fx"),
    "armv7": (*ARMV7, "max"),
}
"""Targets: the compiler of C, the emulator, and the processor that it is to be."""

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "step.h"
enum { BATCH = %(batch)d, STEPS = %(steps)d, WEIGHTS = %(weights)d };
static float x[BATCH][64], loss, output[BATCH][10];
static int64_t y[BATCH];
static unsigned char weights[WEIGHTS] __attribute__((aligned(64)));
int main(void) {
  FILE *file = fopen("step.o.weights", "rb");
  if (file == 0 || fread(weights, 1, WEIGHTS, file) != WEIGHTS) return 1;
  file = fopen("batches", "rb");
  for (int k = 0; k < STEPS; k++) {
    if (file == 0 || fread(x, sizeof x, 1, file) != 1 || fread(y, sizeof y, 1, file) != 1) return 1;
    if (texpr_step_call(&x[0][0], y, &loss, &output[0][0], weights) != 0) return 2;
    printf("%%.9g\\n", loss);
  }
  return 0;
}
"""


def main(steps: int = 100, targets: Iterable[str] = EMULATORS) -> int:
    """Train on both; 0 if the curves agree."""
    batches = _batches(steps)
    step = _step()
    here = [step(x, y) for x, y in batches]
    worst = 0.0
    for target in targets:
        there = trained_elsewhere(target, batches)
        difference = max(abs(a - b) / abs(a) for a, b in zip(here, there, strict=True))
        worst = max(worst, difference)
        print(
            f"{target}: loss {there[0]:.4f} -> {there[-1]:.4f} in {steps} steps; largest relative difference "
            f"from here {difference:.1e}"
        )
    return int(worst > TOLERANCE)


def trained_elsewhere(target: str, batches: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """The loss of each step, computed by code for `target`."""
    with TemporaryDirectory(prefix="texpr-") as name:
        folder = Path(name)
        _step().save(folder / "step.o", *batches[0], header=folder / "step.h", target=target)
        with (folder / "batches").open("wb") as file:
            for x, y in batches:
                file.write(x.tobytes() + y.tobytes())
        numbers = {
            "batch": BATCH,
            "steps": len(batches),
            "weights": (folder / "step.o.weights").stat().st_size,
        }
        (folder / "train.c").write_text(PROGRAM % numbers)
        compiler, emulator, processor = EMULATORS[target]
        build = [compiler, "-O1", "-static", "train.c", "step.o", "-lm", "-o", "train"]
        subprocess.run(build, cwd=folder, check=True)
        command = [emulator, "-cpu", processor, "train"]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return [float(line) for line in done.stdout.split()]


def _step() -> nn.TrainingStep:
    nn.manual_seed(0)
    model = nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    return nn.TrainingStep(
        model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    )


def _batches(steps: int) -> list[tuple[np.ndarray, np.ndarray]]:
    images, labels = load_digits(return_X_y=True)
    chosen = np.random.default_rng(0).integers(0, len(images), (steps, BATCH))
    return [((images[rows] / 16).astype(np.float32), labels[rows].astype(np.int64)) for rows in chosen]


if __name__ == "__main__":
    sys.exit(main())
