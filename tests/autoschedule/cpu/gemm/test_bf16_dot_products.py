"""Products of bf16 by instructions that add pairs of them: how far they are from the sums that
the program means, and who chooses them.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr.autoschedule.driver import auto
from texpr.compiler.pass_pipeline import certificate
from texpr.ir.dtypes import BF16, rounded
from texpr.ir.instructions import INSTRUCTIONS
from texpr.ir.loop import Store
from texpr.ir.traverse import rewrite
from texpr.runtime.process import qemu
from texpr.targets import find_target, symbol_of

TEXT = "op product(A: bf16[M, K], B: bf16[K, N]) -> C: {0}[M, N] {{ C[i, j] = sum(k: A[i, k] * B[k, j]) }}"
ROUNDED, SUMS = tx.op(TEXT.format("bf16")), tx.op(TEXT.format("f32"))
HOST = find_target("native").machine
NATIVE = replace(
    HOST,
    tile_registers=0,
    instructions=frozenset(n for n in HOST.instructions if INSTRUCTIONS[n].tiles is None),
)
"""Without tiles, which are before other instructions."""
TINY = 2.0**-126
LANES = {"vdpbf16ps": 16, "bfdot": 4}
SHAPES = [(64, 160, 64), (41, 100, 131), (5, 16, 3), (96, 49, 97), (7, 48, 1030), (130, 47, 7)]
has_pairs = pytest.mark.skipif("vdpbf16ps" not in NATIVE.instructions, reason="this machine lacks vdpbf16ps")


def by_hand(op: tx.Op, name: str, **sizes: int) -> tx.Schedule:
    """The inner loops run by the instruction, the right operand in panels."""
    label = "C." if op is ROUNDED else ""
    s = (
        tx.schedule(op, **sizes)
        .split(f"{label}j", LANES[name], tail="exact")
        .split(f"{label}k", 2, tail="exact")
    )
    s.reorder(*(label + n for n in ("jo", "i", "ko", "ji", "ki"))).cache_read("B", f"{label}jo").layout(
        "B_cache", "k j -> k/2 j k%2"
    )
    return s.tensorize(f"{label}ji", name, reassoc=True)


def chosen(op: tx.Op, *, outrun: frozenset[str] = frozenset(), **sizes: int) -> tx.Schedule:
    """What the default schedule is where the instruction is the fastest, or is not."""
    s = tx.schedule(op, **sizes)
    for step in auto(s.naive, replace(NATIVE, unprofitable_instructions=outrun))[0]:
        s.apply(step)
    return s


def as_bits(values: np.ndarray) -> np.ndarray:
    return (np.asarray(rounded(values, BF16), "f4").view("u4") >> 16).astype("u2")


def numbers(bits: np.ndarray) -> np.ndarray:
    return (np.asarray(bits).view("u2").astype("u4") << 16).view("f4").astype("f8")


def operands(m: int, n: int, k: int, spread: int) -> list[np.ndarray]:
    """Random numbers of both signs whose exponents differ by up to `spread`, both ways."""
    random = np.random.default_rng(m + n + k)
    return [
        as_bits(np.ldexp(random.uniform(-1, 1, shape), random.integers(-spread, spread + 1, shape)))
        for shape in ((m, k), (k, n))
    ]


def assert_close(sums: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """The bound that `docs/guide/rounding.md` states."""
    a, b = (np.where(abs(numbers(x)) < TINY, 0, numbers(x)) for x in (a, b))
    k = a.shape[1]
    bound = k * (2.0**-23 * (abs(a) @ abs(b)) + 2 * TINY)
    assert (abs(np.asarray(sums, "f8") - a @ b) <= bound).all()


@has_pairs
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_are_within_their_bound(shape):
    m, n, k = shape
    s = chosen(SUMS, M=m, N=n, K=k)
    assert '"vdpbf16ps", reassoc=True' in s.script()
    kernel = s.compile()
    for threads, spread in ((1, 0), (2, 12), (2, 62)):
        a, b = operands(m, n, k, spread)
        with tx.options(threads=threads, certify=True):
            assert_close(np.asarray(kernel(a, b)), a, b)
        assert_close(np.asarray(tx.interpret(SUMS, a, b)), a, b)


@has_pairs
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_are_rounded_once(shape):
    """Sums that every order gives exactly are the interpreter's, and so is what they round to."""
    m, n, k = shape
    random = np.random.default_rng(0)
    a, b = (as_bits(random.integers(-9, 10, s)) for s in ((m, k), (k, n)))
    found = chosen(ROUNDED, M=m, N=n, K=k).compile()(a, b)
    np.testing.assert_array_equal(
        np.asarray(found).view("u2"), np.asarray(tx.interpret(ROUNDED, a, b)).view("u2")
    )


SPECIAL = {
    "inf": ([np.inf, 1], [2, 3], np.inf),
    "inf times zero": ([np.inf, 1], [0, 3], np.nan),
    "inf minus inf": ([np.inf, -np.inf], [1, 1], np.nan),
    "nan": ([1, np.nan], [1, 1], np.nan),
    "nan after inf": ([np.inf, 1, np.nan, 1], [1, 1, 1, 1], np.nan),
    "overflow": ([2.0**100, 1], [2.0**100, 1], np.inf),
    "zeros": ([-0.0, -0.0], [1, 1], 0.0),
    "a denormal operand": ([2.0**-130, 1], [2.0**100, 0], 0.0),
    "a denormal operand beside": ([2.0**-130, 1], [2.0**127, 3], 3.0),
    "a denormal number times inf": ([2.0**-130, 1], [np.inf, 1], np.nan),
    "a denormal product": ([2.0**-70, 0], [2.0**-70, 0], 0.0),
    "a denormal product beside": ([2.0**-70, 1], [2.0**-70, 1], 1.0),
    "the least normal number": ([2.0**-63, 0], [2.0**-63, 0], TINY),
}
EXACT = {
    **dict.fromkeys(SPECIAL),
    "a denormal operand": 2.0**-30,
    "a denormal operand beside": 3.125,
    "a denormal number times inf": np.inf,
    "a denormal product": 2.0**-140,
}
"""What other code gives, where that is another value."""


@has_pairs
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name):
    row, column, expected = SPECIAL[name]
    a, b = np.tile(as_bits(np.array(row)), (4, 1)), np.tile(as_bits(np.array(column))[:, None], (1, 16))
    m, k, n = 4, len(row), 16
    np.testing.assert_array_equal(
        by_hand(SUMS, "vdpbf16ps", M=m, K=k, N=n).compile()(a, b), np.float32(expected)
    )
    other = expected if EXACT[name] is None else EXACT[name]
    np.testing.assert_array_equal(
        chosen(SUMS, outrun=NATIVE.instructions, M=m, K=k, N=n).compile()(a, b), np.float32(other)
    )


@has_pairs
def test_the_instruction_is_in_the_assembly():
    inner = by_hand(ROUNDED, "vdpbf16ps", M=5, K=64, N=48).compile().asm
    assert re.search(r"\bvdpbf16ps\b.*zmm", inner)
    asm = chosen(ROUNDED, M=512, N=512, K=512).compile().asm
    loops = re.findall(r"^(\.L\w+):((?:(?!^\.L\w+:).)*?\bj\w+\s+\1\b)", asm, re.M | re.S)
    longest = max((body for _, body in loops), key=lambda body: body.count("vdpbf16ps"))
    assert longest.count("vdpbf16ps") >= 20
    assert not re.search(r"vmovup[sd]\s+%zmm\d+, ", longest), "sums go to memory"


def test_machines_on_which_it_is_slower_do_not_choose_it():
    """Their schedules keep the order of the sums and denormal numbers, and are those of a
    machine without it.
    """
    plain = chosen(ROUNDED, outrun=frozenset({"vdpbf16ps"}), M=256, N=256, K=256)
    assert "tensorize" not in plain.script()
    assert plain.certificate().flushed == ()
    assert ("tensorize" in tx.schedule(ROUNDED, M=256, N=256, K=256).auto().script()) == bool(
        {"vdpbf16ps", "bfdot", "tdpbf16ps"} & (HOST.instructions - HOST.unprofitable_instructions)
    )


def test_certificates_say_what_becomes_of_denormal_numbers():
    s = by_hand(ROUNDED, "vdpbf16ps", M=8, K=64, N=48)
    found = s.certificate()
    assert found.flushed == ("C",) and not found.bit_exact
    assert found.rounding == "reassociated: C; flushed: denormal numbers are zeros in C"


def test_a_store_must_permit_the_order_of_an_instruction(golden):
    s = by_hand(ROUNDED, "vdpbf16ps", M=8, K=64, N=48)
    kept = rewrite(s.kernel, lambda n: replace(n, reassoc=False) if isinstance(n, Store) else None)
    with pytest.raises(tx.ScheduleError) as error:
        certificate(kept, s.program, s.sizes)
    golden(str(error.value))


def test_it_must_be_permitted(golden):
    s = by_hand(ROUNDED, "vdpbf16ps", M=8, K=64, N=48)
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(ROUNDED, M=8, K=64, N=48).replay(s.script().replace(", reassoc=True", ""))
    golden(str(error.value))


def test_a_target_without_it(golden):
    with pytest.raises(tx.CompileError) as error:
        _ = by_hand(ROUNDED, "vdpbf16ps", M=8, K=64, N=48).compile("x86-64-v4").asm
    golden(str(error.value))


@pytest.mark.parametrize("rows, name", ((64, "bfmmla"), (5, "bfdot")))
def test_the_default_schedule_of_arm_processors_that_have_it(rows: int, name: str):
    s = tx.schedule(ROUNDED, M=rows, N=48, K=64).auto("aarch64+bf16")
    assert f'"{name}", reassoc=True' in s.script()
    assert re.search(rf"\b{name}\b", s.compile("aarch64+bf16").asm)
    assert s.certificate().flushed == ("C",)


@pytest.mark.qemu
@pytest.mark.skipif(bool(qemu.missing_tool()), reason=f"{qemu.missing_tool()} is not installed")
@pytest.mark.parametrize("spread", [0, 62])
@pytest.mark.parametrize("m, name", ((5, "bfdot"), (9, "bfmmla")))
def test_an_arm_processor_is_within_the_bound(spread, m, name):
    n, k = 23, 35
    a, b = operands(m, n, k, spread)
    kernel = tx.schedule(SUMS, M=m, N=n, K=k).auto("aarch64+bf16").compile("aarch64+bf16")
    assert re.search(rf"\b{name}\b", kernel.asm)
    sums = np.zeros((m, n), "f4")
    qemu.run(kernel.artifact.object_code, symbol_of(kernel.name), [a, b], [sums], [])
    assert_close(sums, a, b)


@pytest.mark.qemu
@pytest.mark.skipif(bool(qemu.missing_tool()), reason=f"{qemu.missing_tool()} is not installed")
@pytest.mark.parametrize("squares", [False, True])
def test_squares_are_within_the_bound(squares):
    """Rows that lie apart, or beside each other in squares of registers."""
    m, n, k = 6, 10, 16
    a, b = operands(m, n, k, 0)
    s = (
        tx.schedule(SUMS, M=m, N=n, K=k)
        .split("i", 2, tail="exact")
        .split("j", 2, tail="exact")
        .split("k", 4, tail="exact")
    )
    s.reorder("io", "jo", "ko", "ii", "ji", "ki").cache_read("B", "io").layout(
        "B_cache", "k j -> j/2 k/4 j%2 k%4"
    )
    if squares:
        s.cache_read("A", "io").layout("A_cache", "i k -> i/2 k/4 i%2 k%4").layout(
            "C_acc", "i j -> i/2 j/2 i%2 j%2"
        )
    kernel = s.tensorize("ii", "bfmmla", reassoc=True).compile("aarch64+bf16")
    assert re.search(r"\bbfmmla\b", kernel.asm)
    assert_close(kernel.emulate(a, b), a, b)


def test_squares_add_in_an_order_of_their_own(golden):
    s = tx.schedule(
        tx.op(
            "op f(A: bf16[2, 8], B: bf16[2, 8]) -> C: f32[2, 2] { C[i, j] = sum(k: f32(A[i, k]) * f32(B[j, "
            "k])) }"
        )
    )
    s.split("k", 4, tail="exact").reorder("ko", "i", "j", "ki")
    with pytest.raises(tx.ScheduleError) as error:
        s.tensorize("i", "bfmmla")
    golden(str(error.value))
