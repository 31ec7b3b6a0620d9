"""Costs of elements, and of tensors: which tensors cost less to compute again than to store and
read.
"""

from __future__ import annotations

from texpr.autoschedule.core.cost_model import COSTS
from texpr.ir.affine import linear
from texpr.ir.build import integer, product
from texpr.ir.expr import Call, Div, Expr, FloorDiv, Mod, Pow, Read, Select, Tensor, Var
from texpr.ir.loop import For, If, Kernel, Store
from texpr.ir.machine import Machine
from texpr.ir.traverse import children, equal, kept_statements, mentions, users, variables, walk
from texpr.schedule.structure.loops import paths

SLOW = {Div: COSTS.division, Pow: COSTS.power, FloorDiv: COSTS.division, Mod: COSTS.division}
"""Operations that count for several."""


def should_inline(kernel: Kernel, tensor: Tensor, machine: Machine) -> bool:
    """True if a temporary is worth inlining: it is computed element by element, and again nowhere
    more often than it is worth.
    """
    placed = [(above, s) for above, s in paths(kernel, tensor) if isinstance(s, Store)]
    written = [(above, s) for above, s in placed if s.tensor is tensor]
    if (
        len(written) != 1
        or written[0][1].update is not None
        or written[0][1].is_start
        or _conditions_read(kernel, tensor)
    ):
        return False
    (around, producer) = written[0]
    uses, in_rows = 0, _is_in_rows(around, producer.indices)
    for above, s in placed:
        if not mentions(s, tensor):
            continue
        reads = [n for n in walk(s) if isinstance(n, Read) and n.tensor is tensor]
        if not reads:
            continue
        if s is producer or iterations(above) > iterations(around):
            return False
        if isinstance(producer.value, Select) and any(_is_strided(above, r) for r in reads):
            return False  # conditions of elements that lie apart: none holds for a vector of them
        uses += len(_distinct(reads))
        in_rows &= above[:1] != around[:1] and all(_is_in_rows(above, r.indices) for r in reads)
    if uses and operations(producer.value) > COSTS.longest_inlined:
        return False
    far = _exceeds_caches(tensor, machine, tensor.shape[1:] if in_rows else tensor.shape)
    return uses == 1 or 0 < (uses - 1) * operations(producer.value) <= (
        COSTS.memory_round_trip if far else COSTS.store_and_load
    )


def _is_in_rows(above: tuple[For | If, ...], indices: tuple[Expr, ...]) -> bool:
    """True if each iteration of the outermost loop around a statement uses a row of its own: such
    loops can be joined.
    """
    loops = [n for n in above if isinstance(n, For)]
    return len(loops) > 1 and len(indices) > 1 and indices[0] is loops[0].var


def _is_strided(above: tuple[For | If, ...], read: Read) -> bool:
    """True if iterations of the innermost loop read elements that lie apart in a row."""
    loops = [n for n in above if isinstance(n, For)]
    return bool(loops and read.indices) and abs(linear(read.indices[-1]).coefficient(loops[-1].var)) > 1


def _exceeds_caches(tensor: Tensor, machine: Machine, shape: tuple[Expr, ...]) -> bool:
    """True if the caches of a core do not hold the elements of a tensor that are used together, so
    that these go to memory and come back.
    """
    count = integer(product(shape))
    return count is not None and bool(machine.caches) and count * tensor.dtype.bytes > machine.caches[-1]


def _conditions_read(kernel: Kernel, tensor: Tensor) -> bool:
    around = [n for s in users(kernel, tensor) for n in kept_statements(s) if isinstance(n, If | For)]
    heads = [n.cond if isinstance(n, If) else n.extent for n in around]
    return any(isinstance(n, Read) and n.tensor is tensor for n in walk(*heads))


def iterations(above: tuple[For | If, ...]) -> int:
    """Number of iterations of these loops, about: conditions count for none, symbolic extents as a
    typical one.
    """
    total = 1
    for n in above:
        if isinstance(n, For):
            extent = integer(n.extent)
            total *= COSTS.typical_extent if extent is None else extent
    return total


def _distinct(reads: list[Read]) -> list[Read]:
    found: list[Read] = []
    for n in reads:
        if not any(equal(n, other) for other in found):
            found.append(n)
    return found


def operations(value: Expr, along: Var | None = None) -> int:
    """Cost of a value without index arithmetic; subexpressions that do not depend on `along` cost
    nothing if it is given.
    """
    found: dict[int, Expr] = {}
    stack: list[Expr] = [value]
    while stack:
        e = stack.pop()
        if id(e) not in found and (along is None or along in variables(e)):
            found[id(e)] = e
            stack += [] if isinstance(e, Read) else [c for c in children(e) if isinstance(c, Expr)]
    return sum(COSTS.function if isinstance(e, Call) else SLOW.get(type(e), 1) for e in found.values())


def exceeds_registers(value: Expr, machine: Machine) -> bool:
    """True if the constants and intermediates of an element fill the registers: several vectors of
    elements would not stay in them.
    """
    return not machine.has_memory_operands and operations(value) > COSTS.register_operations


def prefers_own_loop(s: Store, machine: Machine, far: bool) -> bool:
    """True if one vector of elements in an iteration is best: several would not stay in registers,
    or the processor computes the next iterations before this one is over, which are so long that
    counting them costs nothing: half of the code then does the same. `far` elements, which are
    written past the caches, are written fastest by two lines.
    """
    last = next((i for i in reversed(s.indices) if isinstance(i, Var)), None)
    return (
        exceeds_registers(s.value, machine)
        or not (far or not machine.has_memory_operands)
        and operations(s.value, along=last) >= COSTS.function
    )


def same_pattern_stores(kernel: Kernel, tensor: Tensor) -> list[Store]:
    """Stores to a tensor; of an output, to all outputs of its shape."""
    shape = tuple(map(integer, tensor.shape))
    alike = [
        t for t in kernel.outputs if tensor in kernel.outputs and tuple(map(integer, t.shape)) == shape
    ] or [tensor]
    return [
        s
        for _, s in paths(kernel)
        if isinstance(s, Store) and s.update is None and not s.is_start and s.tensor in alike
    ]
