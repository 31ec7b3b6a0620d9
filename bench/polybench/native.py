"""The C loops: compiled with gcc for fixed sizes, called on arrays."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from bench.polybench.table import FOLDER, Arrays, Kernel, Sizes

FLAGS = ("-O3", "-march=native", "-ffast-math")
COMPILER = "gcc"


def available() -> bool:
    """Whether the C compiler is there."""
    return shutil.which(COMPILER) is not None


@cache
def compiler_version() -> str:
    """Name and version of the C compiler."""
    shown = subprocess.run([COMPILER, "-dumpfullversion"], capture_output=True, text=True, check=True)
    return f"{COMPILER} {shown.stdout.strip()}"


def compile_kernel(
    kernel: Kernel, sizes: Sizes, folder: Path, *, parallel: bool = False
) -> Callable[[Arrays], None]:
    """The C function for these sizes. It takes all its arguments by name and changes the arrays.

    Args:
        folder: where the library is written.
        parallel: with OpenMP.
    Raises:
        subprocess.CalledProcessError: gcc refuses the file.
    """
    library = folder / f"{kernel.name}{'-openmp' if parallel else ''}.so"
    macros = [f"-D{name}={value}" for name, value in sizes.items()]
    openmp = ["-fopenmp"] if parallel else []
    compiled = library.with_suffix(".o")
    subprocess.run(
        [COMPILER, *FLAGS, *openmp, "-fPIC", *macros, "-c", "-o", compiled, FOLDER / f"{kernel.name}.c"],
        check=True,
    )
    # Linked with -ffast-math, a library turns denormals off for the whole process that loads it.
    subprocess.run([COMPILER, *openmp, "-shared", "-o", library, compiled, "-lm"], check=True)
    function = getattr(ctypes.CDLL(str(library)), function_name(kernel))
    function.restype = None

    def call(arguments: Arrays) -> None:
        function(*map(_passed, arguments.values()))

    return call


def function_name(kernel: Kernel) -> str:
    """The C function and the operator have the kernel's name, as far as that is an identifier:
    2mm is mm2.
    """
    digits, rest = (kernel.name[0], kernel.name[1:]) if kernel.name[0].isdigit() else ("", kernel.name)
    return rest.replace("-", "_") + digits


def _passed(value: np.ndarray) -> object:
    if value.ndim:
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_float(value.item()) if value.dtype == np.float32 else ctypes.c_double(value.item())
