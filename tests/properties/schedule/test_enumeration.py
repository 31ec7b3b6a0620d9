"""What steps say against enumeration: accepted steps change nothing at any small size, refused ones
have a witness that is one.

The fuzzer (`python -m texpr fuzz --only schedules`) tries the same random schedules, for as long as
one likes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.profiles import examples
from texpr import poly
from texpr.compiler.op import op
from texpr.ir.loop import Store
from texpr.ir.printing.loop import show_kernel
from texpr.ir.shapes import evaluate_size
from texpr.ir.store_kind import PLAIN
from texpr.ir.traverse import rewrite
from texpr.passes import lower
from texpr.schedule.script.script import Step, parse_script
from texpr.schedule.structure.loops import find_loops
from texpr.support.errors import CheckError, ResourceError, ScheduleError
from texpr.tools.fuzz.cases import Case, drawn_operator, drawn_steps
from texpr.tools.fuzz.judge import disagreement, events_of, index_data, meeting, races, turned_around
from texpr.tools.fuzz.schedule_trial import examine

LARGEST = 4
ANTIDIAGONAL = "op f(X: f32[N, M]) -> A: f32[N, M] { A[i, j] = A[i-1, j+1 | 0] + X[i, j] }"
HALVES = "op f(X: f32[N]) -> B: f32[N] { B[i] = 0  B[i // 2] += X[i] }"


@given(st.randoms(use_true_random=False))
@examples(20)
def test_verdicts_are_those_of_enumeration(rng: Random):
    report = examine(drawn_operator(rng), drawn_steps(rng))
    assert report.finding is None, f"{report.case}\n{report.finding.kind}\n{report.finding.detail}"


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Operators whose loops carry dependences in every direction."""
    return draw(st.sampled_from([recurrence, folded, chained, scattered, summed]))(draw)


def recurrence(draw: st.DrawFn) -> str:
    terms = []
    for _ in range(draw(st.integers(1, 3))):
        i = draw(st.integers(0, 2))
        j = draw(st.integers(-2, 2)) if i else draw(st.integers(1, 2))
        terms.append(f"A[i - {i}, j - {j} | 0]".replace("- -", "+ "))
    return f"op f(X: f32[N, M]) -> A: f32[N, M] {{ A[i, j] = X[i, j] + {' + '.join(terms)} }}"


def folded(draw: st.DrawFn) -> str:
    a, b, c = draw(st.integers(0, 2)), draw(st.integers(0, 2)), draw(st.integers(1, 3))
    index = draw(
        st.sampled_from(
            [f"({a} * i + {b} * j) // {c}", f"({a} * i + {b} * j) % {c}", f"{a} * i + {b} * j + {c}"]
        )
    )
    update = draw(st.sampled_from(["+=", "max=", "*="]))
    return (
        f"op f(X: f32[N, M]) -> Y: f32[N] {{ Y[n] = 0  Y[{index} | drop] {update} X[i, j] for i in 0..N, j "
        f"in 0..M }}"
    )


def chained(draw: st.DrawFn) -> str:
    def read(name: str) -> str:
        i, j = draw(st.integers(-1, 1)), draw(st.integers(-1, 1))
        return f"{name}[i + {i}, j + {j} | {draw(st.sampled_from(['0', 'clamp']))}]".replace("+ -", "- ")

    more = f"  g[i, j] = {read('h')} + {read('h')}" if draw(st.booleans()) else "  g[i, j] = X[i, j] + 1"
    last = f"Y[i, j] = {read('h')} * {read('g')}"
    return (
        f"op f(X: f32[N, M]) -> Y: f32[N, M] {{ let h: f32[N, M]  let g: f32[N, M]  h[i, j] = "
        f"{read('X')}{more}  {last} }}"
    )


def scattered(draw: st.DrawFn) -> str:
    target = draw(st.sampled_from(["Y[idx[i, j]", "Y[idx[j, i]", "Y[(idx[i, j] + i) // 2"]))
    update = draw(st.sampled_from(["+=", "min="]))
    return (
        f"op f(X: f32[N, N], idx: i32[N, N] in 0..N) -> Y: f32[N] {{ Y[n] = 0  {target}] {update} X[i, j] }}"
    )


def summed(draw: st.DrawFn) -> str:
    form = draw(
        st.sampled_from(
            [
                "sum(k: A[i, k] * B[k, j])",
                "max(k: A[i, k] - B[k, j])",
                "sum(k in 0..j + 1: A[i, k] * B[k, j])",
                "sum(k, l: A[i, k] * B[l, j])",
            ]
        )
    )
    dtype = draw(st.sampled_from(["f32", "i32"]))
    return f"op f(A: {dtype}[N, M], B: {dtype}[M, M]) -> C: {dtype}[N, M] {{ C[i, j] = {form} }}"


@given(texts(), st.randoms(use_true_random=False))
@examples(25)
def test_verdicts_on_dependences_are_those_of_enumeration(text: str, rng: Random):
    report = examine(Case(text), drawn_steps(rng))
    assert report.finding is None, f"{report.case}\n{report.finding.kind}\n{report.finding.detail}"


@given(texts(), st.randoms(use_true_random=False))
@examples(20)
def test_accepted_steps_agree_at_all_small_sizes(text: str, rng: Random):
    """Sizes of zero and one among them, data that is all alike and data that is not."""
    try:
        program = op(text).program()
        naive = kernel = lower(program)
    except CheckError:
        return
    applied, choose = [], drawn_steps(rng)
    while (step := choose(kernel)) is not None:
        try:
            kernel = step.apply(kernel)
        except (ScheduleError, ResourceError):
            continue
        applied.append(step)
        note(f"{text}\n{step}\n{show_kernel(kernel)}")
    loose = any(dict(step.options).get("reassoc") for step in applied)
    distributed = any(step.name in ("factor_out", "premultiply") for step in applied)
    for values, seed in product(product(range(LARGEST + 1), repeat=len(program.sizes)), range(2)):
        sizes = dict(zip(program.sizes, values))
        if applied and all(evaluate_size(c, sizes) for c in (*program.requires, *kernel.requires)):
            assert disagreement(naive, kernel, sizes, seed, loose, distributed) is None, sizes


def test_enumeration_finds_an_order_that_is_wrong():
    """Or the laws above could not fail."""
    kernel = lower(op(ANTIDIAGONAL).program())
    with pytest.raises(ScheduleError) as error:
        Step("reorder", ("j", "i")).apply(kernel)
    after = error.value.details.after  # type: ignore[attr-defined]
    for size, wrong in ((3, True), (1, False)):
        sizes = dict.fromkeys(kernel.sizes, size)
        assert (turned_around(kernel, after, sizes, {}) is not None) == wrong
        assert (disagreement(kernel, after, sizes, 0, False) is not None) == wrong


def test_enumeration_finds_iterations_that_meet():
    kernel = lower(op(HALVES).program())
    loop = find_loops(kernel, "B.1.i")[0]
    for size, wrong in ((3, True), (1, False)):
        events = events_of(kernel, dict.fromkeys(kernel.sizes, size), {})
        assert (meeting(events or (), loop, ()) is not None) == wrong


@pytest.mark.parametrize(
    "broken, text, script, kind",
    [
        ("reversed_dependence", ANTIDIAGONAL, 'reorder("j", "i")', "reorder changes the answer"),
        ("carried_dependence", ANTIDIAGONAL, 'parallel("i")', "parallel makes iterations meet"),
        ("carried_dependence", HALVES, 'vectorize("B.1.i", 2)', "vectorize makes iterations meet"),
    ],
)
def test_a_check_that_is_gone_is_missed(monkeypatch, broken: str, text: str, script: str, kind: str):
    case = Case(text, (), tuple(parse_script(script)))
    assert examine(case, case.chooser()).finding is None
    monkeypatch.setattr(poly, broken, lambda *_, **__: None)
    found = examine(case, case.chooser()).finding
    assert found is not None and found.kind == kind


def test_a_race_is_told_from_private_memory():
    text = "op f(X: f32[N]) -> Y: f32[N] { T[i] = X[i] * 2  Y[i] = T[i] + T[i + 1 | clamp] }"
    s = parse_script('compute_at("T", "Y.i")\nparallel("Y.i")')
    case = Case(text, (), tuple(s))
    assert examine(case, case.chooser()).finding is None
    kernel = lower(op(text).program())
    for step in s:
        kernel = step.apply(kernel)
    sizes = dict.fromkeys(kernel.sizes, 3)
    assert "meet" in (races(kernel, kernel, sizes, 0) or "")  # what is not placed inside the loop is shared
    assert not index_data(kernel.inputs, sizes, 0)


def test_updates_that_meet_are_atomic():
    kernel = lower(op("op f(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }").program())
    for step in parse_script('atomic("y_acc", reassoc=True)\nbind("i", "thread.x")'):
        kernel = step.apply(kernel)
    plain = rewrite(kernel, lambda n: replace(n, mode=PLAIN) if isinstance(n, Store) else None)
    for each, wrong in ((kernel, False), (plain, True)):
        assert (races(each, each, dict.fromkeys(kernel.sizes, 4), 0) is not None) == wrong
