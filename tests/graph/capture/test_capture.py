"""What a captured program is, and its complaints."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.graph import Capture, Plan, Variable
from texpr.ir.dtypes import F32, F64, I64
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.tensor import show_program
from texpr.ir.verifier.program import verify_program


def dense(capture: Capture, weights: list[Variable], rows: int = 5):
    """The loss of two dense layers on rows of four numbers and their classes."""
    x, y = capture.input("x", (rows, 4), F64), capture.input("y", (rows,), I64)
    hidden = ops.tanh(ops.linear(x, weights[0], weights[1]))
    return ops.mean_all(ops.cross_entropy(ops.linear(hidden, weights[2]), y))


def made_weights(seed: int = 0) -> list[Variable]:
    random = np.random.default_rng(seed)
    return [
        Variable(random.normal(size=shape), name)
        for name, shape in (("W", (6, 4)), ("b", (6,)), ("V", (3, 6)))
    ]


def test_a_training_step_is_a_program(golden):
    capture, weights = Capture("step"), made_weights()
    loss = dense(capture, weights)
    gradients = capture.gradients(loss, [capture.variable(w) for w in weights])
    for weight, gradient in zip(weights, gradients):
        capture.assign(weight, ops.sgd_update(capture.variable(weight), gradient, 0.1))
    program = capture.program([loss.tensor, *capture.updates.values()])
    verify_program(program)
    golden(show_program(program))


def test_gradients_equal_central_differences():
    capture, weights = Capture(), made_weights()
    loss = dense(capture, weights)
    plan = Plan(capture, [loss, *capture.gradients(loss, [capture.variable(w) for w in weights])])  # type: ignore[list-item]
    random = np.random.default_rng(1)
    x, y = random.normal(size=(5, 4)), random.integers(0, 3, 5)
    _, *found = plan(x, y)
    for weight, gradient in zip(weights, found, strict=True):
        for element in np.ndindex(weight.shape):
            kept, sides = weight.data[element], []
            for step in (1e-5, -1e-5):
                weight.data[element] = kept + step
                sides.append(float(plan(x, y)[0]))
            weight.data[element] = kept
            assert abs((sides[0] - sides[1]) / 2e-5 - gradient[element]) < 1e-8


def test_a_plan_does_what_the_interpreter_says():
    capture, weights = Capture(), made_weights()
    loss = dense(capture, weights)
    results = [loss, *capture.gradients(loss, [capture.variable(w) for w in weights])]
    program = capture.program([r.tensor for r in results])  # type: ignore[union-attr]
    random = np.random.default_rng(1)
    x, y = random.normal(size=(5, 4)), random.integers(0, 3, 5)
    expected = interpret(program, [x, y, *(w.data for w in weights), *capture.constants.values()])
    for found, value in zip(Plan(capture, results)(x, y), expected, strict=True):  # type: ignore[arg-type]
        np.testing.assert_allclose(found, value, rtol=1e-13, atol=1e-15)


def test_a_value_used_twice_gets_both_contributions():
    capture, a = Capture(), Variable(np.array([1.0, -2.0, 3.0]), "a")
    value = capture.variable(a)
    loss = ops.sum_all(ops.multiply(value, value) + ops.tanh(value))
    (gradient,) = capture.gradients(loss, [value])
    (found,) = Plan(capture, [gradient])()
    np.testing.assert_allclose(found, 2 * a.data + 1 - np.tanh(a.data) ** 2, rtol=1e-14)


def test_what_the_loss_does_not_depend_on_has_no_gradient():
    capture, a, b = Capture(), Variable(np.ones(3), "a"), Variable(np.ones(3), "b")
    unused = capture.variable(b)
    ops.tanh(unused)
    assert capture.gradients(ops.sum_all(capture.variable(a)), [unused]) == [None]


def test_operators_of_python():
    capture = Capture()
    x, y = capture.input("x", (3,), F64), capture.input("y", (3,), F64)
    results = [x + y, x - y, x * y, x / y, -x, 2 + x, x - 1, 1 - x, x * 3, x / 4]
    a, b = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 7.0])
    expected = [a + b, a - b, a * b, a / b, -a, 2 + a, a - 1, 1 - a, a * 3, a / 4]
    for found, value in zip(Plan(capture, results)(a, b), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-15)


def test_an_own_operator_is_captured_and_differentiated():
    cube = tx.op("op cube<T: float>(X: T[*S]) -> Y: T[*S] { Y[*s] = X[*s] * X[*s] * X[*s] }")
    capture = Capture()
    x = capture.input("x", (4,), F32)
    (gradient,) = capture.gradients(ops.sum_all(cube(x)), [x])
    values = np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(Plan(capture, [gradient])(values)[0], 3 * values**2)


def complaint(run) -> str:
    with pytest.raises(tx.CallError) as caught:
        run()
    return str(caught.value)


def test_shapes_that_do_not_fit():
    capture = Capture()
    x = capture.input("x", (5, 4), F32)
    assert (
        complaint(lambda: ops.linear(x, Variable(np.ones((3, 7), np.float32))))
        == """\
error[shape]: linear: axis 1 of `weight` has extent 7, expected I = 4
    given: X [5, 4], weight [3, 7]"""
    )


def test_dtypes_that_do_not_fit():
    capture = Capture()
    x = capture.input("x", (5, 4), F32)
    assert (
        complaint(lambda: ops.linear(x, Variable(np.ones((3, 4)))))
        == """\
error[dtype]: linear: `weight` is f64, but `X` is f32, and both are T
  help: convert one: weight.astype(...)"""
    )


def test_a_symbolic_tensor_has_no_values():
    x = Capture().input("x", (5, 4), F32)
    for use in (lambda: np.linalg.inv(x), lambda: np.asarray(x), lambda: bool(x), lambda: float(x)):
        with pytest.raises((tx.CallError, TypeError)):
            use()
    assert (
        complaint(lambda: bool(x))
        == """\
error[symbolic]: `x` stands for f32[5, 4] while a program is captured, without values, and true or false was asked of it
  help: use operators of texpr.ops, or write one with tx.op"""
    )


def test_tensors_of_two_captures_do_not_mix():
    x, y = Capture().input("x", (4,), F32), Capture().input("y", (4,), F32)
    assert (
        complaint(lambda: ops.add(x, y))
        == """\
error[symbolic]: add: `B` belongs to another capture
  help: a symbolic tensor must not outlive the function it was given to"""
    )


def test_a_loss_is_one_float():
    x = Capture().input("x", (4,), F32)
    assert (
        complaint(lambda: x.capture.gradients(x, [x]))
        == """\
error[gradient]: the loss is f32[4], expected one float
  help: reduce it, for example with texpr.ops.mean_all"""
    )


def test_out_is_refused():
    x = Capture().input("x", (4,), F32)
    assert (
        complaint(lambda: ops.relu(x, out=np.empty(4, np.float32)))
        == "error[arguments]: relu: a symbolic call takes no `out`"
    )


def test_variables_alone_are_captured_in_a_block():
    a, capture = Variable(np.array([1.0, 2.0]), "a"), Capture()
    assert isinstance(ops.add(a, a), tx.Tensor)
    with capture:
        total = ops.sum_all(ops.multiply(a, a))
    (gradient,) = capture.gradients(total, [capture.variable(a)])
    np.testing.assert_array_equal(Plan(capture, [gradient])()[0], [2.0, 4.0])
    assert isinstance(ops.add(a, a), tx.Tensor)


def test_inputs_and_variables_may_be_results():
    a, capture = Variable(np.array([1.0]), "a"), Capture()
    x = capture.input("x", (1,), F64)
    capture.assign(a, x)
    plan = Plan(capture, [x, capture.variable(a)])
    assert [float(r[0]) for r in plan(np.array([5.0]))] == [5.0, 1.0]
    assert a.data[0] == 5.0


def test_a_listing_is_a_text_of_operators():
    capture, weights = Capture("step"), made_weights()
    loss = dense(capture, weights)
    gradients = capture.gradients(loss, [capture.variable(w) for w in weights])
    program = capture.program([loss.tensor, *(g.tensor for g in gradients)])  # type: ignore[union-attr]
    again = tx.op(show_program(program, with_callees=True), "step")
    random = np.random.default_rng(1)
    arrays = [random.normal(size=(5, 4)), random.integers(0, 3, 5), *(w.data for w in weights), np.array(1.0)]
    for found, expected in zip(tx.interpret(again, *arrays), interpret(program, arrays), strict=True):  # type: ignore[call-overload]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (5, 7), (1 << 16,)])
def test_variables_begin_at_whole_lines(shape: tuple[int, ...]):
    given = np.array(np.arange(np.prod(shape, dtype=int)).reshape(shape), "f4", order="F")
    variables = [Variable(given, f"v{k}") for k in range(9)]
    for v in variables:
        assert all(
            (not a.size or a.ctypes.data % 64 == 0) and a.flags.c_contiguous and a.shape == shape
            for a in v.arrays()
        )
        np.testing.assert_array_equal(v.data, given)
        assert not np.shares_memory(v.data, given)


def test_copies_of_variables_hold_one_array_which_begins_at_a_whole_line():
    """The second one, which a step writes, is made where a step needs it."""
    variables = [Variable(np.arange(4096.0), f"v{k}") for k in range(8)]
    for v in variables:
        v.arrays()
        assert len(pickle.dumps(v)) < 1.1 * v.data.nbytes
    for each in (copy.deepcopy(variables), pickle.loads(pickle.dumps(variables))):
        for v, found in zip(variables, each):
            np.testing.assert_array_equal(found.data, v.data)
            assert all(a.ctypes.data % 64 == 0 for a in found.arrays())
            assert not any(np.shares_memory(a, b) for a in found.arrays() for b in v.arrays())
