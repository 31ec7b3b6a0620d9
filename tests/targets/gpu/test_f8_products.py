"""Products of floats of 8 bits on tensor cores: by warps from sm_89 on, by warpgroups on sm_90a."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.targets.cases import Case, kernel_of, problem, sizes_of
from tests.targets.gpu.sass import count, instructions
from tests.targets.gpu.test_ptx import assemble
from tests.targets.gpu.test_warpgroups import script
from texpr.compiler import pass_pipeline
from texpr.ir.loop import Kernel
from texpr.support.errors import CompileError, ScheduleError
from texpr.targets import Artifact, Launch, compile_kernel, emit_llvm, emulate, find_target

KINDS = ("f8e4m3", "f8e5m2")
PAIRS = pytest.mark.parametrize(("left", "right"), list(product(KINDS, repeat=2)))


def text(left: str = "f8e4m3", right: str = "f8e4m3", value: str = "") -> str:
    total = "sum(k: f32(A[i, k]) * f32(B[j, k]))"
    return (
        f"op product(A: {left}[M, K], B: {right}[N, K]) -> C: f32[M, N] {{ C[i, j] = "
        f"{value.format(total) if value else total} }}"
    )


def case(m: int, n: int, k: int, left: str = "f8e4m3", right: str = "f8e4m3", fixed: bool = True) -> Case:
    return Case("product", text(left, right), ((m, k), (n, k)), fixed=fixed)


@lru_cache(maxsize=2)
def emitted(given: Case, target: str, lines: str | None = None) -> tuple[Kernel, str, tuple[Launch, ...]]:
    """The kernel of a case, its text and its launches: made once for what is asked of them."""
    kernel = kernel_of(given, find_target(target), lines)
    return kernel, *emit_llvm(kernel, find_target(target))


def lowered(given: Case, target: str, lines: str | None = None) -> str:
    return emitted(given, target, lines)[1]


def emulated(
    given: Case, target: str, change: Callable[[str], str] = lambda text: text, lines: str | None = None
) -> np.ndarray:
    found = find_target(target)
    kernel, llvm, launches = emitted(given, target, lines)
    outputs = problem(given).empty()
    artifact = Artifact(found, change(llvm), "", "", b"", launches, kernel.temporaries)
    emulate(artifact, "", problem(given).inputs, outputs, sizes_of(given, kernel))
    return outputs[0]


def products(llvm: str) -> set[str]:
    return set(re.findall(r"llvm\.nvvm\.mma\.m16n8k32\.row\.col\.f32\.\w+\.\w+|m64n\d+k32\.f8\w+", llvm))


@PAIRS
def test_by_warps(left: str, right: str):
    given = case(70, 40, 64, left, right)
    assert products(lowered(given, "sm_89")) == {f"llvm.nvvm.mma.m16n8k32.row.col.f32.{left[2:]}.{right[2:]}"}
    np.testing.assert_allclose(emulated(given, "sm_89"), problem(given).expected[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("given", (case(40, 36, 50, fixed=False), case(33, 40, 21, "f8e5m2")), ids=str)
def test_terms_of_any_number(given: Case):
    assert products(lowered(given, "sm_90"))
    np.testing.assert_allclose(emulated(given, "sm_90"), problem(given).expected[0], rtol=1e-4, atol=1e-4)


@PAIRS
def test_by_warpgroups(left: str, right: str):
    given = case(128, 64, 256, left, right)
    assert products(lowered(given, "sm_90a")) == {f"m64n64k32.{left if left == right else f'{left}_{right}'}"}
    np.testing.assert_allclose(emulated(given, "sm_90a"), problem(given).expected[0], rtol=1e-4, atol=1e-4)


def test_an_operand_with_neighbours_along_columns():
    """No instruction turns bytes: threads multiply."""
    turned = Case(
        "turned",
        text().replace("B: f8e4m3[N, K]", "B: f8e4m3[K, N]").replace("B[j, k]", "B[k, j]"),
        ((64, 128), (128, 64)),
    )
    for target in ("sm_89", "sm_90a"):
        assert not products(lowered(turned, target))
    np.testing.assert_allclose(emulated(turned, "sm_89"), problem(turned).expected[0], rtol=1e-4, atol=1e-4)


def test_all_numbers_are_multiplied_as_the_interpreter_has_them():
    """Every pair of f8e4m3 and f8e5m2, NaN and infinities too: rows of one number and zeros."""
    op = tx.op(text("f8e4m3", "f8e5m2"))
    bits = np.arange(256, dtype=np.uint8)
    a, b = np.zeros((256, 32), np.uint8), np.zeros((256, 32), np.uint8)
    a[:, 5], b[:, 5] = bits, bits
    found = np.asarray(tx.schedule(op, M=256, N=256, K=32).auto("sm_89").compile("sm_89").emulate(a, b))
    np.testing.assert_array_equal(found, tx.interpret(op, a, b))


@pytest.mark.parametrize("target", ("sm_89", "sm_90a"))
def test_certified(target: str):
    given = case(128, 64, 256)
    certificate = tx.Schedule(problem(given).program, problem(given).sizes).auto(target).certificate()
    assert (certificate.flushed, certificate.reduced_precision) == ((), ("C",)) and not certificate.bit_exact
    assert certificate.rounding.startswith(
        "reassociated: C; reduced_precision: sums have about 13 bits of a fraction in C"
    )


def test_older_processors_have_none():
    given = case(40, 36, 64)
    assert not products(lowered(given, "sm_86"))
    np.testing.assert_allclose(emulated(given, "sm_86"), problem(given).expected[0], rtol=1e-4, atol=1e-4)
    lines = tx.Schedule(problem(given).program, problem(given).sizes).auto("sm_89").script()
    with pytest.raises(CompileError, match="this target has no instruction mma_f8e4m3"):
        kernel_of(given, find_target("sm_86"), lines)


def test_permission():
    given = case(128, 64, 256)
    lines = tx.Schedule(problem(given).program, problem(given).sizes).auto("sm_90a").script()
    with pytest.raises(ScheduleError) as error:
        tx.Schedule(problem(given).program, problem(given).sizes).replay(
            lines.replace('_n64", reassoc=True', '_n64"')
        )
    said = str(error.value).splitlines()
    assert (
        said[0]
        == "error[exact]: wgmma_f8e4m3_n64 adds in an order of its own, with fewer bits than sums have"
    )
    assert said[-1].endswith('"wgmma_f8e4m3_n64", reassoc=True) permits it')


def by_hand(unit: int = 16, count: int = 8) -> str:
    """Tiles of 64 rows, 64 columns and 128 terms."""
    lines = script(64, "f8e4m3")
    for old, new in (
        ('split("k", 64', 'split("k", 128'),
        ('split("ki", 16', 'split("ki", 32'),
        ('_cache.d1", 8)', '_cache.d1", 16)'),
        ("8, 8, 64)", f"{unit}, {count}, 128)"),
    ):
        assert old in lines
        lines = lines.replace(old, new)
    return lines


def test_by_hand():
    given = case(64, 64, 256)
    np.testing.assert_allclose(
        emulated(given, "sm_90a", lines=by_hand()), problem(given).expected[0], rtol=1e-4, atol=1e-4
    )


def test_operands_lie_as_descriptors_say():
    with pytest.raises(CompileError) as error:
        lowered(case(64, 64, 256), "sm_90a", by_hand(count=4))
    assert str(error.value) == (
        "error[target]: wgmma reads rows of 128 bytes of shared memory under swizzle(16, 8, 128), and "
        "A_cache does not lie so\n"
        '  help: set_scope("A_cache", "shared"), then swizzle("A_cache", 16, 8, 128)'
    )


def swapped(llvm: str) -> str:
    """Two registers of the left operand exchanged: rows for terms."""
    call = re.compile(r"(@llvm\.nvvm\.mma\.m16n8k32[\w.]+\(i32 %\w+, )(i32 %\w+), (i32 %\w+)")
    return call.sub(r"\1\3, \2", llvm)


WRONG: dict[str, tuple[str, Callable[[str], str]]] = {
    "registers of another order": ("sm_89", swapped),
    "the other format": ("sm_89", lambda llvm: llvm.replace("e4m3.e4m3", "e4m3.e5m2")),
    "no barrier": (
        "sm_89",
        lambda llvm: llvm.replace("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", "", 1),
    ),
    "terms of another tile": (
        "sm_90a",
        lambda llvm: re.sub(
            r"(cp\.async\.bulk\.tensor\.g2s[^\n]*i32 )(%?\w+)(, i32 %?\w+, i16)", r"\1 0\3", llvm
        ),
    ),
}


@pytest.mark.parametrize(("target", "change"), WRONG.values(), ids=WRONG)
def test_a_fault_is_seen(target: str, change: Callable[[str], str]):
    given = case(128, 64, 256)
    assert change(llvm := lowered(given, target)) != llvm
    assert not np.allclose(emulated(given, target, change), problem(given).expected[0], rtol=1e-3)


def test_another_swizzle_is_seen():
    given, change = case(64, 64, 256), lambda llvm: re.sub(r"(= lshr i64 %\w+), 3\b", r"\1, 4", llvm, count=1)
    assert change(llvm := lowered(given, "sm_90a", by_hand())) != llvm
    assert not np.allclose(
        emulated(given, "sm_90a", change, by_hand()), problem(given).expected[0], rtol=1e-3
    )


@cache
def assembly(target: str, left: str, right: str) -> str:
    s = tx.schedule(tx.op(text(left, right)), M=4096, N=4096, K=4096).auto(target)
    found = find_target(target)
    return compile_kernel(pass_pipeline.prepared(s.kernel, found), found).assembly


@pytest.mark.parametrize(
    ("target", "right", "opcode"),
    [
        ("sm_89", "f8e4m3", "QMMA.16832.F32.E4M3.E4M3"),
        ("sm_89", "f8e5m2", "QMMA.16832.F32.E4M3.E5M2"),
        ("sm_90", "f8e4m3", "HMMA.16816.F32"),
        ("sm_90a", "f8e4m3", "QGMMA.64x256x32.F32.E4M3.E4M3"),
        ("sm_90a", "f8e5m2", "QGMMA.64x256x32.F32.E4M3.E5M2"),
    ],
)
def test_processor(target: str, right: str, opcode: str, tmp_path: Path):
    """Nothing spilled. Processors of 9.0 have these products for warpgroups alone: of those by
    warps ptxas makes products of f16.
    """
    made = assembly(target, "f8e4m3", right)
    assert " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in assemble(
        made, target, tmp_path
    )
    code = instructions(made, target, tmp_path)
    assert count(code, opcode) >= 4 and count(code, "LDL") == count(code, "STL") == 0
    if target != "sm_90a":
        assert count(code, "LDSM.16.M88.4") >= 8


def test_scales_are_applied_where_sums_are(tmp_path: Path):
    """What a product becomes is computed by the thread that has it, and stored as floats of 8
    bits.
    """
    scaled = text(value="f8e4m3(0.25 * {})").replace("C: f32", "C: f8e4m3")
    given = Case("scaled", scaled, ((128, 128), (64, 128)))
    assert (
        products(lowered(given, "sm_90a"))
        and len(emit_llvm(kernel_of(given, find_target("sm_90a")), find_target("sm_90a"))[1]) == 1
    )
    for target in ("sm_89", "sm_90a"):
        np.testing.assert_array_equal(emulated(given, target), problem(given).expected[0])
