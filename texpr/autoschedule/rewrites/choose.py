"""What a default schedule rewrites in the equations, before any loop is changed."""

from __future__ import annotations

from texpr.autoschedule.core.builder import Plan
from texpr.autoschedule.core.nest import find_nests
from texpr.autoschedule.cpu.convolution.direct import terms_outside
from texpr.autoschedule.gpu.gemm import factors_for
from texpr.autoschedule.rewrites.contraction_order import in_least_order
from texpr.schedule.steps.algebra.reciprocal import divided
from texpr.schedule.steps.algebra.tanh_to_sigmoid import with_shifted_tanh
from texpr.schedule.structure.loops import qualified

SHARED = 16
"""Elements that are divided by one number, from which on its reciprocal is worth a place of its own."""


def rewritten(plan: Plan) -> None:
    """Sum products of several tensors in the order that is least work; on CPUs leave out terms that padding makes 0."""
    in_least_order(plan)
    if plan.machine.gpu_threads:
        return
    for name in [n for nest in find_nests(plan.kernel) for n in terms_outside(plan, nest)]:
        plan.step("trim", name, finite=True)


def cheaper_elements(plan: Plan) -> None:
    """Divide once by what divides many, and have one exponential where a tanh would be more."""
    for name in divided(plan.kernel, SHARED):
        plan.step("reciprocal", name)
    for name in dict.fromkeys(with_shifted_tanh(plan.kernel)):
        plan.step("logistic", name)


def on_tensor_cores(plan: Plan) -> None:
    """Round the factors of f32 of contractions, where that is permitted and instructions take them then."""
    if plan.machine.tf32:
        for name in [qualified(n.reduction[-1]) for n in find_nests(plan.kernel) if factors_for(plan, n) == "f32"]:
            plan.step("tf32", name)
