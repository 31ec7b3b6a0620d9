"""Searches with real kernels, small ones: what counts, what is kept, and who uses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.tune.cases import MATMUL, SUMS
from texpr.compiler import tuning_records
from texpr.compiler.kernel_cache import machine_text
from texpr.support.errors import CallError
from texpr.targets import find_target
from texpr.tune import measurement, search

ROOT = Path(__file__).parents[2]
SIZES = {"M": 24, "N": 40}


@pytest.fixture(autouse=True)
def cache(tmp_path):
    with tx.options(cache_dir=tmp_path / "cache", threads=1):
        yield tmp_path / "cache"


def sums():
    return tx.op(SUMS)


def rows(s, tile):
    """A schedule to tune."""
    s.split("Y.i", tile)


def test_a_search(cache):
    sizes = {"M": 24, "N": 400}
    found = tx.tune(sums(), trials=5, progress=False, **sizes)
    assert len(found.trials) == 5 and all(t.seconds > 0 for t in found.trials)
    assert len(found.curve()) == 5 and found.curve()[-1] == min(t.seconds for t in found.trials)
    assert found.seconds <= found.default_seconds
    x = np.random.default_rng(0).standard_normal((24, 400), dtype=np.float32)
    np.testing.assert_allclose(found.kernel(x), 2 * x.sum(1), rtol=1e-4)
    assert found.schedule().script() == found.script
    assert "trials" not in repr(found)


def faster(monkeypatch, script):
    """Have the last measurement say that a schedule is twice as fast."""
    monkeypatch.setattr(
        search,
        "compare",
        lambda case, scripts, timeout: [1.0, *(0.5 if script in s else 2.0 for s in scripts)],
    )


def schedule_of(op, **sizes):
    """How a call of these sizes is scheduled."""
    op(np.ones((sizes["M"], sizes["N"]), np.float32))
    [kernel] = op._kernels.made.values()
    return kernel.schedule_text


def test_later_calls_use_it(monkeypatch):
    faster(monkeypatch, 'split("Y.i", 6)')
    found = tx.tune(sums(), schedule=rows, space={"tile": [3, 6, 8]}, progress=False, **SIZES)
    assert found.script == 'split("Y.i", 6)\n' and (found.seconds, found.default_seconds) == (0.5, 1.0)
    assert schedule_of(sums(), **SIZES) == f"steps {found.script}"
    assert schedule_of(sums(), M=25, N=40).startswith("auto")
    with tx.options(tuned=False):
        assert schedule_of(sums(), **SIZES).startswith("auto")
    with tx.options(cache_dir=None):
        assert schedule_of(sums(), **SIZES).startswith("auto")


def test_nothing_slower_than_the_default_is_chosen(monkeypatch):
    monkeypatch.setattr(search, "compare", lambda case, scripts, timeout: [1.0, *(0.99 for _ in scripts)])
    found = tx.tune(sums(), schedule=rows, space={"tile": [3, 6, 8]}, progress=False, **SIZES)
    assert (
        found.script == tx.schedule(sums(), **SIZES).auto().script()
        and found.seconds == found.default_seconds
    )


def test_a_chosen_schedule_that_is_refused_is_not_used(cache):
    s = tx.schedule(sums(), **SIZES)
    path = tuning_records.path_of(s.program, s.sizes)
    tuning_records.append(path, tuning_records.Record('reorder("Y.i", "T.j")\n', 1.0, chosen=True))
    with pytest.warns(UserWarning, match="the schedule that tuning chose is not used"):
        assert schedule_of(sums(), **SIZES).startswith("auto")


def test_trials_are_not_measured_again(monkeypatch):
    options = {"schedule": rows, "space": {"tile": [3, 6, 8]}, "progress": False}
    first = tx.tune(sums(), **options, **SIZES)
    monkeypatch.setattr(search, "measure", lambda *_: pytest.fail("measured again"))
    again = tx.tune(sums(), **options, **SIZES)
    assert [t.seconds for t in again.trials] == [t.seconds for t in first.trials]
    with pytest.raises(pytest.fail.Exception, match="measured again"):
        tx.tune(sums(), keep=False, **options, **SIZES)


def test_the_same_seed_tries_the_same_however_many_run_at_once(monkeypatch):
    monkeypatch.setattr(search, "compare", lambda case, scripts, timeout: [1.0] * (1 + len(scripts)))
    here = machine_text(find_target("native"))
    monkeypatch.setattr(
        search, "measure", lambda case, script, timeout: measurement.Measured(1.0 + len(script) % 7, "", here)
    )

    def tried(**options):
        return [
            t.values
            for t in tx.tune(
                tx.op(MATMUL), M=32, N=32, K=32, trials=40, keep=False, progress=False, **options
            ).trials
        ]

    with ThreadPoolExecutor(3) as executor:
        assert tried(executor=executor) == tried() != tried(seed=1)


@pytest.mark.parametrize(
    "function, message",
    [("die", "ended by SIGKILL"), ("hang", "stopped after"), ("wrong", "is not that of the default")],
)
def test_a_candidate_that_fails_loses_alone(monkeypatch, function, message):
    run = measurement.run_in_child
    monkeypatch.setattr(
        measurement,
        "run_in_child",
        lambda name, case, script, **options: run(
            f"tests.tune.candidates:{function}" if "6" in script and "measure" in name else name,
            case,
            script,
            **options,
        ),
    )
    found = tx.tune(
        sums(),
        schedule=rows,
        space={"tile": [3, 6, 8]},
        progress=False,
        timeout=60 if function != "hang" else 10,
        **SIZES,
    )
    [lost] = [t for t in found.trials if t.seconds == inf]
    assert lost.values == {"tile": 6} and message in lost.error
    assert '"Y.i", 6' not in found.script


def test_refused_schedules_cost_no_trial():
    def order(s, first, second):
        s.reorder(first, second)

    found = tx.tune(
        sums(),
        schedule=order,
        space={"first": ["T.i", "T.j"], "second": ["T.i", "T.j"]},
        progress=False,
        **SIZES,
    )
    assert {tuple(t.values.values()) for t in found.trials} == {("T.i", "T.j"), ("T.j", "T.i")}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"M": 4}, "tune needs all sizes of sums; missing: N"),
        ({"M": 4, "N": 0}, "nothing to measure"),
        ({"M": 4, "N": -1}, "the size N is -1"),
        ({"M": 4, "Q": 1}, "has no size"),
        ({**SIZES, "trials": 0}, "trials is 0"),
        ({**SIZES, "timeout": "soon"}, "timeout is 'soon'"),
        ({**SIZES, "strategy": "luck"}, "no strategy 'luck'"),
        ({**SIZES, "space": {"a": [1]}}, "a space needs the function"),
        (
            {**SIZES, "schedule": lambda s, a: s.split("nowhere", a), "space": {"a": [2, 3]}},
            "nothing in the space counts",
        ),
    ],
)
def test_what_cannot_be_tuned(options, message):
    with pytest.raises(CallError, match=message):
        tx.tune(sums(), progress=False, **options)


def records(cache):
    return [r for path in (cache / "tuned").iterdir() for r in tuning_records.read(path)]


def test_records_are_read_as_written(tmp_path):
    path = tmp_path / "some" / "file.jsonl"
    written = [tuning_records.Record("split()\n", 0.5), tuning_records.Record("", None, "why", True)]
    for record in written:
        tuning_records.append(path, record)
    assert list(tuning_records.read(path)) == written
    assert list(tuning_records.read(tmp_path / "none")) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda d: {**d, "seconds": 1e-9},
        lambda d: {**d, "script": "rm -rf /"},
        lambda d: {**d, "digest": ""},
        lambda d: {**d, "version": 2},
        lambda d: {k: v for k, v in d.items() if k != "digest"},
        lambda d: [d],
        lambda d: None,
        lambda d: "text",
    ],
)
def test_lines_that_were_changed_are_not_read(tmp_path, change):
    path = tmp_path / "file.jsonl"
    good = tuning_records.Record("contract()\n", 0.5)
    tuning_records.append(path, replace(good, chosen=True))
    line = json.loads(path.read_text())
    path.write_text(json.dumps(change(line)) + "\n{\n\xff\n" + "[" * 100_000 + "\n")
    tuning_records.append(path, good)
    assert list(tuning_records.read(path)) == [good]


def test_a_file_of_absurd_size_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "file.jsonl"
    tuning_records.append(path, tuning_records.Record("contract()\n", 0.5))
    monkeypatch.setattr(tuning_records, "MOST_BYTES", 10)
    assert list(tuning_records.read(path)) == []


LONG = """
import texpr as tx
from tests.tune.cases import MATMUL
tx.tune(tx.op(MATMUL), M=64, N=64, K=64, trials=100000, progress=False)
"""


def test_control_c_keeps_the_records(cache):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TEXPR_CACHE_DIR": str(cache)}
    running = subprocess.Popen(
        [sys.executable, "-c", LONG], env=environment, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not ((cache / "tuned").is_dir() and len(records(cache)) >= 2):
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, words = running.communicate(timeout=30)
    assert b"KeyboardInterrupt" in words
    assert len(records(cache)) >= 2 and not any(r.chosen for r in records(cache))
    with pytest.raises(ProcessLookupError):  # nobody is left
        for _ in range(50):
            os.killpg(running.pid, 0)
            time.sleep(0.1)


def test_progress_without_a_terminal(capsys):
    tx.tune(sums(), schedule=rows, space={"tile": list(range(1, 10))}, trials=9, progress=True, **SIZES)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and said[0].startswith("   8/9 trials, best ") and said[1].startswith("   9/9")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tx.tune(sums(), schedule=rows, space={"tile": [2, 3]}, **SIZES)
    assert not capsys.readouterr().err
