"""Products of a warpgroup for the emulator of GPUs: each lane computes its own sums from shared memory.

Which lane has which sums, and how 16-byte units of rows of 128 bytes are exchanged, follows the PTX ISA (9.7.14.5), written down here on
its own, as in `lanes`: units are exchanged by their address, so operands that lie elsewhere than code generation says give wrong sums.
"""

from __future__ import annotations

import re

from texpr.runtime.products import with_begun

_WRAPPER = re.compile(r"^define internal ([^\n@]+) @texpr\.wgmma\.m64n(\d+)k16\.(\w+)\(.*?^\}$", re.MULTILINE | re.DOTALL)
_BEGUN = re.compile(r"@texpr\.wgmma\.(?:begin|next)\.m64n\d+k16\.(\w+)\(")
_ELEMENTS = {"bf16": "bfloat", "f16": "half"}


def with_groups(text: str) -> str:
    """The module with products that this machine can run in place of those of warpgroups."""
    types = sorted({t for _, _, t in _WRAPPER.findall(text)} | set(_BEGUN.findall(text)))
    return "\n".join([_WRAPPER.sub(_product, with_begun(text)), *(_dot(t, _ELEMENTS[t]) for t in types)])


def _product(found: re.Match[str]) -> str:
    """Register r of lane l of warp w: row 16*w + l / 4 + 8*(r / 2 % 2), column 8*(r / 4) + 2*(l % 4) + r % 2."""
    result, columns, t = found.groups()
    count = int(columns) // 2
    given = ", ".join(f"float %s{r}" for r in range(count))
    lines = [f"define internal {result} @texpr.wgmma.m64n{columns}k16.{t}({given}, ptr %a, ptr %b) {{",
             "  %thread = load i32, ptr @fiber_thread", "  %warp = lshr i32 %thread, 5", "  %lane = and i32 %thread, 31",
             "  %first = mul i32 %warp, 16", "  %quad = lshr i32 %lane, 2", "  %row = add i32 %first, %quad",
             "  %pair = and i32 %lane, 3", "  %column = mul i32 %pair, 2"]
    value = "poison"
    for r in range(count):
        lines += [f"  %i{r} = add i32 %row, {8 * (r // 2 % 2)}", f"  %j{r} = add i32 %column, {8 * (r // 4) + r % 2}",
                  f"  %d{r} = call float @fiber.dot.{t}(float %s{r}, ptr %a, i32 %i{r}, ptr %b, i32 %j{r})",
                  f"  %v{r} = insertvalue {result} {value}, float %d{r}, {r}"]
        value = f"%v{r}"
    return "\n".join([*lines, f"  ret {result} {value}", "}"])


def _dot(t: str, element: str) -> str:
    """16 terms of a row of each operand, added to a sum."""
    return f"""define internal ptr @fiber.place.{t}(ptr %base, i32 %row, i32 %k) alwaysinline {{
  %start = ptrtoint ptr %base to i64
  %bytes = mul i32 %row, 128
  %along = mul i32 %k, 2
  %far = add i32 %bytes, %along
  %offset = zext i32 %far to i64
  %at = add i64 %start, %offset
  %high = lshr i64 %at, 7
  %pattern = and i64 %high, 7
  %unit = shl i64 %pattern, 4
  %place = xor i64 %at, %unit
  %result = inttoptr i64 %place to ptr
  ret ptr %result
}}
define internal float @fiber.dot.{t}(float %sum, ptr %a, i32 %i, ptr %b, i32 %j) noinline {{
entry:
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %old = phi float [ %sum, %entry ], [ %new, %loop ]
  %p = call ptr @fiber.place.{t}(ptr %a, i32 %i, i32 %k)
  %q = call ptr @fiber.place.{t}(ptr %b, i32 %j, i32 %k)
  %x = load {element}, ptr %p, align 2
  %y = load {element}, ptr %q, align 2
  %u = fpext {element} %x to float
  %v = fpext {element} %y to float
  %w = fmul float %u, %v
  %new = fadd float %old, %w
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 16
  br i1 %more, label %loop, label %done
done:
  ret float %new
}}"""
