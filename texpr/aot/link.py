"""Shared libraries, which the system's C compiler links."""

from __future__ import annotations

import platform
import shutil

from texpr.aot.commands import made_by
from texpr.runtime.process.qemu import PROCESSORS
from texpr.support.errors import ResourceError
from texpr.targets import Target


def shared_library(object_code: bytes, target: Target) -> bytes:
    """An ELF library with the one symbol that the object defines.

    Raises:
        ResourceError: there is no C compiler for the target, which links it.
        CompileError: it does not link.
    """
    compiler = _compiler(target.triple.partition("-")[0])
    flags = "-shared", "-nostartfiles", "-Wl,-z,noexecstack", "-Wl,-z,text"
    return made_by(
        object_code, "code.o", "code.so", lambda source, made: [compiler, *flags, source, "-lm", "-o", made]
    )[0]


def _compiler(processor: str) -> str:
    """The C compiler for a processor.

    Raises:
        ResourceError: there is none.
    """
    own = processor == {"amd64": "x86_64"}.get(platform.machine(), platform.machine())
    found = next(
        (
            name
            for name in (("cc", "gcc", "clang") if own else (PROCESSORS[processor].compiler,))
            if shutil.which(name)
        ),
        None,
    )
    if found is None:
        packages = "gcc" if own else PROCESSORS[processor].packages
        raise ResourceError(
            f"no C compiler for {processor} is installed; it links shared libraries",
            code="save",
            help=f"on Debian: apt install {packages}; or save a .o or a .a, which need none",
        )
    return found
