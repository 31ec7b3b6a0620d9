"""The default schedules of contractions: results, scripts, the loops that they end in."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from tests.compare import assert_same_bits
from texpr.autoschedule.driver import auto
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import For, Kernel, instruction_of
from texpr.ir.loop_kind import InstructionNest
from texpr.ir.traverse import walk
from texpr.ir.verifier.program import verify_kernel
from texpr.passes.loop.place_buffers import place
from texpr.passes.loop.signed_dot_products import offset_signed
from texpr.targets import find_target

PRODUCT = "op product(A: {0}[M, K], B: {1}[K, N]) -> C: {2}[M, N] {{ C[i, j] = sum(k: A[i, k] * B[k, j]) }}"
WIDENED = (
    "op product(A: {0}[M, K], B: {1}[K, N]) -> C: {2}[M, N] {{ C[i, j] = sum(k: i32(A[i, k]) * i32(B[k, j])) "
    "}}"
)
TYPES = {
    "f32": ("f32", "f32", "f32"),
    "f64": ("f64", "f64", "f64"),
    "bf16": ("bf16", "bf16", "bf16"),
    "i8": ("i8", "i8", "i32"),
    "u8": ("u8", "i8", "i32"),
    "i16": ("i16", "i16", "i32"),
}
NUMPY = {"f32": "f4", "f64": "f8", "bf16": "u2", "i8": "i1", "u8": "u1", "i16": "i2"}
SHAPES = [(64, 160, 64), (41, 100, 131), (96, 49, 97), (33, 129, 1030), (7, 48, 18), (130, 47, 70)]
INNER = re.compile(r"^(\.L\w+):((?:(?!^\.L\w+:).)*?\bj\w+\s+\1\b)", re.M | re.S)
"""Loops of the assembly that hold no other loop."""


def product(name: str) -> tx.Op:
    return tx.op((WIDENED if name in ("u8", "i16") else PRODUCT).format(*TYPES[name]))


def operands(name: str, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Random numbers, of integers all there are; sums of floats are exact."""
    random = np.random.default_rng(m + n + k)

    def draw(kind: str, shape: tuple[int, int]) -> np.ndarray:
        t = np.dtype(NUMPY[kind])
        if kind == "bf16":
            return (random.integers(-4, 5, shape).astype("f4").view("u4") >> 16).astype(t)
        if kind.startswith("f"):
            return random.integers(-4, 5, shape).astype(t)
        return random.integers(np.iinfo(t).min, np.iinfo(t).max, shape, t, endpoint=True)

    return draw(TYPES[name][0], (m, k)), draw(TYPES[name][1], (k, n))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", TYPES)
def test_results_are_the_interpreters(name, shape):
    m, n, k = shape
    op, arrays = product(name), operands(name, m, n, k)
    expected = tx.interpret(op, *arrays)
    for threads in (1, 2):
        with tx.options(threads=threads):
            found = tx.schedule(op, M=m, N=n, K=k).auto().compile()(*arrays)
        assert_same_bits(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("name", ["i8", "u8", "i16"])
def test_machines_without_the_instruction_give_the_same_bits(name):
    """What stands in the schedule is what the machine's record has."""
    m, n, k = 41, 100, 131
    op, arrays = product(name), operands(name, m, n, k)
    plain = tx.schedule(op, M=m, N=n, K=k).auto("x86-64-v3")
    assert "tensorize" not in plain.script()
    assert_same_bits(np.asarray(plain.compile()(*arrays)), np.asarray(tx.interpret(op, *arrays)))
    native = tx.schedule(op, M=m, N=n, K=k).auto()
    multiplies = any(not each.startswith("transpose") for each in find_target("native").machine.instructions)
    assert ("tensorize" in native.script()) == multiplies


SIGNED = """contract()
split("C.j", 16, tail="pad")
reorder("C.i", "C.jo", "C.k", "C.ji")
cache_read("A", "C.i")
cache_read("B", "C.i")
split("B_cache.d0", 4, tail="peel")
split("C.k", 4, tail="peel")
reorder("C.ko", "C.ji", "C.ki")
layout("B_cache", "k j -> j/16 k/4 j%16 k%4")
tensorize("C.ji", "vpdpbssd")
"""


ROWS = SIGNED.replace(
    'reorder("C.i", "C.jo", "C.k", "C.ji")',
    'split("C.jo", 2, tail="clip")\nreorder("C.joo", "C.i", "C.joi", "C.k", "C.ji")',
).replace('cache_read("B", "C.i")', 'cache_read("B", "C.joo")')
ALONE = SIGNED.replace('cache_read("A", "C.i")\n', "")


@pytest.mark.parametrize("text", [SIGNED, ALONE, ROWS], ids=["a buffer", "the caller's memory", "rows"])
def test_signed_bytes_are_multiplied_by_way_of_unsigned_ones(text):
    m, n, k = 3, 40, 11
    op, arrays = product("i8"), operands("i8", m, n, k)
    arrays[0][0], arrays[1][:, 0] = -128, -128
    kernel = place(tx.schedule(op, M=m, N=n, K=k).replay(text).kernel)
    after = offset_signed(kernel)
    verify_kernel(after)
    assert (instructions(after) == {"vpdpbusd"}) == ('cache_read("A"' in text) and instructions(kernel) == {
        "vpdpbssd"
    }
    for each in (kernel, after):
        (found,) = interpret_kernel(each, list(arrays), {})
        assert_same_bits(found, np.asarray(tx.interpret(op, *arrays)))


@pytest.mark.parametrize(("text", "of_rows", "before"), [(SIGNED, 2, 0), (ROWS, 1, 1)])
def test_what_the_other_sign_adds_is_summed_before_the_loop_that_repeats_it(
    text: str, of_rows: int, before: int
):
    kernel = offset_signed(place(tx.schedule(product("i8"), M=3, N=40, K=11).replay(text).kernel))
    dots = [
        sum(isinstance(n, For) and n.kind == InstructionNest("vpdpbusd") for n in walk(rows))
        for rows in walk(kernel)
        if isinstance(rows, For) and rows.var.name == "i"
    ]
    everywhere = sum(isinstance(n, For) and n.kind == InstructionNest("vpdpbusd") for n in walk(kernel))
    assert dots == [of_rows] and everywhere == of_rows + before


def instructions(kernel: Kernel) -> set[str]:
    return {
        instruction_of(n) for n in walk(kernel) if isinstance(n, For) and isinstance(n.kind, InstructionNest)
    }


@pytest.mark.parametrize(
    "name, target, register, mnemonic",
    [
        ("f32", "x86-64-v4", "zmm", "vfmadd231ps"),
        ("f64", "x86-64-v4", "zmm", "vfmadd231pd"),
        ("bf16", "x86-64-v4", "zmm", "vfmadd231ps"),
        ("f32", "x86-64-v3", "ymm", "vfmadd231ps"),
        ("i8", "native", "zmm", "vpdpbusd"),
        ("u8", "native", "zmm", "vpdpbusd"),
        ("i16", "native", "zmm", "vpdpwssd"),
    ],
)
@pytest.mark.parametrize("shape", [(512, 512, 512), (1000, 999, 1001), (2048, 2048, 2048)], ids=str)
def test_inner_loops_keep_their_sums_in_registers(name, target, register, mnemonic, shape):
    m, n, k = shape
    machine = find_target(target).machine
    if mnemonic.startswith("vpdp") and mnemonic not in machine.instructions:
        pytest.skip("this machine lacks it")
    s = tx.schedule(product(name), M=m, N=n, K=k)
    for step in auto(s.naive, replace(machine, tile_registers=0))[0]:  # tiles are before other instructions
        s.apply(step)
    asm = s.compile(target).asm
    inner = max((body for _, body in INNER.findall(asm)), key=lambda body: body.count(mnemonic))
    assert inner.count(mnemonic) >= (12 if register == "ymm" else 19)
    assert not re.search(rf"vmov\w+\s+%{register}\d+, ", inner), "a register is stored or copied"
    # Buffers on the stack are indexed; what was spilled has a place of its own.
    assert not re.search(rf"vmov\w+\s+-?\d*\(%rsp\), %{register}", inner), "a spilled register is loaded"


CASES = {
    "few panels": ("f32", 256, 256, 256),
    "several blocks": ("f32", 1000, 999, 1001),
    "deep": ("f32", 2048, 2048, 2052),
    "doubles": ("f64", 512, 512, 512),
    "halves": ("bf16", 512, 512, 512),
    "few rows": ("f32", 32, 1024, 1024),
    "rows whole pages apart": ("f32", 1024, 32, 1024),
}


@pytest.mark.parametrize("name", CASES)
def test_scripts(name, golden):
    kind, m, n, k = CASES[name]
    s = tx.schedule(product(kind), M=m, N=n, K=k).auto("x86-64-v4")
    golden(f"{s.script()}\n{s}")


@pytest.mark.parametrize(("rows", "tile"), [(128, (8, 32)), (132, (6, 64)), (512, (8, 32)), (1024, (6, 64))])
def test_tiles_leave_few_rows_over(rows: int, tile: tuple[int, int]):
    """Tiles of six rows would compute four of 128 in vain, and are the better ones where they do
    not.
    """
    op = tx.op(
        "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
    )
    script = tx.schedule(op, M=rows, K=784, N=512).auto("x86-64-v4").script()
    assert f'split("C.i", {tile[0]}, ' in script and f'split("C.j", {tile[1]}, ' in script


@pytest.mark.parametrize("rows", [31, 33])
def test_rows_of_a_far_operand_are_packed_where_many_share_them(rows):
    """What is left over of lanes and terms is in the panels as well."""
    with tx.options(threads=1):
        s = tx.schedule(product("f32"), M=rows, N=1090, K=601).auto("x86-64-v4")
        assert ('cache_read("B", "C.ko")' in s.script()) == (rows > 32)
        arrays = operands("f32", rows, 1090, 601)
        assert_same_bits(
            np.asarray(tx.schedule(product("f32"), M=rows, N=1090, K=601).auto().compile()(*arrays)),
            np.matmul(*arrays),
        )


EPILOGUES = {
    "bias and relu": "op f(A: f32[M, K], B: f32[K, N], b: f32[N]) -> C: f32[M, N] { C[i, j] = max(0, b[j] + "
    "sum(k: A[i, k] * B[k, j])) }",
    "left transposed": "op f(A: f32[K, M], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[k, i] * B[k, "
    "j]) }",
    "right transposed": "op f(A: f32[M, K], B: f32[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[j, "
    "k]) }",
    "both transposed": "op f(A: f32[K, M], B: f32[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: A[k, i] * B[j, "
    "k]) }",
    "batch": "op f(A: f32[L=3, M, K], B: f32[L=3, K, N]) -> C: f32[L, M, N] { C[l, i, j] = sum(k: A[l, i, k] "
    "* B[l, k, j]) }",
    "three operands": "op f(A: f32[M, K], w: f32[K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, "
    "k] * w[k] * B[k, j]) }",
}


@pytest.mark.parametrize("name", EPILOGUES)
def test_other_contractions(name):
    op = tx.op(EPILOGUES[name].replace("L=3", "L"))
    sizes = {"M": 70, "N": 150, "K": 90, "L": 3}
    random = np.random.default_rng(0)
    arrays = [
        random.integers(-4, 5, [sizes[v.name] for v in t.shape]).astype("f4") for t in op.program().inputs
    ]
    known = {v.name: sizes[v.name] for v in op.program().sizes}
    assert_same_bits(
        np.asarray(tx.schedule(op, **known).auto().compile()(*arrays)), np.asarray(tx.interpret(op, *arrays))
    )


@pytest.mark.parametrize("kind, size", [("i8", 4), ("i16", 2), ("f32", 8), ("f32", 16)])
def test_lanes_that_lie_between_each_other_are_woven(kind, size):
    """A transpose of few rows stores whole registers, no elements."""
    op = tx.op(f"op f(X: {kind}[{size}, N]) -> Y: {kind}[N, {size}] {{ Y[j, k] = X[k, j] }}")
    kernel = tx.schedule(op, N=64).unroll("k").vectorize("j").compile()
    X = np.arange(64 * size).reshape(size, 64).astype(NUMPY[kind])
    assert_same_bits(np.asarray(kernel(X)), np.ascontiguousarray(X.T))
    asm = tx.schedule(op, N=64).unroll("k").vectorize("j").compile("x86-64-v4").asm
    assert "vpextr" not in asm and "scatter" not in asm and "vextractps" not in asm


def test_a_matrix_is_multiplied_with_itself():
    """Its rows are in the copy that was made of its columns."""
    for factors in ("X[k, i] * X[j, k]", "X[i, k] * X[k, j]", "X[k, i] * X[k, j]", "X[i, k] * X[j, k]"):
        own = tx.op(f"op own(X: f32[N, N]) -> Y: f32[N, N] {{ Y[i, j] = sum(k: {factors}) }}")
        for n in (64, 200):
            x = np.random.default_rng(n).integers(-4, 5, (n, n)).astype(np.float32)
            lhs, rhs = (x.T if each in factors.split(" * ") else x for each in ("X[k, i]", "X[j, k]"))
            np.testing.assert_array_equal(own(x), lhs @ rhs, err_msg=f"{factors} {n}")


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
def test_all_rows_are_one_tile(target: str):
    """No loop over tiles of rows is left."""
    s = tx.schedule(
        tx.op(
            "op f(A: i8[5, 64], B: i8[16, 64]) -> C: i32[5, 16] { C[i, j] = sum(k: i32(A[i, k]) * "
            "i32(B[j, k])) }"
        )
    ).auto(target)
    assert 'cache_read("B"' in s.script() and "unscheduled" not in s.script(), s.script()


ROWS = "op rows(X: f32[N, C, H], F: f32[C, K, R]) -> Y: f32[N, K, R, H] { Y[n, k, r, h] = sum(c: X[n, c, h] * F[c, k, r]) }"


def test_short_rows_of_a_small_product_are_one_loop():
    """Rows of four by themselves fill no tile, and each would fetch all lines of F."""
    sizes = {"N": 3, "C": 20, "H": 16, "K": 12, "R": 4}
    s = tx.schedule(tx.op(ROWS), **sizes).auto("x86-64-v3")
    assert 'fuse("Y.k", "Y.r"' in s.script(), s.script()
    s.certificate()
    rng = np.random.default_rng(0)
    x, f = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 20, 16), (20, 12, 4)))
    found = tx.schedule(tx.op(ROWS), **sizes).auto().compile()(x, f)
    np.testing.assert_allclose(found, np.einsum("nch,ckr->nkrh", x, f), rtol=1e-5, atol=1e-5)
