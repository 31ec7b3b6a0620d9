"""What the code for x86-64 is made of."""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from bench.inner.assembly import inner_loops, kept, products
from texpr.lang import parse_kernel
from texpr.runtime.process import qemu
from texpr.targets.emit.pass_selection import becomes_registers

CHOICE = """op choice(X: f32[N, C], t: i64[N] in 0..C, d: f32[N]) -> Y: f32[N, C] {
  Y[n, c] = (if c == t[n] then -d[n] else 0) + exp(X[n, c])
}"""


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_powers_of_two_stay_in_vectors_beside_wider_indices(dtype: str):
    """Indices of 64 bits leave half of the lanes to f32: its exponentials are still of whole
    vectors.
    """
    s = tx.schedule(tx.op(CHOICE.replace("f32", dtype)), N=64, C=1024).auto()
    asm = s.compile(target="x86-64-v4").asm
    assert "vscalefp" in asm
    assert "vcvttss2si" not in asm and "vcvttsd2si" not in asm


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("level, least", [("x86-64-v3", 0.7), ("x86-64-v4", 0.0)])
def test_constants_of_functions_come_from_memory_where_registers_are_few(
    level: str, least: float, dtype: str
):
    """erf has more of them than AVX2 has registers: nothing is put aside for them."""
    op = tx.op(
        f"op gelu(X: {dtype}[N, D], b: {dtype}[D]) -> Y: {dtype}[N, D] {{ Y[n, d] = X[n, d] * (1 + erf(X[n, "
        f"d] + b[d])) }}"
    )
    (loop,) = inner_loops(tx.schedule(op, N=64, D=1024).auto(level).compile(target=level).asm)
    fused = [n for n in loop if n.startswith("vfm") or n.startswith("vfnm")]
    assert len(fused) >= 16 and not kept(loop)
    assert (sum("(%rip)," in n and "{1to" not in n for n in fused) > least * len(fused)) == (least > 0), loop


@pytest.mark.parametrize("rows, fences", [(14, 1), (8, 0)])
def test_a_second_term_waits_where_sums_fill_the_registers(rows: int, fences: int):
    """The panel's row for it would be loaded beside the first one's, and 28 sums leave 4
    registers.
    """
    op = tx.op(
        "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
    )
    s = tx.schedule(op, M=4 * rows, N=64, K=64).contract().split("i", rows).split("j", 32).split("k", 2)
    s = s.reorder("io", "jo", "ko", "ki", "ii", "ji").unroll("ki").unroll("ii").vectorize("ji")
    kernel = s.compile(target="x86-64-v4")
    assert (
        kernel.artifact.emitted.count('fence syncscope("singlethread")') == fences
        and "mfence" not in kernel.asm
    )
    main = max(inner_loops(kernel.asm), key=len)
    assert products(main) == 4 * rows and not kept(main)


@pytest.mark.parametrize("place, stays", [("0", True), ("j", False)])
def test_sums_are_in_registers_where_their_places_are_known(place: str, stays: bool):
    kernel = parse_kernel(
        "kernel f(X: f32[4, 8]) -> (Y: f32[8])\n  let T: f32[4, 8]  stack\n  for j in 0..4\n"
        f"    for i in 0..8 vector\n      T[{place}, i] += X[j, i]\n"
    )
    assert becomes_registers(kernel, *kernel.temporaries) is stays


INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FEW = {"x86-64-v3": ("i64", "u64"), "x86-64-v4": ()}
"""The types for which a level has no conversion of vectors."""


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("level", FEW)
def test_floats_become_integers_in_vectors(level: str, source: str):
    for t in set(INTEGERS) - {*FEW[level]}:
        s = (
            tx.schedule(tx.op(f"op f(X: {source}[N]) -> Y: {t}[N] {{ Y[i] = {t}(X[i]) }}"), N=64)
            .split("i", 16)
            .vectorize("ii")
        )
        assert not re.search(r"cvttss|cvttsd", s.compile(target=level).asm), t


@pytest.mark.qemu
@pytest.mark.skipif(bool(qemu.missing_tool("x86_64")), reason="no QEMU for x86-64 is installed")
@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_every_level_saturates(level: str, source: str):
    ends = [x for bits in (8, 16, 32, 64) for x in (2.0 ** (bits - 1), 2.0**bits)]
    beside = [float(np.nextafter(np.array(x, source.replace("f", "float")), 0)) for x in ends]
    x = np.array(
        [
            *ends,
            *beside,
            *(-v for v in ends),
            *(-v for v in beside),
            np.nan,
            -np.nan,
            np.inf,
            -np.inf,
            0.9,
            -0.9,
            -0.0,
            1e-40,
            2.5,
            -2.5,
            1e30,
            -1e30,
            127.9,
            -128.9,
            255.9,
            65535.9,
        ],
        source.replace("f", "float"),
    )
    outputs = ", ".join(f"Y{k}: {t}[N]" for k, t in enumerate(INTEGERS))
    convert = tx.op(
        f"op f(X: {source}[N]) -> ({outputs}) {{ "
        + "  ".join(f"Y{k}[i] = {t}(X[i])" for k, t in enumerate(INTEGERS))
        + " }"
    )
    s = tx.schedule(convert, N=x.size)
    for k in range(len(INTEGERS)):
        s = s.split(f"Y{k}.i", 4).vectorize(f"Y{k}.ii")
    for found, expected in zip(s.compile(target=level).emulate(x), tx.interpret(convert, x), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(bool(qemu.missing_tool("x86_64")), reason="no QEMU for x86-64 is installed")
def test_instructions_that_qemu_lacks():
    """AVX-512; a QEMU that has it one day runs the code."""
    kernel = (
        tx.schedule(tx.op("op f(X: f32[64]) -> Y: f32[64] { Y[i] = 2 * X[i] }"))
        .auto("x86-64-v4")
        .compile("x86-64-v4")
    )
    x = np.ones(64, np.float32)
    try:
        np.testing.assert_array_equal(kernel.emulate(x), 2 * x)
    except tx.ResourceError as error:
        assert str(error) == (
            "error[emulator]: qemu-x86_64 does not have all instructions of the processor that texpr_f is "
            "for\n"
            "  help: save it, and run it on such a processor"
        )


def test_calls_for_rare_numbers_leave_the_constants_in_registers():
    """Nothing is loaded in the loop but the operands, and what is called puts back the registers
    that it uses.
    """
    asm = (
        tx.schedule(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = gelu(X[i]) }"), N=4096)
        .auto("x86-64-v4")
        .compile(target="x86-64-v4")
        .asm
    )
    rare, loop = asm.split("\nrare0:")[1].split(".size")[0], asm.split("\ntexpr_f:")[1]
    body = loop[: loop.index("callq")].rpartition("\n.LBB")[2]
    assert "vfmadd" in body and "rip" not in body and "rsp" not in body
    assert re.search(r"vmovups\t%zmm1, .*\(%rsp\)", rare) and re.search(
        r"vmovups\t.*\(%rsp\), %zmm1$", rare, re.M
    )


def test_calls_for_rare_numbers_keep_whole_registers():
    """Nothing clears the upper halves (vzeroupper) of registers that a function put back: of a
    row's last elements some are narrow.
    """
    s = tx.schedule(tx.op("op f(X: f32[63]) -> y: f32 { y = sum(i: gelu(X[i])) }")).auto("x86-64-v4")
    asm = s.compile(target="x86-64-v4").asm
    functions = [f.split("retq")[0] for f in re.split(r"\nrare\d+:\n", asm)[1:]]
    assert len(functions) == 5 and any("zmm1, " in f for f in functions)
    assert not any(re.search(r"\(%rsp\), %[yz]mm", f) and "vzeroupper" in f for f in functions)


def test_sums_of_rare_numbers():
    f = tx.op("op f(X: f32[N]) -> (y: f32, z: f32) { y = sum(i: gelu(X[i]))  z = sum(i: lgamma(X[i])) }")
    for n in (5, 31):
        x = np.linspace(8, -9.3, n, dtype=np.float32)
        np.testing.assert_allclose(f(x), tx.interpret(f, x), rtol=1e-5)
