"""NVIDIA's tools for code of GPUs: on the path, or where PyPI's packages put them
(`nvidia-cuda-nvcc`, `nvidia-cuda-nvdisasm`).
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

from texpr.aot.commands import made_by
from texpr.support.errors import CompileError, ResourceError
from texpr.targets import Target

_UNKNOWN = "is not defined for option 'gpu-name'"


def find_tool(name: str) -> str | None:
    """Path of a tool such as `ptxas`; None if it is not installed. The one on the path comes
    first.

    The packages have no scripts: theirs lie in `nvidia/cu13/bin`, in `nvidia/cuda_nvcc/bin` before
    version 13.
    """
    if (found := shutil.which(name)) is not None:
        return found
    spec = find_spec("nvidia")
    places = (spec.submodule_search_locations or ()) if spec is not None else ()
    folders = [
        os.path.join(place, package, "bin")
        for place in places
        for package in sorted(os.listdir(place), reverse=True)
    ]
    return shutil.which(name, path=os.pathsep.join(folders)) if folders else None


def assembled(ptx: str, target: Target, *options: str) -> tuple[bytes, str]:
    """Code that a driver loads without compiling, and the output of ptxas.

    Raises:
        ResourceError: ptxas is not installed, or takes too long.
        CompileError: it does not take the code, or is of a version that has no such processor.
    """
    ptxas = find_tool("ptxas")
    if ptxas is None:
        raise ResourceError(
            "ptxas is not installed; it assembles PTX",
            code="save",
            help="pip install nvidia-cuda-nvcc, or save a .ptx",
        )
    try:
        return made_by(
            ptx.encode(),
            "code.ptx",
            "code.cubin",
            lambda source, made: [ptxas, *options, f"-arch={target.cpu}", source, "-o", made],
        )
    except CompileError as error:
        if _UNKNOWN in error.message:
            error.help = (
                f"this ptxas has no {target.cpu}; one of CUDA 12 knows sm_50 to sm_120: pip install "
                f"nvidia-cuda-nvcc-cu12"
            )
        raise
