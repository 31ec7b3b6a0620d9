"""Checks of a schedule against the machine: buffers that fit where they are, instructions that
exist.
"""

from __future__ import annotations

from texpr.ir.build import integer, product
from texpr.ir.expr import Expr, Read, Tensor, Var
from texpr.ir.instructions import listed
from texpr.ir.loop import Alloc, For, If, Kernel, Stmt, Store, instruction_of
from texpr.ir.loop_kind import VECTOR, InstructionNest, ScalableVector, Thread
from texpr.ir.machine import Machine
from texpr.ir.traverse import statements, variables, walk
from texpr.support.errors import CompileError


def check_scopes(kernel: Kernel, machine: Machine) -> Kernel:
    """The kernel itself, once its buffers in registers and in shared memory are known to fit the
    machine, and its instructions exist.

    Raises:
        CompileError: there is no such memory or not enough, a loop counts through registers, there
            is no such instruction, no registers of any length, or something else than an
            instruction uses what is in a tile.
    """
    for n in statements(kernel):
        if isinstance(n, For) and isinstance(n.kind, InstructionNest):
            _check_instruction(instruction_of(n), machine)
        if isinstance(n, For) and isinstance(n.kind, ScalableVector) and not machine.scalable_bytes:
            raise CompileError(
                f"the lanes of `{n.var.name}` are those of registers of any length; this target has none",
                n.var.span,
                code="target",
                help=f'vectorize("{n.var.name}") names a number of lanes',
            )
    buffers = (*kernel.temporaries, *(n.tensor for n in statements(kernel) if isinstance(n, Alloc)))
    shared = [t for t in buffers if t.scope == "shared"]
    registers = [t for t in buffers if t.scope == "register"]
    _check_tiles(kernel, {t for t in buffers if t.scope == "tile"}, machine)
    if shared:
        _check_bytes(shared, machine.shared_bytes, "shared memory")
    if registers:
        # Threads of a block share out a buffer in registers: the target sees what one of them
        # needs.
        if not machine.gpu_threads:
            _check_bytes(registers, machine.vector_registers * max(machine.vector_bytes, 4), "registers")
        _check_indices(kernel, set(registers))
    return kernel


def _check_instruction(name: str, machine: Machine) -> None:
    if name not in machine.instructions:
        has = listed(machine.instructions) or "none"
        raise CompileError(
            f"this target has no instruction {name}",
            code="tensorize",
            help=f"it has {has}; without tensorize the loops run anywhere",
        )


def _check_tiles(kernel: Kernel, tiles: set[Tensor], machine: Machine) -> None:
    """Refuse tile buffers where the machine has no tile registers. Their number is checked where
    code is made.
    """
    if not tiles:
        return
    if not machine.tile_registers:
        raise CompileError(
            f"{next(iter(tiles)).name} would be in a tile; this target has none",
            code="set_scope",
            help="use another scope",
        )
    stack = list(kernel.body)
    while stack:
        node = stack.pop()
        if isinstance(node, If) or isinstance(node, For) and not isinstance(node.kind, InstructionNest):
            stack += node.body
        elif isinstance(node, Store):
            used = next(
                (n.tensor for n in walk(node) if isinstance(n, Read | Store) and n.tensor in tiles), None
            )
            if used is not None:
                raise CompileError(
                    f"{used.name} is in a tile, and no instruction runs a loop that uses it",
                    node.tensor.span,
                    code="set_scope",
                    help="tensorize that loop, or copy it to another buffer: cache_read, then tensorize the "
                    "copy",
                )


def _check_bytes(buffers: list[Tensor], most: int, where: str) -> None:
    total = sum((integer(product(t.shape)) or 0) * t.dtype.bytes for t in buffers)
    if total > most:
        names = list(dict.fromkeys(t.name for t in buffers))
        raise CompileError(
            f"{', '.join(names)} {'needs' if len(names) == 1 else 'need'} {total} bytes of {where}; this "
            f"target has "
            f"{most or 'none'}",
            code="set_scope",
            help="use smaller tiles",
        )


def _check_indices(kernel: Kernel, registers: set[Tensor]) -> None:
    """Registers have no addresses: which one is used must be known."""
    stack: list[tuple[Stmt, tuple[Var, ...]]] = [(s, ()) for s in kernel.body]
    while stack:
        node, counting = stack.pop()
        if isinstance(node, For):
            if isinstance(node.kind, InstructionNest):
                continue  # it knows its registers
            own = (
                ()
                if node.kind == VECTOR or isinstance(node.kind, Thread) or integer(node.extent) == 1
                else (node.var,)
            )
            stack += [(s, counting + own) for s in node.body]
        elif isinstance(node, If):
            stack += [(s, counting) for s in node.body]
        elif isinstance(node, Store) and counting:
            uses: list[tuple[Tensor, tuple[Expr, ...]]] = [
                (n.tensor, n.indices) for n in walk(node) if isinstance(n, Read | Store)
            ]
            for tensor, indices in uses:
                used = variables(*indices) if tensor in registers else set()
                loop = next((v for v in counting if v in used), None)
                if loop is not None:
                    raise CompileError(
                        f"`{loop.name}` counts through {tensor.name}, which lives in registers",
                        code="set_scope",
                        help=f'unroll("{loop.name}"), or set_scope("{tensor.name}", "stack")',
                    )
