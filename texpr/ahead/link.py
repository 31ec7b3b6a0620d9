"""Tools of the system that make of code what no part of texpr can: shared libraries, and cubins."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from texpr.runtime.qemu import PROCESSORS
from texpr.support.errors import CompileError, ResourceError
from texpr.targets import Target

_SECONDS = 120


def shared_library(object_code: bytes, target: Target) -> bytes:
    """An ELF library with the one symbol that the object defines.

    Raises:
        ResourceError: there is no C compiler for the target, which links it.
        CompileError: it does not link.
    """
    compiler = _compiler(target.triple.partition("-")[0])
    flags = "-shared", "-nostartfiles", "-Wl,-z,noexecstack", "-Wl,-z,text"
    return made_by(object_code, "code.o", "code.so", lambda source, made: [compiler, *flags, source, "-lm", "-o", made])[0]


def cubin(ptx: str, target: Target) -> bytes:
    """What a driver loads without compiling.

    Raises:
        ResourceError: ptxas is not installed.
        CompileError: it does not take the code.
    """
    if shutil.which("ptxas") is None:
        raise ResourceError("ptxas is not installed; it makes cubins", code="save", help="pip install nvidia-cuda-nvcc, or save a .ptx")
    return made_by(ptx.encode(), "code.ptx", "code.cubin", lambda source, made: ["ptxas", f"-arch={target.cpu}", source, "-o", made])[0]


def _compiler(processor: str) -> str:
    """The C compiler for a processor.

    Raises:
        ResourceError: there is none.
    """
    own = processor == {"amd64": "x86_64"}.get(platform.machine(), platform.machine())
    found = next((name for name in (("cc", "gcc", "clang") if own else (PROCESSORS[processor].compiler,)) if shutil.which(name)), None)
    if found is None:
        packages = "gcc" if own else PROCESSORS[processor].packages
        raise ResourceError(f"no C compiler for {processor} is installed; it links shared libraries", code="save",
                            help=f"on Debian: apt install {packages}; or save a .o or a .a, which need none")
    return found


def made_by(source: bytes, name: str, result: str, command: Callable[[str, str], list[str]]) -> tuple[bytes, str]:
    """What a command, from two paths, makes of a file, and what it says.

    Raises:
        ResourceError: it takes too long.
        CompileError: it fails.
    """
    with TemporaryDirectory(prefix="texpr-") as folder:
        given, made = Path(folder) / name, Path(folder) / result
        given.write_bytes(source)
        arguments = command(str(given), str(made))
        try:
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            raise ResourceError(f"{arguments[0]} took more than {_SECONDS} s", code="save") from None
        if done.returncode:
            raise CompileError(f"{arguments[0]} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}", code="link")
        return made.read_bytes(), done.stdout + done.stderr
