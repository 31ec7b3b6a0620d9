"""tract's loop: a fragment for each step of an axis, which hands its states to the next one. It is
unrolled.
"""

from __future__ import annotations

from typing import Any

from texpr import ops
from texpr.nnef.operation_table import Operation, operation

MOST_STEPS = 4096


@operation("tract_core_scan", raw=True)
def _scan(
    about: Operation, body: str, scan: Any, full: Any, state: Any, output: Any, skip: int,
    reset_every_turn: bool,
) -> Any:  # fmt: skip
    if skip != 0 or reset_every_turn or not scan:
        raise about.refuse("only loops from the first step on, over one axis at least, are read")
    inputs = [
        (name, about.tensor(x), about.axis(axis, about.tensor(x).ndim), pace) for name, x, axis, pace in scan
    ]
    counts = {x.shape[axis] // abs(pace) for _, x, axis, pace in inputs if pace and x.shape[axis] % pace == 0}
    if len(counts) != 1 or len({p for *_, p in inputs}) != 1 or not 0 < min(counts) <= MOST_STEPS:
        parts = ", ".join(f"`{name}` of {x.shape[axis]} by {pace}" for name, x, axis, pace in inputs)
        raise about.refuse(f"{parts}: 1 to {MOST_STEPS} steps are read, as many and of one size for all")
    steps = counts.pop()
    names = [r.name for r in about.evaluation.named(body).results]
    states = {name: about.tensor(first) for name, first, _ in state}
    found: dict[str, list[Any]] = {name: [] for name in names}
    for k in range(steps):
        parts = {name: _part(x, axis, pace, k, steps) for name, x, axis, pace in inputs}
        given = {**parts, **{name: about.tensor(x) for name, x in full}, **states}
        results = about.evaluation.run(body, given)
        for name, value in zip(names, results):
            found[name].append(about.tensor(value))
        states = {name: found[result][-1] for name, _, result in state}
    return [_result(about, found, *asked) for asked in output]


def _part(x: Any, axis: int, pace: int, k: int, steps: int) -> Any:
    at = k if pace > 0 else steps - 1 - k
    return x[(*[slice(None)] * axis, slice(at * abs(pace), (at + 1) * abs(pace)))]


def _result(about: Operation, found: dict[str, list[Any]], name: str, kind: str, axis: int, pace: int) -> Any:
    about.word("an output", kind, "full", "last")
    if name not in found:
        raise about.refuse(f"its body never computes `{name}`")
    values = found[name]
    if kind == "last":
        return values[-1]
    ordered = values if pace > 0 else values[::-1]
    return ordered[0] if len(ordered) == 1 else ops.concat(ordered, axis=about.axis(axis, ordered[0].ndim))
