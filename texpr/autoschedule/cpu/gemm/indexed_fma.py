"""Products that take one element of a register for all lanes: the rows of a tile lie beside each
other, a register holds several of them.

Where a machine has such products (`Machine.has_indexed_fma`), a value for all lanes costs an
instruction of its own if it comes from memory alone. So the rows of a tile are copied with
neighbours along the rows, and some terms of each sum are added together: their registers are loaded
in pairs, and what the loop itself costs is shared.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, copy_loops
from texpr.autoschedule.core.layouts import layout_with_last_dim
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.packing import through_rows, transpose_in_registers
from texpr.ir.build import integer
from texpr.ir.expr import Tensor


def rows_beside(builder: ScheduleBuilder, buffer: Tensor, rows: int) -> None:
    """Fill a buffer so that neighbours along dimension `rows` are neighbours in memory: by squares
    that are transposed in registers, or a row of the result at a time.
    """
    others = copy_loops(buffer, (d for d, n in enumerate(buffer.shape) if d != rows and integer(n) != 1))
    along, layout = copy_loop(buffer, rows), layout_with_last_dim(buffer, rows)
    if not others or not transpose_in_registers(
        builder,
        buffer,
        layout,
        (*others[:-1], along, others[-1]),
        whole=True,
        through=through_rows(buffer, rows),
    ):
        builder.try_apply("reorder", *others, along)
        builder.try_apply("vectorize", along)
        builder.try_apply("layout", buffer, layout)


def terms_together(builder: ScheduleBuilder, buffers: Sequence[Tensor], terms: LoopHandle) -> None:
    """Some terms are added together; what buffers, whose last dimension is rows, have for each
    is loaded as registers.
    """
    together = GEMM_COSTS.indexed_terms // (1 if builder.machine.vector_registers >= 32 else 2)
    _, term = builder.split_if_longer(terms, together)
    for buffer in buffers:
        if (registers := builder.try_new_buffer("cache_read", buffer, term)) is not None:
            builder.try_apply("vectorize", copy_loop(registers, registers.rank - 1))
    builder.try_apply("unroll", term)
