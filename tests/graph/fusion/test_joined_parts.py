"""Tensors that join others: what they join is computed in their memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.aot import programs
from tests.profiles import examples
from texpr import ops
from texpr.graph import Capture, Plan, Symbolic, Variable
from texpr.graph.fusion.joined_parts import joined_runs, whole_source
from texpr.graph.passes.flatten_calls import flatten
from texpr.ir.dtypes import F16, F32, F64, DType, numpy_dtype
from texpr.ir.tensor import Equation

RANDOM = np.random.default_rng(0)


def weight(*shape: int) -> Variable:
    return Variable(RANDOM.normal(size=shape).astype(np.float32) / 4, "w")


def dense(x: Symbolic, features: int) -> Symbolic:
    return ops.relu(ops.linear(x, weight(features, int(x.shape[-1]))))


def ends(x: Symbolic) -> Symbolic:
    """Two ends of sums."""
    return ops.concat([dense(x, 3), dense(x, 5)], axis=1)


def nested(x: Symbolic) -> Symbolic:
    """Each layer sees what all before it gave, as those of a DenseNet do."""
    first = dense(x, 4)
    second = ops.concat([first, dense(first, 2)], axis=1)
    return ops.concat([second, dense(second, 3)], axis=1)


def mixed(x: Symbolic) -> Symbolic:
    """A sum, an input and what has no sum."""
    return ops.concat([dense(x, 3), x, ops.tanh(x)], axis=1)


def read_by_others(x: Symbolic) -> Symbolic:
    first = dense(x, 4)
    return ops.concat([first, dense(x, 4) * 2.0], axis=1) + ops.concat([ops.exp(first), first], axis=1)


def twice(x: Symbolic) -> Symbolic:
    first = dense(x, 4)
    return ops.concat([first, first], axis=1)


def viewed(x: Symbolic) -> Symbolic:
    return ops.concat([dense(x, 6).reshape(2, 3), dense(x, 3)], axis=0)


def in_three(x: Symbolic) -> Symbolic:
    return ops.concat([ops.concat([dense(x, 1), dense(x, 2)], axis=1), dense(x, 7)], axis=1)


NETWORKS: list[Callable[[Symbolic], Symbolic]] = [
    ends,
    nested,
    mixed,
    read_by_others,
    twice,
    viewed,
    in_three,
]


def made(network: Callable[[Symbolic], Symbolic], rows: int = 1, **options: object) -> Plan:
    """The network, with a product behind what it joins."""
    global RANDOM
    RANDOM = np.random.default_rng(1)
    capture = Capture()
    joined = network(capture.input("x", (rows, 6), F32))
    return Plan(capture, [ops.linear(joined, weight(3, int(joined.shape[-1])))], **options)  # type: ignore[arg-type]


def data(rows: int = 1) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(rows, 6)).astype(np.float32)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("rows", [1, 2])
def test_values_are_those_of_copies(network: Callable[[Symbolic], Symbolic], rows: int):
    if network is viewed and rows == 2:
        pytest.skip("joins rows")
    x = data(rows)
    plan, plain = made(network, rows, prepack=True), made(network, rows, opt=1)
    (wanted,) = plain(x)
    for _ in range(3):
        (got,) = plan(x)
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-6)
    plan.fill(0, x)
    plan.run()
    np.testing.assert_allclose(plan.value(0), wanted, rtol=2e-5, atol=1e-6)
    plan.profile(2)
    np.testing.assert_allclose(plan(x)[0], wanted, rtol=2e-5, atol=1e-6)


@programs.needs_gcc
@pytest.mark.parametrize("network", [nested, viewed])
def test_saved_code_has_the_same_parts(network: Callable[[Symbolic], Symbolic], tmp_path: Path):
    plan, x = made(network), data()
    (wanted,) = plan(x)
    plan.save(tmp_path / "code.o", header=tmp_path / "code.h", name="network")
    (got,) = programs.run(
        tmp_path, "network", "code.o", "code.h", [(x, False), (np.zeros_like(wanted), True)]
    )
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("network", "launches"), [(ends, 3), (nested, 4), (in_three, 4)])
def test_nothing_is_copied(network: Callable[[Symbolic], Symbolic], launches: int):
    """A launch for each product."""
    plan = made(network)
    assert len(plan.launches) == launches, str(plan)
    assert len(made(network, 2).launches) > launches, "rows of several parts lie apart"


@pytest.mark.parametrize(
    ("sizes", "starts"), [((4, 8, 3), {0, 4, 12}), ((3, 4), set()), ((4, 3, 4), set()), ((4, 5), {0, 4})]
)
def test_parts_on_a_device_begin_where_its_kernels_expect_it(sizes: tuple[int, ...], starts: set[int]):
    """At multiples of 16 bytes, whatever its memory is for."""
    numbers = np.random.default_rng(3)
    weights = [numbers.normal(size=(n, 6)).astype(np.float32) / 4 for n in sizes]

    def plan(device: str) -> Plan:
        capture = Capture()
        x = capture.input("x", (1, 6), F32)
        layers = [Variable(w, "w", device=device) for w in weights]
        joined = ops.concat([ops.tanh(ops.linear(x, w)) for w in layers], axis=1)
        last = Variable(np.ones((2, sum(sizes)), np.float32), "last", device=device)
        return Plan(capture, [ops.linear(joined, last)], device=device)

    there, here = plan("emulated"), plan("cpu")
    assert {*there._starts.values()} == starts, str(there)
    assert len(here._starts) == len(sizes)
    np.testing.assert_allclose(there(data())[0].numpy(), here(data())[0], rtol=2e-5, atol=1e-6)


def test_the_decision_is_explained():
    assert (
        "place concat2_1_2 -> concat2_1: yes, computed where the tensor that joins it lies; saves 40 bytes"
        in made(ends).explain().splitlines()
    )


def test_pictures_know_the_makers_of_a_part():
    plan = made(nested)
    dot = plan.to_dot()
    assert all(f"k{k} -> k{k + 1}" in dot for k in range(3)) and "k0 -> k3" in dot, dot


def test_results_and_inputs_have_memory_of_their_own():
    capture = Capture()
    x = capture.input("x", (1, 6), F32)
    first, second = dense(x, 4), dense(x, 5)
    joined = ops.concat([first, second], axis=1)
    plan = Plan(capture, [first, joined, ops.concat([x, second], axis=1)])
    one, both, other = plan(data())
    assert one.base is None and both.base is None
    np.testing.assert_array_equal(both[:, :4], one)
    np.testing.assert_array_equal(other, np.concatenate([data(), both[:, 4:]], axis=1))


@pytest.mark.parametrize("dtype", [F16, F32, F64])
@pytest.mark.parametrize("sizes", [(1, 1), (4, 5), (300, 1, 2)])
def test_parts_in_the_memory_of_a_result(dtype: DType, sizes: tuple[int, ...]):
    """A result is written over the tensor that joins the parts, where the caller has it."""
    capture, numbers = Capture(), np.random.default_rng(3)
    x = capture.input("x", (1, 6), dtype)
    weights = [numbers.normal(size=(n, 6)).astype(numpy_dtype(dtype)) / 4 for n in sizes]
    joined = ops.concat([ops.tanh(ops.linear(x, Variable(w))) for w in weights], axis=1)
    plan, array = Plan(capture, [joined.permute(1, 0)]), data().astype(numpy_dtype(dtype))
    assert plan.arena.overwrites and any(d.kind == "place" for d in plan.decisions), str(plan)
    wanted = np.concatenate([np.tanh(array @ w.T) for w in weights], axis=1).T
    for _ in range(2):
        (got,) = plan(array)
        np.testing.assert_allclose(got, wanted, 1e-2 if dtype is F16 else 1e-5, 1e-3)
    plan.fill(0, array)
    plan.run()
    np.testing.assert_array_equal(plan.value(0), got)


def test_a_step_of_training_through_joined_parts():
    capture = Capture()
    x, w, v = capture.input("x", (1, 6), F32), weight(3, 6), weight(4, 6)
    joined = ops.concat([ops.tanh(ops.linear(x, w)), ops.tanh(ops.linear(x, v))], axis=1)
    loss = ops.sum_all(joined * joined)
    variables = [capture.variable(w), capture.variable(v)]
    plan = Plan(capture, [loss, *capture.gradients(loss, variables)])  # type: ignore[list-item]
    _, *found = plan(data())
    for variable, gradient in zip((w, v), found):
        y = np.tanh(data() @ variable.data.T)
        np.testing.assert_allclose(gradient, (2 * y * (1 - y * y)).T @ data(), rtol=2e-5, atol=1e-6)


def test_a_plan_from_disk_has_the_same_parts(tmp_path: Path):
    with tx.options(cache_dir=str(tmp_path)):
        first, again = made(nested), made(nested)
        assert str(first) == str(again)
        np.testing.assert_array_equal(first(data())[0], again(data())[0])


SHAPES = st.lists(st.integers(1, 3), min_size=1, max_size=3)


@given(SHAPES, st.lists(st.integers(1, 4), min_size=2, max_size=3), st.data())
@examples(60)
def test_runs_of_memory(shape: list[int], lengths: list[int], draw: st.DataObject):
    """Parts are neighbours in memory where all dimensions before the joined one have one element."""
    axis = draw.draw(st.integers(0, len(shape) - 1))
    capture = Capture()
    parts = [
        capture.input(f"x{k}", tuple(n if d == axis else m for d, m in enumerate(shape)), F32)
        for k, n in enumerate(lengths)
    ]
    program = flatten(capture.program([ops.concat(parts, axis=axis).tensor]))
    equations = [e for e in program.equations if isinstance(e, Equation)]
    runs = joined_runs(equations)
    assert bool(runs) is all(n == 1 for n in shape[:axis])
    assert [whole_source(e) for e in runs] == [*program.inputs[: len(runs)]]


STEPS = st.sampled_from(["dense", "join", "join", "map", "scan", "split", "turn"])


def drawn(draw: st.DataObject, x: Symbolic, variables: list[Variable]) -> list[Symbolic]:
    """Rows of one element each, each computed from those before."""

    def layer(y: Symbolic) -> Symbolic:
        w = RANDOM.normal(size=(draw.draw(st.integers(1, 5)), int(y.shape[1]))).astype(np.float32) / 2
        variables.append(Variable(w, "w"))
        return ops.tanh(ops.linear(y, variables[-1]))

    rows = [x]
    for step in draw.draw(st.lists(STEPS, min_size=2, max_size=6)):
        y = draw.draw(st.sampled_from(rows))
        length = int(y.shape[1])
        if step == "join":
            others = [draw.draw(st.sampled_from(rows)), layer(y), layer(rows[-1])]
            parts = [y, *others[: draw.draw(st.integers(1, 3))]]
            rows.append(ops.concat(draw.draw(st.permutations(parts)), axis=1))
        elif step == "split":
            at = draw.draw(st.integers(0, length - 1))
            rows.append(ops.concat([y[:, at:], y[:, :at]], axis=1) if at else y * 3.0)
        else:
            made = {
                "dense": layer,
                "map": ops.sin,
                "scan": lambda t: t.cumsum(1),
                "turn": lambda t: t.flip(1),
            }
            rows.append(made[step](y))
    return rows[1:]


@given(st.data(), st.booleans())
@examples(25)
def test_random_programs_give_what_copies_give(draw: st.DataObject, assigns: bool):
    capture, variables = Capture(), []
    x = capture.input("x", (1, 4), F32)
    rows = drawn(draw, x, variables)
    results = draw.draw(st.lists(st.sampled_from(rows), min_size=1, max_size=2))
    results = [draw.draw(st.sampled_from([ops.exp, lambda t: t.permute(1, 0)]))(r) for r in results]
    state = Variable(np.ones((1, int(rows[-1].shape[1])), np.float32), "state")
    if assigns:
        capture.assign(state, capture.variable(state) * 0.5 + rows[-1])
    results = [capture.own_result(r) for r in results]
    given = np.random.default_rng(2).normal(size=(1, 4)).astype(np.float32)
    found = []
    for options in ({"opt": 1}, {}, {"prepack": True}):
        state.data = np.ones(state.shape, np.float32)
        plan = Plan(capture, results, **options)  # type: ignore[arg-type]
        found.append([*plan(given), state.numpy().copy()])
    for one, other in zip([*found[0], *found[0]], [*found[1], *found[2]]):
        np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-4)
