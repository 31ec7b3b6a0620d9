"""Kernels from the disk cache: nothing is done again, and nothing wrong is taken for what was
asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr.compiler import kernel_cache, pass_pipeline
from texpr.compiler.op import default_kernel
from texpr.ir.json.sizes import size_from_json, size_to_json
from texpr.ir.shapes import evaluate_size
from texpr.ir.traverse import variables
from texpr.runtime import disk_cache
from texpr.support import version
from texpr.targets import find_target

ROOT = Path(__file__).parents[2]
MATMUL = "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
CHAIN = """op chain(X: f32[N, M]) -> Y: f32[N, M] {
    T[i, j] = sin(X[i, j // 2]) for i in 0..N, j in 0..2 * M
    Y[i, j] = T[i, 2 * j] + sum(k: T[k, 2 * j + 1])
}"""
X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def kept(tmp_path):
    """An empty cache."""
    with tx.options(cache_dir=tmp_path / "cache"):
        yield disk_cache.shared()


@pytest.fixture
def idle(monkeypatch):
    """From the call on, nothing may be lowered, proven or compiled."""

    def begin():
        def fail(*_, **__):
            raise AssertionError("made anew")

        for name in ("lower", "certificate", "native_object", "prepared"):
            monkeypatch.setattr(pass_pipeline, name, fail)

    return begin


def made() -> tuple[str, np.ndarray]:
    """A kernel made or found, its key and what it computes."""
    kernel = tx.schedule(tx.op(MATMUL), M=3, N=3, K=4).auto().compile()
    return kernel_cache.key_of(kernel.program, kernel.sizes, kernel.schedule_text, kernel.target), kernel(
        X, X.T
    )


def test_a_kept_operator_runs_without_being_made(kept, idle):
    np.testing.assert_array_equal(tx.op(MATMUL)(X, X.T), X @ X.T)
    idle()
    again = tx.op(MATMUL)
    np.testing.assert_array_equal(again(X, X.T), X @ X.T)
    with pytest.raises(AssertionError, match="made anew"):
        again(X[:2], X.T)


@pytest.mark.parametrize("steps", [lambda s: s.auto(), lambda s: s.split("i", 2).vectorize("j"), lambda s: s])
def test_a_kept_schedule_runs_without_being_compiled(kept, idle, steps):
    steps(tx.schedule(tx.op(MATMUL), M=3)).compile()(X, X.T)
    s = tx.schedule(tx.op(MATMUL), M=3)
    assert s.kernel.name == "matmul"
    idle()
    np.testing.assert_array_equal(steps(s).compile()(X, X.T), X @ X.T)


def test_loops_of_a_kept_kernel_can_be_read(kept):
    tx.op(MATMUL)(X, X.T)
    kernel = tx.schedule(tx.op(MATMUL), M=3, N=3, K=4).auto().compile()
    kernel(X, X.T)
    assert "for" in str(kernel) and "define" in kernel.llvm and kernel.certificate.kernel == "matmul"


@pytest.mark.parametrize(
    "change",
    [
        lambda: tx.schedule(tx.op(MATMUL), M=4).auto(),
        lambda: tx.schedule(tx.op(MATMUL), N=3).auto(),
        lambda: tx.schedule(tx.op(MATMUL), M=3),
        lambda: tx.schedule(tx.op(MATMUL), M=3).contract(),
        lambda: tx.schedule(tx.op(MATMUL.replace("* B", "* 2 * B")), M=3).auto(),
        lambda: tx.schedule(tx.op(MATMUL.replace("f32", "f64")), M=3).auto(),
        lambda: tx.schedule(tx.op(MATMUL.replace("A: f32[M, K]", "A: f32[M, K], s: f32")), M=3).auto(),
    ],
)
def test_other_kernels_have_other_keys(change):
    def key(s):
        return kernel_cache.key_of(s.program, s.sizes, s._text(), find_target("native"))

    assert key(change()) != key(tx.schedule(tx.op(MATMUL), M=3).auto())
    assert key(change()) == key(change())


def test_what_is_looked_at_is_kept_under_the_same_key():
    s = tx.schedule(tx.op(MATMUL), M=3).auto()
    before = s._text()
    assert 'allow_fma("sums")' in s.script()
    assert s._text() == before
    assert s.contract()._text() != before


def test_loops_put_in_place_by_hand_are_not_kept(kept):
    def schedule(text):
        return tx.schedule(tx.op(text), M=3, N=3, K=4)

    s = schedule(MATMUL)
    s.kernel = schedule(MATMUL.replace("* B", "* 2 * B")).kernel
    with tx.options(certify=False):
        np.testing.assert_array_equal(s.compile()(X, X.T), 2 * (X @ X.T))
    np.testing.assert_array_equal(schedule(MATMUL).compile()(X, X.T), X @ X.T)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"certificate": 5}\ncode',
        b'{"certificate": "", "buffers": [], "duration": 1, "externs": false}\ncode',
        b'{"certificate": "", "buffers": [], "duration": "short", "externs": false}',
        b'{"certificate": "", "buffers": [[]], "duration": "short", "externs": false}\ncode',
    ],
)
def test_a_damaged_record_is_made_anew(kept, damage):
    key, _ = made()
    code = kept.get(key).partition(b"\n")[2]
    kept.put(key, damage)
    np.testing.assert_array_equal(made()[1], X @ X.T)
    assert kept.get(key).partition(b"\n")[2] == code


@pytest.mark.parametrize("options", [{"verify": True}, {"print": "after:nothing"}])
def test_who_watches_passes_sees_them_run(kept, idle, options):
    tx.op(MATMUL)(X, X.T)
    idle()
    with tx.options(**options), pytest.raises(AssertionError, match="made anew"):
        tx.op(MATMUL)(X, X.T)


def test_other_sources_make_other_kernels(kept, idle, monkeypatch):
    tx.op(MATMUL)(X, X.T)
    monkeypatch.setattr(kernel_cache, "identity", lambda: "another texpr")
    idle()
    with pytest.raises(AssertionError, match="made anew"):
        tx.op(MATMUL)(X, X.T)


def test_identity_follows_the_sources(tmp_path):
    (tmp_path / "part").mkdir()
    source = tmp_path / "part" / "a.py"
    source.write_text("1")
    before = version._sources(str(tmp_path))
    assert before == version._sources(str(tmp_path)) and len(before) == 1
    source.write_text("12")
    assert version._sources(str(tmp_path)) != before


def test_buffers_of_symbolic_kernels_are_kept(kept, idle):
    """Their sizes follow from those of a call, and are looked at before any memory is."""

    def extents(kernel):
        sizes = {v: 5 for v in kernel.program.sizes}
        return [
            (b.name, b.item, [evaluate_size(e, sizes) for e in b.extents])
            for b in kernel.native.built.buffers
        ]

    first = default_kernel(tx.op(CHAIN).program(), {})
    expected = first(X)
    assert ("T", 4, [5, 10]) in extents(first)
    program = tx.op(CHAIN).program()
    idle()
    again = default_kernel(program, {})
    np.testing.assert_array_equal(again(X), expected)
    assert extents(again) == extents(first)


@pytest.mark.parametrize(
    "extent", ["2 * N + 1", "(N + 7) // 8 * 8", "min(N, M) + max(N, 3) - N % 4", "N * M", "7", "abs(N - M)"]
)
def test_sizes_survive_being_written(extent):
    text = (
        f"op f(X: f32[N], Z: f32[M]) -> Y: f32[{extent}] require {extent} >= 0 {{ Y[i] = X[0 | 0] + Z[0 | 0] "
        f"}}"
    )
    [tensor] = tx.op(text).program().outputs
    [size] = tensor.shape
    names = {
        v.name: v for v in tx.op("op g(X: f32[N, M]) -> Y: f32 { Y = sum(i, j: X[i, j]) }").program().sizes
    }
    again = size_from_json(json.loads(json.dumps(size_to_json(size))), names)
    for n, m in ((3, 11), (9, 2), (16, 16)):
        values = {names["N"]: n, names["M"]: m}
        by_name = {v.name: v for v in variables(size)}
        assert evaluate_size(again, values) == evaluate_size(
            size, {by_name[k]: values[names[k]] for k in by_name}
        )


@pytest.mark.parametrize(
    "data",
    ["P", None, 1.5, [], ["Add", 1], ["Exec", 1, 2], ["Compare", "is", 1, 2], ["Select", 1, 2], {"N": 1}],
)
def test_what_is_no_size_is_refused(data):
    with pytest.raises(ValueError, match="no size"):
        size_from_json(data, {})


AT_ONCE = """
import sys
import numpy as np
import texpr as tx
x = np.arange(12, dtype="f4").reshape(3, 4)
for n in range(6):
    op = tx.op("op f(A: f32[M, N]) -> C: f32[M] { C[i] = %d * sum(j: A[i, j]) }" % n)
    assert (op(x) == n * x.sum(1)).all()
"""


def test_processes_fill_a_cache_at_once(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TEXPR_CACHE_DIR": str(tmp_path / "cache")}
    running = [subprocess.Popen([sys.executable, "-c", AT_ONCE], env=environment) for _ in range(2)]
    assert [p.wait(100) for p in running] == [0, 0]
    files = [f for f in (tmp_path / "cache").rglob("*") if f.is_file()]
    assert len(files) == 20 and not [
        f for f in files if f.name.startswith(".new")
    ]  # LLVM's facts of the machine, the runtime, and of each of six its operator, its program and its kernel
