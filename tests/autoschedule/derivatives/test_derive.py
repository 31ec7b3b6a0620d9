"""Schedules of derivatives, made out of those of the operators: golden records, proofs, and the
same answers.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import TEXTS, Scheduled, check, random_arrays
from texpr import ops
from texpr.autoschedule.derivatives.derive import Derivation
from texpr.tools.fuzz.cases import drawn_steps

matmul = tx.op(
    "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)
softmax = tx.op("""
op softmax(X: f32[N, D]) -> Y: f32[N, D] require D >= 1 {
  m[i]    = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}""")
SCHEDULES: dict[str, tuple[tx.Op, dict[str, int], str, dict[str, int]]] = {
    "matmul": (
        matmul,
        {},
        """
        tile("i", "j", sizes=(8, 32))
        reorder("io", "jo", "k", "ii", "ji")
        unroll("ii")
        vectorize("ji")
        parallel("io")
    """,
        {"M": 96, "N": 100, "K": 90},
    ),
    "conv2d": (
        ops.conv2d,
        {"SH": 2, "SW": 2, "PH": 1, "PW": 1},
        """
        split("x", 16)
        reorder("n", "k", "y", "c", "r", "q", "xo", "xi")
        vectorize("xi")
        parallel("n")
    """,
        {"N": 2, "C": 5, "H": 40, "W": 40, "K": 6, "R": 3, "Q": 3},
    ),
    "layernorm": (
        ops.layer_norm,
        {},
        """
        split("m.d", 16)
        rfactor("m.di", reassoc=True)
        vectorize("m.di")
        split("v.d", 16)
        rfactor("v.di", reassoc=True)
        vectorize("v.di")
        split("Y.d", 16)
        vectorize("Y.di")
        compute_at("v", "Y.a")
        compute_at("m", "Y.a")
        parallel("Y.a")
    """,
        {"A": 50, "D": 200},
    ),
    "softmax": (
        softmax,
        {},
        """
        compute_at("Y_sum", "Y.i")
        compute_at("e", "Y.i")
        compute_at("m", "Y.i")
        split("Y.j", 16)
        vectorize("Y.ji")
        split("e.j", 16)
        vectorize("e.ji")
        split("Y_sum.k", 16)
        rfactor("Y_sum.ki", reassoc=True)
        vectorize("Y_sum.ki")
        parallel("Y.i")
    """,
        {"N": 50, "D": 200},
    ),
}
"""Operators, constants, schedules, and sizes to run the gradients with."""


def derived(name: str) -> tx.Schedule:
    operator, constants, script, _ = SCHEDULES[name]
    return tx.schedule(operator, **constants).replay(script).derived()


def record(schedule: tx.Schedule) -> Derivation:
    assert schedule.derivation is not None
    return schedule.derivation


def arrays_for(schedule: tx.Schedule, sizes: dict[str, int]) -> list[np.ndarray]:
    """Inputs of the order of 1."""
    generator = np.random.default_rng(0)
    bound = {v: sizes[v.name] for v in schedule.program.sizes}
    return [
        generator.standard_normal(a.shape, dtype=np.float32) for a in random_arrays(schedule.program, bound)
    ]


@pytest.mark.parametrize("name", SCHEDULES)
def test_record(name: str, golden):
    golden(str(derived(name).derivation))


@pytest.mark.parametrize("name", SCHEDULES)
def test_script_and_proof(name: str, golden):
    schedule = derived(name)
    operator, constants, *_ = SCHEDULES[name]
    again = tx.schedule(tx.grad(operator), **constants).replay(schedule.script())
    assert str(again) == str(schedule)
    assert schedule.script() == "".join(f"{step}\n" for step in record(schedule).steps)
    golden(f"{schedule.script()}\n{str(schedule.certificate()).splitlines()[0]}")


@pytest.mark.parametrize("name", SCHEDULES)
def test_equal_to_the_interpreter(name: str):
    schedule = derived(name)
    arrays = arrays_for(schedule, SCHEDULES[name][3])
    operator, constants, *_ = SCHEDULES[name]
    naive = tx.schedule(tx.grad(operator), **constants).compile()(*arrays)
    for found, plain in zip(_several(schedule.compile()(*arrays)), _several(naive)):
        if "reassoc" in schedule.script():
            np.testing.assert_allclose(
                found, plain, rtol=0, atol=2e-6 * np.abs(plain).max()
            )  # f32 sums of 200 terms in two orders
        else:
            np.testing.assert_array_equal(found, plain)
    small = {n: min(v, 7) for n, v in SCHEDULES[name][3].items()}
    arrays = arrays_for(schedule, small)
    for found, expected in zip(
        _several(schedule.compile()(*arrays)), _several(tx.interpret(tx.grad(operator), *arrays, **constants))
    ):
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


def _several(results: Any) -> tuple[np.ndarray, ...]:
    return results if isinstance(results, tuple) else (results,)


def test_the_default_schedule_of_a_product(golden):
    """What packs the operands of a product packs those of its gradients."""
    sizes = {"M": 96, "N": 80, "K": 64}
    source = tx.schedule(matmul, **sizes).auto("x86-64-v3")
    schedule = source.derived()
    assert not record(schedule).left
    golden(f"{schedule.derivation}\n\n{str(schedule.certificate()).splitlines()[0]}")


def test_of_one_input_and_of_both_halves():
    operator, _, script, _ = SCHEDULES["softmax"]
    source = tx.schedule(softmax).replay(script)
    forward, backward = tx.vjp(operator)
    assert tx.schedule(forward).derived_from(source).script() == source.script()
    halves = tx.schedule(backward).derived_from(source)
    assert (
        halves.script()
        == """\
compute_at("dX_sum", "dX.i")
split("dX.j", 16)
vectorize("dX.ji")
split("dX_sum.j", 16)
rfactor("dX_sum.ji", reassoc=True)
vectorize("dX_sum.ji")
parallel("dX.i")
"""
    )
    halves.certificate()
    product = tx.schedule(matmul, N=64).split("i", 8).split("j", 16).derived(["B"])
    assert (product.program.name, product.script()) == (
        "matmul_grad",
        'split("dB.k", 8)\nsplit("dB.j", 16)\n',
    )
    assert product.sizes == {v: 64 for v in product.program.sizes if v.name == "N"}


def test_forward_mode():
    schedule = tx.schedule(tx.jvp(matmul)).derived_from(tx.schedule(matmul).replay(SCHEDULES["matmul"][2]))
    assert schedule.script().count("tile") == 2 and not record(schedule).left
    schedule.certificate()


def test_steps_can_follow():
    schedule = tx.schedule(matmul).split("j", 16).derived().vectorize("dB.ji")
    assert schedule.script() == 'split("dA.k", 16)\nsplit("dB.j", 16)\nvectorize("dB.ji")\n'


@pytest.mark.parametrize("name", ["matmul", "stencil", "blur", "chain", "softmax"])
@pytest.mark.parametrize("seed", range(3))
def test_random_schedules(name: str, seed: int):
    """Whatever the steps are, what they give computes the gradient, bit for bit."""
    random = Random(seed)
    source = tx.schedule(tx.op(TEXTS[name]))
    choose = drawn_steps(random, 6)
    while (step := choose(source.kernel)) is not None:
        if not dict(step.options).get("reassoc"):
            with suppress(tx.ScheduleError, tx.ResourceError):
                source.apply(step)
    schedule = source.derived()
    sizes = {v: random.randint(2, 7) for v in schedule.program.sizes}
    case = Scheduled(schedule.program, sizes, schedule.kernel, schedule.steps)
    check(case, schedule.kernel, random_arrays(schedule.program, sizes, seed))


def test_on_a_schedule_that_has_steps():
    with pytest.raises(tx.ScheduleError) as e:
        tx.schedule(tx.grad(matmul)).split("dA.i", 8).derived_from(tx.schedule(matmul))
    assert (
        str(e.value)
        == """\
error[derived]: derived_from() makes the whole schedule, and steps were applied already
  help: call derived_from() on a fresh schedule, then apply steps"""
    )


def test_from_loops_put_in_place_by_hand():
    source = tx.schedule(matmul)
    source.kernel = tx.schedule(matmul).split("i", 8).kernel
    with pytest.raises(tx.ScheduleError) as e:
        source.derived()
    assert (
        str(e.value)
        == "error[derived]: the loops of that schedule were put in place by hand: there are no steps to "
        "follow"
    )


def test_of_what_has_no_gradient():
    with pytest.raises(tx.CheckError) as e:
        tx.schedule(tx.op("op f(X: i32[N]) -> Y: f32[N] { Y[i] = f32(X[i]) }")).derived()
    assert "`f` has no float input to differentiate by" in str(e.value)
