"""gdb knows compiled code by its names: LLVM's linker registers what it links."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys

import pytest

TEXT = """
define internal i64 @squared_inside(i64 %x) noinline {
  %a = alloca i64, i64 %x
  store volatile i64 %x, ptr %a
  %y = mul i64 %x, %x
  ret i64 %y
}
define i64 @squared_outside(i64 %x) {
  %a = alloca i64, i64 %x
  store volatile i64 %x, ptr %a
  %y = call i64 @squared_inside(i64 %x)
  %z = add i64 %y, 1
  ret i64 %z
}
"""
PROGRAM = f"""
import ctypes
from texpr.runtime.native import jit
library = jit.link(jit.compile_as_written({TEXT!r}), ("squared_outside",), {{}})
print("result", ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library["squared_outside"])(3), flush=True)
"""


@pytest.mark.skipif(platform.system() != "Linux" or shutil.which("gdb") is None, reason="no gdb")
def test_gdb_stops_at_a_function_and_walks_up():
    commands = ["set breakpoint pending on", "break squared_inside", "run", "backtrace 2", "continue"]
    listed = [word for c in commands for word in ("-ex", c)]
    done = subprocess.run(
        ["gdb", "-nx", "-batch", *listed, "--args", sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if "ptrace" in done.stderr:
        pytest.skip("processes may not be traced here")
    assert "#0  0x" in done.stdout and "in squared_inside ()" in done.stdout, done.stdout + done.stderr
    assert "in squared_outside ()" in done.stdout and "result 10" in done.stdout
