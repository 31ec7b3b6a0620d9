"""Code in files: the name says in which form."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from texpr.aot.archive import archive
from texpr.aot.c_function import Function
from texpr.aot.header import header
from texpr.aot.link import shared_library
from texpr.aot.nvidia_tools import assembled
from texpr.ir.printing.expr import show
from texpr.support.errors import CompileError
from texpr.support.files import write_files
from texpr.targets import Artifact

_Form = Callable[[Artifact, Function], bytes]


def _ptx(artifact: Artifact, function: Function) -> bytes:
    """The assembly, and how its kernels are launched, in order, as comments: the code alone does
    not say.
    """
    said = []
    for each in artifact.launches:
        grid, block = (", ".join(map(show, of)) for of in (each.grid, each.block))
        shared = f", {each.shared_bytes} bytes of dynamic shared memory" if each.shared_bytes else ""
        maps = "".join(
            f", a tensor map of argument {m.tensor} ({m.dtype}{list(m.shape)}, boxes of {list(m.box)}, "
            f"swizzle of {m.swizzle} bytes)"
            for m in each.maps
        )
        said.append(f"// launch {each.symbol}: grid ({grid}), block ({block}){shared}{maps}\n")
    return "".join([*said, artifact.assembly]).encode()


_EXTENSIONS = ("dotprod", "bf16", "i8mm", "sve")
"""Of AArch64, as assemblers and LLVM both call them."""


def _assembly(artifact: Artifact, _: Function) -> bytes:
    """The assembly, which says first what an assembler has to know: of AArch64 it takes the
    basic instructions alone unless told.
    """
    target, head = artifact.target, ""
    if target.triple.startswith("aarch64") and not target.native:
        asked = [name for name in _EXTENSIONS if f"+{name}" in target.features.split(",")]
        head = f"\t.arch\t{'+'.join(['armv8.2-a', *asked])}\n" if asked else ""
    return (head + artifact.assembly).encode()


_ON_CPUS: dict[str, _Form] = {
    ".o": lambda artifact, function: artifact.object_code,
    ".a": lambda artifact, function: archive("texpr.o", artifact.object_code, function.symbol),
    ".so": lambda artifact, function: shared_library(artifact.object_code, artifact.target),
    ".s": _assembly,
    ".ll": lambda artifact, function: artifact.llvm.encode(),
}
_ON_GPUS: dict[str, _Form] = {
    ".ptx": _ptx,
    ".cubin": lambda artifact, function: assembled(artifact.assembly, artifact.target)[0],
    ".ll": lambda artifact, function: artifact.llvm.encode(),
}
SUFFIXES = (*_ON_CPUS, *(s for s in _ON_GPUS if s not in _ON_CPUS))
"""The forms of code that there are."""


def save(
    path: str | Path,
    artifact: Artifact,
    function: Function,
    header_path: str | Path | None = None,
    weights: bytes | None = None,
) -> None:
    """Write code, a C header for it, and bytes that the program gives it, in a file of its name
    with `.weights` at its end.

    Args:
        path: ends with one of `SUFFIXES` that the target has.
        artifact: of code that needs no texpr.
    Raises:
        CompileError: another suffix, a header for a GPU or in the place of the code, or code that
            does not link.
        ResourceError: a tool that the form needs is not installed.
        OSError: the files have no place to go; what was there before is there still.
    """
    forms = _ON_GPUS if artifact.target.gpu else _ON_CPUS
    make = forms.get(Path(path).suffix)
    if make is None:
        raise CompileError(
            f"code for {artifact.target.name} is not saved as `{Path(path).name}`",
            code="save",
            help=f"give the file a name that ends with {', '.join(forms)}",
        )
    if header_path is not None and artifact.target.gpu:
        raise CompileError(
            f"code for {artifact.target.name} is launched by a driver: there is no C header for it",
            code="save",
            help="leave header out",
        )
    files = {Path(path): make(artifact, function)}
    if weights is not None:
        files[Path(f"{path}.weights")] = weights
    if header_path is not None:
        if os.path.realpath(header_path) in map(os.path.realpath, files):
            raise CompileError(
                f"code and its header cannot both be `{Path(header_path).name}`",
                code="save",
                help=f"name the header {Path(path).with_suffix('.h').name}, say",
            )
        files[Path(header_path)] = header(function).encode()
    write_files(files)
