"""The default schedule: public steps, chosen from the nests and the machine's record, where legal.

It sees loops, strides and reuse, never names of operators. First, products of several tensors are
summed in the order that is least work (`rewrites.contraction_order`), equations lose terms of 0,
quotients of rows and a tanh that is added to 1 (`rewrites.choose`), and what is cheap to compute
again is inlined (`core.cost`). Loops of one iteration inside of convolutions are joined with others
(`rewrites.single_iterations`). Then the templates of the machine (`registry`) are tried in order on
every nest. Last, intermediates are computed in loops of what uses them, and the outermost loops are
shared among threads (`cpu.schedule_cpu`, `gpu.schedule_gpu`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost import should_inline
from texpr.autoschedule.core.decision import Decision, show_decisions
from texpr.autoschedule.cpu.finishing.nontemporal_pipelining import use_nontemporal_stores
from texpr.autoschedule.cpu.schedule_cpu import schedule_cpu
from texpr.autoschedule.gpu.schedule_gpu import schedule_equations, schedule_gpu
from texpr.autoschedule.registry import CPU, GPU
from texpr.autoschedule.rewrites.choose import cheaper_elements, choose_rewrites, on_tensor_cores
from texpr.autoschedule.rewrites.single_iterations import join_single_iterations
from texpr.ir.expr import Tensor
from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine
from texpr.schedule.script.script import Step
from texpr.support.frozen_dataclass import frozen


@frozen
class Choice:
    """A default schedule.

    Attributes:
        steps: of a naive kernel.
        kernel: what they give.
        decisions: which template took which nest.
    """

    steps: list[Step]
    kernel: Kernel
    decisions: tuple[Decision, ...]

    def explain(self) -> str:
        """The template of each nest, and why those before it did not."""
        return show_decisions(self.decisions, len(self.steps))


def auto(kernel: Kernel, machine: Machine) -> tuple[list[Step], Kernel]:
    """The steps of the default schedule for a naive kernel, and the kernel they give: see
    `choose`.
    """
    choice = choose(kernel, machine)
    return choice.steps, choice.kernel


def choose(kernel: Kernel, machine: Machine, constants: Set[str] = frozenset()) -> Choice:
    """The default schedule for a naive kernel.

    It never raises: a part that fails on a nest leaves the nest as it is, under the mark
    `unscheduled`.

    Args:
        constants: names of inputs that have the same values from call to call.
    """
    builder = ScheduleBuilder(kernel, machine, constants)
    builder.try_apply("allow_fma", *(() if machine.fma_of_all else ("sums",)))
    builder.attempt(None, partial(choose_rewrites, builder), None)
    if not (machine.gpu_threads and builder.attempt(None, partial(schedule_equations, builder, GPU), False)):
        builder.attempt(None, partial(cheaper_elements, builder), None)
        builder.attempt(None, partial(on_tensor_cores, builder), None)
        builder.attempt(None, partial(_inlined, builder, kernel.temporaries), None)
    if machine.gpu_threads:
        schedule_gpu(builder, GPU)
    else:
        builder.attempt(None, partial(join_single_iterations, builder), None)
        schedule_cpu(builder, CPU)
    builder.attempt(None, partial(use_nontemporal_stores, builder), None)
    return Choice(builder.steps, builder.kernel, tuple(builder.decisions))


def _inlined(builder: ScheduleBuilder, temporaries: Sequence[Tensor]) -> None:
    """Compute again where it is used what is cheap."""
    for tensor in temporaries:
        if should_inline(builder.kernel, tensor, builder.machine):
            builder.try_apply("inline", tensor.name)
