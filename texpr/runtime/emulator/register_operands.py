"""Left operands of products of warpgroups that are in registers, for the emulator of GPUs: lanes
show each other what they have.

Which lane has which elements follows the PTX ISA (9.7.14.5.1, matrix A of .m64nNk16), written down
here on its own, as in `warp_collectives`.
"""

from __future__ import annotations

from texpr.runtime.emulator.ir_builder import WARP

PUBLISHED = WARP + (1 << 16)
"""Places where a warp waits until all of its lanes have shown their words, and until all have
read them.
"""
QUEUE = 64
"""Products of a thread that may be under way."""
LAST = QUEUE
"""The place of words of a product that is done where it stands, behind those of a queue."""


def left_in_registers(kind: str) -> bool:
    """True if the left operand is in registers."""
    return "_ra" in kind


def parameters(kind: str) -> str:
    """Parameters: where operands begin, and known bytes from there on; or where a lane's words
    of the left one are.
    """
    left = "ptr %w0, ptr %w1, ptr %w2, ptr %w3" if left_in_registers(kind) else "ptr %a.base, i32 %a.known"
    return f"{left}, ptr %b.base, i32 %b.known"


def operands(kind: str) -> list[str]:
    """Lines that make `%a`, unless it is in registers, and `%b` of them."""
    return [
        f"  %{x} = getelementptr i8, ptr %{x}.base, i32 %{x}.known"
        for x in ("b" if left_in_registers(kind) else "ab")
    ]


WHERE = """  %this = load i64, ptr @fiber_current
  %this.first = load i64, ptr @fiber_first
  %this.block = sub i64 %this, %this.first
  %thread = trunc i64 %this.block to i32
  %lane = and i32 %thread, 31
  %warps = lshr i32 %thread, 5
  %warp = and i32 %warps, 3
  %first = mul i32 %warp, 16
  %quad = lshr i32 %lane, 2
  %row = add i32 %first, %quad
  %pair = and i32 %lane, 3
  %column = mul i32 %pair, 2"""
"""The first row and column of which a thread has a sum, by its place in its warpgroup: four
warps that follow each other.
"""


# Word 2*q + h of lane 4*g + t has A[8*h + g, 8*q + 2*t], and its neighbour, of the 16 rows of a
# warp.
HELD = f"""@fiber_words = internal global [{(QUEUE + 1) * 4096} x i32] zeroinitializer
define internal ptr @fiber_show(i64 %slot, ptr %w0, ptr %w1, ptr %w2, ptr %w3) noinline {{
  %i = load i64, ptr @fiber_current
  %row = mul i64 %slot, 1024
  %thread = add i64 %row, %i
  %warp = and i64 %thread, -32
  %mine = getelementptr [4 x i32], ptr @fiber_words, i64 %thread
  %base = getelementptr [4 x i32], ptr @fiber_words, i64 %warp
  %x0 = load i32, ptr %w0
  store i32 %x0, ptr %mine
  %m1 = getelementptr i32, ptr %mine, i64 1
  %x1 = load i32, ptr %w1
  store i32 %x1, ptr %m1
  %m2 = getelementptr i32, ptr %mine, i64 2
  %x2 = load i32, ptr %w2
  store i32 %x2, ptr %m2
  %m3 = getelementptr i32, ptr %mine, i64 3
  %x3 = load i32, ptr %w3
  store i32 %x3, ptr %m3
  ret ptr %base
}}
define internal ptr @fiber.held(ptr %base, i32 %row, i32 %k) alwaysinline {{
  %g = and i32 %row, 7
  %g4 = shl i32 %g, 2
  %k7 = and i32 %k, 7
  %t = lshr i32 %k7, 1
  %lane = or i32 %g4, %t
  %row8 = lshr i32 %row, 3
  %h = and i32 %row8, 1
  %q = lshr i32 %k, 3
  %q2 = shl i32 %q, 1
  %word = or i32 %q2, %h
  %lane4 = shl i32 %lane, 2
  %at = add i32 %lane4, %word
  %at2 = shl i32 %at, 1
  %b = and i32 %k, 1
  %half = add i32 %at2, %b
  %far = zext i32 %half to i64
  %result = getelementptr i16, ptr %base, i64 %far
  ret ptr %result
}}"""
