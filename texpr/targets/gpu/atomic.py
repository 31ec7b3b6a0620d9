"""Atomic updates by threads of a GPU: one instruction, or an exchange that is tried again, as the
backend has it for the type.

The one that adds f32 in global memory takes denormal numbers for 0 (PTX ISA 8.0, 9.7.12.4, atom).
"""

from __future__ import annotations

from texpr.ir.dtypes import DType
from texpr.ir.expr import index
from texpr.ir.loop import Store
from texpr.passes.analysis.substitution import folded_anew
from texpr.targets.emit.function import memory_type
from texpr.targets.gpu.emission_context import GpuContext

_SCOPE = 'syncscope("device") monotonic'
"""Scope of atomic updates: seen by all threads of the GPU, in an order of its own for each element;
barriers and the ends of launches order the rest.
"""


def emit_atomic(emitter: GpuContext, s: Store) -> None:
    """Emit an update of an element in shared memory or global memory; of several lanes, one after
    the other.
    """
    if emitter.lane is not None:
        _lane_by_lane(emitter, s)
        return
    value = emitter.cast(emitter.value(s.value), s.tensor.dtype)
    address, _, _ = emitter.address(s.tensor, s.indices)
    kind = memory_type(s.tensor.dtype)
    emitter.function.define(
        f"atomicrmw {_operation(s.update or '', s.tensor.dtype)} ptr{emitter.space(s.tensor)} {address}, "
        f"{kind} {value.text} {_SCOPE}, align {s.tensor.dtype.bytes}"
    )


def _lane_by_lane(emitter: GpuContext, s: Store) -> None:
    lane, lanes, values = emitter.lane, emitter.lanes, emitter.lane_values
    assert lane is not None
    emitter.lane, emitter.lanes, emitter.lane_values = None, 0, None
    for k in range(lanes):
        with emitter.known.scope():  # what is known of all lanes is not known of one
            emit_atomic(emitter, folded_anew(s, {lane: index(k)}))
    emitter.lane, emitter.lanes, emitter.lane_values = lane, lanes, values


def _operation(update: str, t: DType) -> str:
    """LLVM's word; extremes of floats are NaN if either is, and -0 is below +0."""
    if t.is_float:
        return {"add": "fadd", "max": "fmaximum", "min": "fminimum"}[update]
    return update if update == "add" or t.is_signed else f"u{update}"
