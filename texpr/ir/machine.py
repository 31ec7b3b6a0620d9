"""The machine as data: what schedules may know about a target. Targets fill it; nothing above
reads a target's name.
"""

from __future__ import annotations

from texpr.support.frozen_dataclass import frozen


@frozen
class Multiprocessor:
    """Resources that the blocks of threads that run at once on one processor of a GPU have
    together.

    Attributes:
        threads, blocks, registers: how many, the registers of 4 bytes.
        shared_bytes: memory that blocks share among their threads.
        reserved: bytes of it that each block takes beside its own.
    """

    threads: int
    blocks: int
    registers: int
    shared_bytes: int
    reserved: int


@frozen
class Machine:
    """A machine.

    Attributes:
        vector_bytes: width of a vector register; 0 where loops do not vectorize.
        scalable_bytes: the width for which loops over registers of any length are cut; 0 where
            there are no such registers. Where it is more than `vector_bytes`, processors differ,
            and code asks for the width when it runs.
        vector_registers: how many there are.
        caches: bytes of each data cache level of one core, nearest first.
        cores: threads that run at once.
        gpu_threads: threads of a block by default; 0 on CPUs.
        fma: fused multiply-add exists.
        has_memory_operands: arithmetic reads operands from memory; where only loads do, constants
            and values for all lanes take registers.
        address_registers: how many hold addresses and counters.
        fma_per_cycle: vector multiply-adds that begin in a cycle. The L2 cache keeps up with one;
            with two only where they use several times what comes from it.
        split_load_cost: loads that one vector load takes when it crosses a cache line; 1 where
            hardware hides it. Set where micro-kernels of products are bound by loads. Arrays of
            callers seldom begin at cache lines, so most full vectors cross one.
        has_indexed_fma: a multiply-add takes one element of a register for all lanes.
        has_bulk_copy: boxes of tensors are copied there as a whole.
        half_vector_threshold_bytes: bytes of arrays from which on half a register is loaded as fast
            as a whole one, byte for byte, and crosses cache lines half as often where arrays begin
            anywhere; 0 for never.
        prefers_nontemporal_stores: non-temporal stores are faster than others, for what the caches
            would not hold.
        instructions: those of `ir.instructions` that it has.
        unprofitable_instructions: of these, those that vectors of plain operations outrun here: no
            default schedule chooses them.
        tile_registers: registers that hold a tile.
        shared_bytes: memory that the threads of a block share, at most.
        multiprocessor: where blocks run, on GPUs.
        processors: how many of these there are.
        cluster_blocks: how many blocks, at most, run together on neighbouring ones; 0 where none
            do.
        has_async_copy: threads go on while copies to that memory are under way.
        tf32: default schedules may round factors of sums of f32 for instructions that take them so.
            No property of a machine: the user permits it.
        fma_of_all: default schedules may round every `a * b + c` once, and not those of sums alone.
            No property of a machine: the user permits it.
        functions: scalar functions that are one instruction, beside those that every target
            provides.
    """

    vector_bytes: int
    vector_registers: int
    caches: tuple[int, ...]
    cores: int
    gpu_threads: int = 0
    fma: bool = True
    has_memory_operands: bool = True
    address_registers: int = 16
    fma_per_cycle: int = 1
    split_load_cost: int = 1
    has_indexed_fma: bool = False
    functions: frozenset[str] = frozenset()
    shared_bytes: int = 0
    multiprocessor: Multiprocessor | None = None
    processors: int = 0
    cluster_blocks: int = 0
    has_async_copy: bool = False
    has_bulk_copy: bool = False
    half_vector_threshold_bytes: int = 0
    prefers_nontemporal_stores: bool = False
    instructions: frozenset[str] = frozenset()
    unprofitable_instructions: frozenset[str] = frozenset()
    scalable_bytes: int = 0
    tf32: bool = False
    fma_of_all: bool = False
    tile_registers: int = 0

    @property
    def has_masks(self) -> bool:
        """True if loads and stores of some lanes of a vector of fixed length cost what whole ones do.
        NEON and SSE have none; those of AVX2 are many operations on some processors.
        """
        return self.has_memory_operands and self.vector_registers >= 32
