"""From a program to an ordered list of kernel launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from texpr.compiler import CompiledKernel
from texpr.graph.cost import operations
from texpr.graph.fusion import Decision
from texpr.graph.groups import Group, as_program, grouped
from texpr.graph.kernels import kernel_for
from texpr.graph.passes.flatten import shape_of
from texpr.ir.expr import Tensor, Var
from texpr.ir.shapes import bind_sizes
from texpr.ir.tensor import Program

KernelOf = Callable[[Program, Mapping[Var, int]], CompiledKernel]


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """One kernel of a plan.

    Attributes:
        program: what it computes; its sizes may be symbolic.
        kernel: compiled for the sizes of this call.
        inputs, outputs: tensors of the captured program, in the kernel's order.
        operations: float operations of one run.
    """

    program: Program
    kernel: CompiledKernel
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    operations: int


@dataclass(frozen=True, slots=True, eq=False)
class Launches:
    """What a program is run by.

    Attributes:
        order: the kernels.
        views: tensors that are other tensors' memory, of another shape.
        decisions: which equations share kernels, and why.
    """

    order: tuple[Launch, ...]
    views: Mapping[Tensor, Tensor]
    decisions: tuple[Decision, ...]


def make_launches(program: Program, join: bool, kernel_of: KernelOf = kernel_for) -> Launches:
    """Compile what the outputs of `program` need.

    Args:
        kernel_of: gives the kernel of a program at some sizes.
        join: equations of several tensors may share a kernel.
    """
    groups, decisions = grouped(program, join)
    needed = _needed(groups, program)
    views: dict[Tensor, Tensor] = {}
    order: list[Launch] = []
    for group in groups:
        source = group.view_of
        (target, *_) = group.targets
        if source is not None and target not in program.outputs:
            views[target] = views.get(source, source)
            continue
        callee, inputs, outputs = as_program(group, needed)
        sizes, _ = bind_sizes(callee.inputs, [shape_of(t) for t in inputs])
        order.append(Launch(callee, kernel_of(callee, sizes), inputs, outputs, operations(callee, sizes)))
    return Launches(tuple(order), views, tuple(decisions))


def _needed(groups: Sequence[Group], program: Program) -> set[Tensor]:
    """What is read outside of the group that computes it."""
    return {*program.outputs, *(t for g in groups for t in g.sources)}


def show_launches(launches: Sequence[Launch], note: Callable[[Launch], str] = lambda launch: "") -> str:
    """One line per launch: results, operator, arguments."""
    lines = []
    for launch in launches:
        arguments = ", ".join(t.name for t in launch.inputs)
        results = ", ".join(f"{t.name}: {t.dtype}{list(shape_of(t))}" for t in launch.outputs)
        lines.append(f"{results} = {launch.program.name}({arguments}){note(launch)}")
    return "\n".join(lines)
