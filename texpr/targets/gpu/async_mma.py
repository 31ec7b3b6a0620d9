"""Products that go on while their threads do: begun together, made a group, waited for (`schedule.steps.hardware.async_mma`).

The assembler must see that registers of sums are left alone meanwhile, and the compiler that they change: a wait takes and gives back all
sums that statements behind it use, so that nothing computed from them moves in front of it. Calls say which sum of the thread a register
is, by its number: processors need no such thing, an emulator does, since it adds to the sums as late as the wait permits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from texpr.ir.build import integer
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, index
from texpr.ir.loop import INSTRUCTION, Alloc, CommitProducts, For, If, Stmt, Store, WaitProducts
from texpr.ir.traverse import walk
from texpr.passes.analysis.match_nest import Match
from texpr.passes.analysis.substitution import folded
from texpr.support.errors import CompileError
from texpr.targets.gpu import warps

if TYPE_CHECKING:
    from texpr.targets.gpu.emitter import GpuEmitter
    from texpr.targets.gpu.owned_elements import Own

Place = tuple[int, ...]
UnderWay = frozenset[tuple[Tensor, bool]]
FENCE = "wgmma.fence.sync.aligned;"
"""What was written to the registers of sums is there before the products behind it begin."""


@dataclass(slots=True)
class Sums:
    """The sums that asynchronous products of a nest add to: a number for each that a thread has, and of each wait those that it may end
    and that are used in the statements around it.
    """

    numbers: dict[tuple[Tensor, Place], int] = field(default_factory=dict)
    behind: dict[WaitProducts, list[Tensor]] = field(default_factory=dict)
    following: set[Stmt] = field(default_factory=set)
    """Products that stand directly behind others: registers of sums are as these left them."""


def sums_of(nest: Stmt, own: Mapping[Tensor, Own]) -> Sums:
    """The sums of the asynchronous products of a nest, whose other statements use each thread's part in place of the whole."""
    tensors = list(dict.fromkeys(n.tensor for n in walk(nest) if isinstance(n, Store) and n.asynchronous and n.update is not None))
    every = [(t, place) for t in tensors if t in own for place in own[t].places]
    found = Sums({key: k for k, key in enumerate(every)})
    for n in walk(nest):
        if isinstance(n, For | If):
            found.following |= {s for before, s in pairwise(n.body) if is_begun(before) and is_begun(s)}
            used = {t for below in n.body for t in _used(below)} if any(isinstance(s, WaitProducts) for s in n.body) else set()
            behind = [t for t in tensors if t in own and (t in used or own[t].tensor in used)]
            found.behind |= {s: behind for s in n.body if isinstance(s, WaitProducts)}
    ended = _ended(nest, found.behind)
    found.behind = {s: [t for t in behind if t in ended[s]] for s, behind in found.behind.items()}
    return found


def _ended(nest: Stmt, used: Mapping[WaitProducts, Sequence[Tensor]]) -> dict[WaitProducts, set[Tensor]]:
    """Of each wait the sums that no wait has given back since products began to add to them. `used` are those that it may give back."""
    found: dict[WaitProducts, set[Tensor]] = {}

    def behind(s: Stmt, before: UnderWay) -> UnderWay:
        """The sums that are to be given back behind a statement, and whether products that add to them are in a group."""
        match s:
            case CommitProducts():
                return frozenset((t, True) for t, _ in before)
            case WaitProducts(pending):
                found[s] = found.get(s, set()) | {t for t, _ in before}
                return frozenset((t, grouped) for t, grouped in before if pending or not grouped or t not in used[s])
            case For() if is_begun(s):
                return before | {(n.tensor, False) for n in walk(s) if isinstance(n, Store)}
            case For(body=body) | If(body=body):
                after = before
                for _ in range(2):  # an iteration, and one that follows another
                    after |= before
                    for inside in body:
                        after = behind(inside, after)
                return before | after
        return before

    behind(nest, frozenset())
    return found


def _used(s: Stmt) -> set[Tensor]:
    """What statements use, but for asynchronous products and for what lives in the statements themselves."""
    found: set[Tensor] = set()
    own = {n.tensor for n in walk(s) if isinstance(n, Alloc)}
    stack: list[Node] = [s]
    while stack:
        n = stack.pop()
        if is_begun(n):
            continue
        if isinstance(n, For | If):
            stack += n.body
        else:
            found |= {m.tensor for m in walk(n) if isinstance(m, Read | Store)}
    return found - own


def is_begun(n: Node) -> bool:
    """Whether this is an instruction that begins a product."""
    return isinstance(n, For) and n.kind.startswith(INSTRUCTION) and any(isinstance(s, Store) and s.asynchronous for s in walk(n))


def numbers(emitter: GpuEmitter, match: Match, places: Sequence[tuple[int, int]]) -> list[int]:
    """The numbers of the sums of a tile, by row and column in the first lane."""
    tensor, _ = match.operands["C"]
    first = once(emitter)
    found = [tuple(folded(e, first) for e in emitter.register_place(tensor, warps.indices_of(match, "C", i=i, j=j))) for i, j in places]
    known = [tuple(n for e in each if (n := integer(e)) is not None) for each in found]
    if any(len(a) != len(b) for a, b in zip(found, known)):
        raise CompileError(f"products that go on add to registers, and which of {tensor.name} depends on a loop", code="target",
                           help="unroll the loops between in_flight's and the product")
    return [emitter.sums.numbers[tensor, place] for place in known]


def once(emitter: GpuEmitter) -> dict[Var, Expr]:
    """The variables of loops that have one iteration."""
    return {v: index(0) for v, n in emitter.threads.extents.items() if isinstance(v, Var) and integer(n) == 1}


def emit_commit(emitter: GpuEmitter) -> None:
    """The products since the last commit become a group."""
    symbol = "@texpr.wgmma.commit"
    emitter.declared[symbol] = _plain(symbol, "wgmma.commit_group.sync.aligned;")
    emitter.function.emit(f"call void {symbol}()")


def emit_wait(emitter: GpuEmitter, wait: WaitProducts) -> None:
    """Wait, and have the sums that are used behind it."""
    f, text = emitter.function, f"wgmma.wait_group.sync.aligned {wait.pending};"
    keys = [key for key in emitter.sums.numbers if key[0] in emitter.sums.behind[wait]]
    symbol = f"@texpr.wgmma.wait.{wait.pending}.{len(keys)}"
    if not keys:
        emitter.declared[symbol] = _plain(symbol, text)
        f.emit(f"call void {symbol}()")
        return
    result = f"{{ {', '.join(['float'] * len(keys))} }}"
    emitter.declared[symbol] = "\n".join([
        f"define internal {result} {symbol}({given(len(keys))}) alwaysinline convergent nounwind {{",
        f'  %r = call {result} asm sideeffect "{text}", "{tied(len(keys))},~{{memory}}"({values(len(keys))}) convergent',
        f"  ret {result} %r", "}"])
    at = [f"ptr {emitter.part_address(t, place)}" for t, place in keys]
    sums = [f.define(f"load float, {each}, align 4") for each in at]
    words = [f"i32 {emitter.sums.numbers[key]}" for key in keys]
    after = f.define(f"call {result} {symbol}({', '.join([*words, *(f'float {x}' for x in sums)])})")
    for k, each in enumerate(at):
        f.emit(f"store float {f.define(f'extractvalue {result} {after}, {k}')}, {each}, align 4")


def given(count: int) -> str:
    """Parameters: the numbers of so many sums, then the sums."""
    return ", ".join([*(f"i32 %n{k}" for k in range(count)), values(count)])


def values(count: int) -> str:
    """So many sums."""
    return ", ".join(f"float %s{k}" for k in range(count))


def tied(count: int) -> str:
    """Constraints of an instruction that takes so many sums and leaves others in the same registers."""
    return ",".join(["=f"] * count + [str(k) for k in range(count)])


def _plain(symbol: str, text: str) -> str:
    return (f"define internal void {symbol}() alwaysinline convergent nounwind {{\n"
            f'  call void asm sideeffect "{text}", "~{{memory}}"() convergent\n  ret void\n}}')
