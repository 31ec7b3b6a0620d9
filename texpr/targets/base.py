"""The records that targets fill and compilation returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from texpr.ir.expr import Expr, Tensor
from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch on a GPU: its symbol and the extents of grid and block, in sizes of the kernel."""

    symbol: str
    grid: tuple[Expr, Expr, Expr]
    block: tuple[Expr, Expr, Expr]


@dataclass(frozen=True, slots=True)
class Target:
    """A target.

    Attributes:
        native: its code runs in this process.
        emit: (kernel, target, alone) to LLVM IR and launches.
        gpu: the artifact's assembly is what a driver loads; there is no object code.
        address_bits: of an address, and so of a size in the C library.
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


@dataclass(frozen=True, slots=True)
class Artifact:
    """Everything LLVM made of a kernel.

    Attributes:
        scratch: what a GPU's launches pass to each other: buffers that the caller allocates, passed between outputs and sizes.
    """

    target: Target
    emitted: str
    llvm: str
    assembly: str
    object_code: bytes
    launches: tuple[Launch, ...]
    scratch: tuple[Tensor, ...] = ()


def symbol_of(name: str) -> str:
    """The name of a kernel's code. The prefix keeps an operator called `malloc` apart from the C library."""
    return f"texpr_{name}"
