"""`tx.tuning`: schedules in files, and trials of machines of other kinds."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from tests.distributed.mpi_world import LIMIT, PROGRAMS, ROOT, needs_mpi
from tests.tune.cases import SUMS
from tests.tune.test_search import faster, rows, schedule_of
from texpr.compiler import tuning_records
from texpr.distributed.mpiexec import find_mpiexec, kind_of
from texpr.runtime import host
from texpr.support.errors import CallError
from texpr.tune import measurement, search, trial_slots

SIZES = {"M": 24, "N": 40}
SPACE = {"schedule": rows, "space": {"tile": [3, 6, 8]}, "progress": False}


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning_records, "_USED", {})
    with tx.options(cache_dir=tmp_path / "cache", threads=1):
        yield


@pytest.fixture
def found(monkeypatch):
    faster(monkeypatch, 'split("Y.i", 6)')
    return tx.tune(tx.op(SUMS), keep=False, **SPACE, **SIZES)


def test_a_file_goes_to_another_process_or_machine(found, tmp_path):
    path = tmp_path / "sums.tuned"
    tx.tuning.export(path, found)
    assert schedule_of(tx.op(SUMS), **SIZES).startswith("auto")
    (loaded,) = tx.tuning.load(path)
    assert loaded == tx.tuning.Loaded("sums", SIZES, 'split("Y.i", 6)\n', True)
    assert schedule_of(tx.op(SUMS), **SIZES) == f"steps {found.script}"
    assert schedule_of(tx.op(SUMS), M=25, N=40).startswith("auto")
    with tx.options(tuned=False):
        assert schedule_of(tx.op(SUMS), **SIZES).startswith("auto")
    with tx.options(cache_dir=None):
        assert schedule_of(tx.op(SUMS), **SIZES) == f"steps {found.script}"


def test_a_file_has_one_schedule_for_a_program_its_sizes_and_a_machine(found, tmp_path):
    path = tmp_path / "sums.tuned"
    tx.tuning.export(path, found)
    other = json.loads(path.read_text()) | {"machine": "{'cores': 512}"}
    path.write_text(path.read_text() + json.dumps(other) + "\n")
    tx.tuning.export(path, replace(found, script='split("Y.i", 3)\n'))
    here, there = tx.tuning.load(path)
    assert (here.script, here.used) == ('split("Y.i", 3)\n', True)
    assert (there.used, there.reason) == (False, "it is of another machine")


def test_a_schedule_that_is_refused_is_not_used(found, tmp_path):
    path = tmp_path / "sums.tuned"
    tx.tuning.export(path, replace(found, script='vectorize("Y.nothing")\n'))
    with pytest.warns(UserWarning, match="sums: a schedule that was loaded is not used"):
        (loaded,) = tx.tuning.load(path)
    assert not loaded.used and "nothing" in loaded.reason
    assert schedule_of(tx.op(SUMS), **SIZES).startswith("auto")


WRONG = {
    "no JSON": (lambda line: line[:-5], "Unterminated string|delimiter|Expecting"),
    "another form": (lambda line: "[1, 2]", "argument after"),
    "no script": (lambda line: json.dumps({**json.loads(line), "script": 3}), "a value has another type"),
    "another size": (
        lambda line: json.dumps({**json.loads(line), "sizes": {"M": 24}}),
        "sizes are of M, expected M, N",
    ),
    "no size": (lambda line: json.dumps({**json.loads(line), "sizes": {"M": -1, "N": 1}}), "numbers by name"),
    "no program": (lambda line: json.dumps({**json.loads(line), "program": "op"}), "expected"),
    "a later version": (lambda line: json.dumps({**json.loads(line), "version": 2}), "version 2, expected 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_line_is_named(found, tmp_path, name):
    change, said = WRONG[name]
    path = tmp_path / "sums.tuned"
    tx.tuning.export(path, found)
    line = path.read_text().strip()
    path.write_text(f"{line}\n{change(line)}\n")
    with pytest.raises(CallError, match=said) as raised:
        tx.tuning.load(path)
    assert f"{path}:2: no schedule that tx.tuning.export wrote" in raised.value.message
    before = path.read_text()
    with pytest.raises(CallError):
        tx.tuning.export(path, found)
    assert path.read_text() == before
    assert schedule_of(tx.op(SUMS), **SIZES).startswith("auto")


def test_what_export_and_load_say(tmp_path):
    with pytest.raises(CallError, match="export takes results of tx.tune, not str"):
        tx.tuning.export(tmp_path / "a", "script")  # type: ignore[arg-type]
    with pytest.raises(CallError, match="absent: No such file or directory"):
        tx.tuning.load(tmp_path / "absent")
    with pytest.raises(OSError):
        tx.tuning.export(tmp_path / "absent" / "file")


def test_trials_of_another_machine_are_records_of_that_one(monkeypatch):
    def elsewhere(case: measurement.Case, script: str, timeout: float) -> measurement.Measured:
        found = measurement.measure(case, script, timeout)
        return replace(found, machine="another") if "6" in script else found

    monkeypatch.setattr(search, "measure", elsewhere)
    op = tx.op(SUMS)
    tuned = tx.tune(op, **SPACE, **SIZES)
    (trial,) = (t for t in tuned.trials if "6" in t.script)
    assert trial.seconds == float("inf") and "machine of another kind" in trial.error
    theirs = tuning_records.path_of(tuned.program, tuned.sizes, machine="another")
    assert theirs is not None
    (record,) = tuning_records.read(theirs)
    assert record.script == trial.script and record.seconds is not None


def test_processes_measure():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        tuned = tx.tune(tx.op(SUMS), executor=executor, **SPACE, **SIZES)
    assert [t.error for t in tuned.trials] == ["", "", ""]


@needs_mpi
def test_ranks_of_mpi_measure(tmp_path):
    mpiexec = [
        find_mpiexec(),
        *(["--oversubscribe", "--allow-run-as-root"] if kind_of(find_mpiexec()) == "Open MPI" else []),
    ]
    program = [sys.executable, "-m", "mpi4py.futures", str(PROGRAMS / "tuned.py"), str(tmp_path / "cache")]
    done = subprocess.run(
        [*mpiexec, "-n", "2", *program],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout == "measured 3\n", done.stderr


def test_workers_of_dask_measure():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        tuned = tx.tune(tx.op(SUMS), executor=client.get_executor(), **SPACE, **SIZES)
    assert [t.error for t in tuned.trials] == ["", "", ""]


def test_cores_are_taken_once(monkeypatch, tmp_path):
    """Three trials of two threads on four cores: never more than two at once."""
    monkeypatch.setattr(host, "cores", lambda: 4)
    monkeypatch.setattr(trial_slots, "_folder", lambda: tmp_path)
    running, most, lock = [0], [0], threading.Lock()

    def trial() -> None:
        with trial_slots.cores(2):
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            time.sleep(0.05)
            with lock:
                running[0] -= 1

    threads = [threading.Thread(target=trial) for _ in range(5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
    assert most == [2] and running == [0]
    with trial_slots.cores(100):
        assert not trial_slots._taken(1, None)  # type: ignore[arg-type]
    assert len(os.listdir(tmp_path)) == 4


def test_values_are_those_of_the_interpreter(found, tmp_path):
    tx.tuning.export(tmp_path / "f", found)
    tx.tuning.load(tmp_path / "f")
    x = np.random.default_rng(0).standard_normal((24, 40), dtype=np.float32)
    op = tx.op(SUMS)
    np.testing.assert_allclose(op(x), tx.interpret(op, x), rtol=1e-5)
