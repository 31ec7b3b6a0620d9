"""Kernels of a plan are compiled by several processes, which share the disk cache."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr.compiler import kernel_cache, parallel_compile
from texpr.compiler.kernels.native_code import NativeCode
from texpr.graph.lowering.default_kernels import kernel_for
from texpr.ir.json.program import Decoder
from texpr.runtime import disk_cache
from texpr.runtime.process.worker import run_in_child, stop_children, waiting

TEXT = "op scaled(X: f32[N]) -> Y: f32[N] {{ Y[i] = X[i] * {factor} }}"


def _kernels(count: int, first: int) -> list[tx.CompiledKernel]:
    programs = [tx.op(TEXT.format(factor=first + k)).program() for k in range(count)]
    return [kernel_for(p, {p.sizes[0]: 100}) for p in programs]


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen kernels are many, which in other tests they are not (`conftest.py`)."""
    monkeypatch.setattr(parallel_compile, "MANY", 16)


@pytest.fixture
def worker_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process compiles nothing before a worker has compiled a kernel."""
    done, run, compile_one = threading.Event(), parallel_compile.run_in_child, NativeCode._compile

    def noted(*arguments: object, timeout: float) -> None:
        run(*arguments, timeout=timeout)  # type: ignore[arg-type]
        done.set()

    def waiting(native: NativeCode, key: str) -> object:
        assert done.wait(100)
        return compile_one(native, key)

    monkeypatch.setattr(parallel_compile, "run_in_child", noted)
    monkeypatch.setattr(NativeCode, "_compile", waiting)


@pytest.fixture
def compiled_here(monkeypatch: pytest.MonkeyPatch) -> list[NativeCode]:
    """The kernels that this process compiles."""
    found: list[NativeCode] = []
    compile_one = NativeCode._compile

    def noted(native: NativeCode, key: str) -> object:
        found.append(native)
        return compile_one(native, key)

    monkeypatch.setattr(NativeCode, "_compile", noted)
    return found


@pytest.mark.usefixtures("worker_first")
def test_workers_compile_what_is_not_there(tmp_path: Path, compiled_here: list[NativeCode]):
    with tx.options(cache_dir=tmp_path, threads=2):
        kernels = _kernels(12, 1000)
        parallel_compile.compile_all(kernels)
        assert all(kernel_cache.find(k.native.key, k.program) for k in kernels)
        assert 0 < len(compiled_here) < len(kernels)
        count = len(compiled_here)
        x = np.arange(100, dtype="f4")
        for k, kernel in enumerate(kernels):
            np.testing.assert_array_equal(kernel(x), x * np.float32(1000 + k))
        assert len(compiled_here) == count
        parallel_compile.compile_all(kernels)
        assert len(compiled_here) == count


@pytest.mark.parametrize(
    ("threads", "first", "last", "cached"),
    [(1, 2000, 2012, True), (2, 2100, 2103, True), (2, 2200, 2220, False)],
)
def test_no_worker_is_asked(threads: int, first: int, last: int, cached: bool, tmp_path: Path, monkeypatch):
    """For one thread, for few kernels, and without the disk cache."""

    asked = []
    monkeypatch.setattr(parallel_compile, "run_in_child", lambda *arguments, timeout: asked.append(arguments))
    with tx.options(cache_dir=tmp_path if cached else None, threads=threads):
        parallel_compile.compile_all(_kernels(last - first, first))
    assert not asked


def test_many_kernels_are_left_to_workers(tmp_path: Path, compiled_here: list[NativeCode]):
    """For one thread too: what compiles is not in the memory of this process then."""
    with tx.options(cache_dir=tmp_path, threads=1):
        kernels = _kernels(parallel_compile.MANY, 6000)
        parallel_compile.compile_all(kernels)
        assert not compiled_here and all(kernel_cache.find(k.native.key, k.program) for k in kernels)


@pytest.mark.parametrize("threads", [1, 2])
def test_few_kernels_are_left_to_workers_that_wait(
    threads: int, tmp_path: Path, compiled_here: list[NativeCode], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(parallel_compile, "waiting", lambda: 2)
    with tx.options(cache_dir=tmp_path, threads=threads):
        kernels = _kernels(3, 7000 + 10 * threads)
        parallel_compile.compile_all(kernels)
        assert not compiled_here and all(kernel_cache.find(k.native.key, k.program) for k in kernels)


def test_workers_that_wait_are_counted():
    run_in_child("texpr.support.version:identity")
    assert waiting() > 0
    stop_children()
    assert waiting() == 0


@pytest.mark.parametrize(
    ("threads", "kernels", "started"), [(1, 100, 0), (2, 100, 1), (64, 100, 7), (64, 20, 2), (64, 5, 0)]
)
def test_workers_start_for_the_kernels_that_there_may_be(
    threads: int, kernels: int, started: int, monkeypatch
):
    asked = threading.Semaphore(0)
    monkeypatch.setattr(parallel_compile, "run_in_child", lambda *arguments, timeout: asked.release())
    with tx.options(threads=threads):
        parallel_compile.start_workers(kernels)
    assert all(asked.acquire(timeout=60) for _ in range(started)) and not asked.acquire(timeout=0.05)


def test_a_disk_cache_that_keeps_nothing_hands_nothing_over(tmp_path: Path, monkeypatch, compiled_here):
    tmp_path.chmod(0o777)  # others may write to it, so nothing is kept there
    asked = []
    monkeypatch.setattr(parallel_compile, "run_in_child", lambda *arguments, timeout: asked.append(arguments))
    with tx.options(cache_dir=tmp_path, threads=2):
        kernels = _kernels(parallel_compile.MANY, 7000)
        parallel_compile.compile_all(kernels)
        assert not asked and kernels[0].ready() and len(compiled_here) == 1


def test_a_worker_says_that_nothing_is_kept(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(
        disk_cache, "_write_whole", lambda path, data: (_ for _ in ()).throw(OSError(28, "full"))
    )
    with tx.options(cache_dir=tmp_path, threads=2):
        (kernel,) = _kernels(1, 8000)
        request = parallel_compile._request(kernel)
        assert request is not None
        with pytest.raises(tx.ResourceError, match="keeps nothing"):
            parallel_compile.compile_in_worker(*request.arguments())  # type: ignore[arg-type]


def test_what_a_worker_fails_for_is_compiled_here(tmp_path: Path, monkeypatch, compiled_here):
    def fail(*arguments: object, timeout: float) -> None:
        raise AssertionError("no worker")

    monkeypatch.setattr(parallel_compile, "run_in_child", fail)
    with tx.options(cache_dir=tmp_path, threads=2):
        kernels = _kernels(20, 3000)
        parallel_compile.compile_all(kernels)
        assert len(compiled_here) >= 18  # each of two workers took one, which is made when it is asked for
        assert all(k.ready() for k in kernels) and len(compiled_here) == 20


def test_an_error_here_ends_the_workers_queue(tmp_path: Path, monkeypatch):
    def stop(native: NativeCode, key: str) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(NativeCode, "_compile", stop)
    with tx.options(cache_dir=tmp_path, threads=2):
        kernels = _kernels(parallel_compile.MANY - 1, 4000)
        with pytest.raises(KeyboardInterrupt):
            parallel_compile.compile_all(kernels)
        assert sum(not k.native.missing_key() for k in kernels) < 8


def test_a_worker_keeps_the_code_under_the_key_that_is_asked_for(tmp_path: Path):
    with tx.options(cache_dir=tmp_path, threads=3):
        (kernel,) = _kernels(1, 5000)
        request = parallel_compile._request(kernel)
        assert request is not None
        parallel_compile.compile_in_worker(*request.arguments())  # type: ignore[arg-type]
        assert not kernel.native.missing_key()
        assert parallel_compile._request(kernel) is None


def test_workers_take_the_longest_kernels_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Those of most equations, so that no long one is alone at the end."""
    asked: list[int] = []

    def noted(function: str, text: str, *others: object, timeout: float) -> None:
        rows, item = json.loads(text)
        program, _ = Decoder(rows).item(item)  # type: ignore[misc]
        asked.append(len(program.equations))

    monkeypatch.setattr(parallel_compile, "run_in_child", noted)
    lines = ["Y[i] = X[i] * 2001", "let T: f32[N]\n  T[i] = X[i] * 2002\n  Y[i] = T[i] + T[N - 1 - i]"]
    programs = [tx.op(f"op f(X: f32[N]) -> Y: f32[N] {{\n  {line}\n}}").program() for line in lines]
    with tx.options(cache_dir=tmp_path, threads=1):
        mixed = [kernel_for(p, {p.sizes[0]: 100}) for p in reversed(programs)]
        parallel_compile.compile_all([*mixed, *_kernels(16, 2100)])
    assert asked == sorted(asked, reverse=True)
    assert asked[0] == 2


def test_what_a_worker_practises_is_kept_nowhere(tmp_path: Path):
    with tx.options(cache_dir=tmp_path):
        chosen = parallel_compile.options_to_send()
    parallel_compile.prepare_worker(chosen)
    before = set(tmp_path.rglob("*"))
    parallel_compile.practise(chosen)
    assert set(tmp_path.rglob("*")) == before
