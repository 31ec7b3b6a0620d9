"""Workers that are started while a network is captured: only where it will be compiled anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import texpr as tx
from texpr.compiler import parallel_compile
from texpr.graph.execution import early_workers
from texpr.runtime.process import worker
from texpr.support.errors import CompileError

MANY = early_workers.LARGE
TEXT = "op early(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * %d }"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What workers were asked for."""
    found: list[object] = []
    monkeypatch.setattr(worker, "run_in_child", lambda name, *_, timeout: found.append(name))
    monkeypatch.setattr(parallel_compile, "start_workers", found.append)
    yield found
    early_workers.are_started()


def capture(variables: int, number: int) -> bool:
    """Make two operators, and say whether workers were started."""
    with early_workers.capturing(variables):
        for k in (number, number + 1):
            tx.op(TEXT % k).program()
    return early_workers.are_started()


def test_an_operator_that_is_not_on_disk_starts_them_once(tmp_path: Path, asked: list[object]):
    with tx.options(cache_dir=tmp_path, threads=2):
        assert capture(MANY, 1)
        assert sorted(map(str, asked)) == [str(MANY // 2), f"{early_workers.__name__}:load"]
        assert not early_workers.are_started()
        assert not capture(MANY, 1)  # it is on disk
    assert len(asked) == 2


@pytest.mark.parametrize(
    "variables, options", [(MANY - 1, {}), (MANY, {"threads": 1}), (MANY, {"cache_dir": None})]
)
def test_others_start_none(tmp_path: Path, asked: list[object], variables: int, options: dict):
    with tx.options(**{"cache_dir": tmp_path, "threads": 2, **options}):
        assert not capture(variables, 3)
    assert not asked


def test_a_worker_that_cannot_start_is_nobodys_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object, timeout: float) -> None:
        raise CompileError("no processes")

    monkeypatch.setattr(worker, "run_in_child", fail)
    with tx.options(cache_dir=tmp_path, threads=2):
        assert capture(MANY, 5)


def test_it_loads_what_lowers(monkeypatch: pytest.MonkeyPatch):
    names: list[str] = []
    monkeypatch.setattr(early_workers, "import_module", names.append)
    early_workers.load()
    assert "texpr.graph.execution.compile" in names
