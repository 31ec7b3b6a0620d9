"""Native code of extern operators, for callers whose arrays have more dimensions than the
declaration: a pack is one extent there and several of the caller's.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from texpr.runtime.call.native_callbacks import NativeFunction
from texpr.runtime.native import jit


@functools.cache
def with_joined_extents(address: int, joined: tuple[tuple[int, ...], ...]) -> NativeFunction:
    """Native code that multiplies extents and calls the code at `address`.

    Args:
        joined: for each array, how many of the caller's extents each extent is the product of.
    """
    code = jit.link(jit.compile_text(_text(address, joined)), ("texpr_joined",), {})
    return NativeFunction(code["texpr_joined"], code)


def _text(address: int, joined: Sequence[Sequence[int]]) -> str:
    """The code as LLVM IR."""
    lines: list[str] = []
    given: list[str] = []
    products: list[str] = []
    for count in (n for group in joined for n in group):
        product = "1"
        for _ in range(count):
            given.append(f"%e{len(given)}")
            lines.append(f"  %p{len(lines)} = mul i64 {product}, {given[-1]}")
            product = f"%p{len(lines) - 1}"
        products.append(product)
    arrays = [f"ptr %a{k}" for k in range(len(joined))]
    head = ", ".join([*arrays, *(f"i64 {e}" for e in given)])
    passed = ", ".join([*arrays, *(f"i64 {p}" for p in products)])
    body = "\n".join([*lines, f"  %f = inttoptr i64 {address} to ptr", f"  %r = call i32 %f({passed})"])
    return f"define i32 @texpr_joined({head}) {{\n{body}\n  ret i32 %r\n}}\n"
