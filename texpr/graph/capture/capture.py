"""Recording a program: operators applied to symbolic tensors become calls in the Tensor IR."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, count
from typing import Any, Protocol

import numpy as np

from texpr import autodiff, ops
from texpr.autodiff.cleanup.simplify import reads
from texpr.compiler import Op
from texpr.compiler.call_checks import check_requirements
from texpr.graph.arrays.recording import active_capture, is_recording, recording
from texpr.graph.capture.checked_copies import checked
from texpr.graph.capture.checkpoint_regions import Region, recomputed
from texpr.graph.capture.stop_gradient import insert_stops, stopped_copy, with_targets
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.capture.variable import Variable
from texpr.ir.build import integer
from texpr.ir.dtypes import DType, from_numpy, known_dtype, number, stored
from texpr.ir.expr import Tensor, Var, index, plain
from texpr.ir.shapes import Shape, Sizes, bind_sizes, caller_shape, evaluate_size
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.passes.analysis.substitution import over_tensors
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import replace

DETACH = "constant_of"
"""The operator behind `detach`."""
NOTHING = "nothing that the tensor is computed from requires a gradient"
MAKE_A_LEAF = "make a leaf with tx.tensor(data, requires_grad=True)"


class Structured(Protocol):
    """An object that programs are made by, such as a module."""

    def __texpr_structure__(self) -> tuple:
        """A key of everything that captured programs depend on besides shapes."""
        ...


class Capture:
    """A program while it grows. In a `with` block, operators applied to variables alone are
    captured too.

    Its inputs are data (given at every run), variables (which keep their values between runs) and
    constants. Every tensor has a shape of numbers.

    Attributes:
        inputs: data inputs, in the order in which they were declared.
        variables, constants: other inputs, with what they are bound to.
        rows: for inputs whose rows must hold each value once, the lengths of such rows.
        updates: for each variable that the program assigns to, its next value.
        equations: calls, and sums of cotangents; every tensor is defined before it is read.
        stopped: results through which no gradient flows.
        sources: objects such as modules that the program was made by. It is theirs as long as their
            structure stays what it is.
        depth: how many captures of functions this one is inside of.
    """

    depth = 0

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.inputs: list[Tensor] = []
        self.variables: dict[Variable, Tensor] = {}
        self.constants: dict[Tensor, np.ndarray] = {}
        self.rows: dict[Tensor, set[int]] = {}
        self.updates: dict[Variable, Tensor] = {}
        self.equations: list[Equation | Invoke] = []
        self.sources: list[Structured] = []
        self.regions: list[Region] = []
        """Parts that gradients compute again."""
        self._source: Structured | None = None
        self._names: set[str] = set()
        self._ranges: dict[Tensor, tuple[int, int]] = {}
        self._outer: list[ExitStack] = []
        self.stopped: set[Tensor] = set()
        self.made: list[Variable] = []
        """Variables that are made meanwhile: they have values."""
        self._leaves: list[Symbolic] = []
        """Tensors that `backward` gives gradients."""
        self._varying: set[Tensor] = set()
        """Floats through which gradients flow to leaves."""

    def __enter__(self) -> Capture:
        """A block of `no_grad` around this one says nothing about the program: it may be kept,
        and used elsewhere.
        """
        blocks = ExitStack()
        blocks.enter_context(_active(self))
        blocks.enter_context(recording(True))
        self._outer.append(blocks)
        return self

    def __exit__(self, *_: object) -> None:
        self._outer.pop().close()

    @contextmanager
    def made_by(self, source: Structured) -> Iterator[None]:
        """Attribute the work captured in the block to `source`, unless that is a part of another
        source which is at work already.
        """
        if self._source is not None:
            yield
            return
        self._source = source
        if not any(known is source for known in self.sources):
            self.sources.append(source)
        try:
            yield
        finally:
            self._source = None

    def input(self, name: str, shape: Sequence[int], dtype: DType) -> Symbolic:
        """Declare data of the given shape."""
        tensor = self._input(name, shape, dtype)
        self.inputs.append(tensor)
        return Symbolic(tensor, self)

    def variable(self, variable: Variable) -> Symbolic:
        """The value that a variable has at the start of the program."""
        if variable not in self.variables:
            self.variables[variable] = self._input(variable.name, variable.shape, variable.dtype)
        return Symbolic(self.variables[variable], self)

    def latest(self, variable: Variable) -> Symbolic:
        """The value that a variable has so far: what was assigned to it last, else what it has
        at the start.
        """
        return Symbolic(self.updates[variable], self) if variable in self.updates else self.variable(variable)

    def constant(self, value: np.ndarray, name: str = "constant", dtype: DType | None = None) -> Symbolic:
        """An array that is the same in every run; `dtype` says what NumPy cannot, bf16 in 16
        bits, floats in 8 bits.
        """
        array = np.array(value, order="C")
        dtype = dtype or known_dtype("a constant", array.dtype)
        tensor = self._input(name, array.shape, dtype)
        self.constants[tensor] = array
        return Symbolic(tensor, self)

    def assign(self, variable: Variable, value: Symbolic) -> None:
        """Let a variable have this value after the program.

        Raises:
            CallError: the shape or the dtype is another one.
        """
        if (value.shape, value.dtype) != (variable.shape, variable.dtype):
            raise CallError(f"{variable!r} cannot become {value.dtype}{list(value.shape)}", code="shape")
        self.variable(variable)
        self.updates[variable] = self.own_result(value).tensor

    def data_of(self, variable: Variable, data: Any) -> Any:
        """The attribute `data` of a variable in a program: here, the value that it has now."""
        return data

    def gradient_of(self, variable: Variable, gradient: Any) -> Any:
        """The attribute `grad` of a parameter in a program: here, its gradient at this place."""
        return gradient

    def takes_gradient(self, variable: Variable, gradient: Any) -> bool:
        """Let `grad` become another tensor; False, as here, if that is not for programs."""
        return False

    def own_result(self, value: Symbolic) -> Symbolic:
        """The same value as a tensor that is computed and that no variable takes: a copy, where
        it is not.
        """
        alone = value.tensor in self._defined() and value.tensor not in self.updates.values()
        return value if alone else ops.copy(value)  # type: ignore[return-value]

    def apply(
        self, operator: Op, inputs: Mapping[str, object], constants: Mapping[str, object]
    ) -> Symbolic | tuple[Symbolic, ...]:
        """Append a call of `operator`.

        Args:
            inputs: by name: symbolic tensors, variables, arrays, numbers.
        Raises:
            CallError: inputs that do not fit the operator.
        """
        program = resolve_program(operator, inputs, constants)
        arguments = [self._argument(operator, formal, inputs[formal.name]) for formal in program.inputs]
        results = self.call(program, arguments)
        return results[0] if len(results) == 1 else results

    def call(self, program: Program, arguments: Sequence[Symbolic]) -> tuple[Symbolic, ...]:
        """Append a call of an operator's program.

        Raises:
            CallError: shapes that do not fit.
        """
        sizes, packs = bind_call(program, [a.shape for a in arguments])
        arguments = [self._with_range(formal, a, sizes) for formal, a in zip(program.inputs, arguments)]
        targets = tuple(
            self._result(program.name, caller_shape(t, sizes, packs), t.dtype, _range_of(t, sizes))
            for t in program.outputs
        )
        self.equations.append(Invoke(targets, program, tuple(a.tensor for a in arguments)))
        if not is_recording():
            self.stopped.update(targets)
        elif not self._varying.isdisjoint(a.tensor for a in arguments):
            self._varying.update(t for t in targets if t.dtype.is_float)
        return tuple(Symbolic(t, self) for t in targets)

    def gradients(self, loss: Symbolic, wrt: Sequence[Symbolic]) -> list[Symbolic | None]:
        """Append the equations of d loss / d w for every w in `wrt`; None for those that the loss
        does not depend on.

        Raises:
            CallError: the loss is no single float.
            CheckError: an operator has no gradient.
        """
        if loss.shape != () or not loss.dtype.is_float:
            raise CallError(
                f"the loss is {loss.dtype}{list(loss.shape)}, expected one float",
                code="gradient",
                help="reduce it, for example with texpr.ops.mean_all",
            )
        if loss.tensor not in self._defined():
            loss = self.own_result(loss)
        reached = self.reached(loss.tensor)
        asked = list(dict.fromkeys(w.tensor for w in wrt if w.tensor in reached))
        if not asked:
            return [None for _ in wrt]
        stopped = self.stopped & reached
        gradient = autodiff.grad(
            self._program_with_stops(stopped, loss.tensor), [t.name for t in asked], [loss.tensor.name]
        )
        seed = gradient.inputs[-1]
        self.constants[seed] = stored(1.0, seed.dtype)
        defined = self._defined() | {stopped_copy(t) for t in stopped}
        new = [e for e in gradient.equations if not defined.issuperset(e.targets)]
        self._names.update(t.name for e in new for t in e.targets)
        self.equations += recomputed(self, self.regions, new) if self.regions else new
        self._names.update(t.name for t in (seed, *(t for e in self.equations for t in e.targets)))
        results = dict(zip(asked, gradient.outputs))
        self._varying.update(t for t in gradient.outputs if loss.tensor in self._varying)
        return [Symbolic(results[w.tensor], self) if w.tensor in results else None for w in wrt]

    def _program_with_stops(self, stopped: set[Tensor], loss: Tensor) -> Program:
        """The program of the loss that takes some of its results as data; what computes these
        defines others beside them.
        """
        if not stopped:
            return self._program([loss])
        others = {t: stopped_copy(t) for t in stopped}
        equations = tuple(with_targets(e, others) for e in self.equations)
        data = (t for e in self.equations for t in e.targets if t in stopped)
        return Program(self.name, (*self._inputs(), *data), (loss,), equations)

    def recompute(self, start: int, outputs: Iterable[Symbolic]) -> None:
        """Let gradients compute the equations from `start` on again, rather than keep what is
        between their inputs and these outputs.
        """
        results = tuple(o.tensor for o in outputs if isinstance(o, Symbolic))
        self.regions.append(Region(start, len(self.equations), results))

    def renamed(self, tensor: Tensor) -> Tensor:
        """The same tensor under a name that is free."""
        name = next(n for n in (f"{tensor.name}_{k}" for k in count(1)) if n not in self._names)
        self._names.add(name)
        return replace(tensor, name=name)

    def backward(self, loss: Symbolic, create_graph: bool = False) -> None:
        """Add the derivatives of a number to `grad` of the leaves that it is computed from.

        Args:
            create_graph: gradients flow through these derivatives, too.
        Raises:
            CallError: the number is computed from no leaf.
        """
        if loss.tensor not in self._varying:
            raise CallError(NOTHING, code="gradient", help=MAKE_A_LEAF)
        leaves = [x for x in self._leaves if x.requires_grad]
        with recording(True):
            found = self.gradients(loss, leaves)
        for leaf, gradient in zip(leaves, found):
            if gradient is not None and not create_graph:
                self.stop(gradient)
            if gradient is not None:
                with recording(create_graph):
                    leaf.grad = gradient if leaf.grad is None else leaf.grad + gradient

    def lift(self, x: Any) -> Any:
        """A variable or an array as part of the program; symbolic tensors and anything else as
        they are.
        """
        return (
            self.variable(x)
            if isinstance(x, Variable)
            else self.constant(x)
            if isinstance(x, np.ndarray)
            else x
        )

    def make_leaf(self, x: Symbolic) -> None:
        """Let `backward` give an input, or a result through which no gradient flows, its
        gradient.
        """
        x.is_leaf = True
        self._leaves.append(x)
        self._varying.add(x.tensor)

    def end_leaf(self, x: Symbolic) -> None:
        """Let `backward` give a tensor no gradient any more."""
        x.is_leaf = False
        self._leaves = [y for y in self._leaves if y is not x]
        self._varying.discard(x.tensor)

    def let_flow(self, x: Symbolic) -> None:
        """Let gradients flow through a result again."""
        self.stopped.discard(x.tensor)
        self._varying.add(x.tensor)

    def stop(self, x: Symbolic) -> Symbolic:
        """Let no gradient flow through a result; the result."""
        self.stopped.add(x.tensor)
        self._varying.discard(x.tensor)
        return x

    def is_varying(self, x: Symbolic) -> bool:
        """True if gradients flow through a tensor to leaves."""
        return x.tensor in self._varying

    def program(self, outputs: Sequence[Tensor]) -> Program:
        """The program captured so far, with these outputs. Its inputs are data, variables,
        constants, in this order.

        Inputs state the ranges of values that calls ask of them.
        """
        ranges = {t: replace(t, value_range=(index(lo), index(hi))) for t, (lo, hi) in self._ranges.items()}
        return over_tensors(self._program(outputs), ranges) if ranges else self._program(outputs)

    def differentiable(self, outputs: Sequence[Tensor]) -> Program:
        """The same program, where it is to be part of others whose gradients are asked for."""
        detached = {t: _detaching(t) for t in self.stopped - self._detached() if t.dtype.is_float}
        program = self.program(outputs)
        return (
            replace(program, equations=tuple(insert_stops(list(program.equations), detached)))
            if detached
            else program
        )

    def _detached(self) -> set[Tensor]:
        """Results of calls that let no gradient through by themselves."""
        return {
            t for e in self.equations if isinstance(e, Invoke) and e.program.name == DETACH for t in e.targets
        }

    def _program(self, outputs: Sequence[Tensor]) -> Program:
        """The same without ranges, over the tensors that the capture knows."""
        return Program(self.name, self._inputs(), tuple(outputs), tuple(self.equations))

    def _inputs(self) -> tuple[Tensor, ...]:
        return *self.inputs, *self.variables.values(), *self.constants

    def reached(self, result: Tensor) -> set[Tensor]:
        """Everything that `result` is computed from, as far as gradients flow."""
        reached = {result}
        for equation in reversed(self.equations):
            if not reached.isdisjoint(t for t in equation.targets if t not in self.stopped):
                reached.update(equation.args if isinstance(equation, Invoke) else reads(equation))
        return reached

    def _defined(self) -> set[Tensor]:
        return {t for e in self.equations for t in e.targets}

    def _input(self, wish: str, shape: Sequence[int], dtype: DType) -> Tensor:
        base = re.sub(r"\W", "_", wish)
        return self._tensor(chain([base], (f"{base}_{k}" for k in count(2))), shape, dtype)

    def _result(
        self, operator: str, shape: Sequence[int], dtype: DType, values: tuple[int, int] | None
    ) -> Tensor:
        return self._tensor((f"{operator}_{k}" for k in count(1)), shape, dtype, values)

    def _tensor(
        self, names: Iterable[str], shape: Sequence[int], dtype: DType, values: tuple[int, int] | None = None
    ) -> Tensor:
        """A tensor with the first of the names that is free, and a range of values if one is
        known.
        """
        name = next(n for n in names if n not in self._names)
        self._names.add(name)
        return Tensor(
            name, dtype, plain(*(index(n) for n in shape)), values and (index(values[0]), index(values[1]))
        )

    def _argument(self, operator: Op, formal: Tensor, value: object) -> Symbolic:
        """An input of a call as a symbolic tensor."""
        if isinstance(value, Symbolic):
            if value.capture is not self:
                raise CallError(
                    f"{operator.__name__}: `{formal.name}` belongs to another capture",
                    code="symbolic",
                    help="a symbolic tensor must not outlive the function it was given to",
                )
            found = value
        elif isinstance(value, Variable):
            found = self.latest(value)
        elif isinstance(value, bool | int | float):
            found = self.constant(number(value, formal.dtype), dtype=formal.dtype)
        else:
            found = self.constant(np.asarray(value))
        if found.dtype != formal.dtype:
            raise CallError(
                f"{operator.__name__}: `{formal.name}` is {found.dtype}, expected {formal.dtype}",
                code="dtype",
            )
        return found

    def _with_range(self, formal: Tensor, argument: Symbolic, sizes: Sizes) -> Symbolic:
        """Check the declared range and distinctness of an argument: of an input once per call, of a
        computed value, where it is not known, in every run.
        """
        asked, length = (
            _range_of(formal, sizes),
            evaluate_size(formal.shape[-1], sizes) if formal.distinct and formal.dims else None,
        )
        if asked is None and length is None:
            return argument
        if argument.tensor in self._inputs():
            if length is not None:
                self.rows.setdefault(argument.tensor, set()).add(length)
            if asked is not None:
                before = self._ranges.get(argument.tensor, asked)
                self._ranges[argument.tensor] = max(asked[0], before[0]), min(asked[1], before[1])
            return argument
        known = _range_of(argument.tensor, {})
        in_range = asked is None or known is not None and asked[0] <= known[0] and known[1] <= asked[1]
        if in_range and (length is None or argument.tensor.distinct):
            return argument
        return checked(formal.name, formal.dtype, len(argument.shape), asked, length is not None)(argument)  # type: ignore[return-value]


def _range_of(tensor: Tensor, sizes: Sizes) -> tuple[int, int] | None:
    """The range of values that a tensor is declared with."""
    if tensor.value_range is None:
        return None
    lo, hi = (evaluate_size(e, sizes) for e in tensor.value_range)
    return lo, hi


def _dtype(value: object) -> DType | None:
    known = getattr(value, "dtype", None)
    if isinstance(known, DType):
        return known
    return from_numpy(value.dtype) if isinstance(value, np.ndarray | np.generic) else None


@contextmanager
def _active(capture: Capture) -> Iterator[None]:
    before = active_capture.set(capture)
    try:
        yield
    finally:
        active_capture.reset(before)


def _detaching(t: Tensor) -> Program:
    """The program of an operator that lets no gradient through to a tensor like this one."""
    scratch = Capture()
    scratch.input("x", tuple(map(integer, t.shape)), t.dtype).detach()  # type: ignore[arg-type]
    (call,) = scratch.equations
    assert isinstance(call, Invoke)
    return call.program


def resolve_program(operator: Op, inputs: Mapping[str, object], constants: Mapping[str, object]) -> Program:
    """The program of an operator for inputs of these dtypes and ranks.

    Raises:
        CallError: inputs that do not fit the operator.
    """
    dtypes = operator.signature.bind_dtypes(
        {n: t for n, value in inputs.items() if (t := _dtype(value)) is not None}
    )
    absent = frozenset(p.name for p in operator.signature.inputs if p.name not in inputs)
    constants = operator.signature.counted(constants, {n: np.ndim(a) for n, a in inputs.items()})  # type: ignore[arg-type]
    return operator.program(dtypes, constants, absent)


def bind_call(program: Program, shapes: Sequence[Shape]) -> tuple[Sizes, Mapping[Var, Shape]]:
    """The sizes and packs that these shapes of the inputs mean.

    Raises:
        CallError: they do not fit each other, or what the program requires.
    """
    try:
        sizes, packs = bind_sizes(program.inputs, shapes)
        check_requirements(program.name, program.requires, sizes)
        return sizes, packs
    except CallError as error:
        given = ", ".join(f"{t.name} {list(shape)}" for t, shape in zip(program.inputs, shapes))
        raise CallError(
            f"{program.name}: {error.message}",
            code=error.code,
            notes=(f"given: {given}", *error.notes),
            help=error.help,
        ) from None
