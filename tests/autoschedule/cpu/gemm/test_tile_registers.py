"""Products by registers that hold tiles: what they add up to, for all sizes and in all threads,
and what cannot be in tiles.
"""

from __future__ import annotations

import os
import re
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from bench.inner.assembly import inner_loops, on_stack, products
from bench.inner.cases import of_bench
from tests.aot.programs import needs_gcc, run
from tests.autoschedule.cpu.gemm.test_bf16_dot_products import (
    EXACT,
    SPECIAL,
    SUMS,
    as_bits,
    assert_close,
    operands,
)
from tests.profiles import examples
from texpr.ir.instructions import INSTRUCTIONS
from texpr.runtime import host
from texpr.runtime.process import qemu
from texpr.targets import find_target
from texpr.targets.cpu import x86

TARGET = "x86-64-v4+amx"
PRODUCTS = {
    "tdpbssd": ("i8", "i8"),
    "tdpbsud": ("i8", "u8"),
    "tdpbusd": ("u8", "i8"),
    "tdpbuud": ("u8", "u8"),
}
SHAPES = ((64, 64, 128), (64, 64, 1280))
"""Rows, columns and terms of products whose default schedules fit others: all terms at a time,
or some of them.
"""
needs_tiles = pytest.mark.skipif(
    not find_target("native").machine.tile_registers, reason="this process has no tiles"
)


@cache
def product(left: str, right: str, total: str, expression: str = "A[i, k] * B[k, j]") -> tx.Op:
    return tx.op(
        f"op product(A: {left}[M, K], B: {right}[K, N]) -> C: {total}[M, N] {{ C[i, j] = sum(k: "
        f"{expression}) }}"
    )


@cache
def script(op: tx.Op, like: tuple[int, int, int]) -> str:
    return tx.schedule(op, **dict(zip("MNK", like))).auto(TARGET).script()


def as_if(op: tx.Op, like: tuple[int, int, int], m: int, n: int, k: int) -> tx.Schedule:
    """The default schedule of another shape."""
    return tx.schedule(op, M=m, N=n, K=k).replay(script(op, like))


def integers(op: tx.Op, m: int, n: int, k: int, seed: int = 0) -> list[np.ndarray]:
    """All values of the types of the operands."""
    random = np.random.default_rng(seed)
    limits = [np.iinfo({"i8": "i1", "u8": "u1"}[t.dtype.name]) for t in op.program().inputs]
    return [random.integers(i.min, i.max + 1, shape, i.dtype) for i, shape in zip(limits, ((m, k), (k, n)))]


def sizes(op: tx.Op) -> st.SearchStrategy[tuple[tuple[int, int, int], int, int, int]]:
    """A shape of `SHAPES`, and sizes that its schedule fits: where it has blocks of terms, at
    least three of them.
    """

    def of(like: tuple[int, int, int]) -> st.SearchStrategy[tuple[tuple[int, int, int], int, int, int]]:
        tile, *block = (
            int(n) for n in re.findall(r'split\("C\.ko?", (\d+), tail="(?:pad|clip)"\)', script(op, like))
        )
        least = 2 * tile * block[0] + 1 if block else 1
        return st.tuples(
            st.just(like), st.integers(1, 70), st.integers(1, 70), st.integers(least, least + 700)
        )

    return st.sampled_from(SHAPES).flatmap(of)


@needs_tiles
@examples(8)
@given(st.data(), st.sampled_from(sorted(PRODUCTS)))
def test_integers_are_exact_at_all_sizes(data, name):
    op = product(*PRODUCTS[name], "i32")
    like, m, n, k = data.draw(sizes(op))
    s = as_if(op, like, m, n, k)
    assert f'"{name}"' in s.script() and s.certificate().flushed == ()
    a, b = integers(op, m, n, k)
    np.testing.assert_array_equal(np.asarray(s.compile()(a, b)), a.astype("i4") @ b.astype("i4"))


@needs_tiles
@examples(5)
@given(st.data(), st.sampled_from((0, 12, 62)))
def test_sums_of_bf16_are_within_their_bound(data, spread):
    like, m, n, k = data.draw(sizes(SUMS))
    s = as_if(SUMS, like, m, n, k)
    assert '"tdpbf16ps", reassoc=True' in s.script() and s.certificate().flushed == ("C",)
    a, b = operands(m, n, k, spread)
    assert_close(np.asarray(s.compile()(a, b)), a, b)


@needs_tiles
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name):
    """Those that other code keeps are here what pairs of bf16 make of them."""
    row, column, expected = SPECIAL[name]
    a, b = np.tile(as_bits(np.array(row)), (4, 1)), np.tile(as_bits(np.array(column))[:, None], (1, 16))
    found = np.asarray(as_if(SUMS, SHAPES[0], 4, 16, len(row)).compile()(a, b))
    np.testing.assert_array_equal(found, np.float32(expected))
    assert EXACT[name] is None or EXACT[name] != expected


@needs_tiles
@pytest.mark.parametrize(
    "expression, left, right",
    (
        ("A[i, k] * B[j, k]", "M, K", "N, K"),
        ("A[k, i] * B[k, j]", "K, M", "K, N"),
        ("A[k, i] * B[j, k]", "K, M", "N, K"),
    ),
)
def test_transposed_operands_and_batches(expression: str, left: str, right: str):
    op = tx.op(
        f"op product(A: i8[L, {left}], B: i8[L, {right}]) -> C: i32[L, M, N] {{\n"
        f"  C[l, i, j] = sum(k: {expression.replace('[', '[l, ')}) }}"
    )
    s = tx.schedule(op, L=2, M=94, N=92, K=190).auto()
    assert '"tdpbssd"' in s.script()
    shapes = [tuple({"M": 94, "N": 92, "K": 190}[n] for n in dims.split(", ")) for dims in (left, right)]
    a, b = (np.random.default_rng(1).integers(-128, 128, (2, *shape), "i1") for shape in shapes)
    rows = a if left == "M, K" else a.swapaxes(1, 2)
    columns = b if right == "K, N" else b.swapaxes(1, 2)
    with tx.options(certify=True):
        np.testing.assert_array_equal(np.asarray(s.compile()(a, b)), rows.astype("i4") @ columns.astype("i4"))


@needs_tiles
@pytest.mark.parametrize("terms", (200, 1300))
def test_what_follows_a_sum_is_computed_from_it(terms: int):
    op = tx.op(
        "op layer(A: i8[M, K], B: i8[K, N], c: f32[N]) -> Y: f32[M, N] {\n"
        "  S[i, j] = sum(k: i32(A[i, k]) * i32(B[k, j]))\n  Y[i, j] = max(0.5 * f32(S[i, j]) + c[j], 0) }"
    )
    s = tx.schedule(op, M=100, N=100, K=terms).auto()
    assert '"tdpbssd"' in s.script()
    a, b = (np.random.default_rng(2).integers(-9, 10, shape, "i1") for shape in ((100, terms), (terms, 100)))
    c = np.arange(100, dtype="f4")
    expected = np.maximum(np.float32(0.5) * (a.astype("i4") @ b.astype("i4")).astype("f4") + c, 0)
    np.testing.assert_array_equal(np.asarray(s.compile()(a, b, c)), expected)


@needs_tiles
def test_threads_have_tiles_of_their_own():
    """Of the pool, and of callers that run at once."""
    op = product("i8", "i8", "i32")
    a, b = integers(op, 200, 300, 700)
    expected, found = a.astype("i4") @ b.astype("i4"), []
    kernel = tx.schedule(op, M=200, N=300, K=700).auto().compile()

    def call() -> None:
        found.extend(np.array_equal(np.asarray(kernel(a, b)), expected) for _ in range(20))

    with tx.options(threads=2):
        threads = [threading.Thread(target=call) for _ in range(3)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(found) == 60 and all(found)


@needs_tiles
def test_processes_that_are_forked_have_them_too():
    op = product("i8", "i8", "i32")
    a, b = integers(op, 64, 64, 128)
    kernel = tx.schedule(op, M=64, N=64, K=128).auto().compile()
    expected = np.asarray(kernel(a, b))
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(not np.array_equal(np.asarray(kernel(a, b)), expected)))
        finally:
            os._exit(2)  # a child that failed would run the other tests
    assert os.waitpid(child, 0)[1] == 0


def test_the_record_has_tiles_only_where_the_process_may_use_them(monkeypatch):
    monkeypatch.setattr(host, "tiles_permitted", lambda: False)
    refused = x86.target("native")
    if refused is not None:  # another processor
        assert not refused.machine.tile_registers and not any(
            INSTRUCTIONS[n].tiles is not None for n in refused.machine.instructions
        )


def test_few_rows_are_not_filled_up_to_tiles():
    op = product("i8", "i8", "i32")
    assert '"tdp' not in tx.schedule(op, M=4, N=512, K=512).auto(TARGET).script()
    assert '"tdp' in tx.schedule(op, M=8, N=512, K=512).auto(TARGET).script()


@pytest.mark.parametrize(
    "kind, name, terms, blocks",
    (
        ("gemm_bf16", "tdpbf16ps", 256, 1),
        ("gemm_bf16", "tdpbf16ps", 512, 2),
        ("gemm_bf16", "tdpbf16ps", 1024, 3),
        ("gemm_int8", "tdpbssd", 256, 1),
        ("gemm_int8", "tdpbssd", 1024, 2),
        ("gemm_int8", "tdpbssd", 2048, 3),
    ),
)
def test_the_inner_loops_are_loads_and_products_of_tiles(kind: str, name: str, terms: int, blocks: int):
    """Four products of four tiles of operands, two additions for addresses and the loop; sums stay
    where they are. Of several blocks of terms the first and the last have loops of their own.
    """
    loops = [loop for loop in inner_loops(of_bench(kind, TARGET, M=512, N=512, K=terms)) if products(loop)]
    assert len(loops) == blocks
    for main in loops:
        assert sum(n.startswith(name) for n in main) == sum(n.startswith("tileload") for n in main) == 4, main
        assert len(main) <= 16 and not on_stack(main) and not any(n.startswith("tilestore") for n in main), (
            main
        )


@needs_tiles
@pytest.mark.parametrize("terms", (290, 512, 513, 700))
def test_sums_of_blocks_of_terms_begin_and_end_in_tiles(terms: int):
    """The first block of terms fetches no sums, and nothing is kept of the last one but what is
    computed from them.
    """
    s = tx.schedule(SUMS, M=33, N=40, K=terms).auto("native")
    moves = re.findall(r'tensorize\(".*", "(tile(?:zero|loadd|stored)_f32)"', s.script())
    more = 0 if terms <= 512 else 1
    assert sorted(moves) == sorted(
        ["tilezero_f32", *["tileloadd_f32", "tilestored_f32"] * (1 + more), "tilestored_f32"]
    )
    a, b = operands(33, 40, terms, 0)
    with tx.options(certify=True):
        assert_close(np.asarray(s.compile()(a, b)), a, b)


def test_tiles_are_given_back_on_every_way_out():
    """One form of tiles is loaded, outside of all loops; each return of the worker is behind a
    release.
    """
    asm = of_bench("gemm_int8", TARGET, M=512, N=512, K=512)
    assert len(re.findall(r"\bldtilecfg\b", asm)) == 1
    worker = asm[asm.index("ldtilecfg") :]
    assert worker.index("tilerelease") < worker.index("retq")


# Objects.


def test_a_header_says_that_a_kernel_asks_for_tiles(tmp_path: Path):
    kernel = tiled(product("i8", "i8", "i32")).compile(TARGET)
    kernel.save(tmp_path / "code.o", header=tmp_path / "code.h")
    text = " ".join((tmp_path / "code.h").read_text(encoding="utf-8").replace(" * ", " ").split())
    assert "which the first call asks Linux for" in text and "Returns 3, and does nothing, where" in text
    plain = tx.schedule(tx.op("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")).compile(TARGET)
    assert "syscall" in kernel.asm and "syscall" not in plain.asm


@needs_gcc
@needs_tiles
def test_a_program_asks_for_tiles_itself(tmp_path: Path):
    op = product("i8", "i8", "i32")
    kernel = tx.schedule(op, M=64, N=64, K=128).auto().compile()
    kernel.save(tmp_path / "code.o", header=tmp_path / "code.h")
    a, b = integers(op, 64, 64, 128)
    arrays = [(a, False), (b, False), (np.zeros((64, 64), "i4"), True)]
    (computed,) = run(tmp_path, "product", "code.o", "code.h", arrays, times=2)
    np.testing.assert_array_equal(computed, np.asarray(kernel(a, b)))


@pytest.mark.qemu
@pytest.mark.skipif(bool(qemu.missing_tool()), reason=f"{qemu.missing_tool()} is not installed")
def test_a_processor_without_tiles_does_nothing():
    op = product("i8", "i8", "i32")
    kernel = tiled(op).compile(TARGET)
    with pytest.raises(tx.CompileError, match="or for tiles, of which it has none"):
        kernel.emulate(*integers(op, 64, 64, 128))


# What is refused, on any machine.


def tiled(op: tx.Op, m: int = 64, n: int = 64, k: int = 128) -> tx.Schedule:
    return tx.schedule(op, M=m, N=n, K=k).auto(TARGET)


def without(s: tx.Schedule, *lines: str) -> tx.Schedule:
    """The schedule without steps that begin so."""
    op = product("i8", "i8", "i32")
    kept = [line for line in s.script().splitlines() if not line.startswith(lines)]
    return tx.schedule(op, M=64, N=64, K=128).replay("\n".join(kept) + "\n")


def complaint(s: tx.Schedule, target: str = TARGET) -> str:
    with pytest.raises(tx.CompileError) as error:
        _ = s.compile(target).asm
    return str(error.value)


def test_a_machine_without_tiles(golden):
    golden(complaint(tiled(product("i8", "i8", "i32")), "x86-64-v4"))


def test_loops_that_no_instruction_runs_cannot_use_tiles(golden):
    op = product("i8", "i8", "i32")
    golden(complaint(tx.schedule(op, M=64, N=64, K=128).cache_read("A", "i").set_scope("A_cache", "tile")))


def test_operands_have_to_be_in_tiles(golden):
    s = tiled(product("i8", "i8", "i32"))
    with pytest.raises(tx.ScheduleError) as error:
        without(s, 'set_scope("A_cache_cache"').script()
    golden(str(error.value))


def test_sums_have_to_be_as_many_as_there_are_tiles(golden):
    """Six of sums, and four of operands."""
    script = tiled(product("i8", "i8", "i32"), 96).script().replace('split("C.i", 32', 'split("C.i", 48')
    script = script.replace('merge("B_cache_cache.d1o", "A_cache_cache.d0o")', 'unroll("A_cache_cache.d0o")')
    golden(complaint(tx.schedule(product("i8", "i8", "i32"), M=96, N=64, K=128).replay(script)))


def test_which_tile_is_meant_must_be_known(golden):
    golden(complaint(without(tiled(product("i8", "i8", "i32")), 'unroll("C.iio")', 'unroll("C.jio")')))


def test_rows_of_a_tile_are_evenly_apart(golden):
    op = tx.op("op gather(X: i8[R, 64], I: i32[16] in 0..R) -> Y: i8[16, 64] { Y[i, k] = X[I[i], k] }")
    s = (
        tx.schedule(op, R=100)
        .split("k", 64, tail="exact")
        .reorder("ko", "i", "ki")
        .cache_write("Y", "ko")
        .set_scope("Y_tile", "tile")
    )
    with pytest.raises(tx.ScheduleError) as error:
        s.tensorize("i", "tileloadd_i8").script()
    golden(str(error.value))


def test_threads_do_not_start_while_buffers_are_in_tiles(golden):
    s = without(tiled(product("i8", "i8", "i32")), "parallel")
    golden(complaint(s.parallel("C.iii")))
