"""The default schedule: public steps, chosen from the nests and the machine's record, where legal.

It sees loops, strides and reuse, never names of operators. First, products of several tensors are summed in the order that is least work
(`rewrites.contraction_order`), equations lose terms of 0, quotients of rows and a tanh that is added to 1 (`rewrites.choose`), and what is
cheap to compute again is inlined (`core.cost`). Per nest: join loops that are one run of memory; pick the vector loop with the fewest
gathers; where it reduces, give each lane a partial result (`along`); keep a tile of accumulators in registers over loops along which reads
are reused; leave groups of products to an instruction (`cpu.gemm.dot_instructions`); block large contractions and pack an operand
(`cpu.gemm.packed`); walk along a large operand that is read once (`cpu.reduction.streaming`), or take it by strips of columns where few
rows share it (`cpu.gemm.skinny`); count the rows of a product by one loop (`as_one`); give windows that slide over planes tiles of rows
(`cpu.convolution.depthwise`); turn squares of what is read across (`transposed`, `crossing`); write elements that lie between each other
by whole vectors (`cpu.elementwise.interleaved_stores`); add what tiles of a recurrence need of earlier elements
(`cpu.recurrence.blocked`); let rows of one run side by side or follow each other (`cpu.recurrence.wavefront`), blocks of sums go through
memory in its order (`cpu.reduction.short_runs`). Intermediates are computed in loops of what uses them, so far inside that they stay near
(`cpu.producer_chains`); then the outermost loop is shared among threads, rows that are summed are computed in pairs
(`cpu.finishing.row_pairs`), loops over triangles lose their conditions (`cpu.finishing.partition_triangles`), rows are asked for while
functions of the last one are computed (`cpu.finishing.prefetch`), and elements that wait for memory keep it busy
(`cpu.elementwise.nontemporal`, `cpu.finishing.nontemporal_pipelining`). GPUs have blocks (`gpu.driver`), one kernel for weighted
exponentials (`gpu.attention.driver`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost import cheap
from texpr.autoschedule.core.nest import Nest, edges, extent, find_nests
from texpr.autoschedule.cpu.elementwise.elementwise import elementwise
from texpr.autoschedule.cpu.elementwise.interleaved_stores import weave, woven_loops
from texpr.autoschedule.cpu.finishing.nontemporal_pipelining import write_past_caches
from texpr.autoschedule.cpu.finishing.partition_triangles import separated
from texpr.autoschedule.cpu.finishing.prefetch import ask_ahead
from texpr.autoschedule.cpu.finishing.row_pairs import paired
from texpr.autoschedule.cpu.gemm.transposed_operand import crossing
from texpr.autoschedule.cpu.nest_groups import Scheduled, share_groups
from texpr.autoschedule.cpu.producer_chains import chained
from texpr.autoschedule.cpu.reduction.reduction import reduction
from texpr.autoschedule.cpu.reduction.split_reduction import FEW
from texpr.autoschedule.gpu.attention.driver import attended
from texpr.autoschedule.gpu.driver import on_gpu
from texpr.autoschedule.rewrites.choose import cheaper_elements, on_tensor_cores, rewritten
from texpr.ir.expr import Tensor
from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine
from texpr.schedule.script.script import Step
from texpr.schedule.structure.loops import qualified

FEW_ENDS = 2
"""Iterations of a recurrence that may have code of their own."""


def auto(kernel: Kernel, machine: Machine) -> tuple[list[Step], Kernel]:
    """The steps of the default schedule for a naive kernel, and the kernel they give.

    It never raises: a part that fails on a nest leaves the nest as it is, under the mark `unscheduled`.
    """
    builder = ScheduleBuilder(kernel, machine)
    builder.try_apply("allow_fma", *(() if machine.fma_of_all else ("sums",)))
    builder.attempt("", partial(rewritten, builder), None)
    if not (machine.gpu_threads and builder.attempt("", partial(attended, builder), False)):
        builder.attempt("", partial(cheaper_elements, builder), None)
        builder.attempt("", partial(on_tensor_cores, builder), None)
        builder.attempt("", partial(_inlined, builder, kernel.temporaries), None)
    if machine.gpu_threads:
        on_gpu(builder)
    else:
        _on_cpu(builder)
    builder.attempt("", partial(write_past_caches, builder), None)
    return builder.steps, builder.kernel


def _inlined(builder: ScheduleBuilder, temporaries: Sequence[Tensor]) -> None:
    """Compute again where it is used what is cheap."""
    for tensor in temporaries:
        if cheap(builder.kernel, tensor, builder.machine):
            builder.try_apply("inline", tensor.name)


def _on_cpu(builder: ScheduleBuilder) -> None:
    """Choose the steps for all nests of a kernel."""
    ends = builder.attempt("", lambda: _boundary_iterations(find_nests(builder.kernel)), {})
    share_groups(builder, _nests(builder))
    builder.attempt("", partial(paired, builder), None)
    builder.attempt("", partial(separated, builder), None)
    for name, (first, last) in ends.items():
        builder.try_apply("peel", name, first, last)
    builder.attempt("", partial(ask_ahead, builder), None)


def _boundary_iterations(nests: list[Nest]) -> dict[str, tuple[int, int]]:
    """Of loops that repeat sums, how many iterations at the start and end decide what conditions inside the sums ask, if they are few."""
    found: dict[str, tuple[int, int]] = {}
    for nest in nests:
        for loop in nest.again if nest.reduction else ():
            first, last = edges(nest, loop)
            if 0 < first + last <= FEW_ENDS < extent(loop) // FEW:
                known = found.get(qualified(loop), (0, 0))
                found[qualified(loop)] = max(first, known[0]), max(last, known[1])
    return found


def _nests(builder: ScheduleBuilder) -> list[Scheduled]:
    """Every nest scheduled for itself, inside of the loops that it will have in common with others."""
    depths = builder.attempt("", lambda: chained(builder, find_nests(builder.kernel)), {})
    done: list[Scheduled] = []
    nests = find_nests(builder.kernel)
    into = builder.attempt("", partial(weave, builder, nests), {}) if builder.machine.vector_bytes and not depths else {}
    for nest in nests:
        whole = nest if nest.label in into else builder.current(nest)
        if whole is not None and into.get(whole.label, whole.label) == whole.label:
            as_it_is = Scheduled(whole, [qualified(n) for n in whole.spatial])
            done.append(builder.attempt(whole.label, partial(_scheduled, builder, whole, depths, into), as_it_is))
    return done


def _scheduled(builder: ScheduleBuilder, whole: Nest, depths: Mapping[str, int], into: Mapping[str, str]) -> Scheduled:
    """Schedule one nest, without the outer loops that it has in common with others."""
    if whole.label in into:
        return Scheduled(whole, woven_loops(builder, whole))
    nest = whole.inside(depths.get(whole.label, 0))
    outer = [qualified(n) for n in nest.outer]
    crossed = crossing(builder, nest)
    if crossed is not None:
        return Scheduled(nest, outer + crossed[0], crossed[1])
    return Scheduled(nest, outer + (reduction(builder, nest) if nest.reduction else elementwise(builder, nest)))


