"""PTX for NVIDIA GPUs: each top-level nest of a kernel is one launch; a driver compiles the text
further.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import prod

from texpr.ir.build import integer
from texpr.ir.dtypes import I64
from texpr.ir.expr import Tensor
from texpr.ir.loop import ExternCall, For, Kernel, Stmt, Store, axis_of
from texpr.ir.loop_kind import Cluster
from texpr.ir.machine import Machine, Multiprocessor
from texpr.ir.traverse import statements
from texpr.support.errors import CompileError
from texpr.support.frozen_dataclass import replace
from texpr.targets.common.records import Launch, Target, TensorMap, symbol_of
from texpr.targets.emit.function import Value
from texpr.targets.gpu import warpgroup_instructions
from texpr.targets.gpu.addressing import GLOBAL
from texpr.targets.gpu.bulk_copies import MAP_BYTES, PARAMETER, initialize_counters
from texpr.targets.gpu.emitter import GpuEmitter, thread_facts
from texpr.targets.gpu.geometry import (
    BLOCKS_OF_A_CLUSTER,
    THREADS_OF_A_BLOCK,
    Geometry,
    check_private,
    geometry,
)
from texpr.targets.gpu.intrinsics import check_intrinsics
from texpr.targets.gpu.register_pressure import peak_registers
from texpr.targets.gpu.shared_memory import ALIGNMENT, STATIC_BYTES
from texpr.targets.gpu.thread_registers import OwnedElements, distribute_over_threads, with_owned_elements
from texpr.targets.gpu.warp_instructions import instructions_of

# Processors and the oldest version of PTX that knows them, and what texpr has for them: from 8.9 on
# products of floats of 8 bits.
_VERSIONS = {"sm_70": 70, "sm_75": 70, "sm_80": 70, "sm_86": 71, "sm_89": 84, "sm_90": 84, "sm_90a": 84}
NAMES = tuple(_VERSIONS)
DEFAULT = "sm_80"
OLDEST = "sm_70"
_TRIPLE = "nvptx64-nvidia-cuda"
PARAMETER_BYTES = 4096
FIRST_RESERVING = 80
"""The first processor that reserves a part of the shared memory of each block."""
FIRST_ASYNCHRONOUS = 80
"""The first processor with asynchronous copies to shared memory."""
POWERS = frozenset({"exp2"})
FIRST_ROUNDING, ROUNDS = 80, frozenset({"tf32"})
"""The first processor with roundings for its tensor cores, and these."""
FIRST_CLUSTERING = 90
"""The first processor with clusters of blocks."""
FEW_BLOCKS = 2
OTHERS = 40
"""Registers of a thread beside those of its buffers, by estimate."""
_MACHINE = Machine(
    vector_bytes=0, vector_registers=255, caches=(128 << 10, 4 << 20), cores=1, gpu_threads=256
)
# Threads, blocks, and KiB of shared memory that run at once; CUDA C++ Programming Guide 13.0,
# technical specifications per capability.
_MULTIPROCESSORS = {
    70: (2048, 32, 96),
    75: (1024, 16, 64),
    80: (2048, 32, 164),
    86: (1536, 16, 100),
    89: (1536, 24, 100),
    90: (2048, 32, 228),
}
_PROCESSORS = {70: 80, 75: 40, 80: 108, 86: 84, 89: 128, 90: 132}
"""Numbers of multiprocessors of V100, T4, A100, A40, RTX 4090 and H100 (SXM)."""
_REGISTERS = 1 << 16


def target(name: str) -> Target | None:
    """A compute capability from 7.0 to 9.0, such as `sm_80`."""
    if name not in _VERSIONS:
        return None
    processor = int(name[3:5])
    threads, blocks, shared = _MULTIPROCESSORS[processor]
    reserved = 1024 if processor >= FIRST_RESERVING else 0
    running = Multiprocessor(threads, blocks, _REGISTERS, shared << 10, reserved)
    instructions = instructions_of(processor) | (
        warpgroup_instructions.NAMES if name == "sm_90a" else frozenset()
    )
    machine = replace(
        _MACHINE,
        shared_bytes=(shared << 10) - reserved,
        multiprocessor=running,
        cluster_blocks=BLOCKS_OF_A_CLUSTER if processor >= FIRST_CLUSTERING else 0,
        processors=_PROCESSORS[processor],
        functions=POWERS | (ROUNDS if processor >= FIRST_ROUNDING else frozenset()),
        instructions=instructions,
        has_async_copy=processor >= FIRST_ASYNCHRONOUS,
        has_bulk_copy=name == "sm_90a",
    )
    return Target(name, _TRIPLE, name, f"+ptx{_VERSIONS[name]}", machine, _emit, gpu=True)


def best_for(capability: tuple[int, int]) -> str | None:
    """The name of the target whose code suits processors of this capability best; None where
    they are too old.
    """
    fitting = [name for name in NAMES if runs_on(name, capability)]
    return max(fitting, key=lambda name: (_capability(name), name)) if fitting else None


def runs_on(name: str, capability: tuple[int, int]) -> bool:
    """True if a driver takes the PTX of a target for a processor of this capability. Newer
    processors take older PTX, unless its name ends in `a`: that is for one processor.
    """
    return capability == _capability(name) if name.endswith("a") else capability >= _capability(name)


def _capability(name: str) -> tuple[int, int]:
    number = int(name.removeprefix("sm_").removesuffix("a"))
    return number // 10, number % 10


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    """One function per nest, all with the same parameters: inputs, outputs, temporaries, sizes."""
    count = len(kernel.inputs) + len(kernel.outputs) + len(kernel.temporaries) + len(kernel.sizes)
    if 8 * count > PARAMETER_BYTES:
        raise CompileError(
            f"{kernel.name} has {count} arguments; a GPU kernel has at most {PARAMETER_BYTES // 8}",
            code="target",
            help="cut it into several operators",
        )
    foreign = next((s for s in kernel.body if isinstance(s, ExternCall)), None)
    if foreign is not None:
        raise CompileError(
            f"`{foreign.name}` is extern: a GPU cannot call it",
            code="extern",
            help=f"compute {foreign.name} on the CPU and pass its result as an input",
        )
    declared: dict[str, str] = {}
    parts: list[str] = []
    launches: list[Launch] = []
    maps: list[TensorMap] = []
    for number, nest in enumerate(kernel.body):
        symbol = f"{_plain(symbol_of(kernel.name))}_{number}"
        where = geometry(nest, kernel.sizes)
        _check_clusters(nest, target)
        check_private(nest, kernel.outputs)
        owned = distribute_over_threads(nest, where)
        emitter = _emit_nest(
            kernel, with_owned_elements(nest, owned), symbol, where, owned, target.machine, maps
        )
        check_intrinsics(emitter.declared, target)
        declared |= emitter.declared
        shared = emitter.shared
        parts += [*shared.declarations, emitter.function.text()]
        launches.append(
            Launch(symbol, where.grid, where.block, shared.bytes if shared.dynamic else 0, tuple(maps))
        )
    tail = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}\n'
    return "\n".join([*declared.values(), *parts, tail]), tuple(launches)


def _check_clusters(nest: Stmt, target: Target) -> None:
    having = [name for name in NAMES if int(name[3:5]) >= FIRST_CLUSTERING]
    loop = next((n for n in statements(nest) if isinstance(n, For) and isinstance(n.kind, Cluster)), None)
    if loop is not None and target.name not in having:
        raise CompileError(
            f"{target.name} has no clusters of blocks, and `{loop.var.name}` is bound to {loop.kind}",
            code="target",
            help=f"{' and '.join(having)} have them; bind it to block.{axis_of(loop)}, or leave it out",
        )


def _emit_nest(
    kernel: Kernel,
    nest: Stmt,
    symbol: str,
    where: Geometry,
    owned: Mapping[Tensor, OwnedElements],
    machine: Machine,
    maps: list[TensorMap],
) -> GpuEmitter:
    """Emit one nest, again with dynamic shared memory where static memory is too little.

    Args:
        maps: tensor maps of the kernel so far; added to.
    """
    threads = thread_facts(nest, where, kernel.requires)
    emitter = GpuEmitter(kernel, nest, symbol, where, owned, machine, threads, dynamic=False)
    _emit_function(emitter, nest, machine.multiprocessor, maps)
    if emitter.shared.bytes > STATIC_BYTES:
        emitter = GpuEmitter(kernel, nest, symbol, where, owned, machine, threads, dynamic=True)
        _emit_function(emitter, nest, machine.multiprocessor, maps)
    return emitter


def _emit_function(
    emitter: GpuEmitter, nest: Stmt, processor: Multiprocessor | None, maps: list[TensorMap]
) -> None:
    kernel = emitter.kernel
    tensors = (*kernel.inputs, *kernel.outputs, *kernel.temporaries)
    emitter.pointers = {t: f"%t{k}" for k, t in enumerate(tensors)}
    emitter.variables |= {v: Value(f"%n{k}", I64) for k, v in enumerate(kernel.sizes)}
    emitter.tensor_maps = maps
    initialize_counters(emitter, nest)
    emitter.collective_body((nest,))
    parameters = _parameters(emitter, {s.tensor for s in statements(nest) if isinstance(s, Store)})
    block = [integer(e) for e in emitter.geometry.block]
    most = f"{THREADS_OF_A_BLOCK}" if None in block else ",".join(map(str, block))
    blocks = _resident_blocks(
        emitter, nest, processor, THREADS_OF_A_BLOCK if None in block else prod(n or 1 for n in block)
    )
    marks = {"maxntid": most} | ({"minctasm": blocks} if blocks else {})
    marks |= (
        {"cluster_dim": ",".join(map(str, emitter.geometry.cluster))}
        if prod(emitter.geometry.cluster) > 1
        else {}
    )
    said = " ".join(f'"nvvm.{name}"="{value}"' for name, value in marks.items())
    emitter.function.header = (
        f"define ptx_kernel void @{emitter.shared.symbol}({', '.join(parameters)}) nounwind {said}"
    )


def _parameters(emitter: GpuEmitter, written: Set[Tensor]) -> list[str]:
    """Parameters of a kernel: arrays, sizes, tensor maps.

    Raises:
        CompileError: there are too many.
    """
    kernel, maps = emitter.kernel, emitter.tensor_maps
    tensors = (*kernel.inputs, *kernel.outputs, *kernel.temporaries)
    parameters = []
    for k, t in enumerate(tensors):
        # What other threads write changes at a barrier, which `noalias` would deny.
        alone = " noalias" if t not in written or not emitter.has_barriers else ""
        parameters.append(f"ptr addrspace({GLOBAL}){alone} align {ALIGNMENT} %t{k}")
    parameters += [f"i64 %n{k}" for k in range(len(kernel.sizes))] + [
        f"{PARAMETER} %m{k}" for k in range(len(maps))
    ]
    if 8 * (len(tensors) + len(kernel.sizes)) + MAP_BYTES * (len(maps) + 1) > PARAMETER_BYTES and maps:
        raise CompileError(
            f"{kernel.name} has more arguments than a GPU kernel takes beside {len(maps)} tensor maps",
            code="target",
            help="let threads copy: pipeline without bulk_copy",
        )
    return parameters


def _resident_blocks(emitter: GpuEmitter, nest: Stmt, processor: Multiprocessor | None, threads: int) -> int:
    """Number of blocks of `threads` threads that a processor's shared memory and registers hold at
    once, if it is so small that threads may have more registers than ptxas would give them; else 0.
    """
    if processor is None or not emitter.shared.bytes:
        return 0
    blocks = processor.shared_bytes // (emitter.shared.bytes + processor.reserved)
    registers = peak_registers(nest, emitter.owned) + OTHERS
    return (
        max(1, min(blocks, processor.threads // threads, processor.registers // (registers * threads)))
        if blocks <= FEW_BLOCKS
        else 0
    )


def _plain(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
