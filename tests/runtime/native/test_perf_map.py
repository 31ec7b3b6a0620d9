"""Names of compiled code for `perf`."""

from __future__ import annotations

import platform
import subprocess
import sys

import numpy as np
import pytest

import texpr as tx
from texpr.runtime.linking import perf_map
from texpr.runtime.native import jit

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="ELF")
TEXT = """
define internal i64 @inner(i64 %x) noinline {
  %y = mul i64 %x, %x
  ret i64 %y
}
define i64 @outer(i64 %x) {
  %y = call i64 @inner(i64 %x)
  %z = add i64 %y, 1
  ret i64 %z
}
define i64 @last(i64 %x) {
  %y = call i64 @inner(i64 %x)
  ret i64 %y
}
"""


@pytest.fixture
def lines(tmp_path, monkeypatch):
    monkeypatch.setattr(perf_map, "map_file", lambda: tmp_path / "perf.map")
    return lambda: [line.split() for line in (tmp_path / "perf.map").read_text().splitlines()]


def test_each_function_has_a_line(lines):
    code = jit.compile_as_written(TEXT)
    found = {f.name: f for f in perf_map.functions(code)}
    assert set(found) == {"inner", "outer", "last"} and all(f.size > 0 for f in found.values())
    with tx.options(perf_map=True):
        library = jit.link(code, ("outer", "last"), {})
    written = {name: (int(at, 16), int(size, 16)) for at, size, name in lines()}
    assert written["outer"] == (library["outer"], found["outer"].size)
    assert written["last"] == (library["last"], found["last"].size)
    assert written["inner"][0] - written["outer"][0] == found["inner"].value - found["outer"].value


def test_a_kernel_has_its_name(lines):
    with tx.options(perf_map=True, cache_dir=None):
        op = tx.op("op thirds(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / 3 }")
        kernel = tx.schedule(op, N=5).compile()
        kernel(np.ones(5, "f4"))
    named = {name: int(at, 16) for at, _, name in lines()}
    assert kernel.address in {at for name, at in named.items() if "thirds" in name}


def test_nothing_is_written_without_the_option(lines, tmp_path):
    jit.link(jit.compile_as_written(TEXT), ("outer",), {})
    assert not (tmp_path / "perf.map").exists()


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x01\x01" + bytes(64), b"MZ" + bytes(64)])
def test_other_formats_have_no_functions(data):
    assert list(perf_map.functions(data)) == []


def test_a_file_that_cannot_be_written_is_a_warning(monkeypatch, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    monkeypatch.setattr(perf_map, "map_file", lambda: link)
    with tx.options(perf_map=True), pytest.warns(UserWarning, match="is not written"):
        jit.link(jit.compile_as_written(TEXT), ("outer",), {})
    assert not (tmp_path / "target").exists()


def test_the_file_is_where_perf_looks_for_it(tmp_path):
    text = "import os\nfrom texpr.runtime.linking import perf_map\nprint(os.getpid(), perf_map.map_file())"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    number, file = done.stdout.split()
    assert file == "/".join(["", "tmp", f"perf-{number}.map"])
