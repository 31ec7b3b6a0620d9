"""What the machine can do at most, measured: multiplications and additions per second, bytes per second."""

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

from texpr.targets import find_target

COPIES = (1 << 18, 1 << 21, 1 << 24, 1 << 28)
"""Sizes of arrays that are copied, from one that every core's own cache holds to one that none does."""
COPIED = 1 << 26
"""Bytes that are copied for one measurement, at least."""
Native = Callable[[int, int], object]
STEPS = 2_000_000
TURNS = 15
_ELEMENT = {"f32": ("float", 4), "f64": ("double", 8)}


@dataclass(frozen=True)
class Limits:
    """The roof: what this many threads reach at most.

    Attributes:
        threads: how many.
        flops: floating point operations per second by type, a fused multiplication and addition counted as two.
        copy: bytes read and written per second when arrays of so many bytes are copied.
    """

    threads: int
    flops: dict[str, float]
    copy: dict[int, float]

    def seconds(self, flops: float, dtype: str, moved: float) -> float:
        """The least time of work that needs these operations and touches these bytes at least once.

        The bytes move at the rate of the smallest copy that is as large: what fits in a cache may come from there.
        """
        rate = next((rate for size, rate in self.copy.items() if 2 * size >= moved), min(self.copy.values()))
        return max(flops / self.flops.get(dtype, float("inf")), moved / rate)

    def __str__(self) -> str:
        rates = ", ".join(f"{name} {rate / 1e9:.0f} GFLOP/s" for name, rate in self.flops.items())
        copies = ", ".join(f"{rate / 1e9:.0f} at {size >> 10} KiB" for size, rate in self.copy.items())
        return f"limits measured: {rates}; copy in GB/s: {copies}"

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)


def measure_limits(threads: int) -> Limits:
    """Measure the roof for a number of threads."""
    return Limits(threads, {name: fma_rate(name, threads) for name in _ELEMENT}, {size: copy_rate(size, threads) for size in COPIES})


def fma_rate(dtype: str, threads: int) -> float:
    """Operations per second of independent chains of fused multiplications and additions, in the widest vectors."""
    machine = find_target("native").machine
    kind, size = _ELEMENT[dtype]
    lanes, chains = max(1, machine.vector_bytes // size), 24 if machine.vector_registers >= 32 else 12
    with _Compiled(_chains(kind, lanes, chains)) as function:
        return max(_rate(function, dtype, lanes, threads) for _ in range(TURNS)) * 2 * lanes * chains


def _rate(function: Native, dtype: str, lanes: int, threads: int) -> float:
    """Steps per second of all threads together."""
    buffers = [np.full(2 * lanes, 0.5, dtype.replace("f", "float")) for _ in range(threads)]
    return sum(STEPS / taken for taken in _together(lambda k: function(STEPS, buffers[k].ctypes.data), threads))


def copy_rate(size: int, threads: int) -> float:
    """Bytes read and written per second by threads that copy an array of `size` bytes, each its part, again and again."""
    parts = list(zip(np.array_split(np.zeros(size // 8), threads), np.array_split(np.ones(size // 8), threads)))
    repeats = max(1, COPIED // size)

    def copy(k: int) -> None:
        target, source = parts[k]
        for _ in range(repeats):
            np.copyto(target, source)

    copy(0)
    return max(sum(2 * parts[k][0].nbytes * repeats / taken for k, taken in enumerate(_together(copy, threads))) for _ in range(TURNS))


def _together(work: Callable[[int], object], threads: int) -> list[float]:
    """Seconds of processor time that each of several threads takes for its part: other load matters little."""
    barrier = Barrier(threads)

    def part(k: int) -> float:
        barrier.wait()
        start = time.thread_time()
        work(k)
        return time.thread_time() - start

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(part, range(threads)))


def _chains(kind: str, lanes: int, chains: int) -> str:
    """LLVM IR of a loop of `chains` independent chains of `x = x * b + a`."""
    vector = f"<{lanes} x {kind}>"
    fma = f"@llvm.fma.v{lanes}f{32 if kind == 'float' else 64}"
    phis = "\n".join(f"  %x{k} = phi {vector} [%a, %entry], [%y{k}, %loop]" for k in range(chains))
    steps = "\n".join(f"  %y{k} = call {vector} {fma}({vector} %x{k}, {vector} %b, {vector} %a)" for k in range(chains))
    sums = "\n".join(f"  %s{k} = fadd {vector} %{'y0' if k == 1 else f's{k - 1}'}, %y{k}" for k in range(1, chains))
    return f"""
declare {vector} {fma}({vector}, {vector}, {vector})
define void @run(i64 %n, ptr %p) #0 {{
entry:
  %a = load {vector}, ptr %p, align 8
  %q = getelementptr {vector}, ptr %p, i64 1
  %b = load {vector}, ptr %q, align 8
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
{phis}
{steps}
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %end
end:
{sums}
  store {vector} %s{chains - 1}, ptr %p, align 8
  ret void
}}
attributes #0 = {{ "prefer-vector-width"="512" }}
"""


class _Compiled:
    """`void run(i64, ptr)` of a text of LLVM IR, as long as the block lasts."""

    def __init__(self, text: str) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True)
        self._linker = llvm.create_lljit_compiler(target)
        self._library: llvm.ResourceTracker | None = None
        self._text = text

    def __enter__(self) -> Native:
        self._library = llvm.JITLibraryBuilder().add_ir(self._text).export_symbol("run").link(self._linker, "limits")
        return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(self._library["run"])

    def __exit__(self, *_: object) -> None:
        self._library = None


def describe() -> str:
    """The processor and its cores, as the system names them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model} ({llvm.get_host_cpu_name()}), {len(os.sched_getaffinity(0))} cores, {platform.system()} {platform.release()}"
