"""Operators of the library in PyTorch: values, gradients, gradients of gradients.

    gradients_torch.py FOLDER

The folder has `cases.json`, a list of names and constants, and `arrays.npz` with the inputs `k.x0,
k.x1, ...`, cotangents of outputs `k.u0, ...` and of the gradient `k.v0, ...` of case k. Writes
`found.npz` with outputs `k.y0, ...`, gradients `k.g0, ...` and what v gives of the gradient, `k.h0,
...`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_operators import ELEMENTS, LAYERS, REDUCTIONS
from torch_tables import LOSSES, PLACES, PRODUCTS, SCANS

OPERATORS = {**ELEMENTS, **REDUCTIONS, **LAYERS, **PRODUCTS, **LOSSES, **PLACES, **SCANS}


def numbered(arrays: Mapping[str, np.ndarray], case: int, letter: str) -> list[torch.Tensor]:
    """The arrays `case.letter0`, `case.letter1`, ..."""
    found = []
    while (name := f"{case}.{letter}{len(found)}") in arrays:
        value = torch.from_numpy(np.array(arrays[name]))
        found.append(value.requires_grad_() if value.is_floating_point() else value)
    return found


def derivatives(
    f: Any, x: list[torch.Tensor], u: list[torch.Tensor], v: list[torch.Tensor]
) -> dict[str, list[torch.Tensor]]:
    """Outputs, J^T u, and the gradient of v . J^T u in the inputs and in u."""
    outputs = f(*x)
    y = [e for e in (outputs if isinstance(outputs, tuple | list) else (outputs,)) if e.is_floating_point()]
    floats = [e for e in x if e.is_floating_point()]
    g = gradient(y, floats, u)
    try:
        return {"y": y, "g": g, "h": gradient(g, [*floats, *u], v)}
    except RuntimeError as error:  # some functions of PyTorch have no second derivative
        print(str(error).splitlines()[0], file=sys.stderr)
        return {"y": y, "g": g}


def gradient(
    outputs: list[torch.Tensor], inputs: list[torch.Tensor], cotangents: list[torch.Tensor]
) -> list[torch.Tensor]:
    """One cotangent per input, zeros where nothing depends on it."""
    pairs = [(y, c) for y, c in zip(outputs, cotangents, strict=True) if y.requires_grad]
    if not pairs:
        return [torch.zeros_like(e) for e in inputs]
    found = torch.autograd.grad(
        [y for y, _ in pairs], inputs, [c for _, c in pairs], create_graph=True, allow_unused=True
    )
    return [torch.zeros_like(e) if g is None else g for g, e in zip(found, inputs)]


def main(folder: Path) -> None:
    arrays = dict(np.load(folder / "arrays.npz"))
    found = {}
    for k, (name, constants) in enumerate(json.loads((folder / "cases.json").read_text())):
        f = OPERATORS.get(name)
        if f is None:
            continue
        x, u, v = (numbered(arrays, k, letter) for letter in "xuv")
        results = derivatives(lambda *a, f=f, c=constants: f(*a, **c), x, u, v)
        found |= {
            f"{k}.{letter}{n}": e.numpy(force=True)
            for letter, every in results.items()
            for n, e in enumerate(every)
        }
    np.savez(folder / "found.npz", **found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
