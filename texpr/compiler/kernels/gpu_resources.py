"""Resources of compiled kernels on a GPU, and their occupancy."""

from __future__ import annotations

from math import prod

from texpr import aot
from texpr.ir.build import integer
from texpr.schedule.analysis.occupancy import occupancy
from texpr.targets import Artifact


def occupancy_of(artifact: Artifact) -> str:
    """A line for each launch: registers and shared memory, and blocks that run at once, where their
    threads are a number.

    Raises:
        CompileError: ptxas does not take the code.
        ResourceError: ptxas is not installed.
    """
    lines, processor = [], artifact.target.machine.multiprocessor
    found = {n.symbol: n for n in aot.needed(artifact.assembly, artifact.target)}
    for launch in artifact.launches:
        its, extents = found[launch.symbol], [integer(e) for e in launch.block]
        shared = its.shared_bytes + launch.shared_bytes
        words = (
            f"{launch.symbol}: {its.registers} registers, {its.spilled} bytes spilled, {shared} bytes of "
            f"shared memory"
        )
        if processor is not None and None not in extents:
            threads = prod(n for n in extents if n is not None)
            words += f"; blocks of {threads} threads, {occupancy(processor, threads, shared, its.registers)}"
        lines.append(words)
    return "\n".join(lines)
