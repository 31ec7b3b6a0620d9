"""`tx.schedule`: an operator's loop nest, changed step by step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from functools import cache
from typing import Self

from texpr.autoschedule.derivatives.derive import Derivation, derive
from texpr.autoschedule.driver import Choice, choose
from texpr.compiler.applied_steps import Steps
from texpr.compiler.fallback import DefaultSchedule
from texpr.compiler.html import Pane, equations_html, fragment, stages_html
from texpr.compiler.kernel_cache import machine_text
from texpr.compiler.kernels.compiled_kernel import CompiledKernel
from texpr.compiler.operator_signature import split_options
from texpr.compiler.pass_pipeline import certificate, lowered, ready
from texpr.compiler.permitted_target import permitted_target
from texpr.compiler.smaller_replay import replay_at_smaller_sizes
from texpr.ir.expr import Var
from texpr.ir.loop import Kernel, Store
from texpr.ir.machine import Machine
from texpr.ir.printing.loop import show_kernel
from texpr.ir.tensor import Program
from texpr.ir.traverse import mentions, statements
from texpr.passes import specialize
from texpr.poly.certificate import Certificate
from texpr.schedule import explain
from texpr.schedule.legality.presumption import presumed
from texpr.schedule.script.json_format import from_json, to_json
from texpr.schedule.script.script import Step, parse_script
from texpr.support.elsewhere import SCHEDULE
from texpr.support.errors import CallError, ScheduleError
from texpr.support.instrumentation import timed
from texpr.support.suggest import suggests
from texpr.support.tracebacks import boundary
from texpr.targets import Target, find_target


@boundary
def schedule(op, **options: object) -> Schedule:
    """Naive loop nest of an operator, to be scheduled.

    Args:
        options: sizes (the others stay symbolic), constants of the operator, dtype variables
            (`T="f64"`; f32 or i32 otherwise), and optional inputs that the kernel shall not have
            (`bias=None`).
    Raises:
        CallError: not an operator, or a name that it does not have.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> print(tx.schedule(dot))
        kernel dot(A: f32[N], B: f32[N]) -> (C: f32)
          let C_acc: f32
          C_acc = 0.0  start
          for C.k in 0..N  # in order: accumulates into C_acc
            C_acc += A[k] * B[k]
          C = C_acc
    """
    if not hasattr(op, "signature"):
        raise CallError(
            f"schedule takes an operator, not {type(op).__name__}",
            code="arguments",
            help='tx.op("...") makes one from text',
        )
    dtypes, constants, sizes, absent = split_options(op, options)
    program = op.program(dtypes, constants, absent)
    named = {v.name: v for v in program.sizes}
    return Schedule(program, {named[n]: value for n, value in sizes.items()})


@suggests(SCHEDULE)
class Schedule(Steps):
    """Program, its kernel and the steps that made it.

    Each step of the reference is a method, and gives the same schedule, changed.

    Attributes:
        program: what is scheduled, sizes symbolic.
        sizes: those that are constants of the kernel.
        derivation: how the schedule came from another one; None where it did not.
    Raises:
        ScheduleError: from steps that do not apply or would change the answer.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> s = tx.schedule(dot).split("k", 8)
        >>> kernel = s.compile()
        >>> float(kernel(np.float32([1, 2]), np.float32([3, 4])))
        11.0
    """

    def __init__(self, program: Program, sizes: Mapping[Var, int] | None = None) -> None:
        self.sizes = dict(sizes or {})
        super().__init__(program, lambda: lowered(specialize(program, self.sizes)))
        self._default = ""
        self._machine: Machine | None = None
        self._constants: frozenset[str] = frozenset()
        self._choice: Callable[[], Choice] | None = None
        self.derivation: Derivation | None = None

    def apply(self, step: Step, script: str = "") -> Self:
        """Apply a step; see `Steps.apply`."""
        before = self.steps
        try:
            return super().apply(step, script)
        except ScheduleError as error:
            if self.sizes and (given := error.rerun) is not None:
                error.rerun = lambda: replay_at_smaller_sizes(self.program, self.sizes, before, step, given)
            raise

    def auto(self, target: str = "native", *, constant: Collection[str] = ()) -> Schedule:
        """Apply the default steps for a target, chosen from the structure of the nests; `script()`
        shows them.

        Args:
            constant: names of inputs that have the same values from call to call, such as weights:
                copies of them in another order stand in front of all loops, where callers can keep
                them.
        Raises:
            ScheduleError: steps were applied already, or the program has no such input.
        """
        if self._default or (self._now is not None and self.steps):
            raise ScheduleError(
                "auto() chooses the whole schedule, and steps were applied already",
                code="auto",
                help="call auto() on a fresh schedule; edit its script() to change it",
            )
        names = [t.name for t in self.program.inputs]
        for name in constant:
            if name not in names:
                raise ScheduleError(
                    f"{self.program.name} has no input {name!r}",
                    code="auto",
                    help=f"one of {', '.join(names)}",
                )
        self._choose(permitted_target(target), frozenset(constant))
        return self

    def _choose(self, target: Target, constants: frozenset[str]) -> None:
        lower = self._lowered
        self._default, self._now, self._machine = machine_text(target), None, target.machine
        self._constants = constants

        @cache
        def choice() -> Choice:
            kernel = lower()
            with timed("schedule", "auto"):
                return choose(kernel, target.machine, constants)

        self._choice, self._first = choice, lambda: (choice().steps, choice().kernel)

    def explain(self) -> str:
        """The decisions of `auto()`: for each nest the template that scheduled it, and why those
        before it did not.

        Raises:
            ScheduleError: `auto()` did not choose this schedule.
        """
        if self._choice is None:
            raise ScheduleError("no default schedule was chosen", code="auto", help="s.auto() chooses one")
        return self._choice().explain()

    def script(self, format: str = "text") -> str:
        """The steps as text, one per line, or as `json`; `replay` applies either again, in another
        process too.

        Raises:
            ScheduleError: another format.
        """
        if format not in ("text", "json"):
            raise ScheduleError(
                f"there is no format {format!r} for a script", code="script", help="text or json"
            )
        return to_json(self.steps) if format == "json" else "".join(f"{step}\n" for step in self.steps)

    def replay(self, text: str, *, name: str = "script") -> Schedule:
        """Apply the steps of a script, text or JSON.

        Args:
            name: what errors call the script, as in `name:3` for its third line.
        Raises:
            ScheduleError: a line is not a step, or a step is refused; the steps before it stay
                applied.
        """
        written_as_json = isinstance(text, str) and text.lstrip().startswith(("{", "["))
        for step in from_json(text) if written_as_json else parse_script(text):
            self.apply(step, name)
        return self

    def derived(self, wrt: Sequence[str] | None = None) -> Schedule:
        """A schedule for the gradient of the program, made of these steps: see `derived_from`.

        Args:
            wrt: names of inputs; all float inputs unless given.
        Raises:
            CheckError: something has no gradient.
        """
        from texpr import autodiff  # here, so that calls of operators need not import it

        program = autodiff.grad(self.program, wrt)
        return Schedule(program, {v: n for v, n in self.sizes.items() if v in program.sizes}).derived_from(
            self
        )

    def derived_from(self, source: Schedule) -> Schedule:
        """Apply what the steps of another schedule say of this program: a derivative of that one's
        (`grad`, `vjp`, `jvp`).

        Each step is tried on all nests that stand for the one it was written for, on the loops that
        run along the same dimensions, and taken where it is proven. `derivation` says which nests
        stand for which, which steps were taken, which were not, and why.

        Raises:
            ScheduleError: steps were applied already, or the other schedule's loops were put in
                place by hand.
        """
        if self._default or self._replaced or (self._now is not None and self.steps):
            raise ScheduleError(
                "derived_from() makes the whole schedule, and steps were applied already",
                code="derived",
                help="call derived_from() on a fresh schedule, then apply steps",
            )
        if source._replaced:
            raise ScheduleError(
                "the loops of that schedule were put in place by hand: there are no steps to follow",
                code="derived",
            )
        with timed("schedule", "derived"):
            self.derivation, kernel = derive(source.naive, source.steps, self.naive)
        self._now = self.derivation.steps, kernel
        return self

    def stages(self) -> list[tuple[str, Kernel, Mapping[Var, str]]]:
        """Each step, the kernel after it, and notes on its loops: from the naive kernel on."""
        kernels = [("lowered", self.naive)]
        for step in self.steps:
            kernels.append((str(step), step.apply(kernels[-1][1])))
        return [(done, kernel, explain(kernel, self._machine)) for done, kernel in kernels]

    def certificate(self) -> Certificate:
        """Prove that the loops as they are now compute the operator: which sums are reassociated,
        what was asked and how long it took.

        The proof looks at the final loops alone and shares nothing with the checks of the steps.
        Every kernel is certified before it is compiled: a default schedule that is not certified is
        left for a plainer one, another one is refused (`options(certify=...)`).

        Raises:
            CertificateError: something is not proven; with the store, the smallest sizes and the
                iteration.
        """
        return certificate(self.kernel, self.program, self.sizes)

    def compile(self, target: str = "native") -> CompiledKernel:
        """The kernel for a target: `native`, or a name from `python -m texpr doctor`.

        Raises:
            CompileError: no such target, or it cannot express the kernel.
        """
        made_for = find_target(target), self.program, self.sizes, self._text()
        if not self._is_default():
            return CompiledKernel(_given(self.kernel), *made_for, constants=self._constants)
        first, default = self._first, DefaultSchedule(lambda: self._first()[0], self._lowered, self.explain)
        return CompiledKernel(lambda: first()[1], *made_for, default, self._constants)

    def _is_default(self) -> bool:
        """True if this is the default schedule, whose steps need not have been chosen yet."""
        return bool(self._default) and (self._now is None or self._now[1] is self._first()[1])

    def _text(self) -> str:
        """Everything that the loops depend on beside the program; empty where they were put in
        place by hand.
        """
        if self._replaced:
            return ""
        kind = ",".join(("auto" if self._is_default() else "steps", *sorted(self._constants)))
        return f"{kind} {self._default if self._is_default() else self.script()}"

    def __reduce__(self) -> tuple:
        loops = self.kernel if self._replaced else None
        return _restored, (self.program, self.sizes, self.script("json"), self._machine, loops)

    def __str__(self) -> str:
        return show_kernel(self.kernel, explain(self.kernel, self._machine))

    def _repr_html_(self) -> str:
        return fragment(
            [
                Pane("equations", equations_html(ready(self.program))),
                Pane("loop nest", stages_html(self.stages())),
            ]
        )

    def __repr__(self) -> str:
        return f"<schedule of {self.program.name}, {len(self.steps)} steps>"


def _restored(
    program: Program, sizes: Mapping[Var, int], script: str, machine: Machine | None, loops: Kernel | None
) -> Schedule:
    """A schedule that was pickled: its steps are applied, and proven, again. Loops that were put
    in place by hand come as they are.
    """
    s = Schedule(program, sizes)
    if loops is None:
        s.replay(script)
    else:
        s._now, s._replaced = (list(from_json(script)), loops), True
    s._machine = machine
    return s


def chosen_for(program: Program, sizes: Mapping[Var, int], target: Target, constants: Set[str]) -> Schedule:
    """The default schedule for a target as it is given (`permitted_target`).

    Args:
        constants: as `Schedule.auto` takes them.
    """
    s = Schedule(program, sizes)
    s._choose(target, frozenset(constants))
    return s


def presumed_for(program: Program, sizes: Mapping[Var, int], target: Target, constants: Set[str]) -> Kernel:
    """The loops of the default schedule, whose steps are taken without proofs that they keep
    dependences: they run only once they are certified. Those of tensors that are computed from
    themselves have proofs, since some steps do not keep theirs.

    Args:
        constants: as `Schedule.auto` takes them.
    """
    s = chosen_for(program, sizes, target, constants)
    own = any(isinstance(n, Store) and mentions(n.value, n.tensor) for n in statements(s.naive))
    with presumed(not own):
        return s.kernel


def replayed(program: Program, sizes: Mapping[Var, int], script: str, constants: Iterable[str]) -> Schedule:
    """The schedule of a script.

    Args:
        constants: as `Schedule.auto` takes them.
    """
    s = Schedule(program, sizes)
    s._constants = frozenset(constants)
    return s.replay(script)


def _given(kernel: Kernel) -> Callable[[], Kernel]:
    return lambda: kernel
