"""Compile the native runtime's C to the LLVM IR that is checked in: `python scripts/native.py`.

It needs the clang of `VERSION`: `apt-get install clang-19` on Debian and Ubuntu, or
`CLANG=/path/to/clang`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "texpr" / "runtime" / "native"
UNITS = ("library", "library_free_threaded", "value_checks", "sorting", "xla_ffi", "tensors")
HOSTS = ("x86_64", "aarch64")
VERSION = "19.1.7"
"""The version of clang. LLVM reads the text of older versions, so it must not be newer than the
LLVM 20 of the oldest llvmlite that texpr takes."""
FLAGS = (
    "-std=c11",
    "-ffreestanding",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-function",
    # Sums of addresses and counters wrap around, and memory is read as several types.
    "-fwrapv",
    "-fno-strict-aliasing",
    # Loops stay as they are: the runtime vectorizes them where that pays, for the processor at
    # hand.
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",
    # Code is linked far from the libraries that it calls, and nothing unwinds it.
    "-fPIC",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fomit-frame-pointer",
    # Names of variables help those who read the IR.
    "-fno-discard-value-names",
)
_PROCESSOR_ATTRIBUTES = (
    "target-cpu",
    "target-features",
    "tune-cpu",
    "min-legal-vector-width",
    "no-trapping-math",
    "stack-protector-buffer-size",
)
_DROPPED_LINES = (
    "; ModuleID",
    r"!llvm\.module\.flags",
    r"!llvm\.ident",
    r"!\d+ = distinct",
    r'!\d+ = !{!"llvm\.loop',
    r"!\d+ = !{i32",
    r"!\d+ = .*clang version",
)


def clang() -> str | None:
    """The path of clang: `CLANG`, else the right major version, else any."""
    names = (os.environ.get("CLANG", ""), f"clang-{VERSION.partition('.')[0]}", "clang")
    return next((path for name in names if name and (path := shutil.which(name))), None)


def version(compiler: str) -> str:
    """The version of a clang, such as `19.1.7`."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"clang version (\d+\.\d+\.\d+)", said)
    return found.group(1) if found else said.splitlines()[0]


def path(unit: str, host: str) -> Path:
    """The file with the LLVM IR of a translation unit for a host."""
    return SOURCES / "ir" / f"{unit}-{host}.ll"


def digest() -> str:
    """A digest of all sources, the flags and the version."""
    files = sorted([*SOURCES.rglob("*.c"), *SOURCES.rglob("*.h")])
    parts = [f"{file.name}\n{file.read_text(encoding='utf-8')}" for file in files]
    return hashlib.sha256("\n".join([VERSION, *FLAGS, *parts]).encode()).hexdigest()


def compiled(unit: str, host: str, compiler: str) -> str:
    """The LLVM IR of a translation unit for a host, as it is checked in."""
    target = f"--target={host}-unknown-linux-gnu"
    file = next(SOURCES.rglob(f"{unit}.c")).relative_to(SOURCES)
    command = [compiler, target, *FLAGS, "-S", "-emit-llvm", "-o", "-", str(file)]
    text = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, check=True).stdout
    return f"{_header(unit, host, compiler)}\n{_without_processor(text)}"


def _header(unit: str, host: str, compiler: str) -> str:
    return (
        f"; {unit}.c for {host}: written by scripts/native.py, not to be edited.\n"
        f"; clang {version(compiler)} {' '.join(FLAGS)}\n; sources {digest()}"
    )


def _without_processor(text: str) -> str:
    """The text without attributes that name a processor and without hints about loops: the runtime
    compiles for the processor at hand. Comments and marks of the compiler are dropped as well.
    """
    text = re.sub(rf' "({"|".join(_PROCESSOR_ATTRIBUTES)})"="[^"]*"', "", text)
    text = re.sub(rf"(?m)^({'|'.join(_DROPPED_LINES)}).*\n", "", text)
    return re.sub(r", !llvm\.loop !\d+| *; (preds = |No predecessors!).*", "", text).rstrip() + "\n"


def main() -> None:
    """Write the files that have changed."""
    compiler = clang()
    if compiler is None or version(compiler) != VERSION:
        sys.exit(
            f"this needs clang {VERSION}, and there is {compiler and version(compiler) or 'none'}; "
            f"apt-get install clang-{VERSION.partition('.')[0]}, or CLANG=/path/to/clang"
        )
    for unit in UNITS:
        for host in HOSTS:
            text, file = compiled(unit, host, compiler), path(unit, host)
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")
                print(file.name)


if __name__ == "__main__":
    main()
