"""The process's one LLVM linker, and the lock for all work with LLVM."""

from __future__ import annotations

import ctypes
import platform
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import count

import llvmlite.binding as llvm

from texpr.runtime.native import perf_map
from texpr.support.errors import CompileError
from texpr.support.forks import held_over_forks
from texpr.support.options import current

lock = held_over_forks(threading.RLock())
held_over_forks(llvm.ffi.lib._lock._lock)
_numbers = count()


@cache
def host_machine() -> llvm.TargetMachine:
    """This machine, for code that is linked into this process.

    Raises:
        CompileError: it is a machine, a system or a Python that texpr has no native code for.
    """
    if "t" in getattr(
        sys, "abiflags", ""
    ):  # objects have other layouts there, which native code would misread
        raise CompileError(
            "kernels run in a Python with the GIL; this is the free-threaded build of "
            f"{platform.python_version()}",
            code="python",
            help="use the usual build of the same version",
        )
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        raise CompileError(
            f"kernels run on Linux on x86-64 and aarch64; this is {platform.system()} on {platform.machine()}"
        )
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _linker() -> llvm.LLJIT:
    linker = llvm.create_lljit_compiler(host_machine())
    # Threads of the pool may still run linked code when Python shuts down: never let it be freed.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(linker))
    return linker


def compile_text(text: str) -> bytes:
    """Object code of LLVM IR text, for this machine, by LLVM's passes."""
    return _compiled(text, lambda module, builder: builder.getModulePassManager().run(module, builder))


def compile_as_written(text: str) -> bytes:
    """Object code of LLVM IR text that is optimized, without passes."""
    return _compiled(text, lambda module, builder: None)


def _compiled(text: str, passes: Callable[[llvm.ModuleRef, llvm.PassBuilder], object]) -> bytes:
    with lock:
        machine = host_machine()
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = llvm.get_process_triple(), str(machine.target_data)
        module.verify()
        passes(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2)))
        return machine.emit_object(module)


def link(object_code: bytes, exports: Iterable[str], imports: Mapping[str, int]) -> llvm.ResourceTracker:
    """Link object code into the process; it stays as long as the result does, which maps
    exported names to addresses.
    """
    with lock:
        builder = llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()
        for name, address in imports.items():
            builder.import_symbol(name, address)
        wanted = frozenset(exports)
        for name in wanted:
            builder.export_symbol(name)
        try:
            library = builder.link(_linker(), f"kernel{next(_numbers)}")
            if current().perf_map:
                perf_map.record(object_code, library.__getitem__, wanted)
            return library
        except RuntimeError as error:
            raise CompileError(f"the object code does not link: {error}") from error
