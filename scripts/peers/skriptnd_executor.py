"""Runs a model of SkriptND by Khronos' executor: `python skriptnd_executor.py MODEL RESULT.npz`.

Inputs are random numbers between 0.1 and 0.9. The package is `skriptnd-pyproject` of
https://github.com/KhronosGroup/NNEF-Tools (branch `v2.0`); it compiles a model with a C++ compiler and
pybind11.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import skriptnd  # pyright: ignore[reportMissingImports]

model = skriptnd.read_model(sys.argv[1])
compiled = skriptnd.compile_model(model)
random = np.random.default_rng(0)
given = [random.uniform(0.1, 0.9, each.shape).astype("f4") for each in compiled.input_info()]
found = compiled(*given)
results: dict[str, Any] = {f"out_{k}": np.asarray(one) for k, one in enumerate(found)}
np.savez(sys.argv[2], *given, **results)
