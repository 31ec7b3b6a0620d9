"""Code of the instructions of a warpgroup (`warpgroup_instructions`), and of a warp (`warps`).

Unless it is asynchronous (`async_mma`), each instruction begins and ends its product: operands and
accumulators are as any other memory before and after it, so barriers stand where those of other
statements do. Only what was stored to shared memory has to be shown to the tensor cores, by a fence
before each barrier.

Source: PTX ISA 8.0, 9.7.14 (asynchronous warpgroup level matrix instructions), NVIDIA 2022.
"""

from __future__ import annotations

from itertools import product as pairs

from texpr.ir.build import integer
from texpr.ir.expr import Var, index
from texpr.ir.instructions import INSTRUCTIONS
from texpr.ir.loop import For, instruction_of
from texpr.passes.analysis.match_nest import Match, instance
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded
from texpr.support.errors import CompileError
from texpr.targets.gpu import async_mma, warps
from texpr.targets.gpu.async_accumulators import is_asynchronous
from texpr.targets.gpu.emission_context import GpuContext
from texpr.targets.gpu.warpgroup_instructions import (
    PANEL,
    PATTERN,
    ROWS,
    WarpgroupAccumulators,
    WarpgroupMma,
    axes_of,
    fragment_column,
    fragment_row,
)

_DESCRIPTOR = 1 << 62 | PATTERN // 16 << 32
"""Upper word of a descriptor: rows of 128 bytes exchanged, eight rows after eight others."""
_PANEL_STRIDE = PANEL * 128 // 16 << 16
"""Distance of panels, in the lower word, which has the address as well."""


def emit_warp_instruction(emitter: GpuContext, loop: For) -> None:
    """Write the instruction of a warp or a warpgroup that runs the nest of `loop`; that the
    target has it was checked.
    """
    name = instruction_of(loop)
    match INSTRUCTIONS[name].emit:
        case WarpgroupMma() as p:
            _emit_product(emitter, p, instance(name, loop), _stage(emitter, loop))
        case WarpgroupAccumulators(_, n, stores):
            row = fragment_row(emitter.positions, axes_of(name, emitter.geometry.block))
            column = fragment_column(emitter.positions["x"])
            warps.emit_accumulator_move(
                emitter, instance(name, loop), loop, stores, _accumulator_places(n), row, column
            )
        case _:
            warps.emit_warp(emitter, loop)


def _stage(emitter: GpuContext, loop: For) -> str:
    """Stage of a product: empty if it is done at once, `begin.` behind other statements, `next.`
    behind a product that has begun.
    """
    return (
        "" if not is_asynchronous(loop) else "next." if loop in emitter.accumulators.consecutive else "begin."
    )


def _emit_product(emitter: GpuContext, p: WarpgroupMma, match: Match, how: str) -> None:
    f = emitter.function
    left = (
        _register_operands(emitter, match, p)
        if p.left_in_registers
        else _shared_operand(emitter, match, p, "A")
    )
    operands = [*left, *_shared_operand(emitter, match, p, "B")]
    places = [warps.register_address(emitter, match, "C", i=i, j=j) for i, j in _accumulator_places(p.n)]
    sums = [f.define(f"load float, {at}, align 4") for at in places]
    words = (
        [f"i32 {n}" for n in async_mma.accumulator_numbers(emitter, match, _accumulator_places(p.n))]
        if how
        else []
    )
    symbol = f"@texpr.wgmma.{how}m{ROWS}n{p.n}k{p.terms}.{p.kind}"
    result = f"{{ {', '.join(['float'] * len(sums))} }}"
    emitter.declared[symbol] = _wrapper(symbol, result, p, how)
    after = f.define(
        f"call {result} {symbol}({', '.join([*words, *(f'float {x}' for x in sums), *operands])})"
    )
    for k, at in enumerate(places):
        f.emit(f"store float {f.define(f'extractvalue {result} {after}, {k}')}, {at}, align 4")


def _register_operands(emitter: GpuContext, match: Match, p: WarpgroupMma) -> list[str]:
    """The typed addresses of a lane's registers of the left operand, each of two terms of a row:
    the wrapper loads them.
    """
    if not warps.is_packed(emitter, match, "A"):
        raise CompileError(
            f"wgmma reads pairs of terms from registers, and those of {match.operands['A'][0].name} do not "
            f"lie beside each "
            "other",
            code="target",
            help="leave the buffer in the order of its terms",
        )
    return [
        warps.register_address(emitter, match, "A", i=8 * h, k=8 * q)
        for q, h in pairs(range(p.terms // 8), range(2))
    ]


def _shared_operand(emitter: GpuContext, match: Match, p: WarpgroupMma, name: str) -> list[str]:
    """Address of a tile of the terms of an instruction, in the first of eight rows: a typed
    address, and the bytes from there on that are known. So the descriptors of products that follow
    each other differ by a number.
    """
    tensor, indices = match.operands[name]
    transposed, lies = name.lower() in p.transposed, p.swizzle
    if tensor.scope != "shared" or tensor.swizzle != lies:
        how = f"{lies.unit}, {lies.count}, {lies.row}"
        raise CompileError(
            f"wgmma reads rows of 128 bytes of shared memory under {lies}, and {tensor.name} does not lie so",
            code="target",
            help=f'set_scope("{tensor.name}", "shared"), then swizzle("{tensor.name}", {how})',
        )
    zero = {w: index(0) for w in match.loops.values()} | async_mma.single_iterations(emitter)
    flat, period = flat_index(tensor, tuple(folded(i, zero) for i in indices)), lies.row * lies.count
    extents = emitter.threads.extents
    near = [(t, c % period) for t, c in flat.terms if c % period]
    last = flat.constant % period + sum(
        c * ((integer(extents[t]) or period) - 1 if isinstance(t, Var) and t in extents else period)
        for t, c in near
    )
    step = period if transposed else p.terms
    if last + p.terms > lies.row or any(c % step for c in (flat.constant, *(c for _, c in near))):
        which = "eight rows" if transposed else "one row"
        raise CompileError(
            f"wgmma reads {p.terms} terms of {which} of {tensor.name}, from every eighth row on, and these "
            f"may begin "
            "elsewhere",
            code="target",
            help=f"use tiles of {lies.row} terms, cut into steps of {p.terms}, and of rows that are a "
            f"multiple of 8",
        )
    known = flat.constant * tensor.dtype.bytes
    at = emitter.function.define(
        f"getelementptr i8, {emitter.operand_address(tensor, indices, zero)}, i64 {-known}"
    )
    return [f"ptr addrspace(3) {at}", f"i32 {known}"]


def _wrapper(symbol: str, result: str, p: WarpgroupMma, how: str) -> str:
    """A wrapper function for one instruction, which an emulator replaces by its name. Of an operand
    in registers it is given where they are.
    """
    count = p.n // 2
    words = p.terms // 4 if p.left_in_registers else 0
    given = [
        async_mma.numbered_accumulators(count) if how else async_mma.accumulators(count),
        *(f"ptr %w{k}" for k in range(words)),
    ]
    given += [f"ptr addrspace(3) %{x}, i32 %{x}.known" for x in p.in_shared_memory]
    lines = [f"define internal {result} {symbol}({', '.join(given)}) alwaysinline convergent nounwind {{"]
    lines += [f"  %a{k} = load i32, ptr %w{k}, align 4" for k in range(words)]
    for x in p.in_shared_memory:
        low = _PANEL_STRIDE if x in p.transposed else 1 << 16
        lines += [
            f"  %{x}0 = ptrtoint ptr addrspace(3) %{x} to i32",
            f"  %{x}1 = lshr i32 %{x}0, 4",
            f"  %{x}2 = and i32 %{x}1, 16383",
            f"  %{x}3 = or i32 %{x}2, {low}",
            f"  %{x}5 = lshr i32 %{x}.known, 4",
            f"  %{x}6 = add nuw i32 %{x}3, %{x}5",
            f"  %{x}7 = zext i32 %{x}6 to i64",
            f"  %{x}4 = or i64 %{x}7, {_DESCRIPTOR}",
        ]
    operands = [*(f"i32 %a{k}" for k in range(words)), *(f"i64 %{x}4" for x in p.in_shared_memory)]
    kinds = ",".join("r" * words + "l" * len(p.in_shared_memory))
    lines += [
        f'  %r = call {result} asm sideeffect "{_instruction(p, how)}", '
        f'"{async_mma.tied_constraints(count)},{kinds},~{{memory}}"'
        f"({async_mma.accumulators(count)}, {', '.join(operands)}) convergent",
        f"  ret {result} %r",
        "}",
    ]
    return "\n".join(lines)


def _instruction(p: WarpgroupMma, how: str) -> str:
    """The instruction, with a fence before it and a wait behind it unless other code does that."""
    count, first = p.n // 2, p.n
    words = p.terms // 4 if p.left_in_registers else 0
    sums, left = (
        ", ".join(f"${k}" for k in range(at, at + n)) for at, n in ((0, count), (first, words or 1))
    )
    types = ".".join(t.removeprefix("f8") for t in (p.left, p.right))
    turns = "" if p.is_fp8 else "".join(f", {int(x in p.transposed)}" for x in p.in_shared_memory)
    ends = "" if how else " wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    return (
        f"{'' if how == 'next.' else async_mma.FENCE} "
        f"wgmma.mma_async.sync.aligned.m{ROWS}n{p.n}k{p.terms}.f32.{types} "
        f"{{{sums}}}, {f'{{{left}}}' if words else left}, ${first + (words or 1)}, 1, 1, 1{turns};{ends}"
    )


def _accumulator_places(n: int) -> list[tuple[int, int]]:
    """Rows and columns that the first lane holds, in the order of its registers."""
    return [(8 * h, 8 * c + b) for c, h, b in pairs(range(n // 8), range(2), range(2))]
