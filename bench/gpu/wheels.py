"""Libraries that are not installed, from wheels in a folder. Of the standard library alone.

Kept by hand: a machine with a GPU may have no pip, and a wheel is a zip file.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

NEEDED = ("numpy", "llvmlite", "lark", "islpy")


class Missing(Exception):
    """Libraries that are neither installed nor among the wheels."""


def prepare(folder: str, needed: Sequence[str] = NEEDED) -> str:
    """Unpack what is needed and not installed; where, or empty if everything is installed.

    Raises:
        Missing: there is no wheel of it.
    """
    absent = [name for name in needed if find_spec(name) is None]
    wheels = {
        name: wheel
        for name in absent
        for wheel in sorted(Path(folder).glob("*.whl"))
        if wheel.name.split("-")[0].lower() == name
    }
    lost = [name for name in absent if name not in wheels]
    if lost:
        raise Missing(
            f"{', '.join(lost)}: not installed, and no wheels of them in {folder or 'any folder'}; "
            "pip install them, or name a folder of wheels: make gpu WHEELS=folder"
        )
    if not absent:
        return ""
    target = tempfile.mkdtemp(prefix="texpr-wheels-")
    for wheel in wheels.values():
        zipfile.ZipFile(wheel).extractall(target)
    return target


def environment(unpacked: str, **changes: str) -> dict[str, str]:
    """What the processes that use texpr run with."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, unpacked, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, **changes}
