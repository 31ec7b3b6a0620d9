"""Bulk copies (TMA): one thread orders boxes of tensors for its block, counters in shared memory
tell all threads of the bytes.

The shape of a tensor and of its boxes is a tensor map, which the driver makes of them and launches
pass on. What lies outside of the tensor arrives as zeros. A counter (mbarrier) expects one arrival
in each phase, that of the thread which says how many bytes come.

Where blocks of a cluster want the same box, each orders a part of it, a number of rows, for the
memory and the counters of all of them (multicast). What a block expects stays the whole box.
Counters are there before any block begins: a barrier of the cluster stands behind them. None is
needed at the end: a block has waited for everything that comes to its memory
(`poly.asynchronous.barrier_phases`).

Source: PTX ISA 8.0, 9.7.8.24.9 (cp.async.bulk.tensor), 9.7.12.15 (mbarrier), 5.5 (tensors, and how
they are swizzled), NVIDIA 2022.
"""

from __future__ import annotations

from collections.abc import Mapping

from texpr.ir.build import compare, conjunction, integer
from texpr.ir.expr import Expr, Var, index
from texpr.ir.loop import Commit, For, If, Stmt, Wait, is_bulk, shared_along
from texpr.ir.traverse import statements
from texpr.passes.analysis.bulk_boxes import Box, NoBox, box_of
from texpr.passes.analysis.row_major import flat_index
from texpr.support.errors import CompileError
from texpr.targets.common.records import TensorMap
from texpr.targets.gpu.clusters import emit_cluster_barrier, multicast_mask, multicast_part
from texpr.targets.gpu.emission_context import GpuContext

PARAMETER = 'ptr byval([128 x i8]) align 64 "nvvm.grid_constant"'
MAP_BYTES = 128
MOST_RANK, MOST_EXTENT = 5, 256
_UNIT, _LINE, _ROWS = 16, 128, 8
"""Bytes that rows and strides are multiples of; bytes of a row of the swizzle; rows of the swizzle.
"""
_COUNTER = 8
_EXPECT = "llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta"
_ENDED = "llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta"


def counters_of(nest: Stmt) -> Mapping[Var, Expr]:
    """The counter of each bulk copy, named by the variable of its outermost loop: that of the
    commit behind it.
    """
    found: dict[Var, Expr] = {}
    for n in statements(nest):
        slot: Expr | None = None
        for s in reversed(n.body) if isinstance(n, For | If) else ():
            slot = s.slot if isinstance(s, Commit) else slot
            boxes = [b for b in (s.body if isinstance(s, If) else (s,)) if is_bulk(b)]
            found |= {b.var: slot for b in boxes if slot is not None}
    return found


def initialize_counters(emitter: GpuContext, nest: Stmt) -> None:
    """Initialize the counters for the copies of a nest, before anything else; all threads see them."""
    slots = next((n.slots for n in statements(nest) if isinstance(n, Commit) and n.slots), 0)
    if not slots:
        return
    emitter.counters = emitter.shared.allocate(_COUNTER * slots, _UNIT)

    def work() -> None:
        for k in range(slots):
            emitter.intrinsic("llvm.nvvm.mbarrier.init.shared", "void", _counter(emitter, index(k)), "i32 1")
        emitter.intrinsic("llvm.nvvm.fence.mbarrier_init.release.cluster", "void")

    _in_one_thread(emitter, work)
    if any(map(shared_along, statements(nest))):
        emit_cluster_barrier(emitter, relaxed=True)  # the fence has shown the counters
    else:
        emitter.barrier()


def emit_commit(emitter: GpuContext, s: Commit) -> None:
    """Tell the counter how many bytes the copies bring, in the thread that began them."""
    assert s.slot is not None and s.brings is not None
    slot, brings = s.slot, s.brings

    def work() -> None:
        emitter.intrinsic(_EXPECT, "i64", _counter(emitter, slot), f"i32 {_as_i32(emitter, brings)}")

    _in_one_thread(emitter, work)


def emit_wait(emitter: GpuContext, s: Wait) -> None:
    """Wait in every thread until the phase has ended."""
    assert s.slot is not None and s.phase is not None
    f, counter, phase = emitter.function, _counter(emitter, s.slot), _as_i32(emitter, s.phase)
    again, ended = f.fresh("again"), f.fresh("ended")
    f.branch(again)
    f.start(again)
    done = emitter.intrinsic(_ENDED, "i1", counter, f"i32 {phase}")
    f.emit(f"br i1 {done}, label %{ended}, label %{again}")
    f.start(ended)


def emit_bulk_copy(emitter: GpuContext, loop: For) -> None:
    """Order one copy. Only one thread comes here."""
    try:
        box = box_of(loop)
    except NoBox as why:
        raise _refused(f"a bulk copy is of a box: {why}") from None
    mode, axes = _mode(box), shared_along(loop)
    place = emitter.operand_address(box.target, box.first, {})
    _check_place(box, mode)
    if axes:
        box, behind = multicast_part(emitter, box, _box_alignment(mode), axes)
        place = (
            f"{place.rpartition(' ')[0]} {emitter.function.define(f'getelementptr i8, {place}, {behind}')}"
        )
    _check(box, mode)
    f, rank = emitter.function, box.source.rank
    wanted = TensorMap(
        _position(emitter, box),
        box.source.dtype.name,
        tuple(integer(n) or 0 for n in box.source.shape),
        box.extents,
        mode,
    )
    if wanted not in emitter.tensor_maps:
        emitter.tensor_maps.append(wanted)
    there = f.define(f"addrspacecast {place} to ptr addrspace(7)")
    corner = [f"i32 {_as_i32(emitter, i)}" for i in reversed(box.corner)]
    emitter.intrinsic(
        f"llvm.nvvm.cp.async.bulk.tensor.g2s.tile.{rank}d",
        "void",
        f"ptr addrspace(7) {there}",
        _counter(emitter, emitter.copy_counters[loop.var]),
        f"ptr %m{emitter.tensor_maps.index(wanted)}",
        *corner,
        f"i16 {multicast_mask(emitter, axes) if axes else 0}",
        "i64 0",
        f"i1 {'true' if axes else 'false'}",
        "i1 false",
        "i32 0",
    )


def _position(emitter: GpuContext, box: Box) -> int:
    kernel = emitter.kernel
    every = (*kernel.inputs, *kernel.outputs, *kernel.temporaries)
    if box.source not in every or box.source in emitter.address_spaces:
        raise _refused(f"bulk copies are of arrays in memory, and {box.source.name} lives elsewhere")
    return every.index(box.source)


def _mode(box: Box) -> int:
    """Bytes of the rows in which units of 16 bytes are exchanged; 0 if none are."""
    lies, size = box.target.swizzle, box.target.dtype.bytes
    if lies is None:
        return 0
    if (lies.unit * size, lies.row * size) != (_UNIT, _LINE) or lies.count not in (2, 4, 8):
        raise _refused(
            f"bulk copies exchange units of 16 bytes in rows of 128, and {box.target.name} lies otherwise",
            f'swizzle("{box.target.name}", {_UNIT // size}, 8, {_LINE // size}), or none',
        )
    return _UNIT * lies.count


def _check(box: Box, mode: int) -> None:
    """Refuse copies that no tensor map can describe."""
    source, size = box.source, box.source.dtype.bytes
    shape = [integer(n) for n in source.shape]
    if None in shape or 0 in shape:
        raise _refused(
            f"the sizes of {source.name} must be known and not 0: they are part of its map",
            "give the sizes as constants",
        )
    if not 1 <= source.rank <= MOST_RANK or max(box.extents) > MOST_EXTENT:
        raise _refused(
            f"a bulk copy has 1 to {MOST_RANK} dimensions of at most {MOST_EXTENT} elements: {source.name} "
            f"has {source.rank}, "
            f"the box {' x '.join(map(str, box.extents))}"
        )
    stride = size
    for n in reversed(shape[1:]):
        stride *= n or 0
        if stride % _UNIT:
            raise _refused(
                f"rows of {source.name} begin at multiples of {stride} bytes, and for bulk copies at "
                f"multiples of 16"
            )
    row = box.extents[-1] * size
    if row % _UNIT or mode and row > mode:
        raise _refused(
            f"rows of a box have a multiple of 16 "
            f"bytes{f', at most {mode} under this swizzle' if mode else ''}, and those of "
            f"{source.name} have {row}"
        )


def _check_place(box: Box, mode: int) -> None:
    """Check that boxes begin where the swizzle does."""
    begins, size = _box_alignment(mode), box.target.dtype.bytes
    flat = flat_index(box.target, box.first)
    if box.target.scope != "shared" or any(
        c * size % begins for c in (flat.constant, *(c for _, c in flat.terms))
    ):
        raise _refused(
            f"bulk copies go to shared memory, to multiples of {begins} bytes, and those to "
            f"{box.target.name} do not",
            "use boxes of such a size",
        )


def _box_alignment(mode: int) -> int:
    """Alignment in bytes of a box's begin."""
    return _ROWS * _LINE if mode else _LINE


def _in_one_thread(emitter: GpuContext, work: object) -> None:
    """Let one thread do work for its block."""
    conditions = [
        compare("==", emitter.positions[axis], index(0)) for axis in sorted(emitter.geometry.several)
    ]
    emitter.where_holds([conjunction(*conditions)], work)  # type: ignore[arg-type]


def _counter(emitter: GpuContext, slot: Expr) -> str:
    at = emitter.index(slot)
    return (
        f"ptr addrspace(3) "
        f"{emitter.function.define(f'getelementptr i64, ptr addrspace(3) {emitter.counters}, {at}')}"
    )


def _as_i32(emitter: GpuContext, e: Expr) -> str:
    """An integer of 32 bits."""
    return emitter.function.define(f"trunc {emitter.index(e)} to i32")


def _refused(message: str, help: str = "pipeline without bulk_copy: threads copy anything") -> CompileError:
    return CompileError(message, code="target", help=help)
