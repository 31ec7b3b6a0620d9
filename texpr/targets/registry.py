"""The list of targets, and the compilation of a kernel to an artifact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from texpr.ir.loop import Kernel
from texpr.support.elsewhere import meant
from texpr.support.errors import CompileError
from texpr.support.late import late
from texpr.support.suggest import did_you_mean
from texpr.targets.common.records import Artifact, Launch, Target

if TYPE_CHECKING:
    from importlib import metadata

    from texpr.runtime.process import worker
    from texpr.support import background
    from texpr.targets.common import llvm_backend
    from texpr.targets.cpu import aarch64, armv7, x86
    from texpr.targets.gpu import ptx
else:
    metadata = late("importlib.metadata")
    worker = late("texpr.runtime.process.worker")
    background = late("texpr.support.background")
    llvm_backend = late("texpr.targets.common.llvm_backend")
    aarch64 = late("texpr.targets.cpu.aarch64")
    armv7 = late("texpr.targets.cpu.armv7")
    x86 = late("texpr.targets.cpu.x86")
    ptx = late("texpr.targets.gpu.ptx")

_BUILT_IN = (x86, aarch64, armv7, ptx)
_added: list[Callable[[str], Target | None]] = []

_ELSEWHERE = {
    **meant("native", "cpu", "host", "llvm", "c", "jit"),
    **meant("sm_90", "cuda", "gpu", "ptx", "nvptx", "nvidia", "hopper"),
    **meant("sm_80", "ampere"),
    **meant("x86-64", "x86", "x86_64", "amd64", "sse", "sse2"),
    **meant("x86-64-v3", "avx", "avx2", "haswell"),
    **meant("x86-64-v4", "avx512", "avx512f", "skylake-avx512"),
    **meant("aarch64", "arm", "arm64", "neon", "armv8"),
    **meant("aarch64+sve", "sve"),
}
"""Names of targets in other libraries."""


@lru_cache
def find_target(name: str) -> Target:
    """The target called `name`.

    Raises:
        CompileError: there is no such target.
    """
    if not isinstance(name, str):
        raise CompileError(f"a target is named by text, not by {name!r}", code="target")
    for make in chain((built_in.target for built_in in _BUILT_IN), _added, _installed()):
        if (target := make(name)) is not None:
            return target
    raise CompileError(
        f"there is no target {name!r}",
        code="target",
        notes=[f"targets: {', '.join(target_names())}"],
        help=did_you_mean(name, target_names(), _ELSEWHERE),
    )


def _installed() -> Iterator[Callable[[str], Target | None]]:
    """The targets of other packages. Looking for them takes as long as making a kernel: only
    where no built-in target has the name.
    """
    for entry in metadata.entry_points(group="texpr.targets"):
        yield entry.load()


def register_target(make: Callable[[str], Target | None]) -> Callable[[str], Target | None]:
    """Add a target for the rest of this process; as a decorator too. An installed package names
    `make` in the entry-point group `texpr.targets` in its place. See `docs/guide/targets.md`.

    Args:
        make: from a name to the target of that name, or None where the name is not its own. Names
            of built-in targets stay theirs; of others the last one that was added comes first.
    """
    _added.insert(0, make)
    find_target.cache_clear()
    return make


def target_names() -> tuple[str, ...]:
    """The names of the built-in targets."""
    return (*x86.NAMES, *aarch64.NAMES, *armv7.NAMES, *ptx.NAMES)


def emit_llvm(kernel: Kernel, target: Target, *, alone: bool = False) -> tuple[str, tuple[Launch, ...]]:
    """The text of a kernel, LLVM IR mostly, and, on a GPU, its launches in order. `alone` links
    without the runtime.
    """
    return target.emit(kernel, target, alone)


def compile_kernel(kernel: Kernel, target: Target, *, alone: bool = False) -> Artifact:
    """Compile a kernel: LLVM IR, assembly and object code (PTX on a GPU).

    Raises:
        CompileError: the target cannot express the kernel, or its compiler failed.
    """
    text, launches = emit_llvm(kernel, target, alone=alone)
    if target.build is not None:
        code = target.build(text, target)
    elif target.native:
        code = llvm_backend.generate(text, target.triple, target.cpu, target.features)
    else:
        code = _in_child(text, target)
    return Artifact(
        target,
        text,
        code.optimized,
        code.assembly,
        code.object_code,
        launches,
        kernel.temporaries if target.gpu else (),
    )


def _in_child(text: str, target: Target) -> llvm_backend.Code:
    return llvm_backend.Code(
        *worker.run_in_child(
            f"{llvm_backend.__name__}:generate_parts", text, target.triple, target.cpu, target.features
        )
    )


def link_kernels(parts: Sequence[Artifact], text: str, symbol: str, target: Target) -> Artifact:
    """Kernels that were compiled `alone`, and a text that calls them, as one artifact with one
    symbol.

    Raises:
        CompileError: LLVM failed.
    """
    optimized = [part.llvm for part in parts]
    where = target.triple, target.cpu, target.features
    if target.native:
        code = llvm_backend.linked(optimized, text, symbol, *where)
    else:
        code = llvm_backend.Code(
            *worker.run_in_child(
                f"{llvm_backend.__name__}:linked_parts", optimized, text, symbol, *where, timeout=600.0
            )
        )
    return Artifact(target, text, code.optimized, code.assembly, code.object_code, ())


def native_object(text: str, target: Target) -> background.Meanwhile[bytes]:
    """Object code of what a native target emitted, made meanwhile."""
    build = target.build
    if build is not None:
        return background.Meanwhile(lambda: build(text, target).object_code)
    return llvm_backend.object_code(text, target.triple, target.cpu, target.features)


def assembly_of(text: str, target: Target) -> str:
    """Assembly of emitted LLVM IR, for another machine."""
    return _in_child(text, target).assembly


def default_gpu() -> str:
    """The GPU target that code is shown for where none is named."""
    return ptx.DEFAULT
