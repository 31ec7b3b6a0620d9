"""C and C++ programs around saved code, run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

needs_gcc = pytest.mark.skipif(
    shutil.which("gcc") is None or shutil.which("g++") is None, reason="no gcc and g++ here"
)
FLAGS = {"gcc": ("-x", "c", "-std=c99"), "g++": ("-x", "c++", "-std=c++11")}

_MAIN = """
#include <stdio.h>
#include "%(header)s"
%(arrays)s
int main(void) {
  FILE *file = fopen("given", "rb");
  int32_t status = 0;
  if (file == 0%(reads)s) return 99;
  for (int k = 0; k < %(times)d && status == 0; k++) status = texpr_%(name)s_call(%(arguments)s);
  file = fopen("computed", "wb");
  if (file == 0%(writes)s) return 98;
  fclose(file);
  return status;
}
"""


def run(
    folder: Path,
    name: str,
    code: str,
    header: str,
    arrays: Sequence[tuple[np.ndarray, bool]],
    numbers: Sequence[int] = (),
    *,
    compiler: str = "gcc",
    times: int = 1,
) -> list[np.ndarray]:
    """Call `texpr_NAME_call` of saved code from a new program: what it leaves in the arrays that it
    writes.

    Args:
        arrays: in the order of the parameters, and whether each is written.
        numbers: parameters behind the arrays.
        times: the function is called, as often as it succeeds.
    """
    with (folder / "given").open("wb") as file:
        for array, _ in arrays:
            file.write(array.tobytes())
    (folder / "main.source").write_text(_main(name, header, arrays, numbers, times))
    command = [
        compiler,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        *FLAGS[compiler],
        "main.source",
        "-x",
        "none",
        code,
        "-lm",
        "-Wl,-rpath,.",
        "-o",
        "main",
    ]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert built.returncode == 0, built.stderr
    done = subprocess.run(["./main"], cwd=folder, timeout=60)
    assert done.returncode == 0, f"status {done.returncode}"
    computed, results = (folder / "computed").read_bytes(), []
    for array, _ in [each for each in arrays if each[1]]:
        results.append(np.frombuffer(computed[: array.nbytes], array.dtype).reshape(array.shape))
        computed = computed[array.nbytes :]
    return results


_TYPES = {"float32": "float", "float64": "double", "bool": "uint8_t"}


def _main(
    name: str, header: str, arrays: Sequence[tuple[np.ndarray, bool]], numbers: Sequence[int], times: int
) -> str:
    # An array of C has an element at least.
    declared = "\n".join(
        f"static {_type(a)} a{k}[{max(a.size, 1)}] __attribute__((aligned(64)));"
        for k, (a, _) in enumerate(arrays)
    )
    reads = "".join(f" || fread(a{k}, 1, {a.nbytes}, file) != {a.nbytes}" for k, (a, _) in enumerate(arrays))
    writes = "".join(
        f" || fwrite(a{k}, 1, {a.nbytes}, file) != {a.nbytes}"
        for k, (a, written) in enumerate(arrays)
        if written
    )
    arguments = ", ".join([*(f"a{k}" for k in range(len(arrays))), *map(str, numbers)])
    return _MAIN % {
        "header": header,
        "arrays": declared,
        "reads": reads,
        "writes": writes,
        "name": name,
        "arguments": arguments,
        "times": times,
    }


def _type(array: np.ndarray) -> str:
    return _TYPES.get(str(array.dtype)) or f"{array.dtype}_t"
