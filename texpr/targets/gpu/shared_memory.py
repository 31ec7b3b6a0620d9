"""Memory that the threads of a block share: buffers beside each other in one address space, in
static or dynamic allocations.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from texpr.support.errors import CompileError

SHARED = 3
"""Address space of shared memory in LLVM."""
ALIGNMENT = 16
"""Alignment in bytes of arrays and buffers."""
STATIC_BYTES = 48 * 1024
"""Shared memory that code may have without a request by its launches (CUDA C++ Programming Guide
13.0, 5.2.3, shared memory).
"""


@dataclass(slots=True)
class SharedMemory:
    """The shared memory of one launch.

    Attributes:
        symbol: of the kernel, before the names of its buffers.
        most_bytes: that a block may have.
        dynamic: the launch says how much there is: one external array holds all buffers, as
            `STATIC_BYTES` are too few.
        alignment: of that array.
        bytes: that buffers take so far.
        declarations: of globals, as LLVM IR.
    """

    symbol: str
    most_bytes: int
    dynamic: bool
    alignment: int
    bytes: int = 0
    declarations: list[str] = field(default_factory=list)

    def allocate(self, size: int, alignment: int) -> str:
        """The address, a multiple of `alignment`, of `size` bytes.

        Raises:
            CompileError: there are not as many.
        """
        start = -(-self.bytes // alignment) * alignment
        self.bytes = start + -(-size // ALIGNMENT) * ALIGNMENT
        if self.bytes > self.most_bytes:
            raise CompileError(
                f"{self.symbol} needs {self.bytes} bytes of shared memory; there are {self.most_bytes}",
                code="target",
                help="use smaller tiles",
            )
        if self.dynamic:
            whole = f"@{self.symbol}_dynamic"
            self.declarations = [
                f"{whole} = external addrspace({SHARED}) global [0 x i8], align {self.alignment}"
            ]
            return f"getelementptr (i8, ptr addrspace({SHARED}) {whole}, i64 {start})" if start else whole
        name = f"@{self.symbol}_shared{len(self.declarations)}"
        self.declarations.append(
            f"{name} = internal addrspace({SHARED}) global [{size} x i8] undef, align {alignment}"
        )
        return name
