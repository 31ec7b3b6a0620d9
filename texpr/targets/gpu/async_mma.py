"""Asynchronous products of warpgroups: begun together, made a group, waited for.

The assembler must see that registers of accumulators are left alone meanwhile, and the compiler
that they change: a wait takes and gives back all accumulators that statements behind it use
(`async_accumulators`), so that nothing computed from them moves in front of it. Calls say which
accumulator of the thread a register is, by its number: processors need no such thing, an emulator
does, since it adds to the accumulators as late as the wait permits.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.build import integer
from texpr.ir.expr import Expr, Var, index
from texpr.ir.loop import WaitProducts
from texpr.passes.analysis.match_nest import Match
from texpr.passes.analysis.substitution import folded
from texpr.support.errors import CompileError
from texpr.targets.gpu import warps
from texpr.targets.gpu.emission_context import GpuContext

FENCE = "wgmma.fence.sync.aligned;"
"""Orders writes to the registers of sums before the products behind it begin."""


def accumulator_numbers(emitter: GpuContext, match: Match, places: Sequence[tuple[int, int]]) -> list[int]:
    """The numbers of the accumulators of a tile, by row and column in the first lane."""
    tensor, _ = match.operands["C"]
    first = single_iterations(emitter)
    found = [
        tuple(folded(e, first) for e in emitter.owned_indices(tensor, warps.indices_of(match, "C", i=i, j=j)))
        for i, j in places
    ]
    known = [tuple(n for e in each if (n := integer(e)) is not None) for each in found]
    if any(len(a) != len(b) for a, b in zip(found, known)):
        raise CompileError(
            f"products that go on add to registers, and which of {tensor.name} depends on a loop",
            code="target",
            help="unroll the loops between async_mma's and the product",
        )
    return [emitter.accumulators.numbers[tensor, place] for place in known]


def single_iterations(emitter: GpuContext) -> dict[Var, Expr]:
    """The variables of loops that have one iteration, as indices 0."""
    return {v: index(0) for v, n in emitter.threads.extents.items() if isinstance(v, Var) and integer(n) == 1}


def emit_commit(emitter: GpuContext) -> None:
    """Make a group of the products since the last commit."""
    symbol = "@texpr.wgmma.commit"
    emitter.declared[symbol] = _plain(symbol, "wgmma.commit_group.sync.aligned;")
    emitter.function.emit(f"call void {symbol}()")


def emit_wait(emitter: GpuContext, wait: WaitProducts) -> None:
    """Wait until at most `wait.pending` groups are under way, and take back the accumulators
    that are used behind the wait.
    """
    f, text = emitter.function, f"wgmma.wait_group.sync.aligned {wait.pending};"
    keys = [key for key in emitter.accumulators.numbers if key[0] in emitter.accumulators.returned[wait]]
    symbol = f"@texpr.wgmma.wait.{wait.pending}.{len(keys)}"
    if not keys:
        emitter.declared[symbol] = _plain(symbol, text)
        f.emit(f"call void {symbol}()")
        return
    result = f"{{ {', '.join(['float'] * len(keys))} }}"
    emitter.declared[symbol] = "\n".join(
        [
            f"define internal {result} {symbol}({numbered_accumulators(len(keys))}) alwaysinline convergent "
            f"nounwind {{",
            f'  %r = call {result} asm sideeffect "{text}", '
            f'"{tied_constraints(len(keys))},~{{memory}}"({accumulators(len(keys))}) convergent',
            f"  ret {result} %r",
            "}",
        ]
    )
    at = [f"ptr {emitter.owned_address(t, place)}" for t, place in keys]
    sums = [f.define(f"load float, {each}, align 4") for each in at]
    words = [f"i32 {emitter.accumulators.numbers[key]}" for key in keys]
    after = f.define(f"call {result} {symbol}({', '.join([*words, *(f'float {x}' for x in sums)])})")
    for k, each in enumerate(at):
        f.emit(f"store float {f.define(f'extractvalue {result} {after}, {k}')}, {each}, align 4")


def numbered_accumulators(count: int) -> str:
    """Parameters of a wrapper function: the numbers of `count` accumulators, then the
    accumulators.
    """
    return ", ".join([*(f"i32 %n{k}" for k in range(count)), accumulators(count)])


def accumulators(count: int) -> str:
    """`count` accumulators, as parameters or as operands."""
    return ", ".join(f"float %s{k}" for k in range(count))


def tied_constraints(count: int) -> str:
    """Constraints of an instruction that updates `count` accumulators in their registers."""
    return ",".join(["=f"] * count + [str(k) for k in range(count)])


def _plain(symbol: str, text: str) -> str:
    return (
        f"define internal void {symbol}() alwaysinline convergent nounwind {{\n"
        f'  call void asm sideeffect "{text}", "~{{memory}}"() convergent\n  ret void\n}}'
    )
