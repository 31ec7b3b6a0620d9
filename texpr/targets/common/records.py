"""The records that targets fill and compilation returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine
from texpr.support.frozen_dataclass import frozen


@frozen
class Code:
    """The result of a compiler.

    Attributes:
        optimized: LLVM IR after LLVM's passes; empty where another compiler was asked.
        object_code: relocatable; empty on a GPU, whose driver reads the assembly.
    """

    optimized: str
    assembly: str
    object_code: bytes


@frozen
class TensorMap:
    """A tensor whose boxes a GPU copies as a whole.

    Attributes:
        tensor: its position among inputs, outputs and buffers.
        dtype: the name of its type.
        shape, box: in elements, along its dimensions.
        swizzle: bytes of the rows in which units of 16 bytes are exchanged in shared memory; 0 if
            they are not.
    """

    tensor: int
    dtype: str
    shape: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int


@frozen
class Launch:
    """One kernel launch on a GPU: its symbol and the extents of grid and block, in sizes of the
    kernel.

    Attributes:
        shared_bytes: of the memory that threads of a block share, where the launch says how much
            there is.
        maps: what it takes behind the sizes; those of earlier launches come first.
    """

    symbol: str
    grid: tuple[Expr, Expr, Expr]
    block: tuple[Expr, Expr, Expr]
    shared_bytes: int = 0
    maps: tuple[TensorMap, ...] = ()


@frozen
class Target:
    """A target: a machine record, an emitter, a compiler of what that emits, and loaders.

    Attributes:
        triple, cpu, features: as LLVM names them; with a compiler of its own, whatever else its
        code depends on.
        machine: what schedules and passes know of it; `machine.functions` are the scalar functions
            that its emitter takes as calls.
        emit: (kernel, target, alone) to text, and launches on a GPU. The text is LLVM IR, unless
            there is a `build`.
        native: its code runs in this process, called by address.
        gpu: the artifact's assembly is what a driver loads; there is no object code. Calls go to a
            device, `emulate` runs fibers.
        address_bits: of an address, and so of a size in the C library.
        build: the emitted text to code. Unless given, LLVM does that, in a child process where the
            target is not native.
        run: a call of a kernel, where it is not called by address.
        emulate: the same in an emulator on this CPU.
        vectors_checked: kernels return 3, and do nothing, where the processor's vectors do not have
            `machine.vector_bytes`.
    """

    name: str
    triple: str
    cpu: str
    features: str
    machine: Machine
    emit: Callable[[Kernel, Target, bool], tuple[str, tuple[Launch, ...]]]
    native: bool = False
    gpu: bool = False
    address_bits: int = 64
    build: Callable[[str, Target], Code] | None = None
    run: Runner | None = None
    emulate: Runner | None = None
    vectors_checked: bool = False


@frozen
class Artifact:
    """Everything that was made of a kernel.

    Attributes:
        emitted: what the target wrote.
        llvm, assembly, object_code: what the compiler made of it, as `Code` has them.
        scratch: what a GPU's launches pass to each other: buffers that the caller allocates, passed
            between outputs and sizes.
    """

    target: Target
    emitted: str
    llvm: str
    assembly: str
    object_code: bytes
    launches: tuple[Launch, ...]
    scratch: tuple[Tensor, ...] = ()


Runner = Callable[[Artifact, str, Sequence[np.ndarray], Sequence[np.ndarray], Mapping[Var, int]], None]
"""Runs `symbol` of an artifact: inputs and outputs are contiguous and aligned, in the flat shapes
of the kernel, outputs are written in place; then the symbolic sizes, in the kernel's order."""


def symbol_of(name: str) -> str:
    """The name of a kernel's code. The prefix keeps an operator called `malloc` apart from the C
    library.
    """
    return f"texpr_{name}"
