"""The native runtime under clang's sanitizers: addresses, undefined behaviour, data races."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from texpr.runtime.native import native_library

HERE, SOURCES = Path(__file__).parent, Path(native_library.__file__).parent
CLANG = shutil.which("clang-19") or shutil.which("clang")
OPTIONS = (
    "-O1",
    "-g",
    "-w",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-pthread",
    "-fno-sanitize-recover=all",
    f"-I{SOURCES}",
)
"""Wrapping arithmetic and aliasing are as in `scripts/native.py`."""


@pytest.mark.skipif(CLANG is None, reason="no clang here")
@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_sanitizers_find_nothing(sanitizers, tmp_path):
    done = run(
        sanitizers,
        tmp_path,
        HERE / "driver.c",
        *(SOURCES / f"{unit}.c" for unit in ("library", "value_checks", "sorting")),
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


RACE = """
#include <stdio.h>
void tx_parallel(void (*)(void *, long, long), void *, long), tx_set_threads(long);
static void add(void *p, long lo, long hi) {
  for (long i = lo; i < hi; i++) for (int k = 0; k < 1000000; k++) ++*(volatile int *)p;
}
int main(void) {
  int n = 0;
  tx_set_threads(4);
  for (int k = 0; k < 4; k++) tx_parallel(add, &n, 16);
  puts("ok");
}
"""


@pytest.mark.skipif(CLANG is None, reason="no clang here")
def test_a_race_is_found(tmp_path):
    (tmp_path / "race.c").write_text(RACE)
    done = run("thread", tmp_path, tmp_path / "race.c", SOURCES / "library.c")
    assert done.returncode != 0 and "data race" in done.stderr


def run(sanitizers: str, folder: Path, *sources: Path) -> subprocess.CompletedProcess[str]:
    """Build and run a program without Python: its functions do nothing, and its objects are not
    looked at.
    """
    items, data = tuple.__basicsize__, bytes.__basicsize__ - 1
    stubs = [f"const long python_tuple_items = {items}, python_tuple_hash, python_bytes_data = {data};"]
    stubs += [f"void *{name}(void) {{ return 0; }}" for name in native_library.PYTHON_API]
    (folder / "stubs.c").write_text("\n".join(stubs))
    layouts = (f"-DITEMS={items}", f"-DDATA={data}")
    command = [str(CLANG), *OPTIONS, *layouts, f"-fsanitize={sanitizers}", *map(str, sources), "stubs.c"]
    built = subprocess.run(
        [*command, "-o", "program"], cwd=folder, capture_output=True, text=True, check=False
    )
    if "libclang_rt" in built.stderr:
        pytest.skip("clang has no sanitizers here: libclang-rt-19-dev has them")
    assert built.returncode == 0, built.stderr
    return subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, timeout=100, check=False)
