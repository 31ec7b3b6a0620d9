"""The names of instructions that machines have: what they mean stands where they are emitted."""

from __future__ import annotations

from collections.abc import Iterator

from texpr.ir.dtypes import DTYPES, DType
from texpr.ir.instructions import transpose

_REGISTERS = (16, 32, 64)
"""Possible sizes of a register in bytes."""


_LARGEST_SQUARE = 16
"""Rows of the largest square, all in registers at once."""


def transposes(register_bytes: int) -> frozenset[str]:
    """The transpositions made of shuffles of registers, or of parts of them."""
    return frozenset(
        transpose(t, side) for t, side in transposed_squares() if side * t.bytes <= register_bytes
    )


def transposed_squares() -> Iterator[tuple[DType, int]]:
    """The transposed squares: types, and numbers of rows."""
    for size in _REGISTERS:
        yield from ((t, size // t.bytes) for t in DTYPES.values() if size // t.bytes <= _LARGEST_SQUARE)


TILE_REGISTERS = 8
"""Of AMX."""
TILE_INSTRUCTIONS = {
    "amx-bf16": frozenset(
        {
            "tilezero_f32",
            "tileloadd_f32",
            "tilestored_f32",
            "tileloadd_bf16",
            "tileloadd_groups_bf16",
            "tdpbf16ps",
        }
    ),
    "amx-int8": frozenset(
        {
            "tilezero_i32",
            "tileloadd_i32",
            "tilestored_i32",
            "tileloadd_i8",
            "tileloadd_groups_i8",
            "tileloadd_u8",
            "tileloadd_groups_u8",
            "tdpbssd",
            "tdpbsud",
            "tdpbusd",
            "tdpbuud",
        }
    ),
}
"""The instructions by LLVM's name of the feature that has them; each of them needs `amx-tile`
too.
"""
