"""Plans on disk: a step that was planned before is not planned again, and is the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops
from texpr.compiler import parallel_compile
from texpr.graph import Capture, Plan, Variable
from texpr.graph.execution import compile
from texpr.graph.lowering import plan_cache
from texpr.ir.dtypes import F32, I64
from texpr.ir.printing.tensor import show_program
from texpr.nn.training.step import TrainingStep
from texpr.runtime import disk_cache
from texpr.runtime.process import worker
from texpr.support.instrumentation import collect


def planned(**options: object) -> tuple[Plan, bool]:
    """The plan of a small program, and whether passes ran for it."""
    capture = Capture()
    weight = Variable(np.ones((8, 8), "f4"), "w")
    x = capture.input("x", (4, 8), F32)
    y = ops.relu(x @ capture.variable(weight) + 1.0)
    (gradient,) = capture.gradients(ops.mean_all(y * y), [capture.variable(weight)])
    assert gradient is not None
    capture.assign(weight, capture.variable(weight) - gradient * 0.5)
    with collect() as trace:
        plan = Plan(capture, [y], **options)  # type: ignore[arg-type]
    return plan, ("graph", "flatten") in trace.seconds


def run(plan: Plan) -> list[np.ndarray]:
    """What three runs give, the variable among it."""
    plan.fill(0, np.linspace(-1, 1, 32, dtype="f4").reshape(4, 8))
    found = []
    for _ in range(3):
        plan.compute()
        found.append(plan.value(0).copy())
    return [*found, plan.assigned[0].numpy().copy()]


def test_what_was_planned_before_is_found(tmp_path: Path):
    with tx.options(cache_dir=tmp_path):
        first, made = planned()
        second, again = planned()
        assert made and not again
        assert show_program(first.program) == show_program(second.program) and str(first) == str(second)
        assert first.explain() == second.explain() and first.memory_bytes == second.memory_bytes
        assert [n.operations for n in first.launches] == [n.operations for n in second.launches]
        for a, b in zip(run(first), run(second), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_large_program_is_lowered_by_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with tx.options(cache_dir=tmp_path / "here"):
        expected, made = planned(reassociate=True)
    monkeypatch.setattr(compile, "LARGE", 1)
    with tx.options(cache_dir=tmp_path / "worker", threads=1):
        found, made_here = planned(reassociate=True)
        assert made and not made_here
        assert show_program(expected.program) == show_program(found.program)
        assert expected.explain() == found.explain()
        for a, b in zip(run(expected), run(found), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("threads, prepared", [(1, 1), (2, 0)])
def test_only_a_worker_that_is_alone_prepares_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, prepared: int
):
    """Beside another one, which has nothing else to do, it hands over the plan at once."""
    prepares = []
    monkeypatch.setattr(compile, "LARGE", 1)
    monkeypatch.setattr(parallel_compile, "start_workers", lambda kernels: None)
    monkeypatch.setattr(parallel_compile, "prepare_worker", prepares.append)
    monkeypatch.setattr(
        worker,
        "run_in_child",
        lambda name, *given, timeout: compile.lower_here(*json.loads(json.dumps(given))),
    )
    with tx.options(cache_dir=tmp_path, threads=threads):
        planned()
    assert len(prepares) == prepared


def test_what_a_worker_cannot_lower_is_lowered_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*arguments: object, timeout: float) -> None:
        raise OSError("no processes")

    monkeypatch.setattr(compile, "LARGE", 1)
    monkeypatch.setattr(worker, "run_in_child", fail)
    with tx.options(cache_dir=tmp_path, threads=1):
        assert planned()[1]
        assert not planned()[1]


def test_a_key_holds_its_program_and_constants(tmp_path: Path):
    capture = Capture()
    y = capture.input("x", (4,), F32) * 0.1
    program = capture.program((y.tensor,))
    with tx.options(cache_dir=tmp_path):
        key = plan_cache.key_of(program, dict(capture.constants), ("settings",))
    found, constants = plan_cache.program_of(key)
    assert show_program(found) == show_program(program)
    assert [(t.name, a.tolist()) for t, a in constants.items()] == [
        (t.name, a.tolist()) for t, a in capture.constants.items()
    ]
    assert set(constants) <= set(found.inputs)


@pytest.mark.parametrize("options", [{"opt": 2}, {"disable": ["fuse"]}, {"reassociate": True}])
def test_other_passes_are_another_plan(tmp_path: Path, options: dict[str, object]):
    with tx.options(cache_dir=tmp_path):
        planned()
        assert planned(**options)[1]
        assert not planned(**options)[1]


def test_constants_that_are_folded_belong_to_the_program(tmp_path: Path):
    def scaled(factor: float) -> np.ndarray:
        capture = Capture()
        plan = Plan(capture, [capture.input("x", (3,), F32) * capture.constant(np.array(factor, "f4"))])
        plan.fill(0, np.ones(3, "f4"))
        plan.compute()
        return plan.value(0).copy()

    with tx.options(cache_dir=tmp_path):
        assert [scaled(f)[0] for f in (2, 3, 2)] == [2, 3, 2]


def test_who_watches_passes_sees_them_run(tmp_path: Path):
    with tx.options(cache_dir=tmp_path):
        planned()
        with tx.options(verify=True):
            assert planned()[1]


@pytest.mark.parametrize("record", [b"", b"{}", b"[[], 0]", b"[[], [0, 0, 0]]", b"\xff"])
def test_what_is_damaged_is_made_again(tmp_path: Path, record: bytes, monkeypatch: pytest.MonkeyPatch):
    with tx.options(cache_dir=tmp_path):
        planned()
        get = disk_cache.DiskCache.get
        monkeypatch.setattr(
            disk_cache.DiskCache,
            "get",
            lambda self, key: record if key.startswith("plan") else get(self, key),
        )
        assert planned()[1]


def test_training_goes_on_where_it_was_planned_before(tmp_path: Path):
    def losses() -> list[float]:
        rng = np.random.default_rng(0)
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10)
        )
        for parameter in model.parameters():
            parameter.data = rng.uniform(-0.1, 0.1, parameter.shape).astype("f4")
        step = TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters(), lr=0.01))
        x, y = rng.standard_normal((5, 1, 8, 8), dtype="f4"), rng.integers(0, 10, 5)
        return [step(x, y) for _ in range(4)]

    with tx.options(cache_dir=tmp_path):
        first = losses()
        with collect() as trace:
            assert losses() == first
        assert ("graph", "flatten") not in trace.seconds


def test_sweeps_are_found_with_all_their_kernels(tmp_path: Path):
    """Parameters of more elements than a piece of a sweep has, and of fewer: there are two
    kernels.
    """

    def steps() -> tuple[list[float], TrainingStep]:
        rng = np.random.default_rng(0)
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
        for parameter in model.parameters():
            parameter.data = rng.uniform(-0.1, 0.1, parameter.shape).astype("f4")
        step = TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters(), lr=0.01))
        x, y = rng.standard_normal((32, 64), dtype="f4"), rng.integers(0, 10, 32)
        return [step(x, y) for _ in range(4)], step

    with tx.options(cache_dir=tmp_path):
        first, made = steps()
        again, found = steps()
        plans = [step.plan(((32, 64), F32), ((32,), I64)) for step in (made, found)]
        wholes = [[n.whole is not None for n in plan.launches] for plan in plans]
        assert first == again and wholes[0] == wholes[1] and any(wholes[0])
