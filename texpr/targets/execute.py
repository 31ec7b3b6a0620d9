"""Artifacts for other machines, run: in emulators, and on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from texpr.ir.expr import Var
from texpr.runtime import cuda, fibers, qemu
from texpr.support.errors import CompileError
from texpr.targets.base import Artifact
from texpr.targets.launches import plan


def emulate(artifact: Artifact, symbol: str, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], sizes: Mapping[Var, int]) -> None:
    """Run an artifact in an emulator on this CPU: GPU threads as fibers, other processors in QEMU. Outputs are written in place.

    Args:
        artifact: compiled with `alone=True`, unless for a GPU.
        symbol: the entry, as `symbol_of` has it.
        inputs: contiguous and aligned, as are the outputs, in the flat shapes of the kernel.
        sizes: the symbolic sizes, in the kernel's order.
    Raises:
        CompileError: there is no emulator for the target, or a block or grid is too large.
        ResourceError: the emulator is not installed.
    """
    if artifact.target.gpu:
        ready = plan(artifact, sizes)
        fibers.run(artifact.emitted, ready.launches, inputs, outputs, ready.scratch, list(sizes.values()))
        return
    processor = artifact.target.triple.partition("-")[0]
    if processor not in qemu.PROCESSORS:
        raise CompileError(f"there is no emulator for {artifact.target.name}", code="target")
    qemu.run(artifact.object_code, symbol, inputs, outputs, list(sizes.values()), processor=processor)


def run_on_gpu(artifact: Artifact, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], sizes: Mapping[Var, int]) -> None:
    """Run a GPU artifact on the GPU of this machine: arrays are copied there and back. Arguments as for `emulate`.

    Raises:
        ResourceError: there is no GPU, or it has not enough memory.
        CompileError: the GPU does not take the code, or a block or grid is too large.
    """
    ready = plan(artifact, sizes)
    cuda.run(artifact.assembly, ready.launches, inputs, outputs, ready.scratch, list(sizes.values()))
