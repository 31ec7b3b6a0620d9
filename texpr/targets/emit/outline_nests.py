"""Outlining of loop nests that stand beside each other into functions.

LLVM gives registers out for a whole function. Values that one nest needs lie across the loops of
the next, which then fetches addresses from the stack, iteration after iteration. In a function of
its own a nest has all registers. A call for each nest costs nothing beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr.ir.dtypes import I64, DType
from texpr.ir.expr import Read, Tensor, Var
from texpr.ir.loop import Alloc, For, Kernel, Poll, Stmt, Store
from texpr.ir.loop_kind import PARALLEL, SERIAL, VECTOR
from texpr.ir.traverse import statements, variables, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.targets.common.records import symbol_of
from texpr.targets.emit.function import Function, Scoped, Value, register_type
from texpr.targets.emit.statements import Emitter


class OutliningEmitter(Emitter):
    """Outlines each nest of serial loops that has another one beside it.

    Not of those that use a buffer of the function around which may be in its registers, such as a
    tile of sums.

    Attributes:
        outlines_parts: nests that were one before loops were cut are outlined too.
    """

    outlines_parts = True

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.beside: frozenset[For] = frozenset()
        self.nests = 0

    def statements(self, body: tuple[Stmt, ...]) -> None:
        before, self.beside = self.beside, self._beside(body) if self.lane is None else frozenset()
        super().statements(body)
        self.beside = before

    def loop(self, loop: For) -> None:
        used, free = self.captured_values(loop) if loop in self.beside else ([], [])
        if loop not in self.beside or any(
            self.pointers[t] in self.function.stack_slots and _is_fixed(t, loop) for t in used
        ):
            super().loop(loop)
            return
        self.beside = self.beside - {loop}
        # Large buffers of the nest itself are already there: they are not allocated in loops.
        made = (s.tensor for s in statements(loop) if isinstance(s, Alloc) and not self.on_stack(s.tensor))
        self._call_nest(
            loop, [*used, *(t for t in dict.fromkeys(made) if t in self.pointers and t not in used)], free
        )

    def _beside(self, body: tuple[Stmt, ...]) -> frozenset[For]:
        """The serial loops with others inside, where there is another serial loop in the same body."""
        loops = [s for s in body if isinstance(s, For) and s.kind == SERIAL]
        several = len(loops) if self.outlines_parts else len({s.tensor for s in loops})
        return frozenset(
            s
            for s in loops
            if several > 1 and any(isinstance(n, For) and n.kind == SERIAL for n in statements(*s.body))
        )

    def _call_nest(self, loop: For, used: Sequence[Tensor], free: Sequence[Var]) -> None:
        """Call a function that finds these pointers and variables in memory: what comes beyond the
        first few arguments is there anyway, and would be fetched where it is used."""
        f, name = self.function, f"{symbol_of(self.kernel.name)}.nest{self.nests}"
        self.nests += 1
        types = [self.parameter_type(v) for v in free]
        context = f.slot(f"[{max(1, len(used) + len(free))} x i64]", 8)
        given = [
            *(f"ptr {self.pointers[t]}" for t in used),
            *(str(self.cast(self.variables[v], t)) for v, t in zip(free, types)),
        ]
        for k, each in enumerate(given):
            f.emit(f"store {each}, ptr {f.define(f'getelementptr i64, ptr {context}, i64 {k}')}, align 8")
        status = f.define(f'call i32 @"{name}"(ptr {context})')
        for code in (1, 2) if _leaves(loop) else ():
            f.leave_if(f.define(f"icmp eq i32 {status}, {code}"), code)
        self._define_nest(loop, name, used, dict(zip(free, types)))

    def _define_nest(self, loop: For, name: str, used: Sequence[Tensor], free: Mapping[Var, DType]) -> None:
        """Two functions: one with the captured values as parameters (so that `noalias` holds),
        one that unpacks them.
        """
        outer = self.function, self.pointers, self.variables, self.loop_depth, self.known
        types = [*("ptr" for _ in used), *map(register_type, free.values())]
        parameters = [f"%p{k}" for k in range(len(types))]
        alone = [*map(self.noalias, used), *("" for _ in free)]
        typed = [f"{t}{attribute} {p}" for t, attribute, p in zip(types, alone, parameters)]
        self.function, self.known = (
            Function(f'define internal i32 @"{name}.body"({", ".join(typed)}) alwaysinline #0'),
            Scoped(),
        )
        self.pointers = dict(zip(used, parameters))
        self.variables = {
            v: self.cast(Value(p, t), I64) for (v, t), p in zip(free.items(), parameters[len(used) :])
        }
        self.loop(loop)
        self.functions += [self.function.text(), _unpacking(name, types)]
        self.function, self.pointers, self.variables, self.loop_depth, self.known = outer

    def parameter_type(self, v: Var) -> DType:
        """The type in which a variable is given to the function of a nest."""
        return I64


def _unpacking(name: str, types: Sequence[str]) -> str:
    lines = [f'define internal i32 @"{name}"(ptr %context) noinline #0 {{']
    for k, t in enumerate(types):
        lines += [
            f"  %a{k} = getelementptr i64, ptr %context, i64 {k}",
            f"  %v{k} = load {t}, ptr %a{k}, align 8",
        ]
    given = ", ".join(f"{t} %v{k}" for k, t in enumerate(types))
    return "\n".join([*lines, f'  %s = call i32 @"{name}.body"({given})', "  ret i32 %s", "}"])


def _is_fixed(tensor: Tensor, loop: For) -> bool:
    """True if all uses of a tensor in a nest lie at places that are known: LLVM makes registers of
    it then.
    """
    nodes = list(walk(loop))
    lanes = {n.var for n in nodes if isinstance(n, For) and n.kind == VECTOR}
    used = [
        flat_index(n.tensor, n.indices) for n in nodes if isinstance(n, Read | Store) and n.tensor is tensor
    ]
    return all(variables(term) <= lanes for flat in used for term, _ in flat.terms)


def _leaves(loop: For) -> bool:
    """True if a kernel may end inside of a loop: interrupted, or without memory for a worker."""
    return any(isinstance(s, Poll) or isinstance(s, For) and s.kind == PARALLEL for s in statements(loop))
