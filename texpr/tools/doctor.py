"""`python -m texpr doctor`: what texpr sees of this machine."""

from __future__ import annotations

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version

from texpr.runtime import gpu, host
from texpr.runtime.native import native_library
from texpr.support.errors import ResourceError
from texpr.support.options import current
from texpr.support.table import aligned
from texpr.targets import find_target, target_names
from texpr.tools.arguments import Commands, add_command


def add_parser(commands: Commands) -> None:
    """Add the command `doctor`."""
    add_command(
        commands, "doctor", doctor, "print versions, the machine record, targets, the GPU and options"
    )


def doctor(arguments: argparse.Namespace) -> int:
    """Print versions, the machine record, targets, the GPU and options."""
    machine = find_target("native").machine
    rows = [
        ("python", platform.python_version()),
        *((name, _version(name)) for name in ("texpr", "numpy", "llvmlite", "lark", "islpy")),
    ]
    rows += [
        ("cpu", host.cpu_name()),
        ("cores", str(host.cores())),
        ("threads", str(native_library.threads())),
        ("vectors", f"{machine.vector_bytes} bytes, {machine.vector_registers} registers"),
        ("caches", ", ".join(f"{n >> 10} KiB" for n in machine.caches)),
        ("targets", ", ".join(target_names())),
        ("gpu", _gpu()),
        ("device", current().device),
        ("cache", str(current().cache_dir or "off")),
    ]
    print(aligned(rows, "<<"))
    return 0


def _gpu() -> str:
    """The name of the first GPU and its facts, or why there is none."""
    try:
        found = gpu.find_device(gpu.DEFAULT)
    except ResourceError as error:
        return error.message
    assert found is not None
    facts = found.facts
    return (
        f"{facts.name}, {facts.memory >> 30} GiB, capability {'.'.join(map(str, facts.capability))}, driver "
        f"of {facts.driver}"
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
