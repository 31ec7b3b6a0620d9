"""Mutation testing of emission: does a wrong load or store end the process beside a page that
cannot be touched, or give other numbers?

    python scripts/mutate_emission.py [--limit N] [--seed S] [--kinds KIND ...] [--targets NAME ...]
    [--listed]

`emission_mutants.py` says what is changed: the LLVM IR of kernels of a corpus, hand-written loops
with conditions on lanes and operators with their default schedules. A mutant is killed if its
process dies, or if results are not the interpreter's, with arrays on both sides of such a page.
`tests/emission_mutants.txt` explains survivors that are right to.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from emission_mutants import KINDS, Mutant, mutants

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import texpr as tx  # noqa: E402
from tests import guarded  # noqa: E402
from tests.targets.emit.test_active_lanes import LOOPS, SIZES, text_of  # noqa: E402
from texpr.compiler.pass_pipeline import prepared  # noqa: E402
from texpr.ir.expr import Var  # noqa: E402
from texpr.ir.interpreter.loop import interpret_kernel  # noqa: E402
from texpr.ir.interpreter.tensor import interpret  # noqa: E402
from texpr.ir.loop import Kernel  # noqa: E402
from texpr.lang import parse_kernel  # noqa: E402
from texpr.runtime.native.loader import load  # noqa: E402
from texpr.targets import emit_llvm, find_target, native_object, symbol_of  # noqa: E402

LISTED = ROOT / "tests" / "emission_mutants.txt"
OPERATORS = {
    "product": (
        "op f(A: i32[N, K], B: i32[K, M]) -> C: i32[N, M] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
        ("N", "K", "M"),
    ),
    "window": (
        "op f(X: i32[N, M], F: i32[3, 3]) -> Y: i32[N, M] { Y[i, j] = sum(r, s: X[i + r - 1, j + s - 1 | 0] "
        "* F[r, s]) }",
        ("N", "M"),
    ),
    "gather": (
        "op f(E: f32[V, D], k: i32[B] in 0..V) -> Y: f32[B, D] { Y[b, d] = E[k[b], d] }",
        ("V", "D", "B"),
    ),
    "shift": ("op f(x: f32[N]) -> y: f32[N] { y[i] = if i > 0 then x[i - 1] + x[i] else x[i] }", ("N",)),
    "reversed": ("op f(x: f32[N]) -> y: f32[N] { y[i] = x[N - 1 - i] }", ("N",)),
    "pairs": ("op f(x: f32[N, 2]) -> y: f32[N] { y[i] = x[i, 0] - x[i, 1] }", ("N",)),
    "rows": ("op f(X: i32[N, M]) -> y: i32[N] { y[i] = max(j: -abs(X[i, j])) }", ("N", "M")),
    "triangle": (
        "op f(L: i32[N, N], b: i32[N]) -> y: i32[N] { y[i] = sum(j in 0..i + 1: L[i, j] * b[j]) }",
        ("N",),
    ),
}
NUMBERS = ((1, 1, 1), (3, 5, 7), (8, 8, 8), (16, 16, 16), (19, 13, 21), (32, 32, 32))
"""Sizes: some at which the last run of an array ends where the array does."""
EVEN = " of constant sizes"
"""Kernels of the corpus whose arrays are multiples of 64 bytes, so that all of their runs are as
aligned as can be said.
"""
LARGEST = 1000
"""Of inputs of operators: numbers that are seldom alike, so that one which is missing is missed."""
SEEDS = 6
"""Of inputs of hand-written loops: an element that should not be there is not the largest each
time.
"""
SECONDS = 20

Runs = Sequence[tuple[Mapping[Var, int], Sequence[np.ndarray], Sequence[np.ndarray]]]


@dataclass(frozen=True)
class Case:
    """A kernel of the corpus; its sizes, inputs and the right outputs, for each run."""

    kernel: Kernel
    runs: Runs


def hand_written() -> Iterator[tuple[str, Case]]:
    """Loops with conditions on lanes."""
    for name in LOOPS:
        kernel = parse_kernel(text_of(name))
        runs = [_run_of_loops(kernel, sizes, seed) for sizes in SIZES for seed in range(SEEDS)]
        yield name, Case(kernel, [run for run in runs if run is not None])


def _run_of_loops(kernel: Kernel, sizes: Mapping[str, int], seed: int) -> tuple | None:
    """A run of hand-written loops; None where these numbers lead outside of arrays."""
    try:
        return _run(kernel, sizes, lambda values, given: interpret_kernel(kernel, given, values), seed=seed)
    except AssertionError:
        return None


def corpus() -> Iterator[tuple[str, Case]]:
    """Hand-written loops, then operators for symbolic sizes and for the last of the numbers."""
    yield from hand_written()
    for name, (text, sizes) in OPERATORS.items():
        operator = tx.op(text)
        every = [dict(zip(sizes, numbers)) for numbers in NUMBERS]
        for kind, constant, some in (("", {}, every), (EVEN, every[-1], every[-1:])):
            s = tx.schedule(operator, **constant).auto()
            runs = [
                _run(s.kernel, sizes, lambda _, given, p=s.program: interpret(p, given), LARGEST)
                for sizes in some
            ]
            yield name + kind, Case(s.kernel, runs)


def text_of_kernel(kernel: Kernel, target: str) -> str:
    """What is emitted of a kernel."""
    machine = find_target(target)
    return emit_llvm(prepared(kernel, machine), machine)[0]


def _run(
    kernel: Kernel,
    sizes: Mapping[str, int],
    meaning: Callable[..., Sequence[np.ndarray]],
    most: int = 4,
    seed: int = 0,
) -> tuple:
    values = {v: sizes[v.name] for v in kernel.sizes}
    given = guarded.inputs_of(kernel, values, seed, most)
    return values, given, meaning(values, given)


def survives(case: Case, name: str, text: str) -> bool:
    """Whether a kernel's text, in a process of its own, gives what the interpreter says."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            os._exit(0 if agrees(case, name, text) else 1)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def agrees(case: Case, name: str, text: str) -> bool:
    """Whether results are the interpreter's, at all sizes, on both sides."""
    target = find_target(name)
    with native_object(text, target) as made:
        entry = load(made(), symbol_of(case.kernel.name))
    for values, given, expected in case.runs:
        for side in guarded.SIDES:
            with tx.options(guard=side):
                found = guarded.call_loops(entry, case.kernel, given, values)
            if not all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True)):
                return False
    return True


def listed(text: str) -> dict[str, str]:
    """Survivors that are explained: their keys, each with the reason on the line below it."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {key: reason.strip() for key, reason in zip(lines[::2], lines[1::2], strict=True)}


def main() -> int:
    """Run mutants; print those that survive without an explanation, and the share of each kind
    that was killed.
    """
    arguments = _arguments()
    explained = listed(LISTED.read_text(encoding="utf-8"))
    cases: dict[str, tuple[Case, str, str]] = {}
    found: list[Mutant] = []
    tx.options(guard="end", threads=1, cache_dir=None)
    for target in arguments.targets:
        for name, case in corpus():
            text = text_of_kernel(case.kernel, target)
            key = f"{name} for {target}"
            if not survives(case, target, text):
                raise SystemExit(f"{key} is wrong before it is changed")
            cases[key] = case, target, text
            found += (
                m
                for m in mutants(key, text)
                if m.kind in arguments.kinds and not (m.kind == "alignment" and EVEN in name)
            )
    chosen = (
        [m for m in found if m.key in explained]
        if arguments.listed
        else random.Random(arguments.seed).sample(found, min(arguments.limit or len(found), len(found)))
    )
    survivors: list[Mutant] = []
    for m in chosen:
        case, target, text = cases[m.kernel]
        if survives(case, target, m.applied(text)):
            survivors.append(m)
            print(f"{'explained' if m.key in explained else 'survived'}: {m.key}", flush=True)
    return report(chosen, survivors, explained, len(found))


def report(
    chosen: Sequence[Mutant], survivors: Sequence[Mutant], explained: Mapping[str, str], every: int
) -> int:
    """Print the share of each kind that was killed; 1 if fewer than 95 % of those that are not
    explained were.
    """
    total, lived = (
        Counter(m.kind for m in chosen),
        Counter(m.kind for m in survivors if m.key not in explained),
    )
    for kind in KINDS:
        print(f"{kind:14}{total[kind] - lived[kind]:>6} of {total[kind]}")
    asked = [m for m in chosen if m.key not in explained]
    killed = len(asked) - sum(lived.values())
    share = killed / len(asked) if asked else 1.0
    print(
        f"killed {killed} of {len(asked)} ({share:.1%}); {len(chosen) - len(asked)} explained; {every} in all"
    )
    return int(share < 0.95)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--limit", type=int, default=200, help="how many mutants, drawn at random; 0 for all (default: 200)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--kinds", nargs="*", default=KINDS, choices=KINDS, help="what is changed (default: everything)"
    )
    parser.add_argument(
        "--targets",
        nargs="*",
        default=["x86-64-v3"],
        help="whose code this processor runs (default: x86-64-v3)",
    )
    parser.add_argument("--listed", action="store_true", help="run the explained survivors alone")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
