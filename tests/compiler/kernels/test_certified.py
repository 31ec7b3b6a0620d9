"""Kernels that are not certified: a plainer schedule in the place of a default one, a refusal of
any other.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.compiler import fallback, pass_pipeline
from texpr.compiler.fallback import Fallback
from texpr.compiler.scheduled_kernels import automatic
from texpr.graph import Capture, Plan
from texpr.ir.dtypes import F32
from texpr.ir.loop import For
from texpr.ir.loop_kind import VECTOR
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import walk
from texpr.targets import find_target

TEXT = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }"
HELP = """error[certificate]: not proven
  help: every step was proven, the finished loops are not: compare with tx.interpret, or report them; tx.options(certify="warn") \
compiles them all the same"""


@pytest.fixture
def nothing_is_proven(monkeypatch):
    def fail(*_):
        raise tx.CertificateError("not proven", code="certificate")

    monkeypatch.setattr(pass_pipeline, "certificate", fail)


@pytest.fixture
def no_vectors(monkeypatch):
    """Loops with vectors are not proven."""
    proven = pass_pipeline.certificate

    def fail(kernel, program, sizes):
        if any(isinstance(n, For) and n.kind == VECTOR for n in walk(kernel)):
            raise tx.CertificateError("vectors are not proven", code="certificate")
        return proven(kernel, program, sizes)

    monkeypatch.setattr(pass_pipeline, "certificate", fail)


@pytest.fixture(autouse=True)
def a_fresh_count(monkeypatch):
    monkeypatch.setattr(fallback, "_left", [])


def call():
    return tx.op(TEXT)(np.zeros(3, "f4"))


@pytest.mark.usefixtures("no_vectors")
def test_a_default_schedule_is_left_for_a_plainer_one_that_is_certified():
    schedule = tx.schedule(tx.op(TEXT), N=100).auto()
    assert any(step.name == "vectorize" for step in schedule.steps)
    kernel = schedule.compile()
    with tx.options(cache_dir=None):
        np.testing.assert_array_equal(kernel(np.zeros(100, "f4")), np.ones(100, "f4"))
    (left,) = tx.fallbacks()
    assert (
        left == kernel.fallback
        and left.name == "f"
        and left.reason == "vectors are not proven"
        and left.steps == len(schedule.steps)
    )
    assert "vectorize" not in left.script and "vector" not in str(kernel)
    assert kernel.explain().endswith(
        f"f: {len(left.script.splitlines())} of {left.steps} steps of the default schedule, "
        "since all of them are not certified: vectors are not proven"
    )


@pytest.mark.usefixtures("no_vectors")
def test_steps_behind_the_one_that_is_left_out_are_kept():
    op = tx.op(
        "op two(X: f32[N]) -> (Y: f32[N], Z: f32[N, N]) { Y[i] = X[i] + 1  Z[i, j] = sum(k: X[k] * X[i]) }"
    )
    kernel = tx.schedule(op, N=100).auto().compile()
    with tx.options(cache_dir=None):
        kernel(np.zeros(100, "f4"))
    assert kernel.fallback is not None and "Z." in kernel.fallback.script, kernel.fallback


@pytest.mark.usefixtures("no_vectors")
def test_the_plainer_schedule_is_found_on_disk(tmp_path):
    for _ in range(2):
        with tx.options(cache_dir=tmp_path):
            kernel = tx.schedule(tx.op(TEXT), N=100).auto().compile()
            kernel(np.zeros(100, "f4"))
            assert kernel.fallback is not None and "vector" not in str(kernel)
    assert len(tx.fallbacks()) == 2 and tx.fallbacks()[0] == tx.fallbacks()[1]


@pytest.mark.usefixtures("no_vectors")
@pytest.mark.parametrize(
    "use", [lambda k: k.artifact, lambda k: k.c_code.renamed("g"), lambda k: k.explain()]
)
def test_every_way_to_code_takes_the_plainer_schedule(use):
    kernel = tx.schedule(tx.op(TEXT), N=100).auto().compile()
    use(kernel)
    assert kernel.fallback is not None


def test_a_fallback_is_json():
    left = Fallback("f", "a()\n", 3, "why")
    assert Fallback.from_json(json.loads(json.dumps(left.to_json()))) == left
    assert Fallback.from_json(None) is None
    with pytest.raises(ValueError, match="no fallback"):
        Fallback.from_json([1])


@pytest.mark.usefixtures("no_vectors")
@pytest.mark.parametrize("target", ["x86-64-v3", "aarch64"])
def test_other_targets(target: str):
    kernel = tx.schedule(tx.op(TEXT), N=100).auto(target).compile(target)
    assert kernel.asm and kernel.fallback is not None


@pytest.mark.usefixtures("nothing_is_proven")
def test_a_default_schedule_is_refused_where_no_loops_are_certified():
    with tx.options(cache_dir=None), pytest.raises(tx.CertificateError) as e:
        call()
    assert str(e.value) == HELP
    assert tx.fallbacks() == ()


@pytest.mark.usefixtures("no_vectors")
def test_a_schedule_by_hand_is_refused():
    with tx.options(cache_dir=None), pytest.raises(tx.CertificateError) as e:
        tx.schedule(tx.op(TEXT)).split("i", 4).vectorize("ii").compile()(np.zeros(3, "f4"))
    assert str(e.value) == HELP.replace("not proven\n", "vectors are not proven\n")
    assert isinstance(e.value, tx.ScheduleError)


@pytest.mark.usefixtures("nothing_is_proven")
def test_warnings_in_place_of_refusals():
    with tx.options(cache_dir=None, certify="warn"), pytest.warns(tx.CertificateWarning) as warned:
        np.testing.assert_array_equal(call(), np.ones(3, "f4"))
    assert str(warned[0].message) == HELP.partition("; tx.options")[0] and warned[0].filename == __file__


@pytest.mark.usefixtures("nothing_is_proven")
@pytest.mark.parametrize("certify", ["warn", False])
def test_options_hold_for_what_is_compiled_in_their_block_and_made_later(certify: str | bool):
    with tx.options(cache_dir=None, certify=certify):
        kernel = tx.schedule(tx.op(TEXT)).split("i", 4).compile()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(kernel(np.zeros(3, "f4")), np.ones(3, "f4"))
        assert kernel.explain() == "no certificate of f: not proven"
    assert [w.category for w in warned] == [tx.CertificateWarning] * (certify == "warn")


def test_a_guard_holds_for_what_is_compiled_in_its_block_and_made_later():
    with tx.options(guard=True):
        kernel = tx.schedule(tx.op(TEXT)).compile()
    with tx.options(cache_dir=None):
        assert "guard" in kernel.text and "guard" not in tx.schedule(tx.op(TEXT)).compile().text


@pytest.mark.usefixtures("nothing_is_proven")
def test_nothing_is_certified_where_nobody_asks():
    with tx.options(cache_dir=None, certify=False):
        np.testing.assert_array_equal(call(), np.ones(3, "f4"))


@pytest.mark.usefixtures("nothing_is_proven")
def test_an_uncertified_kernel_is_not_in_the_cache_as_certified(tmp_path):
    with tx.options(cache_dir=tmp_path, certify="warn"):
        for _ in range(2):
            with pytest.warns(tx.CertificateWarning, match="not proven"):
                call()
    with tx.options(cache_dir=tmp_path), pytest.raises(tx.CertificateError, match="not proven"):
        call()


def test_the_option():
    with pytest.raises(tx.CallError, match="""certify is 'sometimes', expected True, False or "warn\""""):
        tx.options(certify="sometimes")
    with tx.options(certify=None) as options:
        assert options.certify is True


@pytest.mark.usefixtures("no_vectors")
def test_plans_explain_it():
    capture = Capture()
    x = capture.input("x", (100,), F32)
    with tx.options(cache_dir=None):
        plan = Plan(capture, [ops.tanh(x) * 2.125])
    assert plan.explain().endswith(
        "steps of the default schedule, since all of them are not certified: vectors are not proven"
    )


@pytest.mark.parametrize(
    "given, place",
    [
        ("x: i64 in 0..V", "x"),
        ("x: i32 in 0..V", "x"),
        ("x: i64[1] in 0..V", "x[0]"),
        ("x: i64[2] in 0..V - 1", "x[0] + 1"),
        ("x: i64", "x | drop"),
    ],
)
@pytest.mark.parametrize("update", ["+=", "max="])
def test_an_update_at_one_place_that_data_say(given: str, place: str, update: str):
    """What is declared of a datum that all instances share is known of each of them: the element
    they fold into was written.
    """
    f = tx.op(
        f"op f({given}, dY: f32[D]; V = 5) -> Y: f32[V, D] {{ Y[v, d] = 0  Y[{place.replace(' |', ', d |')}"
        f"{'' if '|' in place else ', d'}] {update} dY[d] }}"
    )
    x = np.array(
        {"x: i64[1] in 0..V": [2], "x: i64[2] in 0..V - 1": [1, 3]}.get(given, 2),
        "i4" if "i32" in given else "i8",
    )
    np.testing.assert_array_equal(f(x, np.ones(3, "f4")), tx.interpret(f, x, np.ones(3, "f4")))


def test_the_gradient_of_a_row():
    w = tx.tensor(np.zeros((5, 4), "f4"), requires_grad=True)
    ops.embedding(w, tx.tensor(np.array(2))).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), np.eye(5, dtype="f4")[2][:, None] * np.ones(4, "f4"))


def test_the_search_for_a_plainer_schedule_ends(monkeypatch):
    """The loops as they are written are proven, none that has a step: so many schedules are
    tried, and no more.
    """
    tried, proven = [], pass_pipeline.certificate

    def fail(kernel, program, sizes):
        tried.append(kernel)
        if len(tried) != 2:
            raise tx.CertificateError("not proven", code="certificate")
        return proven(kernel, program, sizes)

    monkeypatch.setattr(pass_pipeline, "certificate", fail)
    monkeypatch.setattr(fallback, "MOST_TRIED", 3)
    kernel = (
        tx.schedule(
            tx.op(
                "op mm(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
            ),
            M=64,
            N=64,
            K=64,
        )
        .auto()
        .compile()
    )
    with tx.options(cache_dir=None):
        kernel.explain()
    assert len(tried) == 2 + 3 and kernel.fallback is not None and not kernel.fallback.script


SCHEDULES = import_module("texpr.compiler.schedule")


def without_stores(program, sizes, *_):
    """Loops that compute nothing."""
    return replace(SCHEDULES.Schedule(program, sizes).kernel, body=())


def broken(*_):
    """A part of the schedule that fails."""
    raise RuntimeError("no loops")


@pytest.mark.parametrize("wrong", [without_stores, broken])
def test_loops_whose_steps_were_presumed_wrongly_are_made_again_with_proofs(wrong, monkeypatch):
    monkeypatch.setattr(SCHEDULES, "presumed_for", wrong)
    program = tx.op(TEXT).program()
    with tx.options(cache_dir=None):
        kernel = automatic(program, {})
        np.testing.assert_array_equal(kernel(np.zeros(100, "f4")), np.ones(100, "f4"))
    assert not kernel.is_presumed and not tx.fallbacks()
    assert "vector" in str(kernel)


def test_steps_are_presumed_where_the_loops_are_certified_alone(monkeypatch):
    asked = []

    def presumed_for(*given):
        asked.append(given)
        return SCHEDULES.chosen_for(*given).kernel

    monkeypatch.setattr(SCHEDULES, "presumed_for", presumed_for)
    for certify in (False, True):
        with tx.options(cache_dir=None, certify=certify):
            automatic(tx.op(TEXT).program(), {})(np.zeros(3, "f4"))
        assert len(asked) == certify


@pytest.mark.parametrize(
    "text",
    [
        "op f(A: f32[64, 80], B: f32[80, 96]) -> C: f32[64, 96] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
        "op f(X: f32[40, 70]) -> Y: f32[40, 70] { Y[i, j] = X[i, j] / sum(k: X[i, k]) }",
        "op f(X: f32[9, 50]) -> Y: f32[9, 50] { Y[i, 0] = X[i, 0]\n Y[i, j] = Y[i, j - 1] + X[i, j] for j in 1..50 }",
    ],
)
def test_presumed_schedules_are_those_with_proofs(text):
    given = tx.op(text).program(), {}, find_target("native"), frozenset()
    assert show_kernel(SCHEDULES.presumed_for(*given)) == show_kernel(SCHEDULES.chosen_for(*given).kernel)
