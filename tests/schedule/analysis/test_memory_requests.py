"""What listings say of GPUs: sectors of memory and banks of shared memory that a warp uses at
once.
"""

from __future__ import annotations

import pytest

import texpr as tx

TRANSPOSED = "op transposed(X: f32[64, 64]) -> Y: f32[64, 64] { Y[i, j] = X[j, i] }"
THROUGH_SHARED = """
split("i", 32)
split("j", 32)
reorder("io", "jo", "ii", "ji")
cache_read("X", "jo")
set_scope("X_cache", "shared")
bind("io", "block.y")
bind("jo", "block.x")
bind("ji", "thread.x")
bind("ii", "thread.y")
bind("X_cache.d1", "thread.x")
bind("X_cache.d0", "thread.y")
"""
HALF = (
    "op half(A: bf16[M, K], B: bf16[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: f32(A[i, k]) * f32(B[k, j])) }"
)


def said(text: str, script: str, loop: str, **sizes: int) -> str:
    """The note behind a loop, without what it says of its order and of bytes."""
    listing = str(tx.schedule(tx.op(text), **sizes).replay(script))
    line = next(line for line in listing.splitlines() if f"for {loop} in " in line)
    words = line.partition("  # ")[2].split(", ")
    return ", ".join(w for w in words if not w.startswith(("proven", "independent")) and "iteration" not in w)


@pytest.mark.parametrize(
    ("value", "note"),
    [
        ("X[i]", "reads X in 4 sectors, writes Y in 4 sectors"),
        ("X[4 * i]", "reads X in 16 sectors, where 4 would do, writes Y in 4 sectors"),
        ("X[16 * i]", "reads X in 32 sectors, where 4 would do, writes Y in 4 sectors"),
        ("X[i + 3]", "reads X in 5 sectors, where 4 would do, writes Y in 4 sectors"),
        ("X[i // 32]", "reads X in 1 sector, writes Y in 4 sectors"),
        ("X[127 - i]", "reads X in 4 sectors, writes Y in 4 sectors"),
    ],
)
def test_sectors(value: str, note: str):
    """32 threads with a number of 4 bytes each: 128 bytes are 4 sectors where nothing is left
    out.
    """
    assert (
        said(f"op f(X: f32[2048]) -> Y: f32[128] {{ Y[i] = {value} }}", 'bind("i", "thread.x")', "Y.i")
        == note
    )


def test_vectors():
    text, script = (
        "op f(X: f32[512]) -> Y: f32[512] { Y[i] = X[i] }",
        'split("i", 4)\nbind("io", "thread.x")\nvectorize("ii")',
    )
    assert said(text, script, "Y.io") == "reads X in 16 sectors, writes Y in 16 sectors"


def test_a_few_threads():
    text = "op f(X: f32[8]) -> Y: f32[8] { Y[i] = X[i] }"
    assert said(text, 'bind("i", "thread.x")', "Y.i") == "reads X in 1 sector, writes Y in 1 sector"


def test_threads_of_two_rows():
    """16 threads along x: a warp has two rows of them."""
    text, script = (
        "op f(X: f32[8, 16]) -> Y: f32[8, 16] { Y[i, j] = X[i, j] }",
        'bind("i", "thread.y")\nbind("j", "thread.x")',
    )
    assert said(text, script, "Y.j") == "reads X in 4 sectors, writes Y in 4 sectors"


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ("", "reads X_cache with 32-way bank conflicts, writes Y in 4 sectors"),
        ('pad("X_cache", 1, 32, extra=1)', "reads X_cache without bank conflicts, writes Y in 4 sectors"),
        ('pad("X_cache", 1, 32, extra=2)', "reads X_cache with 2-way bank conflicts, writes Y in 4 sectors"),
    ],
)
def test_banks(more: str, note: str):
    """A column of a tile of 32 x 32 lies in one bank, unless its rows are padded."""
    assert said(TRANSPOSED, THROUGH_SHARED + more, "Y.ji") == note
    assert (
        said(TRANSPOSED, THROUGH_SHARED + more, "X_cache.d1")
        == "reads X in 4 sectors, writes X_cache without bank conflicts"
    )


def test_a_block():
    assert said(TRANSPOSED, THROUGH_SHARED, "Y.io") == "blocks of 1024 threads, 4096 bytes of shared memory"


def test_sizes_and_data_are_left_out():
    """Rows of N elements: where a second row begins is not known, but a warp stays in one."""
    text, script = (
        "op f(X: f32[M, N], p: i32[64] in 0..M) -> Y: f32[64] { Y[i] = X[p[i], 0] }",
        'bind("i", "thread.x")',
    )
    assert said(text, script, "Y.i") == "reads p in 4 sectors, writes Y in 4 sectors"
    turned = "op f(X: f32[64, N]) -> Y: f32[N, 64] { Y[j, i] = X[i, j] }"
    assert said(turned, 'bind("i", "thread.x")', "Y.i") == "writes Y in 4 sectors"


def test_tiles_that_warps_read():
    """ldmatrix reads rows of 16 bytes, 8 at a time: those of a tile lie in different banks since
    units change places.
    """
    s = tx.schedule(tx.op(HALF), M=64, N=64, K=32).auto("sm_80")
    plain = "\n".join(step for step in s.script().splitlines() if not step.startswith("swizzle("))
    packed = tx.schedule(tx.op(HALF), M=64, N=64, K=32).replay(plain)
    for schedule, note in (
        (s, "reads B_cache without bank conflicts, reads A_cache without bank conflicts"),
        (packed, "reads B_cache with 8-way bank conflicts, reads A_cache with 4-way bank conflicts"),
    ):
        lines = [line for line in str(schedule).splitlines() if "C.jio in 0..2 thread.y" in line]
        assert lines[1].endswith(note)
