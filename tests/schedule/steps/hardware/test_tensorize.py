"""Instructions: nests that are one and nests that are none, what they compute, and the
instruction in the assembly.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
import texpr.targets.all_instructions  # noqa: F401  fills the table
from tests.properties.schedule.drawing import Scheduled, check
from texpr.ir.dtypes import DTYPES, numpy_dtype
from texpr.ir.instructions import INSTRUCTIONS, meaning
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import equal
from texpr.lang import parse_kernel
from texpr.runtime.process import qemu
from texpr.targets import find_target

BYTES = (
    "op bytes(A: {0}[M, K], B: {1}[K, N]) -> C: i32[M, N] {{ C[i, j] = sum(k: i32(A[i, k]) * i32(B[k, j])) }}"
)
OPS = {
    "vpdpbusd": (BYTES.format("u8", "i8"), 16, 4),
    "vpdpwssd": (BYTES.format("i16", "i16"), 16, 2),
    "sdot": (BYTES.format("i8", "i8"), 4, 4),
    "udot": (BYTES.format("u8", "u8"), 4, 4),
}


def scheduled(name: str, **sizes: int) -> tx.Schedule:
    """A product of small integers, the right operand in panels, its inner loops run by the
    instruction.
    """
    text, lanes, terms = OPS[name]
    s = tx.schedule(tx.op(text), **sizes).split("j", lanes, tail="exact").split("k", terms, tail="exact")
    s.reorder("jo", "i", "ko", "ji", "ki").cache_read("B", "jo").layout(
        "B_cache", f"k j -> k/{terms} j k%{terms}"
    )
    return s.tensorize("ji", name)


def arrays(s: tx.Schedule, m: int, k: int, n: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    types = [np.dtype(f"{'uint' if t.dtype.kind == 'u' else 'int'}{t.dtype.bits}") for t in s.program.inputs]
    return [
        generator.integers(np.iinfo(t).min, np.iinfo(t).max, shape, dtype=t, endpoint=True)
        for t, shape in zip(types, ((m, k), (k, n)))
    ]


@pytest.mark.parametrize("name", OPS)
def test_the_meaning_is_what_runs(name):
    s = scheduled(name, M=3, K=16, N=32)
    assert f"instruction.{name}" in str(s)
    assert equal(parse_kernel(show_kernel(s.kernel)), s.kernel)
    check(
        Scheduled(s.program, dict(zip(s.program.sizes, (3, 16, 32))), s.kernel, s.steps),
        s.kernel,
        arrays(s, 3, 16, 32),
    )


@pytest.mark.parametrize("name", OPS)
def test_native_code_agrees(name):
    if name not in find_target("native").machine.instructions:
        pytest.skip("this machine lacks it")
    s = scheduled(name, M=5, K=64, N=48)
    a, b = arrays(s, 5, 64, 48)
    wrapped = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    kernel = s.compile()
    assert (kernel(a, b) == wrapped).all()
    assert re.search(rf"\b{name}\b", kernel.asm)


@pytest.mark.parametrize("name", ["sdot", "udot"])
def test_the_instruction_is_in_the_assembly(name):
    assert re.search(rf"\b{name}\b", scheduled(name, M=4, K=64, N=16).compile("aarch64+dotprod").asm)


@pytest.mark.qemu
@pytest.mark.skipif(bool(qemu.missing_tool()), reason=f"{qemu.missing_tool()} is not installed")
@pytest.mark.parametrize("name", ["sdot", "udot"])
def test_the_default_schedule_of_arm_processors(name):
    s = tx.schedule(tx.op(OPS[name][0]), M=13, K=71, N=35).auto("aarch64+dotprod")
    assert f'"{name}"' in s.script() and "A_cache_cache" in str(s), "registers hold groups of a row"
    a, b = arrays(s, 13, 71, 35)
    expected = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    np.testing.assert_array_equal(s.compile("aarch64+dotprod").emulate(a, b), expected)


def test_a_picture(golden):
    s = scheduled("vpdpbusd", M=4, K=64, N=32)
    golden(
        f"{s.script()}\n{show_kernel(s.kernel)}\n"
        + "\n".join(INSTRUCTIONS[n].text for n in sorted(INSTRUCTIONS))
    )


NUMBERS = {name for name, t in DTYPES.items() if t.is_int or name in ("f16", "f32", "f64")}
SQUARES = [
    name for name in INSTRUCTIONS if name.startswith("transpose") and name.rpartition("_")[2] in NUMBERS
]
"""Those of numbers that NumPy adds as well; others are in `test_turned.py`."""


def turned(name: str, **sizes: int) -> tx.Schedule:
    """A transposition plus something, squares of it run by the instruction."""
    lanes, _, dtype = name.removeprefix("transpose").partition("_")
    op = tx.op(f"op turn(X: {dtype}[N, M], b: {dtype}[N]) -> Y: {dtype}[M, N] {{ Y[j, i] = X[i, j] + b[i] }}")
    s = (
        tx.schedule(op, **sizes)
        .tile("j", "i", sizes=(int(lanes), int(lanes)), tail="peel")
        .cache_read("X", "io")
    )
    s.layout("X_cache", "i j -> j i").reorder("X_cache.d1", "X_cache.d0").tensorize("X_cache.d1", name)
    return s.unroll("ji").vectorize("ii")


@pytest.mark.parametrize("name", SQUARES)
def test_squares_are_transposed(name):
    s = turned(name, N=37, M=51)
    assert equal(parse_kernel(show_kernel(s.kernel)), s.kernel)
    dtype = numpy_dtype(DTYPES[name.rpartition("_")[2]])
    generator = np.random.default_rng(0)
    given = [generator.integers(-9, 9, shape).astype(dtype) for shape in ((37, 51), (37,))]
    check(Scheduled(s.program, dict(zip(s.program.sizes, (37, 51))), s.kernel, s.steps), s.kernel, given)
    if name in find_target("native").machine.instructions:
        assert s.certificate() and (s.compile()(*given) == given[0].T + given[1]).all()


@pytest.mark.parametrize("certify", [True, "warn", False])
@pytest.mark.parametrize(
    ("step", "why"),
    [
        (("layout", "X_cache", "j i -> i j"), "its B moves by 1 with `j`, X_cache by 8"),
        (("split", "X_cache.d0", 2), "its loop `j` has 8 iterations, `d0o` has 4 iterations"),
        (("reorder", "X_cache.d0", "X_cache.d1"), "its loop `j` has 8 iterations, the nest has a statement"),
    ],
)
def test_steps_after_which_a_nest_is_no_instance(step: tuple, why: str, certify: bool | str):
    """Code of an instruction is made for its instances alone, whether the kernel is certified or not."""
    s = turned("transpose8_f32", N=16, M=16)
    name, *given = step
    getattr(s, name)(*given)
    with tx.options(certify=certify), pytest.raises(tx.CertificateError) as error:
        s.compile()(np.ones((16, 16), "f4"), np.ones(16, "f4"))
    assert error.value.message == f"the loop `d1` is no instance of `transpose8_f32`: {why}"
    assert error.value.span is not None and "then tensorize" in str(error.value.help)


@pytest.mark.parametrize("certify", [True, False])
def test_a_vectorized_loop_around_an_instruction(certify: bool):
    s = scheduled("vpdpbusd", M=3, K=16, N=32).vectorize("ko")
    with tx.options(certify=certify), pytest.raises(tx.CertificateError, match="`ko` around it is vector"):
        s.compile()(*arrays(s, 3, 16, 32))


def test_loops_of_an_instruction_are_not_written_out():
    """Marked before it takes the nest or after that."""
    given = np.arange(256, dtype="f4").reshape(16, 16), np.ones(16, "f4")
    s = turned("transpose8_f32", N=16, M=16).unroll("X_cache.d0")
    assert s.certificate() and (s.compile()(*given) == given[0].T + given[1]).all()


@pytest.mark.parametrize(
    "target, name, register",
    [
        ("x86-64-v4", "transpose16_f32", "zmm"),
        ("x86-64-v4", "transpose8_f64", "zmm"),
        ("x86-64-v3", "transpose4_f64", "ymm"),
    ],
)
def test_a_square_stays_in_registers(target, name, register):
    """Each element is loaded and stored once: as many loads of rows as stores, nothing on the
    stack.
    """
    lanes = int(name[len("transpose") :].partition("_")[0])
    asm = turned(name, N=10 * lanes, M=10 * lanes).compile(target).asm
    assert not re.search(rf"%{register}\d+, -?\d*\(%rsp|-?\d*\(%rsp\).*%{register}", asm)
    assert len(re.findall(rf"vmovup[sd]\s+%{register}\d+, ", asm)) == lanes
    assert not re.search(r"vgather", asm)


def test_a_transposition_within_a_tensor_is_refused(golden):
    """Rows that are read after others were written would be read before."""
    s = tx.schedule(
        tx.op("""op f(X: f32[16, 16]) -> Y: f32[32, 16] {
      Y[i, j] = X[i, j] for i in 0..16
      Y[i + 16, j] = Y[j, i] for i in 0..16
    }""")
    )
    with pytest.raises(tx.ScheduleError) as error:
        s.tensorize("Y.1.i", "transpose16_f32")
    golden(str(error.value))


REFUSED = {
    "sums of floats": (
        "op f(A: f32[M, 8], B: f32[8, 16]) -> C: f32[M, 16] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
        "",
        's.split("k", 4).reorder("i", "ko", "j", "ki").tensorize("j", "vpdpbusd")',
    ),
    "another number of lanes": (
        "",
        "M=4, K=8, N=8",
        's.split("k", 4).reorder("i", "ko", "j", "ki").tensorize("j", "vpdpbusd")',
    ),
    "rows apart": (
        "",
        "M=4, K=8, N=16",
        's.split("k", 4).reorder("i", "ko", "j", "ki").tensorize("j", "vpdpbusd")',
    ),
    "a condition": (
        "",
        "M=4, K=8, N=20",
        's.split("j", 16).split("k", 4).reorder("i", "jo", "ko", "ji", "ki").tensorize("ji", "vpdpbusd")',
    ),
    "a condition inside": (
        "",
        "M=4, K=6, N=16",
        's.split("k", 4).reorder("i", "ko", "j", "ki").tensorize("j", "vpdpbusd")',
    ),
    "other loops": ("", "M=4, K=4, N=16", 's.tensorize("j", "vpdpbusd")'),
    "no such instruction": ("", "", 's.tensorize("j", "vpdpbusds")'),
    "no name": ("", "", 's.tensorize("j", [1])'),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, golden):
    text, sizes, steps = REFUSED[name]
    s = tx.schedule(tx.op(text or OPS["vpdpbusd"][0]), **eval(f"dict({sizes})"))
    with pytest.raises(tx.ScheduleError) as error:
        eval(steps, {"s": s})
    golden(str(error.value))


def test_a_target_without_it(golden):
    with pytest.raises(tx.CompileError) as error:
        _ = scheduled("vpdpbusd", M=4, K=64, N=32).compile("x86-64-v3").asm
    golden(str(error.value))


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_an_instruction_is_an_instance_of_itself(name):
    k = meaning(name)
    assert show_kernel(k).splitlines()[1:] == parse_and_show(INSTRUCTIONS[name].text)


def parse_and_show(text: str) -> list[str]:
    return show_kernel(parse_kernel(text)).splitlines()[1:]
