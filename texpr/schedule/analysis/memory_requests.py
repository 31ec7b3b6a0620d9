"""Memory requests of the threads of a GPU, by exact counting over the first warp of a block, for
the notes of listings.

A warp's load or store of memory takes as many transfers as it touches sectors of 32 bytes. Shared
memory has 32 banks of 4 bytes, which serve one word each at a time: as many turns are taken as
there are different words in one bank, among the threads that are served together.

Source: Jia, Maggioni, Staiger and Scarpazza, Dissecting the Volta GPU Architecture via
Microbenchmarking, arXiv:1804.06826, 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from texpr.ir.affine import Linear
from texpr.ir.build import integer
from texpr.ir.expr import Expr, Read, Tensor, Var
from texpr.ir.loop import Alloc, For, If, Kernel, Stmt, Store, is_block
from texpr.ir.loop_kind import VECTOR, Cluster, InstructionNest, Thread
from texpr.ir.machine import Machine
from texpr.ir.shapes import value_at
from texpr.ir.traverse import variables, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.loop.place_buffers import place
from texpr.schedule.analysis.occupancy import occupancy
from texpr.schedule.structure.loops import loops_around

WARP = 32
SECTOR = 32
BANKS, WORD = 32, 4
WIDEST = 16
"""Bytes that one thread moves at once."""
ROWS = 8
"""Rows of 16 bytes that an instruction of a warp reads from shared memory at once."""

Places = Sequence[int]
"""Positions in a tensor at which the active threads begin, in bytes."""


def requests(kernel: Kernel, loop: For) -> list[str]:
    """Memory requests of a warp in a loop over threads that has no such loops inside: a few words
    for each tensor in memory.

    Accesses of which sizes, or data, say where they lie are left out, as are buffers in registers.
    """
    around = (*loops_around(kernel, loop), loop)
    if not isinstance(loop.kind, Thread) or any(
        isinstance(n, For) and isinstance(n.kind, Thread) for s in loop.body for n in walk(s)
    ):
        return []
    threads = _threads(around)
    if threads is None:
        return []
    said = (
        _said(kernel, what, tensor, indices, below, threads)
        for what, tensor, indices, below in _accesses(loop.body, around)
    )
    return list(dict.fromkeys(words for words in said if words))


def block(kernel: Kernel, loop: For, machine: Machine | None) -> list[str]:
    """Size of the blocks (clusters, threads, shared memory), for the outermost loop over blocks,
    and their occupancy of a processor.
    """
    if not is_block(loop) or loops_around(kernel, loop):
        return []
    loops = [n for n in walk(loop) if isinstance(n, For)]
    extents = [_longest(loops, axis) for axis in "xyz"]
    if None in extents:
        return []
    used = {n.tensor for n in walk(loop) if isinstance(n, Read | Store) and n.tensor.scope == "shared"}
    placed = {n.tensor.name: n.tensor for n in walk(*place(kernel).body) if isinstance(n, Alloc)}
    sizes = [_elements(placed.get(t.name, t)) * t.dtype.bytes for t in used]
    shared = f", {sum(sizes)} bytes of shared memory" if sizes and all(sizes) else ""
    threads = prod(n for n in extents if n is not None)
    said = [f"{_clusters(loops)}blocks of {threads} threads{shared}"]
    if machine is not None and machine.multiprocessor is not None and all(sizes):
        said.append(occupancy(machine.multiprocessor, threads, sum(sizes)))
    return said


def _clusters(loops: Sequence[For]) -> str:
    """Number of blocks of each cluster, if there are clusters."""
    sizes = [integer(n.extent) or 0 for n in loops if isinstance(n.kind, Cluster)]
    return f"clusters of {prod(sizes)} " if sizes else ""


def _elements(t: Tensor) -> int:
    count = prod(integer(n) or 0 for n in t.shape)
    return count if t.swizzle is None else t.swizzle.room(count)


def _longest(loops: Sequence[For], axis: str) -> int | None:
    """Number of threads along an axis; None if that is not known."""
    extents = [integer(n.extent) for n in loops if n.kind == Thread(axis)]
    return None if None in extents else max((n for n in extents if n is not None), default=1)


def _threads(around: Sequence[For]) -> list[dict[Var, int]] | None:
    """For each thread of the first warp that runs what stands in these loops, where it stands in
    those over threads.
    """
    nest = [n for n in walk(around[0]) if isinstance(n, For)]
    extents = {axis: _longest(nest, axis) for axis in "xyz"}
    if None in extents.values():
        return None
    loops = {n.kind.axis: n for n in around if isinstance(n.kind, Thread)}
    found: list[dict[Var, int]] = []
    for lane in range(WARP):
        place: dict[Var, int] = {}
        rest, active = lane, True
        for axis in "xyz":
            rest, at = divmod(rest, extents[axis])  # type: ignore[arg-type]
            bound = loops.get(axis)
            active = active and at < ((integer(bound.extent) or 0) if bound is not None else 1)
            place |= {} if bound is None else {bound.var: at}
        if active and not rest:
            found.append(place)
    return found


def _accesses(
    body: Sequence[Stmt], above: tuple[For, ...]
) -> Iterator[tuple[str, Tensor, tuple[Expr, ...], tuple[For, ...]]]:
    """Reads and stores, with the loops around each."""
    for s in body:
        match s:
            case For():
                yield from _accesses(s.body, (*above, s))
            case If():
                yield from _accesses(s.body, above)
            case Store(tensor, indices, value):
                yield from (
                    ("reads", n.tensor, n.indices, above)
                    for n in walk(*indices, value)
                    if isinstance(n, Read)
                )
                yield "writes", tensor, indices, above


def _said(
    kernel: Kernel,
    what: str,
    tensor: Tensor,
    indices: tuple[Expr, ...],
    above: tuple[For, ...],
    threads: Sequence[Mapping[Var, int]],
) -> str:
    in_memory = tensor in kernel.inputs or tensor in kernel.outputs
    if not threads or not (in_memory or tensor.scope == "shared"):
        return ""
    flat = flat_index(tensor, indices)
    instruction = next((k for k, n in enumerate(above) if isinstance(n.kind, InstructionNest)), None)
    if instruction is not None:
        return "" if in_memory else _rows(tensor, flat, above, above[instruction:])
    vector = next((n for n in above if n.kind == VECTOR), None)
    run = (integer(vector.extent) or 1) if vector is not None and flat.coefficient(vector.var) == 1 else 1
    size = min(run * tensor.dtype.bytes, WIDEST)
    places = [_place(tensor, flat, above, at) for at in threads]
    if None in places:
        return ""
    begins = [p for p in places if p is not None]
    return (
        f"{what} {tensor.name} in {_sectors(begins, size)}"
        if in_memory
        else f"{what} {tensor.name} {_turns(_ways(begins, size))}"
    )


def _place(tensor: Tensor, flat: Linear, above: Sequence[For], at: Mapping[Var, int]) -> int | None:
    """Position of an element in bytes, in the first iteration of all loops but those over threads;
    None if sizes or data say so.
    """
    where = flat.expr()
    if not variables(where) <= {n.var for n in above}:
        return None
    element = value_at(where, at, 0)
    if element is None:
        return None
    return (element if tensor.swizzle is None else tensor.swizzle.place(element)) * tensor.dtype.bytes


def _sectors(begins: Places, size: int) -> str:
    touched = {byte // SECTOR for p in begins for byte in range(p, p + size)}
    needed = -(-len({byte for p in begins for byte in range(p, p + size)}) // SECTOR)
    more = f", where {needed} would do" if len(touched) > needed else ""
    return f"{len(touched)} sector{'s' * (len(touched) > 1)}{more}"


def _ways(begins: Places, size: int) -> int:
    """The most words of one bank that threads served together use."""
    together = WARP * WORD // max(size, WORD)
    ways = 1
    for k in range(0, len(begins), together):
        words = {byte // WORD for p in begins[k : k + together] for byte in range(p, p + size)}
        ways = max(ways, max(sum(w % BANKS == b for w in words) for b in range(BANKS)))
    return ways


def _turns(ways: int) -> str:
    return "without bank conflicts" if ways == 1 else f"with {ways}-way bank conflicts"


def _rows(tensor: Tensor, flat: Linear, above: Sequence[For], loops: Sequence[For]) -> str:
    """An instruction that reads rows: along the loop whose neighbours do not lie beside each
    other.
    """
    rows = [n for n in loops if flat.coefficient(n.var) not in (0, 1)]
    if len(rows) != 1 or any(flat.coefficient(n.var) == 0 for n in loops):
        return ""
    places = [_place(tensor, flat, above, {rows[0].var: k}) for k in range(integer(rows[0].extent) or 0)]
    begins = [p for p in places if p is not None]
    if len(begins) < len(places):
        return ""
    ways = max(_ways(begins[k : k + ROWS], WIDEST) for k in range(0, len(begins), ROWS))
    return f"reads {tensor.name} {_turns(ways)}"
