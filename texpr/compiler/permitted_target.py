"""Targets with what the options permit."""

from __future__ import annotations

from texpr.support.frozen_dataclass import replace
from texpr.support.options import current
from texpr.targets import Target, find_target


def permitted_target(name: str) -> Target:
    """A target for default schedules: products of GPUs in tf32 and fused multiply-adds, where the
    options permit them.

    Raises:
        CompileError: there is no such target.
    """
    target = find_target(name)
    if current().tf32 and target.machine.gpu_threads:
        target = replace(target, machine=replace(target.machine, tf32=True))
    if current().fma:
        target = replace(target, machine=replace(target.machine, fma_of_all=True))
    return target
