"""One schedule, tried: verdicts of steps against enumeration, what was accepted against the
interpreter and the certificate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from random import Random
from time import process_time

import numpy as np

from texpr.compiler.op import Op, op
from texpr.compiler.pass_pipeline import certificate
from texpr.compiler.schedule import Schedule, schedule
from texpr.ir.expr import Call, Const, Div, Pow, Var
from texpr.ir.interpreter.arithmetic import load
from texpr.ir.interpreter.loop import ORDERS, interpret_kernel
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.loop import For, Kernel
from texpr.ir.loop_kind import SERIAL, UNROLLED
from texpr.ir.printing.loop import show_kernel
from texpr.ir.shapes import caller_shape, evaluate_size, flat_shape
from texpr.ir.tensor import Program
from texpr.ir.traverse import equal, walk
from texpr.ir.verifier.program import verify_kernel
from texpr.lang import parse_kernel
from texpr.passes.loop.place_buffers import place
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.passes.loop.tighten_bounds import narrow
from texpr.schedule.legality.refusal import Refused
from texpr.schedule.legality.replay import random_inputs
from texpr.schedule.script.script import Step
from texpr.schedule.structure.loops import all_loops
from texpr.support.errors import CallError, CompileError, Error, ResourceError, ScheduleError
from texpr.support.frozen_dataclass import replace
from texpr.support.options import options
from texpr.tools.fuzz.cases import Case, Choose
from texpr.tools.fuzz.instances import TooLarge
from texpr.tools.fuzz.judge import disagreement, races, unreal
from texpr.tools.fuzz.random_steps import constant_extents
from texpr.tools.fuzz.trial import SIDES, Finding, exception

STEP_SECONDS = 10.0
"""Processor time that a step may take."""
MOST_SIZES, MOST_RUNS = 8, 2
"""Sizes at which instances are enumerated, and at which a schedule is interpreted."""
_WITNESS = 9
"""Witnesses of larger sizes are not enumerated."""


@dataclass(slots=True)
class Report:
    """Outcome of a case.

    Attributes:
        case: what was tried; with all steps that were asked for, also those that were refused.
        counts: how often what happened.
    """

    case: Case
    finding: Finding | None = None
    counts: Counter[str] = field(default_factory=Counter)


class _Found(Exception):
    """Something that should not happen."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(kind)
        self.finding = Finding(kind, detail)


def examine(case: Case, choose: Choose, *, native: bool = False, alternatives: bool = False) -> Report:
    """Try a schedule.

    Args:
        case: the operator and its sizes.
        choose: the steps.
        native: also compile and run it, which may end or hang the process.
        alternatives: also ask every refusal for what would be legal, and try that.
    """
    report = Report(replace(case, steps=()))
    trial = _Trial(report, native, alternatives)
    try:
        trial.run(choose)
    except _Found as found:
        report.finding = found.finding
    except Exception as error:
        report.finding = exception(f"in {trial.doing}", error)
    return report


def compared(s: Schedule, counts: Counter[str]) -> Finding | None:
    """Compile a schedule, and compare what it computes with the interpreter, where arrays are
    small.
    """
    trial = _Trial(Report(Case(""), counts=counts), native=True, alternatives=False)
    trial.rng, trial.doing = Random(s.program.name), "native code"
    try:
        trial.compiled(s)
    except _Found as found:
        return found.finding
    except Exception as error:
        return exception(f"in {trial.doing}", error)
    return None


class _Trial:
    """A schedule while it is tried.

    Attributes:
        doing: the step or the check that runs.
        kernels: the kernel before and after every accepted step.
    """

    def __init__(self, report: Report, native: bool, alternatives: bool) -> None:
        self.report, self.native, self.alternatives = report, native, alternatives
        self.doing = "reading"
        self.kernels: list[tuple[str, Kernel]] = []

    def count(self, *what: str) -> None:
        self.report.counts[" | ".join(what)] += 1

    def run(self, choose: Choose) -> None:
        case = self.report.case
        self.count("programs")
        try:
            operator = op(case.text)
            s = schedule(operator, **dict(case.sizes))
        except Error as error:
            self.count("programs refused", error.code)
            return
        if any(isinstance(c, Const) and not c.value for c in s.kernel.requires):
            self.count("programs refused", "at every call")
            return
        self.rng = Random(case.text)
        self.kernels.append(("lowering", s.kernel))
        while (step := choose(s.kernel)) is not None:
            self.report.case = replace(self.report.case, steps=(*self.report.case.steps, step))
            self.step(s, step)
        self.doing = "the checks of the whole"
        self.whole(s, operator)

    # Steps.

    def step(self, s: Schedule, step: Step) -> None:
        self.doing = step.name
        self.count("steps")
        start, refusal = process_time(), None
        try:
            if self.alternatives:
                s.apply(step)
            else:
                s.kernel = step.apply(s.kernel)
                s.steps.append(step)
        except (ScheduleError, ResourceError) as error:
            refusal = error
        spent = process_time() - start
        if spent > STEP_SECONDS * (3 if self.alternatives else 1):
            raise _Found(f"{step.name} is slow", f"{spent:.1f} s of processor time")
        if spent > 1:
            self.count("steps over 1 s", step.name)
        if refusal is not None:
            self.refused(s, step, refusal)
            return
        self.count("accepted", step.name)
        verify_kernel(s.kernel)
        self.kernels.append((step.name, s.kernel))

    def refused(self, s: Schedule, step: Step, error: Error) -> None:
        words = str(error)
        words.encode("utf-8")
        assert error.message and "\x00" not in words, (
            "an error without words, or with characters that no terminal shows"
        )
        self.count("refused", step.name, error.code, _shape(error.message))
        if not isinstance(error, ScheduleError) or not isinstance(error.details, Refused):
            return
        details = error.details
        if not details.seen:
            self.count("witness", "said not to be certain")
            return
        if max(details.conflict.sizes.values(), default=0) > _WITNESS:
            self.count("witness", "too large to enumerate")
            return
        try:
            wrong = unreal(details)
        except TooLarge:
            self.count("witness", "too large to enumerate")
            return
        if wrong is not None:
            raise _Found(
                f"{step.name} is refused without reason: {wrong}", f"{words}\n\n{show_kernel(details.kernel)}"
            )
        self.count("witness", "real")
        if self.alternatives and details.after is not None:
            str(error.replay())
        if details.after is not None and not details.at_once:
            self.wrong(s, step, details.after)

    def wrong(self, s: Schedule, step: Step, after: Kernel) -> None:
        """A kernel that a step refused to make is not certified where it computes something
        else.
        """
        self.doing = f"the certificate of what {step.name} refused"
        differs = any(
            disagreement(s.naive, after, sizes, 0, self.loose(s), self.distributed(s))
            for sizes in self.sizes(s, after)
        )
        self.count("refused", "differs" if differs else "computes the same where it was run")
        if differs and self.rng.random() < 0.3:
            try:
                certificate(after, s.program, s.sizes)
            except ScheduleError:
                self.count("wrong kernels", "not certified")
            else:
                raise _Found(f"a wrong kernel is certified, made by {step.name}", show_kernel(after))

    # The whole schedule.

    def whole(self, s: Schedule, operator: Op) -> None:
        placed = narrow(drop_guards(place(s.kernel)))
        for k, sizes in enumerate(self.sizes(s, s.kernel)):
            for seed in (0, 1) if k < 3 else (1,):
                self.enumerated(s, placed, sizes, seed)
        self.doing = "the interpreter"
        for sizes in self.sizes(s, s.kernel)[:MOST_RUNS]:
            self.interpreted(s, sizes)
        self.doing = "replay"
        self.replayed(s, operator)
        self.doing = "the certificate"
        self.certified(s)
        if self.native:
            self.doing = "native code"
            self.compiled(s)

    def sizes(self, s: Schedule, kernel: Kernel) -> list[dict[Var, int]]:
        """Values for all sizes of the program: 0, 1, around the tiles, within the requirements."""
        tiles = {n for n in constant_extents(kernel) if n <= 6} | {
            n for step in s.steps for n in _numbers(step) if 1 < n <= 6
        }
        values = sorted({0, 1, 2, 3, *(n + d for n in tiles for d in (-1, 0, 1))})
        free = [v for v in s.program.sizes if v not in s.sizes]
        every = list(product(values, repeat=len(free)))
        chosen = (
            every
            if len(every) <= MOST_SIZES
            else [(1,) * len(free), (3,) * len(free), *self.rng.sample(every, MOST_SIZES - 2)]
        )
        found = [dict(s.sizes) | dict(zip(free, each)) for each in chosen]
        return [sizes for sizes in found if allowed(s.program, kernel, sizes)]

    def loose(self, s: Schedule) -> bool:
        return any(
            dict(step.options).get("reassoc") or step.name in ("reciprocal", "tf32") for step in s.steps
        )

    def distributed(self, s: Schedule) -> bool:
        return any(step.name in ("factor_out", "premultiply") for step in s.steps)

    def enumerated(self, s: Schedule, placed: Kernel, sizes: Mapping[Var, int], seed: int) -> None:
        self.doing = "enumeration"
        wrong = disagreement(s.naive, placed, sizes, seed, self.loose(s), self.distributed(s)) or races(
            s.kernel, placed, sizes, seed
        )
        self.count("sizes enumerated")
        if wrong is None:
            return
        name = next(name for name, kernel in self.kernels if self.is_wrong(s, kernel, sizes, seed))
        what = (
            "makes iterations meet"
            if "meet" in wrong
            else "reads or writes outside"
            if "access to" in wrong
            else "changes the answer"
        )
        raise _Found(
            f"{name} {what}",
            f"at {_shown(sizes)}: {wrong}\n\n{show_kernel(s.kernel)}\n\nplaced:\n{show_kernel(placed)}",
        )

    def is_wrong(self, s: Schedule, kernel: Kernel, sizes: Mapping[Var, int], seed: int) -> bool:
        each = narrow(drop_guards(place(kernel)))
        return bool(
            disagreement(s.naive, each, sizes, seed, self.loose(s), self.distributed(s))
            or races(kernel, each, sizes, seed)
        )

    def interpreted(self, s: Schedule, sizes: Mapping[Var, int]) -> None:
        """Bit for bit in every order that loops which run at once may have."""
        arrays = self.arrays(s, sizes)
        expected = interpret(s.program, arrays)
        at_once = any(isinstance(n, For) and n.kind not in (SERIAL, UNROLLED) for n in all_loops(s.kernel))
        left = {v.name: n for v, n in sizes.items() if v in s.kernel.sizes}
        for order in ORDERS if at_once else ORDERS[:1]:
            self.count("interpreted")
            flat = [a.reshape(flat_shape(t, sizes)) for t, a in zip(s.program.inputs, arrays)]
            found = interpret_kernel(s.kernel, flat, left, order)
            for tensor, a, b in zip(s.program.outputs, found, expected, strict=True):
                if not same(a, b.reshape(a.shape), tensor.dtype, exact=not self.loose(s)):
                    raise _Found(
                        "the interpreter of loops disagrees",
                        f"at {_shown(sizes)}, order {order}: "
                        f"{tensor.name}\n{a}\n{b}\n\n{show_kernel(s.kernel)}",
                    )

    def arrays(self, s: Schedule, sizes: Mapping[Var, int]) -> list[np.ndarray]:
        """Inputs whose float sums depend on their order; small whole numbers where the order was
        given up.
        """
        arrays = list(random_inputs(s.program, sizes, self.rng.randrange(1 << 16)))
        if self.loose(s):
            generator = np.random.default_rng(0)
            arrays = [
                generator.choice([-2, -1, 1, 2], a.shape).astype(a.dtype) if a.dtype.kind == "f" else a
                for a in arrays
            ]
        packs = {
            v: _pack_shape(d.length, sizes[v])
            for t in s.program.inputs
            for d in t.dims
            if d.pack
            for v in d.sizes
            if isinstance(v, Var)
        }
        return [a.reshape(caller_shape(t, sizes, packs)) for t, a in zip(s.program.inputs, arrays)]

    def replayed(self, s: Schedule, operator: Op) -> None:
        listing = show_kernel(s.kernel)
        if not equal(parse_kernel(listing), s.kernel):
            raise _Found("a listing reads back as something else", listing)
        if self.rng.random() > 0.3:
            return
        for format in ("text", "json"):
            script = s.script(format)
            again = schedule(operator, **dict(self.report.case.sizes)).replay(script)
            if show_kernel(again.kernel) != listing or again.steps != s.steps:
                raise _Found(
                    f"a script as {format} replays as something else",
                    f"{script}\n\n{listing}\n\n{show_kernel(again.kernel)}",
                )
            self.count("replayed")

    def certified(self, s: Schedule) -> None:
        start = process_time()
        try:
            certificate(s.kernel, s.program, s.sizes)
        except ScheduleError as error:
            self.count("certificate refused", error.label, _shape(error.message))
        else:
            self.count("certified")
        if (spent := process_time() - start) > STEP_SECONDS:
            self.count("certificate slow", f"over {STEP_SECONDS:g} s")
            if spent > 3 * STEP_SECONDS:
                raise _Found("a certificate is slow", f"{spent:.1f} s of processor time")

    def compiled(self, s: Schedule) -> None:
        kernel = s.compile()
        for sizes in self.sizes(s, s.kernel)[:4]:
            arrays = self.arrays(s, sizes)
            expected = interpret(s.program, arrays)
            try:
                with options(guard=SIDES[self.report.counts["compiled and run"] % 2]):
                    found = kernel(*arrays)
            except CompileError as error:
                self.count("not compiled", error.code)
                return
            except CallError as error:
                self.count("not called", error.code)
                continue
            self.count("compiled and run")
            exact = not (self.loose(s) or s.kernel.fma or _rounds(s.program))
            for tensor, a, b in zip(
                s.program.outputs, found if isinstance(found, tuple) else (found,), expected, strict=True
            ):
                if not same(np.asarray(a).reshape(b.shape), b, tensor.dtype, exact):
                    raise _Found(
                        "native code disagrees",
                        f"at {_shown(sizes)}: {tensor.name}\n{a}\n{b}\n\n{show_kernel(s.kernel)}",
                    )


def _shown(sizes: Mapping[Var, int]) -> str:
    return ", ".join(f"{v.name}={n}" for v, n in sizes.items())


def allowed(program: Program, kernel: Kernel, sizes: Mapping[Var, int]) -> bool:
    """True if a program can be called with these sizes, its requirements met, with small arrays."""
    by_name = {v.name: n for v, n in sizes.items()}
    inside = dict(sizes) | {v: by_name[v.name] for v in kernel.sizes}
    try:
        if not all(evaluate_size(c, inside) for c in (*program.requires, *kernel.requires)):
            return False
        shapes = [flat_shape(t, inside) for t in (*program.inputs, *program.outputs)]
        ranges = [
            [evaluate_size(e, inside) for e in t.value_range]
            for t in program.inputs
            if t.value_range is not None
        ]
    except CallError:
        return False
    if any(
        d.length == 0 and evaluate_size(d.sizes[0], inside) != 1
        for t in program.inputs
        for d in t.dims
        if d.pack
    ):
        return False
    full = all(low < high for low, high in ranges) or all(
        0 in flat_shape(t, inside) for t in program.inputs if t.value_range is not None
    )
    enough = all(
        flat_shape(t, inside)[-1] <= evaluate_size(t.value_range[1], inside)
        for t in program.inputs
        if t.distinct and t.value_range is not None and t.rank
    )
    return (
        full
        and enough
        and all(min(shape, default=0) >= 0 and np.prod(shape, dtype=float) <= 4096 for shape in shapes)
    )


def _pack_shape(length: int | None, elements: int) -> tuple[int, ...]:
    """A shape of so many dimensions, one if it does not matter, with so many elements."""
    return () if length == 0 else (elements,) + (1,) * ((length or 1) - 1)


def _numbers(step: Step) -> Iterator[int]:
    for value in (*step.args, *(v for _, v in step.options)):
        yield from (
            n
            for n in (value if isinstance(value, tuple) else (value,))
            if isinstance(n, int) and not isinstance(n, bool)
        )


def _rounds(program: Program) -> bool:
    """The program uses what native code may round otherwise than the interpreter."""
    return any(
        isinstance(n, Div | Pow)
        or isinstance(n, Call)
        and n.function not in ("abs", "sqrt", "sign", "floor", "rint")
        for n in walk(program)
    )


def same(found: np.ndarray, expected: np.ndarray, dtype, exact: bool) -> bool:  # noqa: ANN001
    """Equal bits, any NaN being equal to any NaN; or equal within 1 % of the largest number."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return False
    if not dtype.is_float:
        return bool(np.array_equal(found, expected))
    a, b = load(found, dtype), load(expected, dtype)
    nan = np.isnan(a) & np.isnan(b)
    if exact:
        return bool(np.all(nan | (a == b) & (np.signbit(a) == np.signbit(b))))
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        largest = float(np.max(np.abs(b[finite]), initial=1.0))
        return bool(np.all(nan | (a == b) | finite & (np.abs(a - b) <= 0.01 * largest) | ~np.isfinite(b)))


def _shape(message: str) -> str:
    """A message without names and numbers."""
    return re.sub(
        r"`[^`]*`|'[^']*'|\"[^\"]*\"|\b[A-Za-z]+\w*_\w+\b|\b[XYZtp]\d*\b(\[[^\]]*\])*|-?\d[\d^.]*",
        "_",
        message,
    )[:120]
