"""Object code for another processor, run in QEMU's user mode emulation: slow, and true to the
instruction set.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from texpr.support.errors import CompileError, ResourceError
from texpr.support.frozen_dataclass import frozen

DRIVER = Path(__file__).with_name("qemu_driver.c")
_ALIGNMENT = 64
_TIMEOUT = 120
_BAD_FILE, _STATUS_BASE = 99, 100


@frozen
class Processor:
    """The tools for one kind of processor, and the packages of Debian that hold them."""

    emulator: str
    compiler: str
    packages: str


PROCESSORS = {
    "aarch64": Processor(
        "qemu-aarch64", "aarch64-linux-gnu-gcc", "qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
    ),
    "armv7": Processor(
        "qemu-arm", "arm-linux-gnueabihf-gcc", "qemu-user gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"
    ),
    "x86_64": Processor(
        "qemu-x86_64", "x86_64-linux-gnu-gcc", "qemu-user gcc-x86-64-linux-gnu libc6-dev-amd64-cross"
    ),
}


def missing_tool(processor: str = "aarch64") -> str:
    """A tool that is not installed; empty if all are."""
    tools = PROCESSORS[processor]
    return next((t for t in (tools.emulator, tools.compiler) if shutil.which(t) is None), "")


def run(
    object_code: bytes,
    symbol: str,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    sizes: Sequence[int],
    *,
    processor: str = "aarch64",
    cpu: str = "max",
) -> None:
    """Run `symbol` of object code that needs only the C library. Outputs are written in place; all
    arrays are contiguous.

    Args:
        sizes: the symbolic sizes, which follow the arrays in the slots.
        processor: a key of `PROCESSORS`.
        cpu: QEMU's name of the processor, with features.
    Raises:
        ResourceError: a tool is not installed, or lacks instructions, or the kernel ran out of
            memory or for more than two minutes.
        CompileError: the object code does not link, or is for vectors of another length or for
            tiles.
    """
    if tool := missing_tool(processor):
        raise ResourceError(
            f"{tool} is not installed; code for {processor} runs in it",
            code="emulator",
            help=f"on Debian: apt install {PROCESSORS[processor].packages}",
        )
    arrays = (*inputs, *outputs)
    for array in arrays:
        assert array.flags.c_contiguous, "the emulator takes contiguous arrays"
    with TemporaryDirectory(prefix="texpr-") as folder:
        executable, file = (
            _link(object_code, symbol, PROCESSORS[processor], Path(folder)),
            Path(folder) / "arrays",
        )
        offsets = _write(file, arrays, sizes)
        _execute([PROCESSORS[processor].emulator, "-cpu", cpu, str(executable), str(file)], symbol)
        with file.open("rb") as content:
            for array, offset in zip(outputs, offsets[len(inputs) :]):
                content.seek(offset)
                array[...] = np.frombuffer(content.read(array.nbytes), array.dtype).reshape(array.shape)


def _link(object_code: bytes, symbol: str, tools: Processor, folder: Path) -> Path:
    code, executable = folder / "kernel.o", folder / "kernel"
    code.write_bytes(object_code)
    command = [
        tools.compiler,
        "-O1",
        "-static",
        f"-DKERNEL={symbol}",
        str(DRIVER),
        str(code),
        "-lm",
        "-o",
        str(executable),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT)
    if done.returncode:
        raise CompileError(f"the object code does not link: {_last_line(done.stderr)}", code="link")
    return executable


def _write(file: Path, arrays: Sequence[np.ndarray], sizes: Sequence[int]) -> list[int]:
    """Write slots and arrays; the offsets of the arrays."""
    offset = _align(8 + 16 * (len(arrays) + len(sizes)))
    offsets: list[int] = []
    words = [len(arrays) + len(sizes)]
    for array in arrays:
        offsets.append(offset)
        words += [1, offset]
        offset = _align(offset + array.nbytes)
    for size in sizes:
        words += [0, size]
    with file.open("wb") as out:
        out.truncate(max(offset, 1))
        out.write(np.array(words, "<i8").tobytes())
        for array, at in zip(arrays, offsets):
            out.seek(at)
            out.write(array.tobytes())
    return offsets


def _align(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _execute(command: list[str], symbol: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise ResourceError(
            f"{symbol} ran for {_TIMEOUT} s in the emulator", code="emulator", help="use smaller arrays"
        ) from None
    status = done.returncode
    if status == _STATUS_BASE + 2:
        raise ResourceError(f"{symbol} ran out of memory in the emulator", code="memory")
    if status == _STATUS_BASE + 3:
        raise CompileError(
            f"{symbol} is for vectors of another length than the emulated processor has, or for tiles, of "
            f"which it has none",
            code="target",
        )
    if status == -signal.SIGILL:
        raise ResourceError(
            f"{command[0]} does not have all instructions of the processor that {symbol} is for",
            code="emulator",
            help="save it, and run it on such a processor",
        )
    assert status == 0, f"{symbol} in the emulator: status {status}, {_last_line(done.stderr)}"


def _last_line(words: str) -> str:
    return (words.strip().splitlines() or ["no message"])[-1]
