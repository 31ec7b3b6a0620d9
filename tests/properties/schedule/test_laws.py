"""What holds for all programs and all schedules: a step keeps every bit, a refused one changes
nothing, scripts and listings read back.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from tests.properties.schedule.drawing import (
    PROGRAMS,
    TEXTS,
    Scheduled,
    check,
    kernels,
    random_arrays,
    scheduled,
)
from tests.strategies import Case, cases
from texpr.ir.interpreter.loop import ORDERS
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import equal
from texpr.lang import parse_kernel
from texpr.passes import lower, specialize
from texpr.schedule.script.json_format import from_json, to_json
from texpr.schedule.script.script import parse_script


@given(kernels(), st.sampled_from(ORDERS), st.integers(0, 2))
@examples(75)
def test_schedules_keep_every_bit(case: Scheduled, order: str, seed: int):
    check(case, case.kernel, random_arrays(case.program, case.sizes, seed), order)


@given(cases(), st.data(), st.sampled_from(ORDERS))
@examples(30)
def test_schedules_of_random_programs_keep_every_bit(case: Case, data: st.DataObject, order: str):
    sizes = {v: n for t, a in zip(case.program.inputs, case.arrays) for v, n in zip(t.shape, a.shape)}
    constant = {v: n for v, n in sizes.items() if data.draw(st.booleans())}
    kernel, steps = data.draw(scheduled(lower(specialize(case.program, constant)), most=4))
    with np.errstate(all="ignore"):
        check(Scheduled(case.program, sizes, kernel, steps), kernel, list(case.arrays), order)


@given(kernels())
@examples(40)
def test_scripts_and_listings_read_back(case: Scheduled):
    script = "".join(f"{step}\n" for step in case.steps)
    again = lower(
        specialize(case.program, {v: n for v, n in case.sizes.items() if v not in case.kernel.sizes})
    )
    for step in parse_script(script):
        again = step.apply(again)
    listing = show_kernel(case.kernel)
    assert show_kernel(again) == listing
    assert from_json(to_json(case.steps)) == case.steps
    assert equal(parse_kernel(listing), case.kernel)


ALMOST = [3, 4, 5, 7, 8, 9]
"""Sizes around a tile of 4 and one of 8."""


@pytest.mark.parametrize("tail", ["guard", "peel"])
@pytest.mark.parametrize("size", [1, *ALMOST])
def test_tiles_of_any_size(tail, size):
    program = PROGRAMS["matmul"]
    op = tx.op(TEXTS["matmul"])
    for sizes in ({}, {"M": size, "N": size, "K": size}):
        s = tx.schedule(op, **sizes).split("i", 4, tail=tail).split("j", 8, tail=tail).split("k", 4)
        if tail == "guard":
            s.reorder("io", "jo", "ko", "ki", "ii", "ji")
        s.vectorize("ji").parallel("io")
        bound = {v: size for v in program.sizes}
        for order in ORDERS:
            check(
                Scheduled(s.program, {v: size for v in s.program.sizes}, s.kernel, s.steps),
                s.kernel,
                random_arrays(program, bound),
                order,
            )


@pytest.mark.parametrize(
    "sizes", [{"M": 0, "N": 3, "K": 3}, {"M": 3, "N": 3, "K": 0}, {"M": 0, "N": 0, "K": 0}]
)
@pytest.mark.parametrize("constant", [True, False])
def test_empty_loops(sizes, constant):
    s = tx.schedule(tx.op(TEXTS["matmul"]), **(sizes if constant else {}))
    s.split("i", 4, tail="peel").split("j", 2).split("k", 2).parallel("io")
    bound = {v: sizes[v.name] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )


REFUSED = [
    's.split("i", 0)',
    's.parallel("k")',
    's.vectorize("k")',
    's.reorder("i", "i")',
    's.fuse("i", "k")',
    's.rfactor("k")',
    's.peel("i", 9, 9)',
    's.compute_at("C", "i")',
    's.unroll("nothing")',
    's.bind("i", "moon")',
    's.replay("no()")',
]


@pytest.mark.parametrize("step", REFUSED)
def test_a_refused_step_changes_nothing(step):
    s = tx.schedule(tx.op(TEXTS["matmul"]), M=8, N=8, K=8).split("j", 4)
    before = s.kernel, list(s.steps), str(s), s.script()
    with pytest.raises(tx.ScheduleError):
        eval(step, {"s": s})
    assert (s.kernel, s.steps, str(s), s.script()) == before


def test_reassociated_sums_are_sums():
    s = (
        tx.schedule(tx.op(TEXTS["matmul"]), M=3, N=2, K=50)
        .split("k", 8)
        .rfactor("ki", reassoc=True)
        .reorder("i", "j", "ko", "ki")
    )
    assert 'rfactor("ki", reassoc=True)' in s.script()
    assert "reassoc" in str(s)
    a, b = (
        np.random.default_rng(0).integers(-8, 8, shape).astype(np.float32) for shape in ((3, 50), (50, 2))
    )
    bound = dict(zip(s.program.sizes, (3, 50, 2)))
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, [a, b]
    )  # sums of small integers are exact in any order


def test_a_script_fits_the_operator_rewritten():
    """What names no loop may change: spelling, other reads, intermediate values inside the
    equation.
    """
    first = tx.op("op f(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i, j] * 2 + 1 }")
    second = tx.op(
        "op g(X: f32[M, N], Z: f32[N]) -> Y: f32[M, N] { Y[i, j] = if Z[j] > 0 then X[i, j] else Z[j] }"
    )
    s = tx.schedule(first).tile("i", "j", sizes=(4, 8)).vectorize("ji").parallel("io")
    for format in ("text", "json"):
        again = tx.schedule(second).replay(s.script(format))
        assert again.script() == s.script()
        assert [n.name for n in again.loops] == [n.name for n in s.loops]


def test_numpy_integers_are_numbers():
    s = tx.schedule(tx.op(TEXTS["matmul"]), M=np.int64(8), N=8, K=8).split("i", np.int32(4))
    assert s.script() == 'split("i", 4)\n'


def test_handles_survive_steps_on_other_loops():
    s = tx.schedule(tx.op(TEXTS["matmul"]), M=8, N=8, K=8)
    i, j, k = s.loops
    s.split(k, 4).split(i, 4).reorder(j, s.loops[0]).parallel(j)
    assert s.script() == 'split("k", 4)\nsplit("i", 4)\nreorder("j", "io")\nparallel("j")\n'
    assert s.loops[0] is j
