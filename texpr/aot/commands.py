"""Commands that make one file of another: tools of the system do what no part of texpr can."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from texpr.support.errors import CompileError, ResourceError

_SECONDS = 120
_MOST_NOTES = 4


def made_by(
    source: bytes, name: str, result: str, command: Callable[[str, str], list[str]]
) -> tuple[bytes, str]:
    """The file that a command makes of another file, and the command's output.

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
            raise ResourceError(
                f"{Path(arguments[0]).name} took more than {_SECONDS} s", code="save"
            ) from None
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no message"]
            raise CompileError(
                f"{Path(arguments[0]).name} failed: {said[0]}", code="link", notes=said[1 : 1 + _MOST_NOTES]
            )
        return made.read_bytes(), done.stdout + done.stderr
