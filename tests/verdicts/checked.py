"""Whether what is said of a case is right: by enumeration of all instances and by the
interpreter, at small sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from random import Random

from tests.verdicts.verdict import FAULTS, KERNELS, LOOPS, Record, final, made, proven
from texpr.compiler.op import op
from texpr.compiler.pass_pipeline import lowered, ready
from texpr.compiler.schedule import schedule
from texpr.ir.expr import Var
from texpr.ir.loop import Barrier, Kernel
from texpr.ir.tensor import Program
from texpr.ir.traverse import walk
from texpr.lang import parse_kernel
from texpr.passes import specialize
from texpr.support.errors import Error
from texpr.tools.fuzz.cases import Case, parse_case
from texpr.tools.fuzz.judge import disagreement, races
from texpr.tools.fuzz.schedule_trial import allowed, examine

VALUES = (0, 1, 2, 3, 5, 9)
"""Sizes that are tried."""
MOST = 10
"""Combinations of them."""


def problem(record: Record) -> str:
    """What is wrong with a record; nothing if what it says is right. What calls outside code
    cannot be enumerated, and is not checked.
    """
    if record.case.startswith(LOOPS):
        given = KERNELS[record.case.removeprefix(LOOPS)]
        program = op(given.op).program()
        return _unsound(ready(program), lowered(program), parse_kernel(given.loops), record, {})
    case = parse_case(record.case)
    if "extern op" in case.text:
        return ""
    finding = examine(case, case.chooser()).finding
    return f"{finding.kind}: {finding.detail}" if finding is not None else _scheduled(case, record)


def _scheduled(case: Case, record: Record) -> str:
    """What the certificate says of kernels that refused steps would have made, and of the final
    loops with faults.
    """
    try:
        s = schedule(op(case.text), **dict(case.sizes))
        naive = s.naive
    except Error:
        return ""
    program = ready(specialize(s.program, s.sizes))
    for step in case.steps:
        try:
            s.kernel = step.apply(s.kernel)
        except Error as error:
            for kernel in made(error):
                if wrong := _wrongly_proven(program, naive, final(kernel), s.sizes):
                    return f"after {step}: {wrong}"
    return _unsound(program, naive, final(s.kernel), record, s.sizes)


def _unsound(program: Program, naive: Kernel, loops: Kernel, record: Record, sizes: Mapping[Var, int]) -> str:
    for name, number, by in record.faults:
        if wrong := _wrongly_proven(program, naive, FAULTS[name](loops, number, by), sizes):
            return f"{name}({number}, {by}): {wrong}"
    return ""


def _wrongly_proven(program: Program, naive: Kernel, loops: Kernel, fixed: Mapping[Var, int]) -> str:
    """How loops fail that are proven; loops with barriers are not enumerated."""
    said = proven(loops, program)
    if not said.startswith("proven") or any(isinstance(n, Barrier) for n in walk(loops)):
        return ""
    for sizes in _sizes(program, loops, fixed):
        for seed in (0, 1):
            wrong = disagreement(naive, loops, sizes, seed, "reassociated" in said) or races(
                loops, loops, sizes, seed
            )
            if wrong is not None:
                return (
                    f"{said}, but at {', '.join(sorted({f'{v.name}={n}' for v, n in sizes.items()}))} {wrong}"
                )
    return ""


def _sizes(program: Program, kernel: Kernel, fixed: Mapping[Var, int]) -> Iterator[dict[Var, int]]:
    free = [v for v in program.sizes if v not in fixed]
    every = list(product(VALUES, repeat=len(free)))
    for each in every if len(every) <= MOST else Random(0).sample(every, MOST):
        sizes = dict(fixed) | dict(zip(free, each))
        if allowed(program, kernel, sizes):
            named = {v.name: n for v, n in sizes.items()}
            yield sizes | {v: named[v.name] for v in kernel.sizes}
