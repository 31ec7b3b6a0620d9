"""What texpr says of a schedule, short enough to be recorded: of every step, of the loops in the
end, and of loops with a fault.

    lowered 5f0c2a11                the listing of the naive nest, as a digest
    split 09ab77f3                  a step that was accepted, and the listing after it
    order reorder: ... at N=2       a step that was refused
    after: values 77ab1200          the certificate refuses the kernel that a refused step would have made
    proven bit-exact                the certificate of the final loops
    shifted_index(3, 1): bounds ..  what the certificate says of them with a fault

The work is counted as well, in calls that do not depend on the machine or on isl's version.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tests.poly.certificate.changes import CHANGES
from tests.poly.certificate.final_loops import KERNELS as SIMPLE
from tests.poly.certificate.final_loops import REUSED
from texpr.compiler.op import op
from texpr.compiler.pass_pipeline import ready
from texpr.compiler.schedule import Schedule, schedule
from texpr.ir.loop import Kernel
from texpr.ir.printing.loop import full_listing
from texpr.ir.tensor import Program
from texpr.lang import parse_kernel
from texpr.passes import specialize
from texpr.passes.loop.place_buffers import place
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.passes.loop.tighten_bounds import narrow
from texpr.poly.certificate import certify
from texpr.poly.certificate.engine import isl_frame as frame
from texpr.poly.certificate.engine import obligations as proof
from texpr.poly.constraints import solver
from texpr.schedule.legality.refusal import Refused
from texpr.support.errors import Error, ResourceError, ScheduleError
from texpr.support.options import options
from texpr.tools.fuzz.cases import Case, parse_case

Fault = tuple[str, int, int]
"""A change of `tests.poly.certificate.changes`, which of the places, and by how much."""
KERNELS = SIMPLE | REUSED
LOOPS = "loops "
"""A case that begins so is a kernel of `tests.poly.certificate.final_loops`, by name."""
FAULTS = {change.__name__: change for change in CHANGES}
COUNTED = (
    (solver.System, "__init__"),
    (solver, "_basic_set"),
    (solver.Region, "__init__"),
    (frame.Frame, "holds"),
    (proof.Context, "__init__"),
)
"""Questions that the legality code asks, those that isl is asked, sets, and the same of the
certificate.
"""


@dataclass(frozen=True, slots=True)
class Record:
    """A case, faults for its final loops, what is said of them, and at most how many calls of
    each kind of `COUNTED` that takes.
    """

    case: str
    faults: tuple[Fault, ...] = ()
    says: tuple[str, ...] = ()
    work: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """What is asked, without what is said."""
        return json.dumps([self.case, self.faults])

    def differs(self, old: Record) -> bool:
        """Something else is said, or takes more work."""
        return self.says != old.says or any(now > most for now, most in zip(self.work, old.work))

    def line(self) -> str:
        return json.dumps({"case": self.case, "faults": self.faults, "says": self.says, "work": self.work})


def read(line: str) -> Record:
    """A line of a file of records."""
    held = json.loads(line)
    return Record(
        held["case"],
        tuple((n, k, by) for n, k, by in held["faults"]),
        tuple(held["says"]),
        tuple(held["work"]),
    )


def recorded(case: str, faults: Sequence[Fault]) -> Record:
    """The record of a case as it is now."""
    forget()
    with options(cache_dir=None), counted() as calls:  # the disk knows what other processes proved
        says = tuple(said(case, faults))
    return Record(case, tuple(faults), says, tuple(calls))


def forget() -> None:
    """Forget what other cases made known: the work of this one would depend on them."""
    for name, module in list(sys.modules.items()):
        for value in vars(module).values() if name.startswith("texpr.") else ():
            if isinstance(value, OrderedDict):
                value.clear()


@contextmanager
def counted() -> Iterator[list[int]]:
    """Counts calls of `COUNTED`."""
    calls = [0] * len(COUNTED)

    def counting(k: int, function):  # noqa: ANN001, ANN202
        def call(*args, **options):  # noqa: ANN002, ANN003, ANN202
            calls[k] += 1
            return function(*args, **options)

        return call

    patches = [
        patch.object(owner, name, counting(k, getattr(owner, name)))
        for k, (owner, name) in enumerate(COUNTED)
    ]
    for p in patches:
        p.start()
    try:
        yield calls
    finally:
        for p in patches:
            p.stop()


def said(case: str, faults: Sequence[Fault]) -> Iterator[str]:
    """What is said of a case, line by line."""
    if case.startswith(LOOPS):
        given = KERNELS[case.removeprefix(LOOPS)]
        yield from certified(parse_kernel(given.loops), ready(op(given.op).program()), faults)
    else:
        yield from scheduled(parse_case(case), faults)


def scheduled(case: Case, faults: Sequence[Fault]) -> Iterator[str]:
    """What is said of an operator, of steps, and of the loops in the end."""
    try:
        s = schedule(op(case.text), **dict(case.sizes))
        listing = full_listing(s.kernel)
    except Error as error:
        yield refusal(error)
        return
    yield f"lowered {digest(listing)}"
    for step in case.steps:
        try:
            s.kernel = step.apply(s.kernel)
        except (ScheduleError, ResourceError) as error:
            yield refusal(error)
            yield from (f"after: {proven(final(kernel), program_of(s))}" for kernel in made(error))
        else:
            yield f"{step.name} {digest(full_listing(s.kernel))}"
    yield from certified(final(s.kernel), program_of(s), faults)


def certified(loops: Kernel, program: Program, faults: Sequence[Fault]) -> Iterator[str]:
    """What the certificate says of loops; with each of the faults, if there are any."""
    if not faults:
        yield proven(loops, program)
    for name, number, by in faults:
        yield f"{name}({number}, {by}): {proven(FAULTS[name](loops, number, by), program)}"


def made(error: Error) -> list[Kernel]:
    """The kernel that a refused step would have made, where the order of its iterations is what
    is wrong with it.
    """
    details = error.details if isinstance(error, ScheduleError) else None
    return (
        [details.after]
        if isinstance(details, Refused) and details.after is not None and not details.at_once
        else []
    )


def final(kernel: Kernel) -> Kernel:
    """The loops as the certificate sees them."""
    return narrow(drop_guards(place(kernel)))


def program_of(s: Schedule) -> Program:
    """What the loops of a schedule have to compute."""
    return ready(specialize(s.program, s.sizes))


def proven(loops: Kernel, program: Program) -> str:
    """What the certificate says of loops."""
    try:
        return f"proven {certify(loops, program).rounding}"
    except ScheduleError as error:
        return refusal(error)


def refusal(error: Error) -> str:
    """Which refusal it is, with the smallest example."""
    words = "\n".join([error.message, error.label, *error.notes])
    witness = dict(error.witness) if isinstance(error, ScheduleError) and error.witness else {}
    found = {**witness.get("sizes", witness), **witness.get("instance", {})}
    sizes = " ".join(f"{k}={v}" for k, v in found.items() if isinstance(v, int))
    return " ".join(
        filter(None, [error.code, error.label if error.code == "certificate" else "", sizes, digest(words)])
    )


def digest(text: str) -> str:
    """A few characters that differ where texts do."""
    return hashlib.blake2s(text.encode(), digest_size=4).hexdigest()


RECORDS = Path(__file__).parent / "records.jsonl"


def listed() -> list[Record]:
    """What is recorded."""
    return [read(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]
