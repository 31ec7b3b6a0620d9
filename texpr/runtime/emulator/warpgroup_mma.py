"""Products of a warpgroup for the emulator of GPUs: each lane computes its own sums from shared
memory.

Which lane has which sums, and how 16-byte units of rows of 128 bytes are exchanged, follows the PTX
ISA (9.7.14.5), written down here on its own, as in `warp_collectives`: units are exchanged by their
address, so operands that lie elsewhere than code generation says give wrong sums.
"""

from __future__ import annotations

import re

from texpr.runtime.emulator.async_mma import emulate_async_mma
from texpr.runtime.emulator.register_operands import (
    HELD,
    LAST,
    PUBLISHED,
    WHERE,
    left_in_registers,
    operands,
    parameters,
)
from texpr.runtime.emulator.warp_collectives import fp8_conversion

_WRAPPER = re.compile(
    r"^define internal ([^\n@]+) @texpr\.wgmma\.m64n(\d+)k(\d+)\.(\w+)\(.*?^\}$", re.MULTILINE | re.DOTALL
)
_BEGUN = re.compile(r"@texpr\.wgmma\.(?:begin|next)\.m64n\d+k\d+\.(\w+)\(")
_ELEMENTS = {"bf16": "bfloat", "f16": "half", "f8e4m3": "i8", "f8e5m2": "i8"}
_SMALL = ("f8e4m3", "f8e5m2")


def emulate_warpgroup_mma(text: str) -> str:
    """The module with products that this machine can run in place of those of warpgroups."""
    kinds = sorted({kind for *_, kind in _WRAPPER.findall(text)} | set(_BEGUN.findall(text)))
    small = [
        fp8_conversion(f"fiber.group.{t}", t.removeprefix("f8"))
        for t in _SMALL
        if any(t in kind for kind in kinds)
    ]
    text = _WRAPPER.sub(_product, emulate_async_mma(text))
    held = [HELD] if "@fiber_show" in text else []
    return "\n".join([text, *([_PLACES] if kinds else []), *held, *map(_dot, kinds), *small])


def _product(found: re.Match[str]) -> str:
    """Register r of lane l of warp w: row 16*w + l / 4 + 8*(r / 2 % 2), column 8*(r / 4) + 2*(l
    % 4) + r % 2.
    """
    result, columns, terms, t = found.groups()
    count = int(columns) // 2
    given = ", ".join(f"float %s{r}" for r in range(count))
    lines = [
        f"define internal {result} @texpr.wgmma.m64n{columns}k{terms}.{t}({given}, {parameters(t)}) {{",
        WHERE,
        *operands(t),
    ]
    shown = (
        [f"  call void @fiber_wait(i32 {PUBLISHED + k})" for k in range(2)]
        if left_in_registers(t)
        else ["", ""]
    )
    if left_in_registers(t):
        lines += [f"  %a = call ptr @fiber_show(i64 {LAST}, ptr %w0, ptr %w1, ptr %w2, ptr %w3)", shown[0]]
    value = "poison"
    for r in range(count):
        lines += [
            f"  %i{r} = add i32 %row, {8 * (r // 2 % 2)}",
            f"  %j{r} = add i32 %column, {8 * (r // 4) + r % 2}",
            f"  %d{r} = call float @fiber.dot.{t}(float %s{r}, ptr %a, i32 %i{r}, ptr %b, i32 %j{r})",
            f"  %v{r} = insertvalue {result} {value}, float %d{r}, {r}",
        ]
        value = f"%v{r}"
    return "\n".join([*lines, shown[1], f"  ret {result} {value}", "}"])


def _dot(kind: str) -> str:
    """As many terms of a row of each operand as 32 bytes have, added to a sum."""
    types, turned = kind.partition("_t")[::2]
    left, right = (types.removesuffix("_ra").split("_") * 2)[:2]
    x, y, size = _ELEMENTS[left], _ELEMENTS[right], 1 if left in _SMALL else 2
    u, v = (
        f"call float @fiber.group.{t}(i8 %{name})"
        if t in _SMALL
        else f"fpext {_ELEMENTS[t]} %{name} to float"
        for t, name in ((left, "x"), (right, "y"))
    )
    a, b = (
        "held" if operand == "a" and left_in_registers(kind) else "turned" if operand in turned else "rows"
        for operand in "ab"
    )
    places = ["%bytes" if how == "rows" else "%k" for how in (a, b)]
    return f"""define internal float @fiber.dot.{kind}(float %sum, ptr %a, i32 %i, ptr %b, i32 %j) noinline {{
entry:
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %old = phi float [ %sum, %entry ], [ %new, %loop ]
  %bytes = mul i32 %k, {size}
  %p = call ptr @fiber.{a}(ptr %a, i32 %i, i32 {places[0]})
  %q = call ptr @fiber.{b}(ptr %b, i32 %j, i32 {places[1]})
  %x = load {x}, ptr %p, align {size}
  %y = load {y}, ptr %q, align {size}
  %u = {u}
  %v = {v}
  %w = fmul float %u, %v
  %new = fadd float %old, %w
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, {32 // size}
  br i1 %more, label %loop, label %done
done:
  ret float %new
}}"""


# Where a term of a row is: so many bytes along it; or, turned, in the k-th row of a panel of 64
# elements.
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
define internal ptr @fiber.rows(ptr %base, i32 %row, i32 %along) alwaysinline {
  %bytes = mul i32 %row, 128
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
