"""Bulk copies in the emulator of GPUs: what intrinsics are there, and how a map says what a tensor
is.

The layout of a map is the emulator's own. How units of 16 bytes are exchanged in shared memory is
written down in `bulk_copies.ll`, on its own, by address, as the PTX ISA has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from texpr.runtime.emulator.ir_builder import Body

RANK = 5
FAULTS = {
    1: "a thread waits for a phase of copies that does not end",
    2: "a counter of copies is told twice in one phase",
    3: "copies are under way when their block has ended",
    4: "a copy comes to a block that has ended",
    5: "a copy is for more blocks than a cluster has",
}
ENDLESS = 1
UNFINISHED = 3
_BYTES = {"bool": 1, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1}


def emulate_bulk_copies(text: str) -> str:
    """A module that copies boxes, with what that needs; without address spaces, which this
    machine has not.
    """
    text = text.replace("addrspacecast ", "bitcast ").replace("byval([128 x i8]) align 64 ", "")
    return f"{text}\n{Path(__file__).with_suffix('.ll').read_text(encoding='utf-8')}"


def uses_bulk_copies(text: str) -> bool:
    """True if a module copies boxes."""
    return "@llvm.nvvm.mbarrier." in text


def encode_tensor_map(
    address: int, given: tuple[int, str, tuple[int, ...], tuple[int, ...], int]
) -> np.ndarray:
    """A map of a tensor at an address: position (not asked here), type, shape, box, swizzle."""
    _, dtype, shape, box, swizzle = given
    size = _BYTES.get(dtype) or int("".join(filter(str.isdigit, dtype))) // 8
    ones = (1,) * (RANK - len(shape))
    return np.array([address, size, swizzle, *shape[::-1], *ones, *box[::-1], *ones], np.int64)


def _begin(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    to, counter, a_map, *rest = given
    corner = [*(f"i32 {c}" for c in rest[: len(rest) - 5]), *["i32 0"] * (RANK + 5 - len(rest))]
    several, bits = f"i1 {rest[-3]}", f"i16 {rest[-5]}"
    body.emit(
        f"call void @fiber_begin(ptr {to}, ptr {counter}, ptr {a_map}, {', '.join([*corner, bits, several])})"
    )
    return ""


def _called(function: str) -> Callable[..., str]:
    def call(body: Body, site: int, name: str, given: list[str], types: Sequence[str]) -> str:
        arguments = ", ".join(f"{t} {value}" for t, value in zip(types, given))
        result = {"fiber_expect": "i64", "fiber_ended": "i1"}.get(function, "void")
        if result == "void":
            body.emit(f"call void @{function}({arguments})")
            return ""
        return body.assign(f"call {result} @{function}({arguments})")

    return call


def _nothing(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    """Threads see each other's stores."""
    return ""


DEFINITIONS = {
    "mbarrier.init.shared": _called("fiber_counter_begin"),
    "fence.mbarrier_init.release.cluster": _nothing,
    "mbarrier.arrive.expect.tx.scope.cta.space.cta": _called("fiber_expect"),
    "mbarrier.try.wait.parity.scope.cta.space.cta": _called("fiber_ended"),
    "cp.async.bulk.tensor.g2s.tile.": _begin,
}
