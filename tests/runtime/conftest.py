"""Kernels for the tests, written by hand in LLVM IR."""

from __future__ import annotations

from texpr.runtime import jit, native

POLLING = """
@tx_interrupted = external global i32
declare void @tx_parallel(ptr, ptr, i64)
declare ptr @tx_alloc(i64)
declare void @tx_free(ptr)
"""


def link(text: str, *names: str):
    """Compile IR text that may use the native symbols; a mapping from names to addresses."""
    return jit.link(jit.compile_text(POLLING + text), names, native.symbols())
