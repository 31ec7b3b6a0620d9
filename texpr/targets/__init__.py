"""Kernels to machine code. One emitter over the loop IR; a target adds its machine record, its LLVM
names and what differs.

A target is a module of this package, an entry point in the group `texpr.targets`, or what
`register_target` was given: a function from a target's name to a `Target`, or None if the name is
not its own. `emit` decides nothing: how a loop runs is in the kernel. LLVM ends the process over
what it does not know, so CPU names and features come from each target's own table and foreign
targets are compiled in a child process. A target may compile its text itself (`Target.build`) and
run its artifacts itself (`run`, `emulate`).

On a CPU a kernel is one function over argument slots (`cpu.llvm_module`). On a GPU each top-level
nest is a function and a launch (`gpu.ptx`): loops bound to blocks and threads become indices
(`gpu.emitter`, `gpu.geometry`), barriers stand where threads use each other's memory
(`gpu.barriers`), and what one nest leaves to another is a buffer that the caller allocates
(`gpu.launches`). `emulate` runs artifacts that are not for this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.targets.common.records import Artifact, Code, Launch, Runner, Target, symbol_of
    from texpr.targets.emulate import emulate, load_on, target_of
    from texpr.targets.gpu.launches import Plan, plan
    from texpr.targets.registry import (
        assembly_of,
        compile_kernel,
        default_gpu,
        emit_llvm,
        find_target,
        link_kernels,
        native_object,
        register_target,
        target_names,
    )

__all__ = [
    "Artifact",
    "Code",
    "Launch",
    "Plan",
    "Runner",
    "Target",
    "assembly_of",
    "compile_kernel",
    "default_gpu",
    "emit_llvm",
    "emulate",
    "find_target",
    "link_kernels",
    "load_on",
    "native_object",
    "plan",
    "register_target",
    "symbol_of",
    "target_names",
    "target_of",
]

suggest_names(__name__)
offer_late(__name__)
