"""Profiles: every kernel once, the numbers of a run without, a trace that other programs read."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.graph.report import roofline
from texpr.ir.dtypes import F32, F64

X = np.random.default_rng(0).standard_normal((32, 16)).astype(np.float32)
Y = np.arange(32) % 3


def step() -> nn.TrainingStep:
    nn.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 3))
    return nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.1))


def test_a_step_that_is_watched_is_the_same_step():
    plain, watched = step(), step()
    expected = [plain(X, Y) for _ in range(3)]
    with tx.profile() as p:
        assert [watched(X, Y) for _ in range(3)] == expected
    launches = watched.plan((X.shape, F32), (Y.shape, tx.ir.dtypes.I64)).launches
    assert [e.launch for e in p.events] == [*launches] * 3
    assert sum(r.calls for r in p.rows) == len(p.events) and all(
        r.seconds > 0 and r.least > 0 for r in p.rows
    )
    watched(X, Y)
    assert len(p.events) == 3 * len(launches), "nothing is noted outside of the block"


def test_the_table_and_the_trace(tmp_path: Path):
    watched = step()
    watched(X, Y)
    with tx.profile() as p:
        watched(X, Y)
    lines = str(p).splitlines()
    assert lines[0].split() == [
        "kernel",
        "calls",
        "ms",
        "%",
        "GFLOP/s",
        "GB/s",
        "roofline",
        "bound",
        "shapes",
    ]
    assert len(lines) == 2 + len(p.rows) and lines[-1].startswith("altogether") and "<pre>" in p._repr_html_()
    p.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events] == [e.launch.program.name for e in p.events]
    assert all(e["ph"] == "X" and e["dur"] > 0 and e["args"]["program"] == "step" for e in events)
    assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(events, events[1:])), "one after the other"


def test_tensors_and_traced_functions_are_programs():
    with tx.profile() as p:
        (tx.tensor(X) * 2 + 1).sum().item()
        tx.jit(lambda x: x @ x.T)(X)
    assert {e.program for e in p.events} == {"lazy", "function"}
    with tx.profile() as p:
        pass
    assert str(p) == "no program ran" and p.trace()["traceEvents"] == []


def test_a_profile_is_of_its_thread():
    with tx.profile() as p:
        thread = threading.Thread(target=lambda: (tx.tensor(X) + 1).numpy())
        thread.start()
        thread.join()
    # Free-threaded builds of Python let threads begin in a copy of the context around.
    assert bool(p.events) == bool(getattr(sys.flags, "thread_inherit_context", 0))


def test_failed_checks_are_raised_as_elsewhere():
    table = nn.Embedding(4, 2)
    with tx.profile(), pytest.raises(tx.CallError):
        table(np.array([1, 9]))


def test_kernels_on_a_device_have_no_roofline_of_this_machine():
    x = tx.tensor(X).to("emulated")
    with tx.profile() as p:
        (x * 2.0).sum().numpy()
    assert (
        p.rows
        and all(r.least == 0 and not r.bound and r.seconds > 0 for r in p.rows)
        and "%" not in str(p).splitlines()[1][60:]
    )


def test_what_bounds_a_kernel():
    least, bound = roofline.least_seconds(10**9, 1000, F32, 1)
    assert bound == "arithmetic" and least == 1e9 / roofline.peak(F32, 1)
    least, bound = roofline.least_seconds(10, 1 << 28, F32, 1)
    assert bound == "memory" and least == (1 << 28) / roofline.bandwidths(1)[-1]
    assert 1e8 < roofline.peak(F64, 1) and 1e8 < min(roofline.bandwidths(1))
