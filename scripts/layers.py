"""Layers and losses of texpr.nn beside those of PyTorch, in f64: a row per layer with the worst
relative error of

* outputs, and buffers after the call,
* gradients of inputs and parameters,

over the constructions and calls of `tests/nn/layer_table.py`. PyTorch's state_dict is loaded as it
is, strictly; its order is compared too.

    python scripts/layers.py --torch PYTHON [--only NAME,...] [--record]

PyTorch runs in an environment of its own, by `scripts/peers/layers_torch.py`. `--record` writes
what the tests compare with where there is no PyTorch (`tests/nn/layers.json`). 1 if a bar is
missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.nn.layer_table import CASES, Case, waves  # noqa: E402
from tests.nn.layers import applied, fingerprint, made  # noqa: E402
from texpr import nn, ops  # noqa: E402
from texpr.graph import Capture, Plan, Symbolic  # noqa: E402
from texpr.ir.dtypes import from_numpy  # noqa: E402
from texpr.nn.core import pytree as tree  # noqa: E402
from texpr.support.errors import Error  # noqa: E402
from texpr.support.table import Table  # noqa: E402

BAR = 1e-10
COARSE = {"Hardsigmoid": 1e-7, "CELU": 1e-7}
"""PyTorch's gradients of these have constants in f32."""
COLUMNS = ("values", "gradients")
Found = dict[str, np.ndarray]


def main() -> int:
    """Print what misses the bar as it is found, then the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", required=True, help="the interpreter of an environment that has torch")
    parser.add_argument("--only", default="", help="names of layers")
    parser.add_argument("--record", action="store_true", help="write the references of the tests")
    arguments = parser.parse_args()
    wanted = set(filter(None, arguments.only.split(",")))
    every = of_torch(arguments.torch)
    if arguments.record:
        record(every)
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    problems = []
    for case, expected in zip(CASES, every):
        name = case.text.partition("(")[0]
        if wanted and name not in wanted:
            continue
        try:
            errors = compared(case, expected)
        except (Error, AssertionError, AttributeError, TypeError, ValueError) as error:
            errors = dict.fromkeys(COLUMNS, np.inf)
            problems.append(f"! {case.key}: {str(error) or type(error).__name__}")
            print(problems[-1], flush=True)
        rows[name].append(errors)
        if COARSE.get(name, BAR) < max(errors.values()) < np.inf:
            problems.append(f"! {case.key}: " + ", ".join(f"{n} {e:.1e}" for n, e in errors.items()))
            print(problems[-1], flush=True)
    print(table(rows))
    return int(bool(problems))


def of_torch(python: str) -> list[Found]:
    """What PyTorch found, case by case."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, str(ROOT / "scripts" / "peers" / "layers_torch.py"), folder], check=True)
        loaded = dict(np.load(Path(folder) / "found.npz"))
    every: list[Found] = [{} for _ in CASES]
    for key, value in loaded.items():
        number, _, name = key.partition(".")
        every[int(number)][name] = value
    return every


def part(found: Found, letter: str) -> Found:
    """What has names `letter.NAME`."""
    return {
        name.removeprefix(f"{letter}."): value
        for name, value in found.items()
        if name.startswith(f"{letter}.")
    }


def listed(found: Found, letter: str) -> list[np.ndarray]:
    """What has names letter0, letter1, ..."""
    return [found[f"{letter}{n}"] for n in range(len(found)) if f"{letter}{n}" in found]


def compared(case: Case, expected: Found) -> dict[str, float]:
    """The worst errors of a case."""
    module, state = made(case), part(expected, "s")
    assert list(module.state_dict()) == list(state), (
        f"state {list(module.state_dict())}, expected {list(state)}"
    )
    module.load_state_dict(state)
    outputs, gradients, parameters = differentiated(
        module, case, any(n[0] in "gp" and n[1].isdigit() or n[:2] == "p." for n in expected)
    )
    values = [*zip(outputs, listed(expected, "y"), strict=True)]
    after = module.state_dict()
    values += [(after[n].astype(np.float64), b.astype(np.float64)) for n, b in part(expected, "b").items()]
    wanted = part(expected, "p")
    slopes = [
        *zip(gradients, listed(expected, "g"), strict=bool(gradients)),
        *((parameters[n], g) for n, g in wanted.items()),
    ]
    return {"values": worst(values), "gradients": worst(slopes)}


def differentiated(
    module: nn.Module, case: Case, gradient: bool
) -> tuple[list[np.ndarray], list[np.ndarray], Found]:
    """Outputs, gradients of inputs, and of parameters by name."""
    capture, arrays = Capture("layer"), case.arrays()
    symbols = [capture.input(f"x{k}", a.shape, from_numpy(a.dtype)) for k, a in enumerate(arrays)]  # type: ignore[arg-type]
    with capture:
        outputs = list(tree.leaves(applied(module, case, symbols)))
        if not gradient:
            return [r.copy() for r in Plan(capture, outputs)(*arrays)], [], {}
        total: Symbolic | None = None
        for n, y in enumerate(outputs):
            if not y.dtype.is_float:
                continue
            each = ops.sum_all(ops.multiply(y, waves(f"{case.key}{n}", y.shape)))
            total = each if total is None else ops.add(total, each)  # type: ignore[assignment]
        floats = [symbols[k] for k in case.differentiable()]
        names, parameters = [n for n, _ in module.named_parameters()], list(module.parameters())
        found = capture.gradients(total, [*floats, *map(capture.variable, parameters)])  # type: ignore[arg-type]
    results = Plan(capture, [*outputs, *(g for g in found if g is not None)])(*arrays)
    rest = iter(results[len(outputs) :])
    likes = [*(s.shape for s in floats), *(p.shape for p in parameters)]
    slopes = [np.zeros(shape) if g is None else next(rest) for g, shape in zip(found, likes)]
    return list(results[: len(outputs)]), slopes[: len(floats)], dict(zip(names, slopes[len(floats) :]))


def worst(pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """The largest difference, relative to the largest element of each tensor, or to a thousandth
    where all are smaller.
    """
    errors = [0.0]
    for value, expected in pairs:
        assert value.shape == expected.shape, f"shape {value.shape}, expected {expected.shape}"
        largest = np.max(np.abs(expected), initial=1e-3, where=np.isfinite(expected))
        with np.errstate(invalid="ignore"):
            apart = np.where(
                (value == expected) | (np.isnan(value) & np.isnan(expected)), 0.0, np.abs(value - expected)
            )
        errors.append(float(np.max(apart, initial=0.0) / largest))
    return float(np.max(errors))


def record(every: list[Found]) -> None:
    """Write shapes of states, and numbers that stand for outputs and changed buffers."""
    references = {}
    for case, found in zip(CASES, every):
        before, after = part(found, "s"), part(found, "b")
        changed = {
            n: fingerprint(b) for n, b in after.items() if not np.array_equal(b, before[n], equal_nan=True)
        }
        shapes = {n: list(s.shape) for n, s in before.items()}
        references[case.key] = {"state": shapes, "outputs": [fingerprint(y) for y in listed(found, "y")]}
        references[case.key] |= {"buffers": changed} if changed else {}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in references.items()]
    (ROOT / "tests" / "nn" / "layers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def table(rows: dict[str, list[dict[str, float]]]) -> str:
    """A line per layer; `!` where the bar is missed."""
    lines: list[tuple[object, ...]] = [("", "bar", None, *(f"{BAR:.0e}" for _ in COLUMNS))]
    for name, cases in rows.items():
        errors = [max(case[c] for case in cases) for c in COLUMNS]
        lines.append(("!" if max(errors) > COARSE.get(name, BAR) else "", name, len(cases), *errors))
    every = [case for cases in rows.values() for case in cases]
    lines.append(("", f"worst of {len(rows)}", len(every), *(max(c[n] for c in every) for n in COLUMNS)))
    return Table({"": "<", "layer": "<", "cases": ">", **dict.fromkeys(COLUMNS, ">.1e")}).text(lines)


if __name__ == "__main__":
    sys.exit(main())
