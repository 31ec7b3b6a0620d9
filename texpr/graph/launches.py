"""From a captured program to an ordered list of kernel launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from texpr.compiler import CompiledKernel
from texpr.graph.cost import operations
from texpr.graph.kernels import alone, kernel_for
from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.ir.shapes import Shape, bind_sizes
from texpr.ir.tensor import Equation, Invoke, Program


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """One native call.

    Attributes:
        program: what it computes, with symbolic sizes.
        kernel: compiled for the sizes of this call.
        inputs, outputs: tensors of the captured program, in the kernel's order.
        operations: float operations of one run.
    """

    program: Program
    kernel: CompiledKernel
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    operations: int


_Unit = tuple[Program, tuple[Tensor, ...], tuple[Tensor, ...]]


def make_launches(program: Program) -> tuple[Launch, ...]:
    """Compile what the outputs of `program` need."""
    launches = []
    for callee, inputs, outputs in _units(program):
        sizes, _ = bind_sizes(callee.inputs, [shape_of(t) for t in inputs])
        launches.append(Launch(callee, kernel_for(callee, sizes), inputs, outputs, operations(callee, sizes)))
    return tuple(launches)


def shape_of(tensor: Tensor) -> Shape:
    """The shape of a tensor whose extents are numbers."""
    return tuple(integer(n) for n in tensor.shape)  # type: ignore[misc]


def _units(program: Program) -> Iterator[_Unit]:
    """Calls, and the equations of each other tensor as a program, as far as the outputs need them; producers first."""
    needed = set(program.outputs)
    wanted: list[Equation | Invoke] = []
    for equation in reversed(program.equations):
        targets = equation.targets if isinstance(equation, Invoke) else (equation.target,)
        if needed & set(targets):
            wanted.append(equation)
            needed.update(_inputs(equation))
    for equation in _grouped(list(reversed(wanted))):
        if isinstance(equation, Invoke):
            yield equation.program, equation.args, equation.targets
        else:
            callee, inputs = alone(equation, "sum")
            yield callee, inputs, (equation[0].target,)


def _inputs(equation: Equation | Invoke) -> Sequence[Tensor]:
    return equation.args if isinstance(equation, Invoke) else alone([equation], "sum")[1]


def _grouped(equations: Sequence[Equation | Invoke]) -> Iterator[Invoke | list[Equation]]:
    """A definition and the folds into it stay together."""
    open_group: list[Equation] = []
    for equation in equations:
        if open_group and not (isinstance(equation, Equation) and equation.target is open_group[0].target):
            yield open_group
            open_group = []
        if isinstance(equation, Invoke):
            yield equation
        else:
            open_group.append(equation)
    if open_group:
        yield open_group


def show_launches(launches: Sequence[Launch], note: Callable[[Launch], str] = lambda launch: "") -> str:
    """One line per launch: results, operator, arguments."""
    lines = []
    for launch in launches:
        arguments = ", ".join(t.name for t in launch.inputs)
        results = ", ".join(f"{t.name}: {t.dtype}{list(shape_of(t))}" for t in launch.outputs)
        lines.append(f"{results} = {launch.program.name}({arguments}){note(launch)}")
    return "\n".join(lines)
