"""The derivatives of every operator of the library, in f64: a row per operator with the relative
errors, over all of its cases, of

* the gradient, and the gradient of the gradient, against central differences,
* u . (J v) against (J^T u) . v,
* values, gradients and gradients of gradients against those of PyTorch, and the worst of all,

and then where there is no derivative (`tests/ops/kinks.py`) whether PyTorch has the same gradient.

    python scripts/gradients.py [--torch PYTHON] [--only NAME,...]

PyTorch runs in an environment of its own (`make peers` makes one), by
`scripts/peers/gradients_torch.py`. 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import texpr as tx  # noqa: E402
from tests.ops.kinks import KINKS  # noqa: E402
from tests.ops.smooth import ONCE, Smooth, as_tuple, smooth_cases  # noqa: E402
from texpr import ops  # noqa: E402
from texpr.compiler.check_grad import gradient_errors  # noqa: E402
from texpr.support.table import Table  # noqa: E402

BARS = {
    "differences": 1e-6,
    "second": 1e-6,
    "modes": 1e-10,
    "torch values": 1e-7,
    "torch gradient": 1e-7,
    "torch second": 1e-7,
}
PEER = Path(__file__).parent / "peers" / "gradients_torch.py"


@dataclass
class Row:
    """The worst errors of one operator, over its cases."""

    errors: dict[str, float] = field(default_factory=dict)

    def add(self, column: str, error: float) -> None:
        self.errors[column] = max(error, self.errors.get(column, 0.0))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", help="the interpreter of an environment that has torch")
    parser.add_argument("--only", default="", help="names of operators")
    arguments = parser.parse_args()
    wanted = set(filter(None, arguments.only.split(",")))
    cases = [case for case in smooth_cases() if not wanted or case.name in wanted]
    rows = {case.name: Row() for case in cases}
    compared = [measured(case, rows[case.name]) for case in cases]
    if arguments.torch:
        beside_torch(arguments.torch, cases, compared, rows)
    print(table(rows))
    different = kinks_beside_torch(arguments.torch) if arguments.torch and not wanted else []
    print("\n".join(different))
    return int(any(missed(row) for row in rows.values()) or any(line.startswith("!") for line in different))


def measured(case: Smooth, row: Row) -> dict[str, list[np.ndarray]]:
    """Measures one case without others' help; returns what others compute too."""
    first = gradient_errors(case.operator, directions=2, **case.inputs, **case.constants)
    row.add("differences", first.differences)
    row.add("modes", first.modes)
    if case.name not in ONCE:
        second = gradient_errors(
            tx.grad(case.operator), directions=2, **case.inputs, **case.cotangents, **case.constants
        )
        row.add("modes", second.modes)
        row.add("second", second.differences)
    return case.derivatives()


def beside_torch(
    python: str, cases: Sequence[Smooth], own: Sequence[dict[str, list[np.ndarray]]], rows: dict[str, Row]
) -> None:
    """Adds the columns of PyTorch."""
    with tempfile.TemporaryDirectory() as folder:
        found = asked(
            python, Path(folder), [(case.name, case.constants) for case in cases], dict(given(cases, own))
        )
    columns = {"y": "torch values", "g": "torch gradient", "h": "torch second"}
    for k, (case, results) in enumerate(zip(cases, own)):
        for letter, column in columns.items():
            for n, value in enumerate(results.get(letter, ())):
                expected = found.get(f"{k}.{letter}{n}")
                if expected is not None:
                    rows[case.name].add(column, distance(value, expected))


def asked(
    python: str, folder: Path, cases: list[tuple[str, object]], arrays: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """What PyTorch found for these cases."""
    (folder / "cases.json").write_text(json.dumps(cases))
    np.savez(folder / "arrays.npz", **arrays)
    subprocess.run([python, str(PEER), str(folder)], check=True)
    return dict(np.load(folder / "found.npz"))


def kinks_beside_torch(python: str) -> list[str]:
    """A line per kink where PyTorch has another gradient, with `!` where that is not known, and
    how many are the same.
    """
    arrays: dict[str, np.ndarray] = {}
    for k, kink in enumerate(KINKS):
        inputs = list(kink.arrays().values())
        with np.errstate(all="ignore"):
            results = as_tuple(tx.interpret(getattr(ops, kink.name), *inputs, **kink.constants))
        floats = [x for x in inputs if x.dtype.kind == "f"]
        every = {
            "x": inputs,
            "u": [np.ones_like(y) for y in results],
            "v": [np.zeros_like(x) for x in floats],
        }
        arrays |= {f"{k}.{letter}{n}": a for letter, group in every.items() for n, a in enumerate(group)}
    with tempfile.TemporaryDirectory() as folder:
        found = asked(python, Path(folder), [(kink.name, kink.constants) for kink in KINKS], arrays)
    lines = []
    for k, kink in enumerate(KINKS):
        expected = [found[f"{k}.g{n}"] for n in range(len(kink.gradients))]
        if not all(
            np.allclose(g, e, rtol=1e-12, atol=0, equal_nan=True) for g, e in zip(kink.gradients, expected)
        ):
            lines.append(
                f"{'  ' if kink.differs else '! '}{kink.name:30}{kink.inputs} gives {kink.gradients}; "
                f"{kink.differs}"
            )
    return [*lines, f"at {len(KINKS) - len(lines)} of {len(KINKS)} kinks PyTorch has the same gradient"]


def given(
    cases: Sequence[Smooth], own: Sequence[dict[str, list[np.ndarray]]]
) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays that PyTorch gets."""
    for k, (case, results) in enumerate(zip(cases, own)):
        yield from ((f"{k}.x{n}", a) for n, a in enumerate(case.inputs.values()))
        yield from ((f"{k}.u{n}", a) for n, a in enumerate(case.cotangents.values()))
        yield from ((f"{k}.v{n}", a) for n, a in enumerate(results["v"]))


def distance(value: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest finite element; what is smaller than a
    millionth is rounding.
    """
    if value.shape != expected.shape:
        return np.inf
    largest = np.max(np.abs(expected), initial=1e-6, where=np.isfinite(expected))
    with np.errstate(invalid="ignore"):
        apart = np.where(value == expected, 0.0, np.abs(value - expected))
    return float(np.max(apart, initial=0.0) / largest)


def missed(row: Row) -> bool:
    return any(not error <= BARS[column] for column, error in row.errors.items())


def table(rows: dict[str, Row]) -> str:
    """A line per operator; `-` where there is nothing to compare, `!` where a bar is missed."""
    lines: list[tuple[object, ...]] = [("", "bar", *(f"{bar:.0e}" for bar in BARS.values()))]
    for name, row in rows.items():
        cells = (row.errors.get(column, "-") for column in BARS)
        lines.append(("!" if missed(row) else "", name, *cells, max(row.errors.values(), default=0.0)))
    worst = [max((row.errors.get(column, 0.0) for row in rows.values()), default=0.0) for column in BARS]
    lines.append(("", f"worst of {len(rows)}", *worst))
    lines.append(
        ("", "compared", *(str(sum(column in row.errors for row in rows.values())) for column in BARS))
    )
    return Table({"": "<", "operator": "<", **dict.fromkeys((*BARS, "worst"), ">.1e")}).text(lines)


if __name__ == "__main__":
    sys.exit(main())
