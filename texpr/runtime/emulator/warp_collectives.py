"""Collectives of a warp for the emulator of GPUs: LLVM IR in which lanes show each other words,
wait, and read what others showed.

Layouts of tiles follow the tables of the PTX ISA (9.7.13.4 for m8n8k4 f64, m16n8k16 f16 and bf16,
m16n8k32 s8 and floats of 8 bits; 9.7.13.4.15 for ldmatrix), written down here on their own: code
generation has its own reading of them, and they must agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from texpr.runtime.emulator.bulk_copies import DEFINITIONS as BOXES
from texpr.runtime.emulator.ir_builder import Body
from texpr.support.frozen_dataclass import frozen


def collective_definitions(text: str) -> Iterator[str]:
    """Definitions of the collectives that a module declares, under the names that
    `rename_collectives` gives them.
    """
    for site, (result, name, parameters) in enumerate(_DECLARATION.findall(text)):
        make = next((f for prefix, f in _DEFINITIONS.items() if name.startswith(prefix)), None)
        if make is None:
            continue
        types = [t.strip() for t in re.split(r",(?![^<]*>)", parameters)]
        types = [re.sub(r" ?addrspace\(\d+\)", "", t) for t in types]
        types = [t for t in types if t]
        body = Body()
        value = make(body, 2 * site, name, [f"%p{k}" for k in range(len(types))], types)
        given = ", ".join(f"{t} %p{k}" for k, t in enumerate(types))
        yield "\n".join(
            [
                f"define internal {result} @fiber.{name}({given}) {{",
                *body.lines,
                f"  ret {result} {value}".rstrip(),
                "}",
            ]
        )
    yield from (
        fp8_conversion(f"fiber.lane.{t}", t)
        for t in ("e4m3", "e5m2")
        if re.search(rf"@llvm\.nvvm\.mma\.[\w.]*\b{t}\b", text)
    )


def fp8_conversion(name: str, t: str) -> str:
    """A function that gives the f32 of a float of 8 bits: a half has room for its exponent, that
    of e4m3 with another bias, 8 less.
    """
    head = f"define internal float @{name}(i8 %b) {{\n  %w = zext i8 %b to i16"
    if t == "e5m2":
        return f"""{head}
  %u = shl i16 %w, 8
  %h = bitcast i16 %u to half
  %f = fpext half %h to float
  ret float %f
}}"""
    return f"""{head}
  %s = and i16 %w, 128
  %t = shl i16 %s, 8
  %m = and i16 %w, 127
  %v = shl i16 %m, 7
  %u = or i16 %t, %v
  %h = bitcast i16 %u to half
  %g = fpext half %h to float
  %f = fmul float %g, 256.0
  %nan = icmp eq i16 %m, 127
  %r = select i1 %nan, float 0x7FF8000000000000, float %f
  ret float %r
}}"""


def rename_collectives(text: str) -> str:
    """The module without the declarations of collectives, calling what `collective_definitions`
    defines.
    """
    known = "|".join(map(re.escape, _DEFINITIONS))
    text = re.sub(rf"^declare .* @llvm\.nvvm\.(?:{known}).*$\n?", "", text, flags=re.MULTILINE)
    return re.sub(rf"@llvm\.nvvm\.({known})", r"@fiber.\1", text)


_DECLARATION = re.compile(r"^declare (.+?) @llvm\.nvvm\.([\w.]+)\((.*)\)", re.MULTILINE)
_Definition = Callable[[Body, int, str, list[str], list[str]], str]


def _shuffle(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    _, value, distance, _ = given
    body.publish([value])
    body.barrier(site)
    other = body.assign(f"xor i32 {body.assign('call i32 @fiber_lane()')}, {distance}")
    result = body.read_lane(other, 0)
    body.barrier(site + 1)
    return result


def _ldmatrix(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    """Lane 8*m + r has the address of row r of matrix m; lane 4*g + t gets elements 2*t, 2*t + 1
    of row g, of column g if turned.
    """
    address = body.assign(f"ptrtoint ptr {given[0]} to i64")
    words = [
        body.assign(f"trunc i64 {address} to i32"),
        body.assign(f"trunc i64 {body.assign(f'lshr i64 {address}, 32')} to i32"),
    ]
    body.publish(words)
    body.barrier(site)
    lane = body.assign("call i32 @fiber_lane()")
    group, pair = (
        body.assign(f"lshr i32 {lane}, 2"),
        body.assign(f"shl i32 {body.assign(f'and i32 {lane}, 3')}, 1"),
    )
    result = "poison"
    for m in range(4):
        parts = []
        for k in range(2):
            along = body.assign(f"add i32 {pair}, {k}")
            row, column = (along, group) if ".trans." in name else (group, along)
            source = body.assign(f"add i32 {row}, {8 * m}")
            base = body.read_lane(source, 0, "i64")
            offset = body.assign(f"zext i32 {body.assign(f'shl i32 {column}, 1')} to i64")
            at = body.assign(f"inttoptr i64 {body.assign(f'add i64 {base}, {offset}')} to ptr")
            parts.append(body.assign(f"zext i16 {body.assign(f'load i16, ptr {at}')} to i32"))
        word = body.assign(f"or i32 {parts[0]}, {body.assign(f'shl i32 {parts[1]}, 16')}")
        result = body.assign(f"insertvalue {{ i32, i32, i32, i32 }} {result}, i32 {word}, {m}")
    body.barrier(site + 1)
    return result


@frozen
class _Tile:
    """A product of tiles: its extents, elements in a word, the types of an element and of a sum,
    and of floats of 8 bits which they are.
    """

    m: int
    n: int
    k: int
    width: int
    element: str
    total: str
    small: tuple[str, str] = ("", "")


_TILES = {
    "mma.m16n8k16.row.col.bf16": _Tile(16, 8, 16, 2, "bfloat", "float"),
    "mma.m16n8k16.row.col.f32.f32": _Tile(16, 8, 16, 2, "half", "float"),
    "mma.m16n8k8.row.col.tf32": _Tile(16, 8, 8, 1, "float", "float"),
    "mma.m16n8k32.row.col.s8": _Tile(16, 8, 32, 4, "i8", "i32"),
    **{
        f"mma.m16n8k32.row.col.f32.{a}.{b}.f32": _Tile(16, 8, 32, 4, "i8", "float", (a, b))
        for a in ("e4m3", "e5m2")
        for b in ("e4m3", "e5m2")
    },
    "mma.m8n8k4.row.col.f64": _Tile(8, 8, 4, 1, "double", "double"),
}


def _mma(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    tile = _TILES[name]
    sums = len(given) - tile.m * tile.n // 32
    body.publish([w for value, t in zip(given[:sums], types) for w in _words(body, value, t)])
    body.barrier(site)
    lane = body.assign("call i32 @fiber_lane()")
    group, column = (
        body.assign(f"and i32 {lane}, 28"),
        body.assign(f"shl i32 {body.assign(f'and i32 {lane}, 3')}, 3"),
    )
    result_type = "{ " + ", ".join([tile.total] * len(given[sums:])) + " }"
    result = "poison"
    for r, value in enumerate(given[sums:]):
        half, pair = divmod(r, 2)
        across = body.assign(f"add i32 {column}, {4 * pair}")
        for k in range(tile.k):
            value = _plus(body, tile, value, _left(body, tile, group, half, k), _right(body, tile, across, k))
        result = body.assign(f"insertvalue {result_type} {result}, {tile.total} {value}, {r}")
    body.barrier(site + 1)
    return result


def _left(body: Body, tile: _Tile, group: str, half: int, k: int) -> str:
    """A[8*half + g, k]: in lane 4*g + (k mod 4w) / w."""
    register = k // (4 * tile.width) * (tile.m // 8) + half
    return _element(body, tile, group, register, k)


def _right(body: Body, tile: _Tile, column: str, k: int) -> str:
    """B[k, 2*t + pair]: in lane 4*(2*t + pair) + (k mod 4w) / w."""
    return _element(body, tile, column, tile.m // 8 * tile.k // (4 * tile.width) + k // (4 * tile.width), k)


def _element(body: Body, tile: _Tile, lane: str, register: int, k: int) -> str:
    source = body.assign(f"add i32 {lane}, {k % (4 * tile.width) // tile.width}")
    size = 2 if tile.total == "double" else 1
    whole = body.read_lane(
        source, size * register, "double" if size == 2 else f"<{tile.width} x {tile.element}>"
    )
    return (
        whole
        if size == 2
        else body.assign(f"extractelement <{tile.width} x {tile.element}> {whole}, i32 {k % tile.width}")
    )


def _plus(body: Body, tile: _Tile, value: str, a: str, b: str) -> str:
    if tile.total == "float" == tile.element:  # tf32: the last bits are not there
        words = [body.assign(f"and i32 {body.assign(f'bitcast float {x} to i32')}, -8192") for x in (a, b)]
        a, b = (body.assign(f"bitcast i32 {w} to float") for w in words)
        return body.assign(f"fadd float {value}, {body.assign(f'fmul float {a}, {b}')}")
    if tile.element == tile.total:
        return body.assign(f"call {tile.total} @llvm.fma.f64(double {a}, double {b}, double {value})")
    if tile.small[0]:
        a, b = (body.assign(f"call float @fiber.lane.{t}(i8 {x})") for t, x in zip(tile.small, (a, b)))
        return body.assign(f"fadd float {value}, {body.assign(f'fmul float {a}, {b}')}")
    how, times, plus = ("sext", "mul", "add") if tile.total == "i32" else ("fpext", "fmul", "fadd")
    a, b = (body.assign(f"{how} {tile.element} {x} to {tile.total}") for x in (a, b))
    return body.assign(f"{plus} {tile.total} {value}, {body.assign(f'{times} {tile.total} {a}, {b}')}")


def _words(body: Body, value: str, t: str) -> list[str]:
    if t == "i32":
        return [value]
    count = 2 if t == "double" else 1
    whole = body.assign(f"bitcast {t} {value} to <{count} x i32>")
    return [body.assign(f"extractelement <{count} x i32> {whole}, i32 {k}") for k in range(count)]


def emulate_async_copies(text: str) -> str:
    """The module with copies in place of instructions that begin them."""
    return _BEGIN_COPY.sub(_emulate_copy, text)


_BEGIN_COPY = re.compile(
    r"^define internal void (@texpr\.copy\.(\d+)(\.s)?)\(.*?^\}$", re.MULTILINE | re.DOTALL
)


def _emulate_copy(found: re.Match[str]) -> str:
    """Of `size` bytes the first `some` are copied; the others become 0."""
    symbol, size, some = found.groups()
    count = "zext i32 %some to i64" if some else f"add i64 0, {size}"
    return f"""define internal void {symbol}(ptr %to.base, i64 %to.known, ptr %at.base, i64 %at.known{", i32 %some" if some else ""}) {{
  %to = getelementptr i8, ptr %to.base, i64 %to.known
  %at = getelementptr i8, ptr %at.base, i64 %at.known
  %count = {count}
  call void @fiber_copy(ptr %to, ptr %at, i64 %count, i64 {size})
  ret void
}}"""


def _commit(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    body.emit("call void @fiber_commit()")
    return ""


def _fence(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    """No code: stores of fibers are seen by all of them at once."""
    return ""


def _round_to_tf32(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    """The bits of a float without the last 13, the nearest such; of NaN as they are."""
    word = body.assign(f"bitcast float {given[0]} to i32")
    near = body.assign(f"and i32 {body.assign(f'add i32 {word}, 4096')}, -8192")
    return body.assign(f"select i1 {body.assign(f'fcmp uno float {given[0]}, 0.0')}, i32 {word}, i32 {near}")


def _round_to_bf16(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    """The upper halves of floats, the nearest such, ties to even; NaN is 0x7fff. Of two the last
    is the lower one.
    """
    halves: list[str] = []
    for x in reversed(given):
        word = body.assign(f"bitcast float {x} to i32")
        last = body.assign(f"and i32 {body.assign(f'lshr i32 {word}, 16')}, 1")
        half = body.assign(f"add i32 {last}, 32767")
        near = body.assign(f"lshr i32 {body.assign(f'add i32 {word}, {half}')}, 16")
        halves.append(
            body.assign(f"select i1 {body.assign(f'fcmp uno float {x}, 0.0')}, i32 32767, i32 {near}")
        )
    if len(halves) == 1:
        return body.assign(f"bitcast i16 {body.assign(f'trunc i32 {halves[0]} to i16')} to bfloat")
    whole = body.assign(f"or i32 {halves[0]}, {body.assign(f'shl i32 {halves[1]}, 16')}")
    return body.assign(f"bitcast i32 {whole} to <2 x bfloat>")


def _wait_for(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    body.emit(f"call void @fiber_wait_for(i32 {given[0]})")
    return ""


def _exp2(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    """2^x as near as the C library has it; 0 below the normal numbers."""
    near = body.assign(f"call float @llvm.exp2.f32(float {given[0]})")
    return body.assign(
        f"select i1 {body.assign(f'fcmp olt float {near}, 0x3810000000000000')}, float 0.0, float {near}"
    )


def _warp_barrier(body: Body, site: int, name: str, given: list[str], types: list[str]) -> str:
    body.barrier(site)
    return ""


_DEFINITIONS: dict[str, _Definition] = {
    "bar.warp.sync": _warp_barrier,
    "ex2.approx.ftz.f32": _exp2,
    "cp.async.commit.group": _commit,
    "fence.proxy.async.shared_cta": _fence,
    "cp.async.wait.group": _wait_for,
    "f2tf32.rna": _round_to_tf32,
    "f2bf16.rn": _round_to_bf16,
    "ff2bf16x2.rn": _round_to_bf16,
    "shfl.sync.bfly.i32": _shuffle,
    "ldmatrix.sync.aligned.m8n8.x4.": _ldmatrix,
    "mma.": _mma,
    **BOXES,
}
