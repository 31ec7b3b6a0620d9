"""Ahead of time: code in files, for programs in C and C++ that know nothing of Python.

A `Function` is what such a program may call: one symbol, `int32_t texpr_NAME(void **slots)`, and
what it takes. `header` writes that down for a C compiler and its reader: shapes, alignment, memory,
threads, values that are not checked. `files` writes the object code in the form that the name of a
file asks for: as it is (`.o`), in an archive (`archive`: `.a`), or linked (`link`: `.so` by the
system's C compiler, `nvidia`: `.cubin` by ptxas); `resources` asks ptxas what kernels need. Objects
need the C library alone; files are there whole or not at all.

A slot is a word of 64 bits, on every target: the address of an array, or a size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.aot.c_function import Function, Parameter, check_symbol, described, function_of, parameter_of
    from texpr.aot.code_files import SUFFIXES, save
    from texpr.aot.nvidia_tools import find_tool
    from texpr.aot.resources import Needed, needed

__all__ = [
    "SUFFIXES",
    "Function",
    "Needed",
    "Parameter",
    "check_symbol",
    "described",
    "find_tool",
    "function_of",
    "needed",
    "parameter_of",
    "save",
]

offer_late(__name__)
