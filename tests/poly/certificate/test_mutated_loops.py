"""Every small change of final loops: what is proven of a changed kernel is so when it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

import texpr as tx
from tests.poly.certificate.changes import (
    changed_extent,
    dropped_condition,
    instance,
    marked,
    removed,
    reversed_loop,
    shifted_index,
    swapped,
    value,
    without,
)
from tests.poly.certificate.exactly import Wrong, outputs
from tests.poly.certificate.final_loops import KERNELS as SIMPLE
from tests.poly.certificate.final_loops import REUSED
from tests.poly.certificate.test_against_execution import refusal
from texpr.compiler.pass_pipeline import ready
from texpr.ir.dtypes import BOOL, numpy_dtype
from texpr.ir.loop import Barrier, Kernel
from texpr.ir.printing.loop import full_listing
from texpr.ir.shapes import evaluate_size, flat_shape
from texpr.ir.traverse import walk
from texpr.lang import parse_kernel

KERNELS = SIMPLE | REUSED
SIZES = [
    dict(zip("MNKVDB", each))
    for each in ((9, 4, 2, 3, 2, 5), (1, 1, 1, 1, 1, 1), (3, 11, 3, 5, 1, 2), (0, 0, 0, 0, 0, 0))
]
MOST = 40
"""Places of one kind that are changed."""
CHANGES = [
    shifted_index,
    changed_extent,
    dropped_condition,
    marked,
    swapped,
    removed,
    reversed_loop,
    without,
    instance,
    value,
]


def changed(kernel: Kernel) -> Iterator[tuple[str, str, Kernel]]:
    """Every change of a kernel once, of which kind it is, and what it is called."""
    seen = {full_listing(kernel)}
    for change in CHANGES:
        for by in (1, -1):
            for number in range(MOST):
                new = change(kernel, number, by)
                text = full_listing(new)
                if text in seen:
                    continue
                seen.add(text)
                yield change.__name__, difference(full_listing(kernel), text), new


def difference(before: str, after: str) -> str:
    """The lines that are not in the other text."""
    old, new = before.splitlines(), after.splitlines()
    gone, made = (
        [line.strip() for line in old if line not in new],
        [line.strip() for line in new if line not in old],
    )
    return f"{' | '.join(gone) or 'lines'} -> {' | '.join(made) or 'moved'}"


@cache
def arrays(name: str, k: int) -> list[np.ndarray]:
    random = np.random.default_rng(k)
    program = tx.op(KERNELS[name].op).program()
    sizes = {v: SIZES[k][v.name] for v in program.sizes}
    made = []
    for t in program.inputs:
        high = (
            evaluate_size(t.value_range[1], sizes)
            if t.value_range is not None
            else 2
            if t.dtype == BOOL
            else 50
        )
        low = 0 if t.value_range is not None or t.dtype == BOOL else -50
        made.append(random.integers(low, max(high, low + 1), flat_shape(t, sizes)).astype(np.int64))
        if t.distinct:
            made[-1] = random.permuted(
                np.broadcast_to(np.arange(made[-1].shape[-1]), made[-1].shape), axis=-1
            )
        elif t.value_range is not None:
            made[-1].flat[-2:] = max(high - 1, 0)  # where what is left out at the end of a range is missed
    return made


@cache
def expected(name: str, k: int) -> np.ndarray:
    op = tx.op(KERNELS[name].op)
    given = [a.astype(numpy_dtype(t.dtype)) for a, t in zip(arrays(name, k), op.program().inputs)]
    return np.asarray(tx.interpret(op, *given))


def problem(name: str, kernel: Kernel) -> str:
    """What is wrong with loops at some sizes."""
    for k, sizes in enumerate(SIZES):
        given = {t.name: a for t, a in zip(kernel.inputs, arrays(name, k))}
        try:
            (found,) = outputs(kernel, given, {v: sizes[v.name] for v in kernel.sizes})
        except Wrong as e:
            return str(e)
        if not np.array_equal(found, expected(name, k)):
            return "another result"
    return ""


RUN = [
    name
    for name, k in KERNELS.items()
    if not any(isinstance(n, Barrier) for n in walk(parse_kernel(k.loops))) and "inf" not in k.loops
]


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_proven_is_so(name: str, golden):
    """And how many changes of each kind are proven, or refused for which obligation."""
    kernel, program = parse_kernel(KERNELS[name].loops), ready(tx.op(KERNELS[name].op).program())
    said: dict[str, Counter[str]] = {}
    for kind, what, new in changed(kernel):
        refused = refusal(new, program)
        said.setdefault(kind, Counter())[refused.partition(":")[0] or "proven"] += 1
        if not refused and name in RUN:
            wrong = problem(name, new)
            assert not wrong, f"proven, but {wrong}: {what}\n{full_listing(new)}"
    golden(
        "\n".join(
            f"{kind}: {', '.join(f'{n} {label}' for label, n in sorted(found.items()))}"
            for kind, found in said.items()
        )
    )
