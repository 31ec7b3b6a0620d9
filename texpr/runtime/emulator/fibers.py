"""GPU kernels on the CPU: the text that is compiled for a GPU, each of whose threads is a fiber
here.

Only the declarations of GPU intrinsics are replaced. Threads of a block run one after the other up
to the next barrier; shared memory holds NaNs when a block begins. So a barrier that is missing
shows in the results, and one that some threads miss is an error. Asynchronous copies arrive as late
as they may, and where threads run backwards as early, and products (`async_mma`) the other way
round: a missing wait or barrier shows in one of these. Blocks of a cluster run together
(`clusters`).
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from pathlib import Path
from string import Template

import numpy as np

from texpr.runtime.emulator import clusters
from texpr.runtime.emulator.async_mma import RESET, uses_async_mma
from texpr.runtime.emulator.bulk_copies import (
    FAULTS,
    UNFINISHED,
    emulate_bulk_copies,
    encode_tensor_map,
    uses_bulk_copies,
)
from texpr.runtime.emulator.ir_builder import WARP
from texpr.runtime.emulator.warp_collectives import (
    collective_definitions,
    emulate_async_copies,
    rename_collectives,
)
from texpr.runtime.emulator.warpgroup_mma import emulate_warpgroup_mma
from texpr.runtime.native import jit
from texpr.support.frozen_dataclass import frozen_by_identity

Extents = tuple[int, int, int]
BoxMap = tuple[int, str, tuple[int, ...], tuple[int, ...], int]
STACK = 64 * 1024
MOST_SHARED = 227 * 1024
"""Bytes of shared memory that a launch may ask for on any GPU."""
ALIGNMENT = 16
"""Bytes of which the addresses of arrays are multiples, as on a device."""

# Registers that calls preserve go to the stack, then the stack pointer to *(first argument); back
# in reverse from the second. FRAME is the size of a prepared stack, ENTRY where in it the address
# lies at which the fiber begins.
_SWITCHES = {
    "x86_64": (
        "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15; mov %rsp, (%rdi); mov %rsi, %rsp;"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret",
        64,
        48,
    ),
    "aarch64": (
        "sub sp, sp, #160; stp x19, x20, [sp]; stp x21, x22, [sp, #16]; stp x23, x24, [sp, #32]; stp x25, "
        "x26, [sp, #48];"
        "stp x27, x28, [sp, #64]; stp x29, x30, [sp, #80]; stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; "
        "stp d12, d13, [sp, #128];"
        "stp d14, d15, [sp, #144]; mov x9, sp; str x9, [x0]; mov sp, x1;"
        "ldp x19, x20, [sp]; ldp x21, x22, [sp, #16]; ldp x23, x24, [sp, #32]; ldp x25, x26, [sp, #48]; ldp "
        "x27, x28, [sp, #64];"
        "ldp x29, x30, [sp, #80]; ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]; "
        "ldp d14, d15, [sp, #144];"
        "add sp, sp, #160; ret",
        160,
        88,
    ),
}
_BARRIER = re.compile(r"call void @llvm\.nvvm\.barrier\.cta\.sync\.aligned\.all\(i32 0\)")
_CLUSTER_BARRIER = re.compile(
    r"call void @llvm\.nvvm\.barrier\.cluster\.arrive(?:\.relaxed)?\.aligned\(\)\s+"
    r"call void @llvm\.nvvm\.barrier\.cluster\.wait\.aligned\(\)"
)
_BARRIER_DECLARATION = re.compile(
    r"^declare void @llvm\.nvvm\.barrier\.(?:cta\.sync|cluster\.)[\w.]+\((?:i32)?\)$", re.MULTILINE
)
_CLUSTER = re.compile(
    r'^define ptx_kernel void @([\w.]+)\(.*"nvvm\.cluster_dim"="(\d+),(\d+),(\d+)"', re.MULTILINE
)
_SHARED = re.compile(r"^(@[\w.]+) = internal addrspace\(3\) global \[(\d+) x i8\] undef", re.MULTILINE)
_DYNAMIC = re.compile(r"^(@([\w.]+)_dynamic) = external addrspace\(3\) global \[0 x i8\]", re.MULTILINE)
_KERNEL = re.compile(r"^define ptx_kernel void @([\w.]+)\((.*)\)", re.MULTILINE)
_LOCAL = re.compile(r"alloca \[(\d+) x i8\]")
_REGISTER = re.compile(
    r"^declare i32 @llvm\.nvvm\.read\.ptx\.sreg\.(tid|ctaid|clusterid|cluster\.ctaid)\.([xyz])\(\)$",
    re.MULTILINE,
)
_PLACES = {
    "tid": "@fiber_thread",
    "ctaid": "@fiber_block",
    "clusterid": "@fiber_cluster",
    "cluster.ctaid": "@fiber_in_cluster",
}
_GPU_DECLARATION = re.compile(r"^declare .*@llvm\.nvvm\..*$", re.MULTILINE)


@frozen_by_identity
class Emulator:
    """Emulated kernels of one module. Calls from several threads take turns."""

    stack: int
    dynamic: frozenset[str]
    """Kernels whose launches say how much shared memory there is."""
    counts: bool
    """Copies of boxes are counted."""
    clusters: Mapping[str, Extents]
    """Numbers of blocks that run together, by kernel with clusters."""
    _library: jit.Library
    _lock: threading.Lock

    def launch(
        self,
        symbol: str,
        grid: Extents,
        block: Extents,
        slots: ctypes.Array,
        backwards: bool,
        shared: int = 0,
    ) -> None:
        """Run one kernel over a grid.

        Args:
            slots: one word per parameter: an address or an i64.
            backwards: run the threads of a block from the last one to the first.
            shared: bytes of shared memory that the launch gives to each block.
        Raises:
            AssertionError: threads of a block stopped at different barriers, or some ended while
                others wait, or they wrote past the end of shared memory.
        """
        together = self.clusters.get(symbol, (1, 1, 1))
        threads = (
            prod(block) if prod(together) == 1 else clusters.padded_threads(prod(block)) * prod(together)
        )
        stacks = mmap.mmap(-1, self.stack * threads)
        tops, states = (ctypes.c_int64 * threads)(), (ctypes.c_int32 * threads)()
        at = (ctypes.c_char * 1).from_buffer(stacks)
        with self._lock:
            self._pointer("fiber_tops").value = ctypes.addressof(tops)
            self._pointer("fiber_states").value = ctypes.addressof(states)
            self._pointer("fiber_backwards").value = backwards
            given = (
                self._library[f"{symbol}.fiber"],
                ctypes.addressof(slots),
                ctypes.addressof(at),
                self.stack,
            )
            beyond, wrong = list[bytes](), None

            def ended() -> None:
                if symbol in self.dynamic:
                    beyond.append(
                        ctypes.string_at(self._library[f"{symbol}_dynamic"] + shared, MOST_SHARED - shared)
                    )

            if prod(together) == 1:
                run = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * 10)(self._library["fiber_launch"])
                status = run(*given, threads, *block[:2], *grid)
                ended()
            else:
                status = 0
                wrong = clusters.Clusters(self._library, prod(block), block, together, backwards, ended).run(
                    *given, grid
                )
            fault = self._fault()
            place = tuple((ctypes.c_int32 * 3).from_address(self._library["fiber_block"]))
        del at
        stacks.close()
        assert wrong is None, f"{symbol}, block {place}: {wrong}"
        assert not fault, f"{symbol}, block {place}: {FAULTS[fault]}"
        assert not status, f"{symbol}, block {place}: {_divergence(list(states))}"
        written = max((len(b.rstrip(b"\xff")) for b in beyond), default=0)
        assert not written, (
            f"{symbol} writes {written} bytes past the {shared} of shared memory that the launch gives"
        )

    def _fault(self) -> int:
        """The fault of the copies' counters, which is cleared."""
        if not self.counts:
            return 0
        told = ctypes.c_int32.from_address(self._library["fiber_fault"])
        left = self._pointer("fiber_boxes_left")
        found = told.value or (UNFINISHED if left.value else 0)
        told.value = left.value = 0
        return found

    def _pointer(self, name: str) -> ctypes.c_int64:
        return ctypes.c_int64.from_address(self._library[name])


def _divergence(states: Sequence[int]) -> str:
    """Text of the places where the threads of a block stopped."""
    places = {state: sum(s == state for s in states) for state in sorted(set(states))}
    return ", ".join(
        f"{n} threads {'ended' if state < 0 else f'wait at barrier {state}'}" for state, n in places.items()
    )


def run(
    text: str,
    launches: Sequence[tuple[str, Extents, Extents, int]],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    scratch: Sequence[int],
    sizes: Sequence[int],
    *,
    backwards: bool = False,
    maps: Sequence[BoxMap] = (),
) -> None:
    """Run launches one after the other. Outputs are written in place; all arrays are contiguous and
    aligned.

    Args:
        text: LLVM IR as it is emitted for a GPU; every kernel takes inputs, outputs, scratch
            buffers and sizes.
        launches: symbol, grid, block and bytes of shared memory of each.
        scratch: bytes of each buffer that launches pass to each other.
        backwards: run the threads of a block from the last one to the first. What differs then
            lacks a barrier.
        maps: of arrays and buffers whose boxes are copied as a whole.
    Raises:
        AssertionError: threads of a block do not meet at a barrier, or wait for copies that do not
            come.
    """
    for array in (*inputs, *outputs):
        assert array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0, (
            "the emulator takes contiguous aligned arrays"
        )
    buffers = [np.full(max(size, 1), 0xFF, np.uint8) for size in scratch]
    arrays = [a.ctypes.data for a in (*inputs, *outputs, *buffers)]
    made = [encode_tensor_map(arrays[m[0]], m) for m in maps]
    words = [*arrays, *sizes, *(m.ctypes.data for m in made)]
    slots = (ctypes.c_int64 * max(len(words), 1))(*words)
    for symbol, grid, block, shared in launches:
        load(text).launch(symbol, grid, block, slots, backwards, shared)


@lru_cache(maxsize=64)
def load(text: str) -> Emulator:
    """Make a module for a GPU run on this machine.

    Raises:
        AssertionError: the module uses an intrinsic that the emulator does not know.
    """
    names = [f"{name}.fiber" for name, _ in _KERNEL.findall(text)]
    dynamic = frozenset(symbol for _, symbol in _DYNAMIC.findall(text))
    memories = (f"{symbol}_dynamic" for symbol in dynamic)
    counted = ["fiber_boxes_left"] if uses_bulk_copies(text) else []
    exports = [
        *counted,
        *memories,
        *clusters.EXPORTS,
        "fiber_launch",
        "fiber_tops",
        "fiber_states",
        "fiber_block",
        "fiber_backwards",
        *names,
    ]
    local = sum(int(n) + 16 for n in _LOCAL.findall(text))
    library = jit.link(jit.compile_text(lower_to_cpu(text)), exports, {})
    together = {name: (int(x), int(y), int(z)) for name, x, y, z in _CLUSTER.findall(text)}
    return Emulator(
        (STACK + local + 4095) // 4096 * 4096, dynamic, bool(counted), together, library, threading.Lock()
    )


def lower_to_cpu(text: str) -> str:
    """The module for this machine, with the scheduler of fibers."""
    switch, frame, entry = _SWITCHES[platform.machine()]
    boxed = uses_bulk_copies(text)
    assembly = "\n".join(f'module asm "{line.strip()}"' for line in switch.split(";"))
    source = Path(__file__).with_suffix(".ll").read_text(encoding="utf-8")
    shared = [*_SHARED.findall(text), *((name, str(MOST_SHARED)) for name, _ in _DYNAMIC.findall(text))]
    entries = [_entry(name, parameters) for name, parameters in _KERNEL.findall(text)]
    sites = iter(range(1, len(_BARRIER.findall(text)) + 1))
    text = _BARRIER.sub(lambda _: f"call void @fiber_wait(i32 {next(sites)})", text)
    meetings = iter(range(clusters.CLUSTER_BARRIERS, clusters.PHASE_WAIT))
    text = _CLUSTER_BARRIER.sub(lambda _: f"call void @fiber_wait(i32 {next(meetings)})", text)
    text = _REGISTER.sub(_index, text).replace("@llvm.nvvm.read.ptx.sreg.", "@fiber.")
    text = _BARRIER_DECLARATION.sub("", text)
    text = emulate_async_copies(emulate_warpgroup_mma(text))
    collectives = list(collective_definitions(text))
    text = rename_collectives(text)
    unknown = _GPU_DECLARATION.search(text)
    assert unknown is None, f"the emulator does not know {unknown and unknown[0]}"
    # Memory that other fibers write must not look private to the compiler: shared memory becomes
    # external.
    text = _SHARED.sub(r"\1 = global [\2 x i8] zeroinitializer", text)
    text = _DYNAMIC.sub(rf"\1 = global [{MOST_SHARED} x i8] zeroinitializer", text)
    text = re.sub(r" ?addrspace\(\d+\)", "", text).replace("ptx_kernel ", "")
    text = emulate_bulk_copies(text) if boxed else text
    return "\n".join(
        [
            Template(source).substitute(SWITCH=assembly, FRAME=frame, ENTRY=entry, WARP=WARP),
            text,
            *collectives,
            *entries,
            _poison(shared, RESET if uses_async_mma(text) else ""),
        ]
    )


def _index(match: re.Match[str]) -> str:
    which, axis = match.groups()
    place = f"getelementptr (i32, ptr {_PLACES[which]}, i64 {'xyz'.index(axis)})"
    return (
        f"define internal i32 @fiber.{which}.{axis}() alwaysinline {{\n  %i = load i32, ptr {place}\n  ret "
        f"i32 %i\n}}"
    )


def _entry(name: str, parameters: str) -> str:
    """A function of one pointer to the argument words."""
    types = ["i64" if p.strip().startswith("i64") else "ptr" for p in parameters.split(",") if p.strip()]
    lines = [f'define void @"{name}.fiber"(ptr %words) {{']
    for k, t in enumerate(types):
        lines += [f"  %a{k} = getelementptr i64, ptr %words, i64 {k}", f"  %v{k} = load {t}, ptr %a{k}"]
    return "\n".join(
        [
            *lines,
            f"  call void @{name}({', '.join(f'{t} %v{k}' for k, t in enumerate(types))})",
            "  ret void",
            "}",
        ]
    )


def _poison(shared: Sequence[tuple[str, str]], more: str) -> str:
    """Functions that fill shared memory with NaNs, clear a block's state, and swap in the shared
    memory of another block of the cluster.
    """
    fills = [
        f"  call void @llvm.memset.p0.i64(ptr {name}, i8 -1, i64 {size}, i1 false)" for name, size in shared
    ]
    room, out, back = 0, list[str](), list[str]()
    for k, (name, size) in enumerate(shared):
        copy = "  call void @llvm.memcpy.p0.p0.i64(ptr {}, ptr {}, i64 " + f"{size}, i1 false)"
        out += [f"  %o{k} = getelementptr i8, ptr %old, i64 {room}", copy.format(f"%o{k}", name)]
        back += [f"  %n{k} = getelementptr i8, ptr %new, i64 {room}", copy.format(name, f"%n{k}")]
        room += int(size)
    return "\n".join(
        [
            f"@fiber_room = constant i64 {room}",
            "define void @fiber_fill() noinline {",
            *fills,
            "  ret void",
            "}",
            "define void @fiber_poison() noinline {",
            "  call void @fiber_fill()",
            more,
            "  ret void",
            "}",
            "define void @fiber_go(i64 %block) noinline {",
            "  %live = load i64, ptr @fiber_live",
            "  %here = icmp eq i64 %live, %block",
            "  br i1 %here, label %done, label %change",
            "change:",
            "  %aside = load ptr, ptr @fiber_aside",
            f"  %old.at = mul i64 %live, {room}",
            f"  %new.at = mul i64 %block, {room}",
            "  %old = getelementptr i8, ptr %aside, i64 %old.at",
            "  %new = getelementptr i8, ptr %aside, i64 %new.at",
            *out,
            *back,
            "  store i64 %block, ptr @fiber_live",
            "  br label %done",
            "done:",
            "  ret void",
            "}",
        ]
    )
