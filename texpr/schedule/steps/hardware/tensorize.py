"""`tensorize`: a nest of loops run by one instruction."""

from __future__ import annotations

from difflib import get_close_matches

from texpr.ir.expr import Var
from texpr.ir.instructions import INSTRUCTIONS, listed
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.loop_kind import InstructionNest
from texpr.ir.traverse import rewrite
from texpr.passes.analysis.match_nest import Mismatch, instance
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, qualified, replace_loops, span_of, stores
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace


@step()
def tensorize(kernel: Kernel, loop: str | Var, instruction: str, *, reassoc: bool = False) -> Kernel:
    """Run the nest of `loop` as one instruction. `replace` in Exo.

    for j in 0..16: for k in 0..4: C[j] += i32(A[k]) * i32(B[j, k])   ->   the same, marked `instruction.vpdpbusd`

    Legal where the nest is the instruction's meaning (a listing in `ir.instructions`) with other
    tensors for its operands: equal loops, the same operations, operands that lie in memory as it
    wants them; `cache_read` and `layout` bring them there. Conditions inside would leave lanes out,
    so there may be none. Which targets have the instruction is asked when the kernel is compiled.
    Of several loops of that name, those that match.

    An instruction that adds floats does it in an order of its own, most with roundings of their own
    and denormal numbers taken for zeros: `reassoc=True` permits that.

    Raises:
        ScheduleError: there is no such instruction, the nest is not what it does, or the step needs
            `reassoc=True`.
    Source: Ikarashi and others, Exocompilation for Productive Programming of Hardware Accelerators,
    PLDI 2022.
    Example:
        op = tx.op('''op bytes(A: u8[M, K], B: i8[N, K]) -> C: i32[M, N] {
          C[i, j] = sum(k: i32(A[i, k]) * i32(B[j, k]))
        }''')
        s = tx.schedule(op, K=64, N=64).split("j", 16).split("k", 4)
        s.reorder("i", "jo", "ko", "ji", "ki").cache_read("B", "ko")
        s.layout("B_cache", "j k -> k/4 j k%4")
        s.tensorize("ji", "vpdpbusd")
    Refused:
        tx.schedule(op, K=64, N=64).tensorize("j", "vpdpbusd")
    Elsewhere: Halide none; TVM `tensorize`; Exo `replace`; MLIR
    `transform.nvgpu.rewrite_matmul_as_mma_sync`.
    """
    found = find_loops(kernel, loop)
    if not isinstance(instruction, str) or instruction not in INSTRUCTIONS:
        close = get_close_matches(str(instruction), INSTRUCTIONS, 1)
        raise ScheduleError(
            f"there is no instruction {instruction!r}",
            code="tensorize",
            help=f"did you mean `{close[0]}`?" if close else f"instructions: {listed(INSTRUCTIONS)}",
        )
    matching: list[For] = []
    wrong: list[tuple[For, str]] = []
    for n in found:
        try:
            instance(instruction, n)
            matching.append(n)
        except Mismatch as why:
            wrong.append((n, str(why)))
    if not matching:
        # Of the copies of a loop, the one that adds is the one that was meant.
        at, why = next(((n, text) for n, text in wrong if any(s.update for s in stores(n))), wrong[0])
        raise ScheduleError(
            f"the nest of `{at.var.name}` is not {instruction}: {why}",
            span_of(kernel, at),
            code="tensorize",
            notes=[line for line in INSTRUCTIONS[instruction].text.strip().splitlines()[1:]],
            help="split and reorder the loops to these; cache_read and layout change how operands lie in "
            "memory",
        )
    asks = INSTRUCTIONS[instruction]
    if not isinstance(reassoc, bool):
        raise ScheduleError(
            f"`reassoc` is True or False, not {reassoc!r}", span_of(kernel, matching[0]), code="tensorize"
        )
    reorders = asks.reorders and any(not s.reassoc for n in matching for s in stores(n))
    if not reassoc and (asks.flushes_denormals or asks.reduced_precision or reorders):
        flushes = " and takes denormal numbers for zeros" if asks.flushes_denormals else ""
        also = ", with fewer bits than sums have" if asks.reduced_precision else flushes
        raise ScheduleError(
            f"{instruction} adds in an order of its own{also}",
            span_of(kernel, matching[0]),
            code="exact",
            help=f'tensorize("{qualified(matching[0])}", "{instruction}", reassoc=True) permits it',
        )
    return replace_loops(kernel, matching, lambda n: _run(n, instruction))


def _run(nest: For, instruction: str) -> For:
    """The nest as an instruction, its updates in whatever order that takes."""
    free = INSTRUCTIONS[instruction].flushes_denormals or INSTRUCTIONS[instruction].reorders
    marked = rewrite(nest, lambda s: replace(s, reassoc=True) if free and isinstance(s, Store) else None)
    return replace(marked, kind=InstructionNest(instruction))
