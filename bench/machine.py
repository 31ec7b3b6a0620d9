"""What the machine can do at most, measured: multiplications and additions per second, bytes per
second.
"""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Barrier

import llvmlite.binding as llvm
import numpy as np

from texpr.runtime import host
from texpr.targets import find_target

COPIES = (1 << 18, 1 << 21, 1 << 24, 1 << 28)
"""Sizes of arrays that are copied, from one that every core's own cache holds to one that none
does.
"""
COPIED = 1 << 26
"""Bytes that are copied for one measurement, at least."""
PAIRS = "vdpbf16ps"
"""What the rate of that instruction is called."""
TILES = {"bf16": ("tdpbf16ps", 2 * 16 * 16 * 32), "i8": ("tdpbssd", 2 * 16 * 16 * 64)}
"""By the type of the operands: the instruction that multiplies tiles, and how many
multiplications and additions that is.
"""
STEPS = 2_000_000
TILE_STEPS = 100_000
TURNS = 15


@dataclass(frozen=True)
class Instruction:
    """What adds products fastest for one type of operands.

    Attributes:
        operands: LLVM's type of a vector of operands.
        sums: LLVM's type of a vector of sums.
        call: the intrinsic; it takes the sums and two vectors of operands, or for floats two of
            operands and then the sums.
        operations: multiplications and additions of one call, per byte of its vectors.
        feature: LLVM's name of the CPU feature it needs, if any.
    """

    operands: str
    sums: str
    call: str
    operations: float
    feature: str = ""


def instructions() -> dict[str, Instruction]:
    """Those of this machine by the type of the operands."""
    width = max(find_target("native").machine.vector_bytes, 8)
    f32, f64 = f"<{width // 4} x float>", f"<{width // 8} x double>"
    found = {
        "f32": Instruction(f32, f32, f"llvm.fma.v{width // 4}f32", 2 / 4),
        "f64": Instruction(f64, f64, f"llvm.fma.v{width // 8}f64", 2 / 8),
    }
    wide = {
        "bf16": Instruction(
            "<32 x bfloat>", "<16 x float>", "llvm.x86.avx512bf16.dpbf16ps.512", 4 / 4, "avx512bf16"
        ),
        "i8": Instruction("<16 x i32>", "<16 x i32>", "llvm.x86.avx512.vpdpbusd.512", 8 / 4, "avx512vnni"),
    }
    features = llvm.get_host_cpu_features()
    return found | {name: each for name, each in wide.items() if features.get(each.feature)}


@dataclass(frozen=True)
class Limits:
    """The roof: what this many threads reach at most.

    Attributes:
        threads: how many.
        flops: multiplications and additions per second, by the type of the operands; those of the
            instruction for pairs of bf16 apart: on some machines f32 has more.
        copy: bytes read and written per second when arrays of so many bytes are copied.
    """

    threads: int
    flops: dict[str, float]
    copy: dict[int, float]

    def seconds(self, flops: float, dtype: str, moved: float) -> float:
        """The least time of work that needs these operations and touches these bytes at least once.

        The bytes move at the rate of the smallest copy that is as large: what fits in a cache may
        come from there.
        """
        rate = next((rate for size, rate in self.copy.items() if 2 * size >= moved), min(self.copy.values()))
        return max(flops / self.flops.get(dtype, float("inf")), moved / rate)

    def __str__(self) -> str:
        rates = ", ".join(f"{name} {rate / 1e9:.0f}" for name, rate in self.flops.items())
        copies = ", ".join(f"{rate / 1e9:.0f} at {size >> 10} KiB" for size, rate in self.copy.items())
        return f"limits measured, in GOP/s: {rates}; of copies, in GB/s: {copies}"

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)


def measure_limits(threads: int) -> Limits:
    """Measure the roof for a number of threads."""
    rates = {name: product_rate(each, threads) for name, each in instructions().items()}
    if "bf16" in rates:
        rates[PAIRS] = rates["bf16"]
    rates["bf16"] = max(rates["f32"], rates.get(PAIRS, 0.0))  # operands may be widened first
    for dtype, (call, operations) in TILES.items():
        if call in find_target("native").machine.instructions:
            rates[dtype] = max(rates.get(dtype, 0.0), tile_rate(call, operations, threads))
    return Limits(threads, rates, {size: copy_rate(size, threads) for size in COPIES})


def product_rate(instruction: Instruction, threads: int) -> float:
    """Multiplications and additions per second of independent chains of an instruction."""
    return _rate(products(instruction), STEPS, threads)


def tile_rate(call: str, operations: int, threads: int) -> float:
    """Multiplications and additions per second of four tiles of sums."""
    configuration = np.zeros(64, np.uint8)
    configuration[0], configuration[16:32:2], configuration[48:56] = 1, 64, 16
    return _rate(Loop(_tiles(call), configuration, 4 * operations), TILE_STEPS, threads)


def _rate(loop: Loop, steps: int, threads: int) -> float:
    """The most operations per second of threads that all run a loop."""
    return (
        max(
            sum(steps / taken for taken in _together(lambda _: loop.run(steps), threads))
            for _ in range(TURNS)
        )
        * loop.operations
    )


def copy_rate(size: int, threads: int) -> float:
    """Bytes read and written per second by threads that copy an array of `size` bytes, each its
    part, again and again.
    """
    parts = list(
        zip(np.array_split(np.zeros(size // 8), threads), np.array_split(np.ones(size // 8), threads))
    )
    repeats = max(1, COPIED // size)

    def copy(k: int) -> None:
        target, source = parts[k]
        for _ in range(repeats):
            np.copyto(target, source)

    copy(0)
    return max(
        sum(2 * parts[k][0].nbytes * repeats / taken for k, taken in enumerate(_together(copy, threads)))
        for _ in range(TURNS)
    )


def _together(work: Callable[[int], object], threads: int) -> list[float]:
    """Seconds of processor time that each of several threads takes for its part: other load
    matters little.
    """
    barrier = Barrier(threads)

    def part(k: int) -> float:
        barrier.wait()
        start = time.thread_time()
        work(k)
        return time.thread_time() - start

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(part, range(threads)))


def products(instruction: Instruction) -> Loop:
    """Independent chains of an instruction, whose operands stay in registers."""
    machine = find_target("native").machine
    chains = 24 if machine.vector_registers >= 32 else 12
    vector = max(machine.vector_bytes, 8)
    return Loop(
        _chains(instruction, chains), np.zeros(2 * vector, np.uint8), chains * instruction.operations * vector
    )


def _chains(instruction: Instruction, chains: int) -> str:
    """LLVM IR of a loop of independent sums of products."""
    sums, operands, fma = instruction.sums, instruction.operands, "fma" in instruction.call
    types = f"{operands}, {operands}, {sums}" if fma else f"{sums}, {operands}, {operands}"
    phis = "\n".join(f"  %x{k} = phi {sums} [%a, %entry], [%y{k}, %loop]" for k in range(chains))
    given = [
        f"{operands} %b, {operands} %b, {sums} %x{k}"
        if fma
        else f"{sums} %x{k}, {operands} %b, {operands} %b"
        for k in range(chains)
    ]
    steps = "\n".join(f"  %y{k} = call {sums} @{instruction.call}({given[k]})" for k in range(chains))
    stores = "\n".join(f"  store volatile {sums} %y{k}, ptr %p, align 1" for k in range(chains))
    return f"""
declare {sums} @{instruction.call}({types})
define void @run(i64 %n, ptr %p) #0 {{
entry:
  %a = load {sums}, ptr %p, align 1
  %q = getelementptr {sums}, ptr %p, i64 1
  %b = load {operands}, ptr %q, align 1
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
{phis}
{steps}
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %end
end:
{stores}
  ret void
}}
attributes #0 = {{ "prefer-vector-width"="512" }}
"""


def _tiles(call: str) -> str:
    """LLVM IR of a loop of products of tiles."""
    products = "\n".join(
        f"  call void @llvm.x86.{call}(i8 {k}, i8 {4 + k // 2}, i8 {6 + k % 2})" for k in range(4)
    )
    zeros = "\n".join(f"  call void @llvm.x86.tilezero(i8 {k})" for k in range(8))
    return f"""
declare void @llvm.x86.{call}(i8, i8, i8)
declare void @llvm.x86.tilezero(i8)
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilerelease()
define void @run(i64 %n, ptr %p) {{
entry:
  call void @llvm.x86.ldtilecfg(ptr %p)
{zeros}
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
{products}
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %end
end:
  call void @llvm.x86.tilerelease()
  ret void
}}
"""


class Loop:
    """Instructions that wait for nothing but each other: a function of a text of LLVM IR, `void
    run(i64, ptr)`.

    Attributes:
        operations: multiplications and additions of one turn.
    """

    def __init__(self, text: str, buffer: np.ndarray, operations: float) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
        )
        self._linker = llvm.create_lljit_compiler(target)
        self._library = (
            llvm.JITLibraryBuilder().add_ir(text).export_symbol("run").link(self._linker, "limits")
        )
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(self._library["run"])
        self._buffer, self.operations = buffer, operations

    def run(self, turns: int) -> None:
        """So many turns; threads may run it at once."""
        self._run(turns, self._buffer.ctypes.data)


def describe() -> str:
    """The processor and its cores, as the system names them, and the system."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model} ({host.cpu_name()}), {len(os.sched_getaffinity(0))} cores, {platform.system()}"
