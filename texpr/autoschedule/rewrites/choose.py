"""Choice of algebraic rewrites of the equations, before any loop is changed."""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import find_nests
from texpr.autoschedule.cpu.convolution.direct import terms_outside
from texpr.autoschedule.gpu.gemm import factors_for
from texpr.autoschedule.rewrites.compact_operands import compact_operands
from texpr.autoschedule.rewrites.contraction_order import in_least_order
from texpr.autoschedule.rewrites.rewrite_costs import REWRITE_COSTS
from texpr.schedule.steps.algebra.reciprocal import divided
from texpr.schedule.steps.algebra.tanh_to_sigmoid import with_shifted_tanh


def choose_rewrites(builder: ScheduleBuilder) -> None:
    """Sum products of several tensors in the order that is least work; on CPUs leave out terms
    that padding makes 0, and copy what is read in steps.
    """
    in_least_order(builder)
    if builder.machine.gpu_threads:
        return
    for loop in [n for nest in find_nests(builder.kernel) for n in terms_outside(builder, nest)]:
        builder.try_apply("drop_padding", loop, finite=True)
    compact_operands(builder)


def cheaper_elements(builder: ScheduleBuilder) -> None:
    """Divide once by what divides many, and have one exponential where a tanh would be more."""
    for name in divided(builder.kernel, REWRITE_COSTS.reciprocal_uses):
        builder.try_apply("reciprocal", name)
    for name in dict.fromkeys(with_shifted_tanh(builder.kernel)):
        builder.try_apply("tanh_to_sigmoid", name)


def on_tensor_cores(builder: ScheduleBuilder) -> None:
    """Round the factors of f32 of contractions, where that is permitted and instructions take
    them then.
    """
    if builder.machine.tf32:
        nests = [n for n in find_nests(builder.kernel) if factors_for(builder, n) == "f32"]
        for nest in nests:
            builder.try_apply("tf32", nest.reduction[-1])
