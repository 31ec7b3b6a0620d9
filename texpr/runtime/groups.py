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
    kinds = sorted({kind for _, _, kind in _WRAPPER.findall(text)} | set(_BEGUN.findall(text)))
    return "\n".join([_WRAPPER.sub(_product, with_begun(text)), *([_PLACES] if kinds else []), *map(_dot, kinds)])


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


def _dot(kind: str) -> str:
    """16 terms of a row of each operand, added to a sum."""
    t, turned = kind.partition("_t")[::2]
    element, (a, b) = _ELEMENTS[t], ("turned" if x in turned else "rows" for x in "ab")
    return f"""define internal float @fiber.dot.{kind}(float %sum, ptr %a, i32 %i, ptr %b, i32 %j) noinline {{
entry:
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %old = phi float [ %sum, %entry ], [ %new, %loop ]
  %p = call ptr @fiber.{a}(ptr %a, i32 %i, i32 %k)
  %q = call ptr @fiber.{b}(ptr %b, i32 %j, i32 %k)
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


# Where term k of a row is: in rows of 64 terms; or, turned, in the k-th row of a panel of 64 elements.
_PLACES = """define internal ptr @fiber.exchanged(ptr %base, i32 %far) alwaysinline {
  %start = ptrtoint ptr %base to i64
  %offset = zext i32 %far to i64
  %at = add i64 %start, %offset
  %high = lshr i64 %at, 7
  %pattern = and i64 %high, 7
  %unit = shl i64 %pattern, 4
  %place = xor i64 %at, %unit
  %result = inttoptr i64 %place to ptr
  ret ptr %result
}
define internal ptr @fiber.rows(ptr %base, i32 %row, i32 %k) alwaysinline {
  %bytes = mul i32 %row, 128
  %along = mul i32 %k, 2
  %far = add i32 %bytes, %along
  %result = call ptr @fiber.exchanged(ptr %base, i32 %far)
  ret ptr %result
}
define internal ptr @fiber.turned(ptr %base, i32 %row, i32 %k) alwaysinline {
  %panel = lshr i32 %row, 6
  %start = mul i32 %panel, 8192
  %down = mul i32 %k, 128
  %column = and i32 %row, 63
  %along = mul i32 %column, 2
  %in = add i32 %down, %along
  %far = add i32 %start, %in
  %result = call ptr @fiber.exchanged(ptr %base, i32 %far)
  ret ptr %result
}"""
