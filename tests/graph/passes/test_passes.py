"""Passes over captured programs: what each leaves, and that none changes a value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import ops
from texpr.graph import Capture, Plan, Symbolic, Variable
from texpr.graph.passes import PASSES, enabled_passes, optimize
from texpr.graph.passes.flatten_calls import shape_of, view, viewed
from texpr.graph.passes.narrow_sums import narrow_sums
from texpr.ir.dtypes import F32, I64
from texpr.ir.expr import Tensor, index, plain
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.tensor import show_program
from texpr.passes import specialize


def after(text: str, *disable: str, level: int = 2, reassociate: bool = False, **sizes: int) -> list[str]:
    """The equations of an operator after the passes."""
    program = tx.op(text).program()
    program = specialize(program, {v: sizes[v.name] for v in program.sizes})
    lines = show_program(optimize(program, {}, level, disable, reassociate)).splitlines()
    return [
        line.strip()
        for line in lines
        if " = " in line and not line.lstrip().startswith(("op ", "->", "let "))
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("op f(X: f32[N]) -> Y: f32[N] { T[i] = exp(X[i])  Y[i] = X[i] + 1 }", ["Y[i] = X[i] + 1.0"]),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * 1 }", ["Y[i] = X[i]"]),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 0 }", ["Y[i] = X[i] + 0.0"]),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]*2*2*2 }", ["Y[i] = X[i] * 8.0"]),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / 8 }", ["Y[i] = X[i] * 0.125"]),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]*0.1*3 }", ["Y[i] = X[i] * 0.1 * 3.0"]),
        (
            "op f(X: f32[N]) -> Y: f32[N] { A[i] = exp(X[i])  B[i] = exp(X[i])  Y[i] = A[i] * B[i] }",
            ["A[i] = exp(X[i])", "Y[i] = A[i] * A[i]"],
        ),
        (
            "op f(X: f32[M, N]) -> Y: f32[N, M] { T[i, j] = X[j, i]  Y[i, j] = T[i, j] + 1 }",
            ["Y[i, j] = X[j, i] + 1.0"],
        ),
        (
            "op f(X: f32[N]) -> Y: f32[N] { T[i] = X[i] - 1  R[i] = max(T[i], 0)  Y[i] = if T[i] > 0 then "
            "R[i] else X[i] }",
            ["T[i] = X[i] - 1.0", "R[i] = max(T[i], 0.0)", "Y[i] = if R[i] > 0.0 then R[i] else X[i]"],
        ),
        (
            "op f(X: f32[N]) -> (Y: f32, Z: f32) { Y = 1 / sum(i: X[i])  Z = 2 * sum(i: X[i]) }",
            ["Y_sum = sum(i: X[i])", "Y = 1.0 / Y_sum", "Z = 2.0 * Y_sum"],
        ),
        (
            "op f(X: f32[4, N]) -> Y: f32[8] { Y[2*i] = sum(k: X[i, k]) for i in 0..4  Y[2*i + 1] = 1 for i "
            "in 0..4 }",
            ["Y_sum[i] = sum(k: X[i, k])", "Y[i * 2] = Y_sum[i]", "Y[i * 2 + 1] = 1.0  for i in 0..4"],
        ),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] - sum(k in 0..0: X[k]) }", ["Y[i] = X[i]"]),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]  Y[i] += 2*X[i] }", ["Y[i] = X[i] + 2.0 * X[i]"]),
        (
            "op f(X: f32[N]) -> Y: f32[N - 2] require N > 2 { Y[i] = X[i | 0] + X[i + 2 | 0] }",
            ["Y[i] = X[i] + X[i + 2]"],
        ),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1 | 0] }", ["Y[i] = X[i + 1 | 0.0]"]),
    ],
)
def test_what_is_left(text: str, left: list[str]):
    assert after(text, N=5, M=3) == left


PADDED = "op f(X: f32[N], w: f32[K]; D) -> Y: f32[N] { Y[i] = sum(r: X[i + D * r - D | 0] * w[r]) }"


@pytest.mark.parametrize(
    ("distance", "left"),
    [
        (3, "Y[i] = sum(r: X[i + r * 3 - 3 | 0.0] * w[r])"),
        (13, "Y[i] = sum(r in 0..3: X[i + r * 13 - 13 | 0.0] * w[r])"),
        (14, "Y[i] = sum(r in 0..1: X[i + (r + 1) * 14 - 14] * w[r + 1])"),
        (-40, "Y[i] = sum(r in 0..1: X[i + (r + 1) * -40 + 40] * w[r + 1])"),
    ],
)
def test_terms_that_lie_in_the_padding(distance: int, left: str):
    """Those that are outside for every element are left out."""
    text = PADDED.replace("; D", "").replace("D", str(distance)).replace("- -", "+ ")
    assert after(text, N=14, K=5 if distance == 13 else 3) == [left]


@given(st.integers(1, 9), st.integers(1, 4), st.integers(-6, 6), st.integers(-9, 9))
@examples(40)
def test_sums_without_padding_are_the_same(n: int, k: int, distance: int, offset: int):
    text = f"op f(X: f32[N], w: f32[K]) -> Y: f32[N] {{ Y[i] = sum(r: X[i + {distance} * r + {offset} | 0] * w[r]) }}"
    program = tx.op(text).program()
    program = specialize(program, {v: {"N": n, "K": k}[v.name] for v in program.sizes})
    x, w = np.arange(1, n + 1, dtype=np.float32), 2 + np.arange(k, dtype=np.float32)
    assert np.array_equal(interpret(narrow_sums(program), [x, w])[0], interpret(program, [x, w])[0])


def test_ranges_that_depend_on_what_is_left_out():
    """The first term is left out; the ranges of the others are those that they had."""
    text = (
        "op f(X: f32[4]) -> Y: f32[1] { Y[i] = sum(r in 0..4, s in 0..r + 1: X[i + 2 * r - 2 | 0] * X[s]) }"
    )
    program, x = tx.op(text).program(), np.arange(1, 5, dtype=np.float32)
    narrowed = narrow_sums(program)
    assert narrowed != program
    assert np.array_equal(interpret(narrowed, [x])[0], interpret(program, [x])[0])


def test_loose_laws_are_asked_for():
    text = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 0 }"
    assert after(text, N=5, reassociate=True) == ["Y[i] = X[i]"]


def test_what_is_known_at_capture_is_computed_then():
    capture = Capture()
    x = capture.input("x", (4,), F32)
    two = capture.constant(np.array(2, np.float32)), capture.constant(np.array(3, np.float32))
    y = ops.affine(x, *two)
    program = capture.program([y.tensor])
    constants = dict(zip(program.inputs[1:], capture.constants.values()))
    assert (
        show_program(optimize(program, constants, 1)).splitlines()[-2].strip()
        == "affine_1[s0] = 2.0 * x[s0] + 3.0"
    )


def test_an_operand_without_dimensions_is_no_neutral_element():
    capture = Capture()
    x, empty = capture.input("x", (4,), F32), capture.input("e", (0,), F32)
    plan = Plan(capture, [ops.sum_all(empty), x * 1.0])
    total, same = plan(np.arange(4, dtype=np.float32), np.empty(0, np.float32))
    assert total == 0 and same.tolist() == [0, 1, 2, 3]


def test_calls_see_other_dimensions():
    capture = Capture()
    x = capture.input("x", (2, 3, 4, 5), F32)
    flat = ops.flatten4(x)
    plan = Plan(capture, [flat * 2.0])
    assert len(plan.launches) == 1
    data = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    np.testing.assert_array_equal(plan(data)[0], 2 * data.reshape(2, 60))


SAME_SIZE = [
    ((2, 60), (2, 3, 4, 5)),
    ((6, 4), (8, 3)),
    ((), (1, 1)),
    ((5, 1, 2), (10,)),
    ((3, 4), (3, 4)),
    ((1,), ()),
]


@pytest.mark.parametrize(("a", "b"), SAME_SIZE)
def test_views_are_found_again(a: tuple[int, ...], b: tuple[int, ...]):
    target, source = (Tensor(n, F32, plain(*map(index, s))) for n, s in (("T", a), ("S", b)))
    equation = view(target, source)
    assert viewed(equation) is source and shape_of(target) == a


def network(capture: Capture) -> list[Symbolic]:
    """A loss and its gradients, with branches, a sum of cotangents, and something needless."""
    rng = np.random.default_rng(3)
    x, y = capture.input("x", (8, 6), F32), capture.input("y", (8,), I64)
    w, v = (Variable(rng.normal(size=s).astype(np.float32), n) for n, s in (("w", (5, 6)), ("v", (4, 5))))
    hidden = ops.relu(ops.linear(x, w))
    out = ops.linear(ops.add(hidden, ops.tanh(hidden)) * 1.0, v)
    ops.exp(out)
    loss = ops.mean_all(ops.cross_entropy(out, y))
    return [loss, *capture.gradients(loss, [capture.variable(w), capture.variable(v)]), out]  # type: ignore[list-item]


DATA = np.random.default_rng(4).normal(size=(8, 6)).astype(np.float32), np.arange(8) % 4


def results(**options: object) -> tuple[Plan, tuple[np.ndarray, ...]]:
    capture = Capture("step")
    plan = Plan(capture, network(capture), **options)  # type: ignore[arg-type]
    return plan, plan(*DATA)


def test_every_level_and_every_pass_gives_the_same_numbers():
    _, plain_ones = results(opt=0)
    for options in (
        {"opt": 1},
        {"opt": 2},
        {"opt": 3},
        *({"disable": [s.name]} for s in PASSES if s.optional),
        {"disable": ["fuse"]},
    ):
        _, found = results(**options)
        for a, b in zip(found, plain_ones, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7, err_msg=str(options))


def test_fewer_kernels_run_at_higher_levels():
    counts = [len(results(opt=level)[0].launches) for level in (1, 2, 3)]
    assert counts[0] >= counts[1] > counts[2]


def test_options_choose_passes():
    with tx.options(opt=1, disable="cse,fuse"):
        assert results()[0].explain() == ""
    assert "dead" in enabled_passes(1, ()) and "cse" not in enabled_passes(1, ())
    assert "cse" in enabled_passes(2, ()) and "cse" not in enabled_passes(2, ["cse"])


def test_a_plan_takes_names_as_the_option_does():
    capture = Capture()
    x = capture.input("x", (4,), F32)
    wanted = Plan(capture, [x * 2.0 + 1.0], disable=["cse", "fuse"])
    assert len(wanted.launches) == len(Plan(capture, [x * 2.0 + 1.0], disable="cse, fuse").launches) == 2


def test_a_pass_that_there_is_not():
    capture = Capture()
    x = capture.input("x", (4,), F32)
    with pytest.raises(tx.CallError) as caught:
        Plan(capture, [x * 2.0], disable=["csa"])
    assert (
        str(caught.value)
        == """\
error[option]: no pass `csa` can be left out
  help: did you mean `cse`?"""
    )


def test_programs_are_printed_after_passes(capsys: pytest.CaptureFixture[str]):
    with tx.options(print="after:cse"):
        results()
    assert capsys.readouterr().err.startswith(
        "-- graph: after cse\nop step(x: f32[8, 6], y: i64[8] in 0..4, "
    )


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_pack_that_a_later_input_tells(level: int):
    """`A: T[*R, *S], B: T[*S]`: B says how many dimensions S has."""
    a, b = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([1, 10, 100], np.float32)
    capture = Capture()
    x, y = capture.input("x", (4, 3), F32), capture.input("y", (3,), F32)
    (found,) = Plan(capture, [ops.multiply_last(x, y)], opt=level)(a, b)  # type: ignore[list-item]
    np.testing.assert_array_equal(found, a * b)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_gradient_of_a_maximum_over_several_dimensions(level: int):
    """It finds the place by `argmax` over a pack and compares it with `place`."""
    x = np.random.default_rng(0).normal(size=(3, 4, 2)).astype(np.float32)
    capture = Capture()
    given = capture.input("x", x.shape, F32)
    with capture:
        (gradient,) = capture.gradients(ops.sum_all(ops.reduce_max(given, axis=1, count=2)), [given])  # type: ignore[arg-type]
    (found,) = Plan(capture, [gradient], opt=level)(x)  # type: ignore[list-item]
    np.testing.assert_array_equal(found, x == x.max((1, 2), keepdims=True))
