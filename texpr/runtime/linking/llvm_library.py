"""LLVM in this process, for the code that is made and linked here. It is imported when something is
compiled: most processes find all of their code on disk.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import count

import llvmlite.binding as llvm

from texpr.support.forks import held_over_forks

held_over_forks(llvm.ffi.lib._lock._lock)
_numbers = count()


@cache
def host_machine() -> llvm.TargetMachine:
    """This machine, for code that is linked into this process."""
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


def optimized_object(text: str) -> bytes:
    """Object code of LLVM IR text, for this machine, by LLVM's passes."""
    return _compiled(text, lambda module, builder: builder.getModulePassManager().run(module, builder))


def object_as_written(text: str) -> bytes:
    """Object code of LLVM IR text that is optimized, without passes."""
    return _compiled(text, lambda module, builder: None)


def _compiled(text: str, passes: Callable[[llvm.ModuleRef, llvm.PassBuilder], object]) -> bytes:
    machine = host_machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = llvm.get_process_triple(), str(machine.target_data)
    module.verify()
    passes(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2)))
    return machine.emit_object(module)


def linked(code: bytes, exports: Iterable[str], imports: Mapping[str, int]) -> llvm.ResourceTracker:
    """Link object code by LLVM, on hosts that `linker` does not know.

    Raises:
        RuntimeError: it is damaged, lacks an export, or needs what is not there.
    """
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name, address in imports.items():
        builder.import_symbol(name, address)
    for name in exports:
        builder.export_symbol(name)
    return builder.link(_linker(), f"kernel{next(_numbers)}")
