"""LLVM itself: text in, optimized text, assembly and object code out. Only validated CPU names,
features and intrinsics get here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding.newpassmanagers import NewPassManager

from texpr.runtime.linking import llvm_library  # noqa: F401  whose lock forks wait for
from texpr.runtime.native import jit
from texpr.support.background import Meanwhile
from texpr.targets.common.records import Code

_ready = False

FUNCTION_PASSES = '"texpr-passes"="by function"'
"""An attribute in a text whose functions need nothing of LLVM's passes over modules, which take
twice as long. What those do beside: values that loops carry from iteration to iteration in memory
stay in registers."""
REGISTER_PASSES = '"texpr-passes"="registers"'
"""An attribute in a text whose sums are in registers (`emit.pass_selection.sums_in_registers`), for
a processor that adds up addresses as it loads. One of LLVM's passes makes small buffers into
registers; equal values are computed once as it is written."""
FEW_PASSES = '"texpr-passes"="few"'
"""An attribute in a text of loops over elements (`emit.pass_selection.is_plain`), where most of
what LLVM's passes over functions look for is not there: three of them take half of the time for the
same code. Code generation moves addresses out of loops."""
NO_PASSES = '"texpr-passes"="none"'
"""An attribute in a text of such loops that compute floats, without branches for rare numbers or
conversions: equal values are computed once as it is written, and code generation picks the same
instructions from it."""


def _initialize() -> None:
    global _ready
    if not _ready:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        _ready = True


@lru_cache(maxsize=16)
def machine(triple: str, cpu: str, features: str) -> llvm.TargetMachine:
    """A target machine. The caller has validated `cpu` and `features`: LLVM ends the process
    over unknown ones.
    """
    _initialize()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )


def optimized(text: str, triple: str, tm: llvm.TargetMachine) -> llvm.ModuleRef:
    """Parse, verify and run the middle end. Loops are ours: LLVM neither vectorizes, unrolls nor
    interleaves them.
    """
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = triple, str(tm.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = (
        tuning.loop_interleaving
    ) = False
    builder = llvm.create_pass_builder(tm, tuning)
    # Before all else: what is simplified and then inlined would be simplified again.
    with _freed(llvm.create_new_module_pass_manager()) as passes:
        passes.add_always_inliner_pass()
        passes.run(module, builder)
    if NO_PASSES in text:
        return module
    if not any(each in text for each in (FEW_PASSES, REGISTER_PASSES, FUNCTION_PASSES)):
        with _freed(builder.getModulePassManager()) as passes:
            passes.run(module, builder)
        return module
    with _freed(
        builder.getFunctionPassManager() if FUNCTION_PASSES in text else _few_passes(REGISTER_PASSES in text)
    ) as passes:
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
    return module


def _few_passes(buffers: bool) -> Any:
    """The pass pipeline of simple loops: small buffers become registers, or: equal values are
    computed once, made of fewer instructions, and blocks are joined.
    """
    passes = llvm.create_new_function_pass_manager()
    if buffers:
        passes.add_sroa_pass()
    else:
        passes.add_new_gvn_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    return passes


@contextmanager
def _freed(passes: Any) -> Iterator[Any]:
    """llvmlite 0.50 never frees these: their classes inherit the `_dispose` that does nothing
    before the one that frees.
    """
    try:
        yield passes
    finally:
        NewPassManager._dispose(passes)
        passes.detach()


def generate(text: str, triple: str, cpu: str, features: str) -> Code:
    """Optimized IR, assembly and object code of a module; a GPU has no object code, its driver
    reads the assembly.
    """
    with jit.lock:
        tm = machine(triple, cpu, features)
        module = optimized(text, triple, tm)
        has_objects = not triple.startswith("nvptx")
        return Code(str(module), tm.emit_assembly(module), tm.emit_object(module) if has_objects else b"")


def object_code(text: str, triple: str, cpu: str, features: str) -> Meanwhile[bytes]:
    """Object code alone. Its larger part, making machine code, is done meanwhile."""
    with jit.lock:
        tm = machine(triple, cpu, features)
        module = optimized(text, triple, tm)

    def emitted() -> bytes:
        with jit.lock:
            return tm.emit_object(module)

    return Meanwhile(emitted)


def linked(parts: list[str], text: str, symbol: str, triple: str, cpu: str, features: str) -> Code:
    """One module of several: a text that calls functions of optimized modules. Of all of them only
    `symbol` is seen from outside.

    Args:
        parts: as `Code.optimized` has them, so that their code is what it is alone.
    """
    with jit.lock:
        tm = machine(triple, cpu, features)
        whole = optimized(text, triple, tm)
        for part in parts:
            module = llvm.parse_assembly(part)
            module.triple, module.data_layout = triple, str(tm.target_data)
            whole.link_in(module)
        for function in whole.functions:
            if not function.is_declaration and function.name != symbol:
                function.linkage = llvm.Linkage.internal
        whole.verify()
        return Code(str(whole), tm.emit_assembly(whole), tm.emit_object(whole))


def linked_parts(
    parts: list[str], text: str, symbol: str, triple: str, cpu: str, features: str
) -> list[str | bytes]:
    """`linked` for a child process."""
    code = linked(parts, text, symbol, triple, cpu, features)
    return [code.optimized, code.assembly, code.object_code]


def generate_parts(text: str, triple: str, cpu: str, features: str) -> list[str | bytes]:
    """`generate` for a child process."""
    code = generate(text, triple, cpu, features)
    return [code.optimized, code.assembly, code.object_code]
