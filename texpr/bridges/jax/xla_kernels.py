"""Kernels for XLA: compiled for the shapes of a trace, known to the one handler by a number."""

from __future__ import annotations

import hashlib
import os
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from texpr.compiler.op import default_kernel
from texpr.graph.capture.capture import bind_call
from texpr.ir.shapes import Shape
from texpr.ir.tensor import Program
from texpr.runtime.call import xla_calls
from texpr.support.errors import CompileError
from texpr.support.late import late

if TYPE_CHECKING:
    import jax
else:
    jax = late("jax")

TARGET = "texpr"


@cache
def register_handler() -> None:
    """Tell XLA of the handler, once per process."""
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(xla_calls.handler()), platform="cpu")


@lru_cache(maxsize=4096)
def kernel_number(program: Program, shapes: tuple[Shape, ...]) -> int:
    """The number by which the handler knows the kernel of a program for inputs of these shapes,
    which is compiled now. It follows from the program, the schedule and the machine, so that
    programs that JAX keeps on disk find it in another process.

    Raises:
        CallError: the shapes do not fit.
        CompileError: the operator is a function of Python.
    """
    sizes, _ = bind_call(program, shapes)
    kernel = default_kernel(program, sizes)
    code, spec = kernel.native.for_calls, kernel.call_spec(shapes)
    for name, function in code.externs.items():
        if function.is_python:
            raise CompileError(
                f"{program.name} calls `{name}`, a Python function, which XLA cannot",
                code="extern",
                help="call it by jax.pure_callback, or register a C function of it",
            )
    number = _number(f"{code.key}\0{shapes}" if code.key else "")
    xla_calls.add_kernel(number, code.address, spec, code)
    return number


def _number(key: str) -> int:
    """64 bits of a hash; any, where nothing says what a kernel is made of."""
    digest = hashlib.sha256(key.encode()).digest() if key else os.urandom(8)
    return int.from_bytes(digest[:8], "little", signed=True)
