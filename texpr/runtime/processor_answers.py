"""Answers of the processor about itself, by its own instruction. They are the key of what LLVM
concludes from the same answers (`host`).
"""

from __future__ import annotations

import ctypes
import platform
from functools import cache

from texpr.runtime.executable_memory import CodeMemory

_CPUID = bytes.fromhex("53 89f8 89f1 4989d0 0fa2 418900 41895804 41894808 4189500c 5b c3")
"""push rbx; mov eax, edi; mov ecx, esi; mov r8, rdx; cpuid; mov [r8], eax; mov [r8+4], ebx;
mov [r8+8], ecx; mov [r8+12], edx; pop rbx; ret."""
_XGETBV = bytes.fromhex("4989d0 31c9 0f01d0 418900 41895004 c3")
"""mov r8, rdx; xor ecx, ecx; xgetbv; mov [r8], eax; mov [r8+4], edx; ret."""
_LEAVES = ((7, 0), (7, 1), (0x14, 0), (0x19, 0), (0x1E, 1), (0x24, 0), (0x24, 1))
_EXTENDED = 0x8000_0000
_SAVES_REGISTERS = 1 << 27
"""Bit of ecx of leaf 1: the instruction that says which registers the system saves is there."""


class _Instruction:
    """`void (u32 leaf, u32 part, u32 answer[4])` in machine code.

    Raises:
        OSError: no memory may be executed.
    """

    def __init__(self, code: bytes) -> None:
        self._memory = CodeMemory(len(code))
        self._memory.fill(code)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)
        self._function = kind(self._memory.address)

    def __call__(self, leaf: int = 0, part: int = 0) -> list[int]:
        answer = (ctypes.c_uint32 * 4)()
        self._function(leaf, part, ctypes.addressof(answer))
        return list(answer)


@cache
def answers() -> tuple[int, ...]:
    """The numbers that names and features of a processor are concluded from, the same on each of its cores;
    empty on another kind of host, or where no memory may be executed.

    Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID.
    """
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        return ()
    try:
        cpuid, saved = _Instruction(_CPUID), _Instruction(_XGETBV)
    except OSError:
        return ()
    most, *maker = cpuid(0)
    model, _, first, second = cpuid(1)  # the second number is that of the core
    found = [most, *maker, model, first, second]
    for leaf, part in _LEAVES:
        found += cpuid(leaf, part) if leaf <= most else []
    found += cpuid(0xD, 1)[:1] if most >= 0xD else []  # the others follow what the system has set
    for leaf in range(_EXTENDED, min(cpuid(_EXTENDED)[0], _EXTENDED + 8) + 1):
        found += cpuid(leaf)
    return (*found, *(saved() if first & _SAVES_REGISTERS else ()))
