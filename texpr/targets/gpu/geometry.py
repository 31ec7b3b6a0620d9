"""Grids and blocks of a nest of the loop IR, and the limits of a GPU."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from texpr.ir.build import integer, maximum, mul, product
from texpr.ir.expr import Expr, Tensor, Var, index
from texpr.ir.loop import (
    Alloc,
    Barrier,
    Commit,
    CommitProducts,
    For,
    If,
    Stmt,
    Store,
    Wait,
    WaitProducts,
    instruction_of,
    is_block,
    is_bulk,
    is_thread,
)
from texpr.ir.loop_kind import Block, Cluster, InstructionNest, LoopKind, Thread
from texpr.ir.store_kind import ATOMIC
from texpr.ir.traverse import statements, variables
from texpr.support.errors import CompileError
from texpr.support.frozen_dataclass import frozen
from texpr.targets.gpu.warpgroup_instructions import thread_count

AXES = ("x", "y", "z")
MOST_BLOCKS = (2**31 - 1, 65535, 65535)
MOST_THREADS = (1024, 1024, 64)
THREADS_OF_A_BLOCK = 1024
BLOCKS_OF_A_CLUSTER = 8
"""Blocks that every processor with clusters can run as one cluster."""


@frozen
class Geometry:
    """Extents of the grid, of one block and of one cluster, over the sizes of the kernel. The
    grid is of blocks, those of clusters too.
    """

    grid: tuple[Expr, Expr, Expr]
    block: tuple[Expr, Expr, Expr]
    cluster: tuple[int, int, int] = (1, 1, 1)

    @property
    def several(self) -> frozenset[str]:
        """The axes along which a block may have more than one thread."""
        return frozenset(a for a, extent in zip(AXES, self.block) if integer(extent) != 1)

    def extent(self, axis: str) -> Expr:
        """Threads of a block along `axis`."""
        return self.block[AXES.index(axis)]


def is_collective(s: Stmt) -> bool:
    """True if threads execute `s` together: it is or holds a loop over threads or blocks, an
    instruction of a warp, a barrier or a wait for copies or products.
    """
    counted = Barrier | Commit | Wait | CommitProducts | WaitProducts
    return any(is_thread(n) or is_block(n) or is_warp(n) or isinstance(n, counted) for n in statements(s))


def is_warp(s: object) -> bool:
    """True if the 32 threads of a warp run `s` as one instruction."""
    return isinstance(s, For) and isinstance(s.kind, InstructionNest)


def geometry(nest: Stmt, sizes: Iterable[Var]) -> Geometry:
    """The grid and block that run `nest`.

    Raises:
        CompileError: the bound loops do not form a grid of blocks of threads, or exceed what a GPU
            has.
    """
    known = set(sizes)
    extents: dict[LoopKind, Expr] = {}
    stack: list[tuple[Stmt, tuple[Stmt, ...], int]] = [(nest, (), 1)]
    while stack:
        s, above, beside = stack.pop()
        if is_block(s) or is_thread(s):
            assert isinstance(s, For)
            _check_place(s, above, beside, known)
            before = extents.get(s.kind)
            extents[s.kind] = s.extent if before is None else maximum(before, s.extent)
        if isinstance(s, For | If):
            siblings = sum(not isinstance(b, Alloc) for b in s.body)
            stack += [(b, (*above, s), siblings) for b in reversed(s.body)]
    together = [
        thread_count(instruction_of(n)) for n in statements(nest) if isinstance(n, For) and is_warp(n)
    ]
    if together and any(map(is_bulk, statements(nest))):
        extents.setdefault(
            Thread("x"), index(max(together))
        )  # no loop over threads is left that would say so
    one = index(1)
    cluster = _cluster(nest, extents)
    grid = tuple(mul(extents.get(Block(a), one), index(n)) for a, n in zip(AXES, cluster))
    # A block without threads would not run what stands beside its loops over threads.
    block = tuple(maximum(extents.get(Thread(a), one), one) for a in AXES)
    found = Geometry(grid, block, cluster)  # type: ignore[arg-type]
    check_extents(*(tuple(integer(e) for e in extents) for extents in (grid, block)))
    return found


def _cluster(nest: Stmt, extents: dict[LoopKind, Expr]) -> tuple[int, int, int]:
    """Number of blocks of a cluster along each axis: part of the code, so that grids have whole
    clusters.
    """
    for n in statements(nest):
        if isinstance(n, For) and isinstance(n.kind, Cluster) and not integer(n.extent):
            raise _refused(
                f"how many blocks a cluster has is not known: `{n.var.name}`, bound to {n.kind}, has other "
                f"iterations for other "
                "sizes, or none",
                'split the loop (`split("i", 2, tail="pad")`), and bind the inner one',
            )
    x, y, z = (integer(extents.get(Cluster(a), index(1))) or 1 for a in AXES)
    if x * y * z > BLOCKS_OF_A_CLUSTER:
        raise _refused(
            f"{x * y * z} blocks in a cluster; a GPU has at most {BLOCKS_OF_A_CLUSTER}",
            "split the loops that are bound to clusters",
        )
    return x, y, z


def _check_place(loop: For, above: tuple[Stmt, ...], beside: int, sizes: set[Var]) -> None:
    loops = [n for n in above if isinstance(n, For)]
    if any(n.kind == loop.kind for n in loops):
        raise _refused(
            f"`{loop.var.name}` is bound to {loop.kind}, and so is a loop around it",
            "bind one of them to another axis",
        )
    if not variables(loop.extent) <= sizes:
        raise _refused(
            f"the extent of `{loop.var.name}`, bound to {loop.kind}, differs between iterations of other "
            f"loops",
            "bind a loop whose extent is a size of the kernel",
        )
    outer = next((n for n in loops if not is_block(n)), None)
    if is_block(loop) and outer is not None:
        raise _refused(
            f"`{loop.var.name}` is bound to {loop.kind} inside the loop `{outer.var.name}`: blocks do not "
            f"wait for each other",
            "reorder the loops, or bind the outer one as well",
        )
    if is_block(loop) and above and beside > 1:
        raise _refused(
            f"`{loop.var.name}`, bound to {loop.kind}, is not the only statement in the loop around it",
            "blocks do not wait for each other: give the other statements a nest of their own",
        )


def check_private(nest: Stmt, outputs: Iterable[Tensor]) -> None:
    """Refuse a buffer that iterations of a bound loop use one after the other: they run at once.

    Raises:
        CompileError: there is such a buffer.
    """
    results = set(outputs)
    for loop in statements(nest):
        if not isinstance(loop, For) or not (is_block(loop) or is_thread(loop)) or integer(loop.extent) == 1:
            continue
        # What is allocated in a block is one per block.
        inside = {
            s.tensor for s in statements(loop if is_thread(loop) else nest) if isinstance(s, Alloc)
        } | results
        for s in statements(loop):
            if (
                isinstance(s, Store)
                and s.mode is not ATOMIC
                and s.tensor not in inside
                and loop.var not in variables(*s.indices)
            ):
                raise _refused(
                    f"each iteration of `{loop.var.name}`, bound to {loop.kind}, writes its own "
                    f"{s.tensor.name}, "
                    "and there is one of it",
                    "put unrolled and vectorized loops inside the bound ones",
                )


def check_extents(grid: tuple[int | None, ...], block: tuple[int | None, ...]) -> None:
    """Check extents against the limits of a GPU; None where one is not known yet.

    Raises:
        CompileError: too many blocks or threads.
    """
    for what, extents, most in (("blocks", grid, MOST_BLOCKS), ("threads", block, MOST_THREADS)):
        for axis, extent, limit in zip(AXES, extents, most):
            if extent is not None and extent > limit:
                raise _refused(
                    f"{extent} {what} along {axis}; a GPU has at most {limit}",
                    "split the loop that is bound there",
                )
    threads = prod(n for n in block if n is not None)
    if threads > THREADS_OF_A_BLOCK:
        raise _refused(
            f"{threads} threads in a block; a GPU has at most {THREADS_OF_A_BLOCK}",
            "split the loops that are bound to threads",
        )


def room_of(tensor: Tensor, most: int, where: str) -> int:
    """Bytes that a buffer takes, at most `most`.

    Raises:
        CompileError: more, or that is not known.
    """
    count = known(product(tensor.shape), tensor, where)
    size = (count if tensor.swizzle is None else tensor.swizzle.room(count)) * tensor.dtype.bytes
    if size > most:
        raise CompileError(
            f"{tensor.name} needs {size} bytes of {where}; there are {most}",
            code="target",
            help="use smaller tiles",
        )
    return max(size, 1)


def known(elements: Expr, tensor: Tensor, where: str) -> int:
    """Number of elements of a buffer.

    Raises:
        CompileError: it depends on sizes of calls.
    """
    count = integer(elements)
    if count is None:
        raise CompileError(
            f"{tensor.name} lies in {where}, so its size must be known when it is compiled",
            code="target",
            help="give the sizes to the schedule as constants",
        )
    return count


def _refused(message: str, help: str) -> CompileError:
    return CompileError(message, code="target", help=help)
