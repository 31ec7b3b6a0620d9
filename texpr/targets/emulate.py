"""Artifacts for other machines, run: in emulators, and on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from texpr.ir.expr import Var
from texpr.runtime import gpu
from texpr.support.errors import CompileError
from texpr.support.late import late
from texpr.targets.common.records import Artifact, Target

if TYPE_CHECKING:
    from texpr.runtime.emulator import fibers
    from texpr.targets.gpu import launches, ptx
else:
    fibers = late("texpr.runtime.emulator.fibers")
    launches = late("texpr.targets.gpu.launches")
    ptx = late("texpr.targets.gpu.ptx")


def emulate(
    artifact: Artifact,
    symbol: str,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    sizes: Mapping[Var, int],
) -> None:
    """Run an artifact in an emulator on this CPU: GPU threads as fibers, others as their targets
    say. Outputs are written in place.

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
        ready = launches.plan(artifact, sizes)
        fibers.run(
            artifact.emitted,
            ready.launches,
            inputs,
            outputs,
            ready.scratch,
            list(sizes.values()),
            maps=ready.maps,
        )
        return
    if artifact.target.emulate is None:
        raise CompileError(f"there is no emulator for {artifact.target.name}", code="target")
    artifact.target.emulate(artifact, symbol, inputs, outputs, sizes)


def load_on(device: gpu.Device, target: Target, code: gpu.Code) -> gpu.Loaded:
    """Code for a GPU target on a device.

    Raises:
        CompileError: it is for another processor, or the device's driver does not take it.
    """
    if not ptx.runs_on(target.name, device.facts.capability):
        best = ptx.best_for(device.facts.capability)
        raise CompileError(
            f"code for {target.name} does not run on {device.name}, whose processor is of "
            f"{'.'.join(map(str, device.facts.capability))}",
            code="target",
            help=f'compile for it: target="{best}"',
        )
    return gpu.Loaded(device, code)


def target_of(device: gpu.Device) -> Target:
    """The target to compile for on a device.

    Raises:
        CompileError: there is no code for its processor.
    """
    best = ptx.best_for(device.facts.capability)
    if best is None:
        raise CompileError(
            f"{device.name} ({device.facts.name}) is a processor of "
            f"{'.'.join(map(str, device.facts.capability))}; "
            f"there is code for {ptx.OLDEST} and newer",
            code="target",
            help="run on the CPU: tx.options(device='cpu')",
        )
    found = ptx.target(best)
    assert found is not None
    return found
