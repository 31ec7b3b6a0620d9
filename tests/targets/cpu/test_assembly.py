"""What default schedules become: products that fill the inner loops on ARM, and registers for
all that inner loops use.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from bench.inner.assembly import inner_loops, kept, on_stack, products
from bench.inner.cases import cases, of_bench, operators
from texpr.ir.interpreter.tensor import interpret
from texpr.runtime.process import qemu

needs_qemu = pytest.mark.skipif(bool(qemu.missing_tool()), reason=f"{qemu.missing_tool()} is not installed")
SQUARE = {"M": 512, "N": 512, "K": 512}
IMAGE = {"N": 1, "C": 32, "H": 28, "W": 28, "R": 3, "Q": 3}
ROWS = {"N": 256, "D": 1024}
SMALL = tuple(
    dict(zip("MNK", sizes)) for sizes in ((77, 150, 301), (50, 70, 30), (65, 33, 17), (10, 100, 24))
)
MASKED = ("depthwise_last", "blur", "add")
"""Where lanes are left out, which takes masks on machines that have them."""
CROWDED = (
    "gemm",
    "gemm_int8",
    "conv",
    "conv_last",
    "depthwise",
    "softmax",
    "bias_relu",
    "attention",
    "attention_causal",
)
"""Of the others, those with many values at a time."""
BENCH: tuple[tuple[str, str, dict[str, int], dict[str, int]], ...] = (
    ("gemm", "f32", {}, SQUARE),
    ("gemm", "f64", {}, SQUARE),
    ("gemm", "f32", {}, {"M": 1, "N": 512, "K": 512}),
    ("gemm", "f32", {}, {"M": 512, "N": 1, "K": 512}),
    ("gemm_batched", "", {}, {"L": 8, "M": 64, "N": 64, "K": 64}),
    ("gemm_bf16", "", {}, SQUARE),
    ("gemm_int8", "", {}, SQUARE),
    ("conv", "", {"S": 1, "P": 1}, IMAGE | {"K": 64}),
    ("conv", "", {"S": 2, "P": 1}, IMAGE | {"K": 64}),
    ("conv_last", "", {"S": 1, "P": 1}, IMAGE | {"K": 64}),
    ("depthwise", "", {"S": 1, "P": 1}, IMAGE),
    ("depthwise_last", "", {"S": 1, "P": 1}, IMAGE),
    *(("gemm", "f32", {}, sizes) for sizes in SMALL),
    *(
        (kind, "", {}, ROWS)
        for kind in (
            "softmax",
            "layernorm",
            "gelu",
            "gelu_tanh",
            "bias_relu",
            "transpose",
            "total",
            "row_sums",
            "column_sums",
            "blur",
        )
    ),
    *((kind, "", {}, {"B": 2, "L": 128, "D": 64}) for kind in ("attention", "attention_causal")),
    ("add", "", {}, {"N": 1000}),
)

ARM = ("aarch64", "aarch64+sve", "a64fx", "armv7")
ROWS_OF_BENCH = re.compile(
    r"gemm: (2048|32x1024|3136x64)|gemv: 4096x1,|(7x7/2|3x3 128-128, 28|3x3 256-256, 14|1x1 1024-256).*batch "
    r"8|"
    "depthwise|gelu 4096|blur|attention"
)
"""Those with many values or addresses at a time. `python -m bench.inner` asks for all."""


def test_a_product_is_products():
    """96 products, 10 pairs of loads, 4 instructions of the loop."""
    main = max(inner_loops(of_bench("gemm", "aarch64", "f32", **SQUARE)), key=products)
    assert products(main) == 96 and products(main) / len(main) >= 0.85, main
    assert all(".s[" in n for n in main if n.startswith("fmla")), (
        "each product takes one element of a register"
    )


@pytest.mark.parametrize("target, least", (("aarch64+sve", 0.78), ("a64fx", 0.8)))
def test_so_it_is_in_registers_of_any_length(target: str, least: float):
    """192 products, each with one element of a quad; 16 registers of the panel, 24 quads. LLVM
    adds prefetches for a64fx.
    """
    loop = max(inner_loops(of_bench("gemm", target, "f32", **SQUARE)), key=products)
    main = [n for n in loop if not n.startswith("prfm")]
    assert products(main) == 192 and products(main) / len(main) >= least and not on_stack(main), main
    assert all(re.search(r"z\d+\.s, z[0-7]\.s\[[0-3]]$", n) for n in main if n.startswith("fmla")), main
    assert (
        sum(n.startswith("ld1rqw") for n in main) == 24 and sum(n.startswith("ld1w") for n in main) == 16
    ), main


def test_sixteen_registers_hold_a_smaller_tile():
    """Of 32 instructions 16 are products; the loop counts in 64 bits."""
    main = max(inner_loops(of_bench("gemm", "armv7", "f32", **SQUARE)), key=products)
    assert products(main) / len(main) >= 0.5 and not on_stack(main), main


@pytest.mark.parametrize("expression", ("A[k, i] * B[k, j]", "A[i, k] * B[j, k]"))
def test_so_are_products_of_transposed_matrices(expression: str):
    op = tx.op(f"op product(A: f32[N, N], B: f32[N, N]) -> C: f32[N, N] {{ C[i, j] = sum(k: {expression}) }}")
    main = max(inner_loops(tx.schedule(op, N=256).auto("aarch64").compile("aarch64").asm), key=products)
    assert products(main) / len(main) >= 0.85, main


def test_so_are_products_of_groups_of_terms():
    """A register holds four groups of a row; `sdot` takes one of them."""
    main = max(inner_loops(of_bench("gemm_int8", "aarch64+dotprod", **SQUARE)), key=products)
    assert products(main) == 64 and products(main) / len(main) >= 0.8 and not on_stack(main), main
    assert all(re.search(r"\.4b\[\d]$", n) for n in main if n.startswith("sdot")), main


@pytest.mark.parametrize(
    "kind, target, instruction",
    (("gemm_int8", "aarch64+i8mm", "smmla"), ("gemm_bf16", "aarch64+bf16", "bfmmla")),
)
def test_so_are_products_in_squares(kind: str, target: str, instruction: str):
    """Two groups of terms an iteration: 48 instructions, each for 2 x 2 sums, 10 pairs of loads;
    sums stay in 24 registers.
    """
    loops = inner_loops(of_bench(kind, target, **SQUARE))
    main = max(loops, key=products)
    assert (
        sum(n.startswith(instruction) for n in main) == products(main) == 48
        and products(main) / len(main) >= 0.75
    ), main
    assert not any(map(on_stack, loops)) and not any(n.startswith("st") for n in main), main


@pytest.mark.qemu
@needs_qemu
@pytest.mark.parametrize(
    "target, factor, total, stored",
    (
        ("aarch64+i8mm", "i8", "i32", "i1"),
        ("aarch64+i8mm", "u8", "i32", "u1"),
        ("aarch64+bf16", "bf16", "f32", ""),
    ),
)
def test_squares_with_something_left_over(target: str, factor: str, total: str, stored: str):
    """Small whole numbers, whose sums are exact in any order."""
    op = tx.op(
        f"op product(A: {factor}[M, K], B: {factor}[K, N]) -> C: {total}[M, N] {{\n"
        f"  C[i, j] = sum(k: {total}(A[i, k]) * {total}(B[k, j])) }}"
    )
    generator = np.random.default_rng(0)
    a, b = (generator.integers(0, 100, shape).astype("f4") for shape in ((33, 29), (29, 40)))
    given = [x.astype(stored) if stored else (x.view("u4") >> 16).astype("u2") for x in (a, b)]
    kernel = tx.schedule(op, M=33, K=29, N=40).auto(target).compile(target)
    assert "mmla" in kernel.asm
    np.testing.assert_array_equal(kernel.emulate(*given), interpret(op.program(), given)[0])


def test_few_rows_are_not_filled_up_to_squares():
    assert "mmla" not in of_bench("gemm_int8", "aarch64+i8mm", M=9, N=9, K=64)


@pytest.mark.parametrize(
    "target, row",
    [
        (t, row)
        for t in ("aarch64", "a64fx", "armv7", "aarch64+sve")
        for row in BENCH
        if t == "aarch64" or row[0] in MASKED or row[0] in CROWDED
    ],
)
def test_inner_loops_keep_off_the_stack(target: str, row: tuple[str, str, dict[str, int], dict[str, int]]):
    kind, dtype, constants, sizes = row
    with tx.options(certify=False):
        loops = inner_loops(of_bench(kind, target, dtype, constants, **sizes))
    assert loops and not [on_stack(loop) for loop in loops if on_stack(loop)]


@pytest.mark.parametrize("target", ("x86-64-v3", "x86-64-v4", "aarch64"))
@pytest.mark.parametrize(
    "name", [case.name for case in cases() if case.name.startswith("depthwise") and "nhwc" not in case.name]
)
def test_windows_of_channels_stay_in_registers(name: str, target: str):
    loops = inner_loops(next(case for case in cases() if case.name == name).assembly(target))
    assert loops and not [kept(loop) for loop in loops if kept(loop)]


@pytest.mark.parametrize("target", ("x86-64-v3", "x86-64-v4"))
@pytest.mark.parametrize("row", BENCH)
def test_so_do_others_on_x86(target: str, row: tuple[str, str, dict[str, int], dict[str, int]]):
    """Tensors that lie on the stack are read and written there, but no value is put there for
    want of a register.
    """
    kind, dtype, constants, sizes = row
    with tx.options(certify=False):
        loops = inner_loops(of_bench(kind, target, dtype, constants, **sizes))
    assert loops and not [kept(loop) for loop in loops if kept(loop)]


@pytest.mark.parametrize("target", ("x86-64-v3", "x86-64-v4"))
@pytest.mark.parametrize(
    "name", [case.name for case in cases() if "batch 8" not in case.name and not case.name.startswith("call")]
)
def test_so_does_the_bench_on_x86(name: str, target: str):
    loops = inner_loops(next(case for case in cases() if case.name == name).assembly(target))
    assert loops and not [kept(loop) for loop in loops if kept(loop)]


SPILLED = re.compile(r"depthwise: 3x3/2 .*nhwc")
"""Rows of the bench that keep an address on the stack on a64fx (`docs/developer/next.md`)."""


@pytest.mark.parametrize("target", ARM)
@pytest.mark.parametrize("name", [case.name for case in cases() if ROWS_OF_BENCH.search(case.name)])
def test_no_inner_loop_of_the_bench_waits_for_the_stack_on_arm(name: str, target: str):
    if target == "a64fx" and SPILLED.search(name):
        pytest.skip("an address is kept on the stack")
    loops = inner_loops(next(case for case in cases() if case.name == name).assembly(target))
    assert not [kept(loop) for loop in loops if kept(loop)]


@pytest.mark.parametrize("target, least", (("aarch64+sve", 24), ("a64fx", 24)))
def test_rows_that_are_read_in_place_are_not_filled_up(target: str, least: int):
    """3136 rows in tiles of 12 leave 4 over: no term asks whether its row is there."""
    main = max(inner_loops(of_bench("gemm", target, "f32", M=3136, N=64, K=576)), key=products)
    assert products(main) == least and len(main) <= 3 * least and not any(n.startswith("tb") for n in main), (
        main
    )


def test_loops_over_triangles_count_in_one_register():
    """`adc` adds the upper half of a counter of 64 bits."""
    assembly = of_bench("attention_causal", "armv7", B=2, L=128, D=64)
    assert not [n for loop in inner_loops(assembly) for n in loop if n.startswith(("adc", "sbc"))]


def test_the_stack_is_seen():
    loop = ".L1:\n\tldr\tq0, [sp, #16]\n\tfmla\tv1.4s, v0.4s, v2.s[1]\n\tb.ne\t.L1\n"
    assert [(len(n), products(n), on_stack(n)) for n in inner_loops(loop)] == [(3, 1, ["ldr\tq0, [sp, #16]"])]
    assert not inner_loops(loop.replace("fmla\tv1.4s, v0.4s, v2.s[1]", "bl\tworker"))


@pytest.mark.parametrize(
    "first, instruction, fixed",
    (
        ("", "vmovups\t%ymm1, -40(%rsp)", True),
        ("", "vaddps\t64(%rsp,%rbx), %zmm0, %zmm0", False),
        ("", "leaq\t64(%rsp), %rax", False),
        ("movq\t%rsp, %rbp", "movq\t-48(%rbp), %rax", True),
        ("", "movq\t-48(%rbp), %rax", False),
        ("", "ldr\tq0, [sp, x9]", False),
        ("", "add\tr2, sp, #136\n\tvldmia\tr2, {d16, d17}", True),
        ("", "add\tr2, sp, #136\n\tvld1.64\t{d16, d17}, [r2:128]", True),
        ("", "add\tx8, sp, #80\n\tldr\tz11, [x8, #1, mul vl]", True),
        ("", "add\tx8, sp, #80\n\tldr\tz11, [x8, x9]", False),
        ("", "add\tr2, sp, #136\n\tmov\tr2, r3\n\tvldmia\tr2, {d16, d17}", False),
        ("mov\tx29, sp", "str\tq0, [x29, #-16]", True),
        ("", "ldr\tz1, [sp, #3, mul vl]", True),
        ("add\tx29, sp, #16", "ldr\tx0, [x29]", True),
        ("add\tx29, sp, #16\n\tsubs\tx29, x29, #1", "ldr\tx0, [x29]", False),
    ),
)
def test_what_stays_on_the_stack_is_told_from_tensors_there(first: str, instruction: str, fixed: bool):
    (loop,) = inner_loops(
        f"kernel:\n\t{first or 'nop'}\n.L1:\n\t{instruction}\n\tjne\t.L1\n\tret\nother:\n\tmovq\t%rsp, "
        f"%rbp\n\tret\n"
    )
    assert bool(kept(loop)) == fixed, loop


def test_loops_have_branches_and_parts_that_stand_elsewhere():
    """The outer loop of two; the inner one leaves out an instruction, and what it seldom runs
    stands behind the end of the function.
    """
    text = """f:
.L1:
\tmov\tx1, x0
.L2:
\tcbz\tx1, .L3
\tfadd\ts0, s0, s1
.L3:
\ttbnz\tx1, #0, .L5
.L4:
\tsubs\tx1, x1, #1
\tb.ne\t.L2
\tsubs\tx0, x0, #1
\tb.ne\t.L1
\tret
.L5:
\tstr\ts0, [sp]
\tb\t.L4
"""
    (inner,) = inner_loops(text)
    assert [n.split()[0] for n in inner] == ["cbz", "fadd", "tbnz", "subs", "b.ne", "str", "b"] and on_stack(
        inner
    ) == ["str\ts0, [sp]"]


@pytest.mark.qemu
@needs_qemu
@pytest.mark.parametrize("target, dtype", (("aarch64", "f32"), ("aarch64", "f64"), ("armv7", "f32")))
@pytest.mark.parametrize("first", ("A: {t}[M, K]", "A: {t}[K, M]"))
def test_tiles_with_something_left_over(first: str, target: str, dtype: str):
    if qemu.missing_tool(target):
        pytest.skip(f"{qemu.missing_tool(target)} is not installed")
    read = "A[i, k]" if "[M" in first else "A[k, i]"
    op = tx.op(
        f"op product({first.format(t=dtype)}, B: {dtype}[K, N]) -> C: {dtype}[M, N] {{ C[i, j] = sum(k: "
        f"{read} * B[k, j]) }}"
    )
    generator = np.random.default_rng(0)
    a, b = (generator.random(shape).astype(dtype.replace("f", "float")) for shape in ((77, 301), (301, 150)))
    schedule = tx.schedule(op, M=77, K=301, N=150).auto(target)
    assert "A_cache_cache" in str(schedule), "rows are loaded as registers"
    found = schedule.compile(target).emulate(a if "[M" in first else np.ascontiguousarray(a.T), b)
    np.testing.assert_allclose(found, a @ b, rtol=1e-5 if dtype == "f32" else 1e-13)


@pytest.mark.qemu
@pytest.mark.parametrize("stride", (1, 2))
@pytest.mark.parametrize("target", ARM)
def test_windows_of_channels_are_what_they_should_be(target: str, stride: int):
    """Rows and columns at all edges; registers of any length have masks for them."""
    processor = "armv7" if target == "armv7" else "aarch64"
    if qemu.missing_tool(processor):
        pytest.skip(f"{qemu.missing_tool(processor)} is not installed")
    generator = np.random.default_rng(0)
    program = operators().depthwise.program(None, {"S": stride, "P": 1})
    given = [generator.random(shape).astype(np.float32) for shape in ((1, 3, 37, 39), (3, 3, 3))]
    sizes = {d: n for t, a in zip(program.inputs, given) for d, n in zip(t.shape, a.shape)}
    schedule = tx.Schedule(program, {v: sizes[v] for v in program.sizes}).auto(target)
    assert ("vectorize_scalable" in schedule.script()) == (target in ("aarch64+sve", "a64fx"))
    np.testing.assert_allclose(
        schedule.compile(target).emulate(*given), interpret(program, given)[0], rtol=1e-4
    )


@pytest.mark.qemu
@pytest.mark.parametrize("target", ("aarch64", "armv7"))
def test_sums_over_triangles_are_what_they_should_be(target: str):
    """Conditions between loops are asked in 32 bits, without what both sides have."""
    if qemu.missing_tool(target):
        pytest.skip(f"{qemu.missing_tool(target)} is not installed")
    generator = np.random.default_rng(0)
    program = operators().attention_causal.program()
    given = [generator.random((2, 53, 16)).astype(np.float32) for _ in range(3)]
    schedule = tx.Schedule(program, {v: {"B": 2, "L": 53, "D": 16}[v.name] for v in program.sizes}).auto(
        target
    )
    np.testing.assert_allclose(
        schedule.compile(target).emulate(*given), interpret(program, given)[0], rtol=1e-4
    )
