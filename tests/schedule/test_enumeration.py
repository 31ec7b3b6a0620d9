"""What steps say against enumeration: accepted steps turn nothing around at any small size, refused ones do at the sizes they name."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.schedule.brute import index_data, meeting, turned_around, unchecked
from tests.schedule.drawing import Scheduled, a_step, check, random_arrays
from texpr.compiler.op import op
from texpr.ir.expr import Var
from texpr.ir.interpret_loop import ORDERS
from texpr.ir.loop import For, Kernel
from texpr.ir.shapes import evaluate_size, flat_shape
from texpr.ir.show_loop import show_kernel
from texpr.ir.traverse import variables
from texpr.passes import lower
from texpr.schedule.loops import find_loops, loop_names, private_temporaries, stores
from texpr.schedule.script import Step
from texpr.support.errors import CheckError, ResourceError, ScheduleError

LARGEST = 4


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Operators whose loops carry dependences: recurrences, folds, chains of producers, gathers and scatters."""
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
    index = draw(st.sampled_from([f"({a} * i + {b} * j) // {c}", f"({a} * i + {b} * j) % {c}", f"{a} * i + {b} * j + {c}"]))
    update = draw(st.sampled_from(["+=", "max=", "*="]))
    return f"op f(X: f32[N, M]) -> Y: f32[N] {{ Y[n] = 0  Y[{index} | drop] {update} X[i, j] for i in 0..N, j in 0..M }}"


def chained(draw: st.DrawFn) -> str:
    def read(name: str) -> str:
        i, j = draw(st.integers(-1, 1)), draw(st.integers(-1, 1))
        return f"{name}[i + {i}, j + {j} | {draw(st.sampled_from(['0', 'clamp']))}]".replace("+ -", "- ")
    more = f"  g[i, j] = {read('h')} + {read('h')}" if draw(st.booleans()) else "  g[i, j] = X[i, j] + 1"
    last = f"Y[i, j] = {read('h')} * {read('g')}"
    return f"op f(X: f32[N, M]) -> Y: f32[N, M] {{ let h: f32[N, M]  let g: f32[N, M]  h[i, j] = {read('X')}{more}  {last} }}"


def scattered(draw: st.DrawFn) -> str:
    target = draw(st.sampled_from(["Y[idx[i, j]", "Y[idx[j, i]", "Y[(idx[i, j] + i) // 2"]))
    update = draw(st.sampled_from(["+=", "min="]))
    return f"op f(X: f32[N, N], idx: i32[N, N] in 0..N) -> Y: f32[N] {{ Y[n] = 0  {target}] {update} X[i, j] }}"


def summed(draw: st.DrawFn) -> str:
    form = draw(st.sampled_from(["sum(k: A[i, k] * B[k, j])", "max(k: A[i, k] - B[k, j])", "sum(k in 0..j + 1: A[i, k] * B[k, j])",
                                 "sum(k, l: A[i, k] * B[l, j])"]))
    dtype = draw(st.sampled_from(["f32", "i32"]))
    return f"op f(A: {dtype}[N, M], B: {dtype}[M, M]) -> C: {dtype}[N, M] {{ C[i, j] = {form} }}"


@st.composite
def steps(draw: st.DrawFn, kernel: Kernel) -> Step:
    names = st.sampled_from(loop_names(kernel))
    kind = draw(st.sampled_from(["reorder", "reorder", "parallel", "vectorize", "compute_at", "tile", "jam", "fission", "skew", "reverse",
                                 "fuse", "unroll", "peel", "reverse_compute_at"]))
    if kind == "reorder":
        return Step("reorder", tuple(draw(st.permutations(draw(st.lists(names, min_size=2, max_size=4, unique=True))))))
    if kind in ("compute_at", "reverse_compute_at"):
        return Step(kind, (draw(st.sampled_from(["h", "g", "Y", "C"])), draw(names)))
    if kind == "tile":
        loops = draw(st.lists(names, min_size=1, max_size=3, unique=True))
        return Step(kind, tuple(loops), (("sizes", tuple(draw(st.integers(1, 3)) for _ in loops)),))
    if kind == "jam":
        return Step(kind, (draw(names), draw(st.integers(1, 3))))
    if kind == "skew":
        return Step(kind, (draw(names), draw(names), draw(st.sampled_from([1, -1]))))
    if kind == "fuse":
        return Step(kind, (draw(names), draw(names)))
    if kind == "peel":
        return Step(kind, (draw(names), draw(st.integers(0, 1)), draw(st.integers(0, 1))))
    return Step(kind, (draw(names),))


@given(texts(), st.data())
@settings(max_examples=150)
def test_verdicts_are_those_of_enumeration(text: str, data: st.DataObject):
    try:
        kernel = lower(op(text).program())
    except CheckError:
        return  # no order at all, or an element defined twice: not a question for a schedule
    for _ in range(data.draw(st.integers(0, 2))):
        loop = data.draw(st.sampled_from(loop_names(kernel)))
        try:
            kernel = Step("split", (loop, data.draw(st.integers(1, 3)))).apply(kernel)
        except ScheduleError:
            continue
    step = data.draw(steps(kernel))
    note(f"{text}\n{show_kernel(kernel)}\n{step}")
    try:
        step.apply(kernel)
    except ScheduleError as error:
        if error.code == "order":
            sizes: dict[str, int] = error.witness["sizes"]  # type: ignore[assignment]
            small = {v: sizes[v.name] for v in kernel.sizes}
            if max(small.values(), default=0) <= 2 * LARGEST:
                assert any(violation(kernel, step, small, seed) for seed in range(6)), f"refused without reason\n{error}"
        return
    for values in product(range(LARGEST + 1), repeat=len(kernel.sizes)):
        for seed in range(2):
            assert violation(kernel, step, dict(zip(kernel.sizes, values)), seed) is None, values


def violation(kernel: Kernel, step: Step, sizes: dict[Var, int], seed: int) -> object:
    """What the step would break at these sizes, found by running all instances."""
    data = index_data(kernel.inputs, sizes, lambda t: flat_shape(t, sizes), seed)
    if step.name in ("parallel", "vectorize"):
        loops = find_loops(kernel, step.args[0])  # type: ignore[arg-type]
        return next((found for n in loops if (found := _meeting(kernel, n, step.name == "vectorize", sizes, data))), None)
    with unchecked():
        after = step.apply(kernel)
    return turned_around(kernel, after, sizes, data)


def _meeting(kernel: Kernel, loop: For, lanes: bool, sizes: dict[Var, int], data: dict[str, np.ndarray]) -> object:
    """Threads have their own temporaries; lanes join what they all add to one element before they touch it."""
    private = frozenset() if lanes else frozenset(t.name for t in private_temporaries(kernel, loop))
    joined = lanes and all(loop.var not in variables(*s.indices) for s in stores(loop) if s.update is not None)
    return meeting(kernel, loop.var, sizes, data, private, joined)


@given(texts(), st.data())
@settings(max_examples=40)
def test_accepted_steps_compute_the_same_at_all_small_sizes(text: str, data: st.DataObject):
    """Any steps, in a row; sizes of zero and one, and those around a tile."""
    try:
        program = op(text).program()
        kernel = lower(program)
    except CheckError:
        return
    applied = []
    for _ in range(data.draw(st.integers(1, 4))):
        step = data.draw(st.composite(a_step)(kernel))
        try:
            kernel = step.apply(kernel)
        except (ScheduleError, ResourceError):
            continue
        applied.append(step)
        note(f"{text}\n{step}\n{show_kernel(kernel)}")
    order = data.draw(st.sampled_from(ORDERS))
    for values in product(range(LARGEST), repeat=len(program.sizes)):
        sizes = dict(zip(program.sizes, values))
        if applied and all(evaluate_size(c, sizes) for c in (*program.requires, *kernel.requires)):
            check(Scheduled(program, sizes, kernel, applied), kernel, random_arrays(program, sizes), order)


@pytest.mark.parametrize("text, step", [
    ("op f(X: f32[N, M]) -> A: f32[N, M] { A[i, j] = A[i-1, j+1 | 0] + X[i, j] }", Step("reorder", ("j", "i"))),
    ("op f(X: f32[N]) -> B: f32[N] { B[i] = 0  B[i // 2] += X[i] }", Step("parallel", ("B.1.i",))),
])
def test_enumeration_finds_what_is_wrong(text: str, step: Step):
    """Or the law above could not fail."""
    kernel = lower(op(text).program())
    assert violation(kernel, step, {v: 3 for v in kernel.sizes}, 0)
    assert not violation(kernel, step, {v: 1 for v in kernel.sizes}, 0)
