"""Values of tensors that lie in files beside the model's: what the model says of them is checked
before any of them is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

from texpr.onnx.element_types import FROM_ONNX, bytes_in_file, name_of
from texpr.onnx.narrow_types import NARROW
from texpr.support.errors import CheckpointError, ResourceError

MOST_TIMES = 8
"""The most times that the bytes of a file may be asked for: tensors may share their values."""


def check_external(tensors: Iterable[Any], folder: Path) -> None:
    """Refuse tensors whose values are outside of the folder, or not as many as their dimensions say.

    Args:
        tensors: onnx.TensorProtos with external data.
    Raises:
        CheckpointError: a file that is not there, a place outside of it, another length.
        ResourceError: tensors share values so often that they need many times the files' memory.
    """
    asked, files = 0, {}
    for t in tensors:
        about = {entry.key: entry.value for entry in t.external_data}
        location = about.get("location", "")
        path, size = files[location] = files.get(location) or _file(t, location, folder)
        offset = _number(t, about, "offset", 0)
        if offset > size:
            raise _refused(t, f"begin at byte {offset:,} of `{path.name}`, which has {size:,}")
        if t.data_type not in FROM_ONNX and t.data_type not in NARROW:
            raise _refused(t, f"are {name_of(t.data_type)}, which other files do not hold")
        if any(n < 0 for n in t.dims):
            raise CheckpointError(f"the tensor `{t.name}` has dimensions {list(t.dims)}", code="onnx")
        needed = bytes_in_file(t.data_type, prod(t.dims))
        given = _number(t, about, "length", size - offset)
        if given > size - offset:
            raise _refused(
                t, f"are {given:,} bytes from byte {offset:,} of `{path.name}`, which has {size:,}"
            )
        if given != needed:
            raise _refused(t, f"are {given:,} bytes, and {list(t.dims)} needs {needed:,}")
        asked += needed
    held = sum(dict(files.values()).values())  # a file may be named in several ways
    if asked > MOST_TIMES * held:
        raise ResourceError(
            f"the tensors in other files need {asked:,} bytes, and the files have {held:,}",
            code="onnx",
            help="save the model with each value once",
        )


def place_of(t: Any, folder: Path) -> tuple[Path, int]:
    """The file of a tensor that was checked, and the byte at which its values begin."""
    about = {entry.key: entry.value for entry in t.external_data}
    return _file(t, about["location"], folder)[0].absolute(), _number(t, about, "offset", 0)


def _file(t: Any, location: str, folder: Path) -> tuple[Path, int]:
    """A file and its bytes."""
    parts = PurePosixPath(location.replace("\\", "/")).parts
    if not parts or not location.isprintable() or len(location) > 1024:
        raise _refused(t, f"have no place: {location[:40]!r}")
    if ".." in parts or location.startswith(("/", "\\")) or ":" in parts[0]:
        raise _refused(t, f"are at `{location}`, outside of the model's folder")
    path = folder.joinpath(*parts)
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        raise _refused(t, f"are in `{location}`, which is not there") from None
    real, home = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([real, home]) != home:
        raise _refused(t, f"are at `{location}`, a link to outside of the model's folder")
    if not stat.S_ISREG(about.st_mode):
        raise _refused(t, f"are in `{location}`, which is no file")
    return path, about.st_size


def _number(t: Any, about: dict[str, str], key: str, default: int) -> int:
    text = about.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 20:
        raise _refused(t, f"have the {key} {text[:40]!r}")
    return int(text)


def _refused(t: Any, what: str) -> CheckpointError:
    return CheckpointError(
        f"the values of the tensor `{t.name}` {what}",
        code="onnx",
        help="keep the model's files together, or export it again",
    )
