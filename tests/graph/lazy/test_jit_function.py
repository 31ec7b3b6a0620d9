"""Functions that are traced once per structure and run as one call."""

from __future__ import annotations

import gc
import inspect
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.graph import Capture, Plan, Variable
from texpr.graph.execution.runner import Runner
from texpr.graph.lazy.jit_function import Jitted
from texpr.ir.dtypes import F32, F64


@dataclass
class State:
    w: Any
    steps: Any


def test_one_trace_per_structure():
    @tx.jit
    def f(x, scale):
        return x * scale

    a = np.arange(4, dtype="f4")
    assert f(a, 2.0).tolist() == f(tx.tensor(a), 2.0).tolist() == [0, 2, 4, 6] and f.traces == 1
    assert f(a, 3.0).tolist() == [0, 3, 6, 9] and f.traces == 1, "numbers are data"
    assert str(f(a, 3.0).dtype) == "f32", "numbers take the dtype of what they meet"
    assert str(f(a, np.float64(3)).dtype) == "f64" and f.traces == 2
    f(a[:2], 2.0)
    assert f.traces == 3 and repr(f) == "<jit f(x, scale), 3 traces>"


def test_containers_go_in_and_come_out():
    @tx.jit
    def step(state, batch, *, names=("a", "b")):
        x, y = batch
        return State(state.w + x.sum(), state.steps + 1), {n: [y, (y * 2, "text", None)] for n in names}

    state = State(tx.tensor(0.0), 0)
    for _ in range(3):
        state, found = step(state, (np.ones(3), np.arange(2.0)))
    assert step.traces == 2 and state.w.item() == 9 and int(state.steps) == 3, (
        "the first count was a number, the others tensors"
    )
    y, (doubled, text, nothing) = found["b"]
    assert (y.tolist(), doubled.tolist(), text, nothing) == ([0, 1], [0, 2], "text", None)


def test_static_arguments_that_are_equal_and_not_the_same():
    scaled, chosen = (
        tx.jit(lambda x, by: x * by[0], static="by"),
        tx.jit(lambda x, y: tx.where(x > 9, x, y), static="y"),
    )
    x = tx.tensor([1, 2])
    assert [scaled(x, (by,)).dtype.name for by in (2, 2.0)] == ["i64", "f64"]
    zeros = [chosen(x.astype("f32"), y).numpy() for y in (0.0, -0.0, np.float32(0), np.float32(-0.0))]
    assert [np.signbit(z).all() for z in zeros] == [False, True, False, True]


def test_static_arguments_are_seen():
    @tx.jit(static="times")
    def repeated(x, times):
        for _ in range(times):
            x = x * 2
        return x

    assert [repeated(np.ones(1), n).item() for n in (1, 3, 3)] == [2, 8, 8] and repeated.traces == 2
    with pytest.raises(tx.CallError, match="repeated has no parameter `count`"):
        tx.jit(static="count")(repeated._function)


def test_gradients_of_arguments():
    @tx.jit
    def step(params, x, y, lr):
        loss = (((x @ params["w"] + params["b"]) - y) ** 2).mean()
        loss.backward()
        return {n: p - lr * p.grad for n, p in params.items()}, loss

    random = np.random.default_rng(0)
    x, y = random.standard_normal((8, 3)), random.standard_normal((8, 2))
    w, b = np.zeros((3, 2)), np.zeros(2)
    params = {"w": tx.tensor(w, requires_grad=True), "b": tx.tensor(b, requires_grad=True)}
    for _ in range(3):
        new, loss = step(params, x, y, 0.1)
        error = x @ w + b - y
        np.testing.assert_allclose(loss.item(), (error**2).mean())
        w, b = w - 0.1 * x.T @ error / 8, b - 0.1 * error.sum(0) / 8
        np.testing.assert_allclose(new["w"].numpy(), w)
        np.testing.assert_allclose(new["b"].numpy(), b)
        params = {n: p.requires_grad_() for n, p in new.items()}
    assert step.traces == 1


def test_no_gradient_flows_through_what_is_detached():
    @tx.jit
    def f(x):
        (x * x.detach()).sum().backward()
        return x.grad

    assert f(tx.tensor([2.0, 3.0], requires_grad=True)).tolist() == [2, 3]


def test_variables_keep_what_every_call_assigns():
    total = Variable(np.zeros(2, "f4"), "total")

    @tx.jit
    def add(x):
        total.data = total + x
        return total

    assert [add(np.ones(2, "f4")).tolist() for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]
    assert total.data.tolist() == [3, 3] and add.traces == 1


def test_tensors_from_outside_are_constants():
    table = tx.tensor([10.0, 20.0, 30.0])
    f = tx.jit(lambda x: table * x + x * table[0])
    assert f(np.arange(3.0)).tolist() == [0, 30, 80]


def test_functions_call_each_other():
    inner = tx.jit(lambda x: x + 1)
    assert tx.jit(lambda x: inner(x) * 2)(np.ones(2)).tolist() == [4, 4] and inner.traces == 0


def test_methods():
    class Scaled:
        def __init__(self, by: float) -> None:
            self.by = by

        @tx.jit
        def __call__(self, x):
            return x * self.by

    assert Scaled(2.0)(np.ones(1)).item() == 2 and Scaled(3.0)(np.ones(1)).item() == 3


def test_threads_call_at_once():
    f = tx.jit(lambda x, k: (x * k).sum())
    x, found = np.ones(100), {}

    def work(k: int) -> None:
        found[k] = [f(x, float(k)).item() for _ in range(20)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {k: [100.0 * k] * 20 for k in range(4)} and f.traces == 1


COMPLAINTS = {
    "and true or false was asked of it": lambda: tx.jit(lambda x: x if x > 0 else -x)(np.ones(())),
    "and a number was asked of it": lambda: tx.jit(lambda x, n: [x for _ in range(n)])(np.ones(2), 3),
    "and an array was asked of it": lambda: tx.jit(lambda x: np.sin(np.asarray(x)))(np.ones(2)),
    "`x` holds set, which is no array and cannot be compared": lambda: tx.jit(lambda x: x)({1, 2}),
    "missing a required argument: 'x'": lambda: tx.jit(lambda x: x)(),
    "nothing that the tensor is computed from requires a gradient": lambda: tx.jit(
        lambda x: x.sum().backward()
    )(np.ones(2)),
    "a tensor that requires a gradient was made outside of the function that is traced": lambda: tx.jit(
        lambda x: x * WEIGHT
    )(np.ones(1)),
}
WEIGHT = tx.tensor([1.0], requires_grad=True)


@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(text: str):
    with pytest.raises(tx.CallError) as found:
        COMPLAINTS[text]()
    assert text in str(found.value)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda a, b: a, (1, 2)),
        (lambda a, b=3: a, (1,)),
        (lambda a, b=3: a, (1, 2)),
        (lambda *rest: 0, (1, 2)),
        (lambda a, *rest, **options: a, (1,)),
        (lambda a, *rest, **options: a, (1, 2, 3)),
        (lambda a, /, b, *, c=4: a, (1, 2)),
        (lambda **options: 0, ()),
        (lambda a, *rest, c=1: a, (1, 2)),
    ],
)
def test_arguments_by_position_are_those_that_python_finds(function, args):
    given = inspect.signature(function).bind(*args)
    given.apply_defaults()
    assert list(tx.jit(function)._bind_arguments(args, {}).items()) == list(given.arguments.items())


def test_elements_are_assigned_while_a_function_is_traced():
    def change(x):
        before = x * 2
        x[0] = 7
        x[:, 1] = np.array([1.0, 2.0])
        x[x > 6] = -1
        x += 1
        return x, before

    data = np.arange(6.0).reshape(2, 3)
    expected = change(data.copy())
    for found, value in zip(tx.jit(change)(data), expected):
        np.testing.assert_array_equal(found.numpy(), value)
    np.testing.assert_array_equal(data, np.arange(6.0).reshape(2, 3))
    with pytest.raises(tx.CallError, match="elements of a tensor that requires a gradient are assigned"):
        tx.jit(change)(tx.tensor(data, requires_grad=True))


def test_tensors_that_leave_a_function_say_that_they_have_no_values():
    kept = []
    tx.jit(lambda x: kept.append(x * 2))(np.ones(3))
    with pytest.raises(
        tx.CallError,
        match=r"stands for f64\[3\] while a program is captured, without values, and an array was asked",
    ):
        kept[0].numpy()


def test_modules_in_another_mode_are_traced_anew():
    """Of modules that the function calls, or is, the structure counts as that of arguments does."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.999999))
    x = np.ones((2, 4), np.float32)
    whole, part = tx.jit(model), tx.jit(lambda x: model(x) * 2)
    assert not whole(x).numpy().any() and not part(x).numpy().any()
    model.eval()
    np.testing.assert_array_equal(whole(x).numpy() * 2, part(x).numpy())
    assert whole(x).numpy().any() and whole.traces == part.traces == 2
    model.train()
    assert not whole(x).numpy().any() and whole.traces == 2, "the first trace serves again"
    model[1] = nn.Linear(4, 3)
    assert whole(x).shape == part(x).shape == (2, 3)


@pytest.mark.parametrize(
    "x",
    [
        np.arange(6, dtype=">f4").reshape(2, 3),
        np.arange(6, dtype="f4").reshape(3, 2).T,
        np.arange(12, dtype="f4").reshape(2, 6)[:, ::2],
        np.float32(3),
        np.ma.masked_array([1.0], [False]).filled(),
        np.asfortranarray(np.ones((2, 3), "f4")),
    ],
)
def test_arrays_of_any_layout_give_the_same_each_time(x):
    """Arrays by position are asked for less from the second call on."""
    f = tx.jit(lambda x: x * 2 + 1)
    for _ in range(3):
        np.testing.assert_array_equal(f(x).numpy(), np.asarray(x) * 2 + 1)
    assert f.traces == 1


def test_a_call_of_arrays_that_fit_is_one_native_call(monkeypatch):
    """From the second call on, nothing else of a plan runs, whatever the arrays hold; others are
    traced, or converted.
    """
    f = tx.jit(lambda x, y: (x + 1, {"product": x * y}))
    x, y = np.arange(6, dtype="f4").reshape(2, 3), np.full((2, 3), 2, "f4")
    kept = [f(x, y) for _ in range(2)]
    monkeypatch.setattr(Runner, "_compute", lambda self: pytest.fail("Python code was run"))
    for k in range(3):
        kept.append(f(x + k, y))
    for k, (sum_, rest) in zip((0, 0, 0, 1, 2), kept):
        np.testing.assert_array_equal(sum_.numpy(), x + k + 1)
        np.testing.assert_array_equal(rest["product"].numpy(), (x + k) * 2)
    monkeypatch.undo()
    np.testing.assert_array_equal(f(x[::-1], y)[0].numpy(), x[::-1] + 1)
    np.testing.assert_array_equal(f(x[:1], y)[1]["product"].numpy(), x[:1] * y)
    np.testing.assert_array_equal(f(x.astype("f8"), y)[0].numpy(), x + 1.0)
    assert f.traces == 3 and f(x, y)[0].dtype == F32


def test_tensors_that_fit_are_served_as_arrays_are(monkeypatch):
    """From the second call on nobody looks for their structure, unless gradients flow to them."""
    f, looked = tx.jit(lambda x, y: x * y + 1), []
    x, y = tx.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    assert f(x, y).tolist() == f(y, x).tolist() == [4, 9]
    flatten = Jitted._flatten_arguments
    monkeypatch.setattr(Jitted, "_flatten_arguments", lambda *a: looked.append(1) or flatten(*a))
    assert f(x, y).tolist() == f(x, x * 0 + y).tolist() == f(x, tx.as_tensor(y)).tolist() == [4, 9]
    assert not looked and f.traces == 1, "values that wait are computed, and serve as well"
    leaf = tx.tensor([1.0, 2.0], requires_grad=True)
    for k in range(3):
        f(leaf, y).sum().backward()
        assert leaf.grad is not None and leaf.grad.tolist() == [3 * (k + 1), 4 * (k + 1)]
    with tx.no_grad():
        assert f(leaf, y).tolist() == [4, 9]
    assert f(x, tx.tensor(y, dtype="bf16")).tolist() == [4, 9]


def test_a_call_of_arrays_has_gradients_in_parameters():
    """In every call, and for tensors as for arrays; none where gradients are switched off."""
    model, x = nn.Linear(3, 2), np.ones((4, 3), np.float32)
    f = tx.jit(lambda x: model(x).sum())
    for given in (x, x, x, tx.tensor(x), tx.tensor(x)):
        model.weight.grad = None
        f(given).backward()
        assert model.weight.grad is not None and (model.weight.grad.numpy() == 4).all()
    with tx.no_grad():
        assert not f(x).requires_grad and not f(x).requires_grad


def test_a_call_sees_what_variables_have_become():
    """Also where steps exchange the two arrays of a variable, or the module has become another."""
    model = nn.Linear(3, 2)
    assert model.bias is not None
    f, x = tx.jit(model), np.ones((4, 3), np.float32)
    step = nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
    for k in range(6):
        np.testing.assert_allclose(f(x).numpy(), x @ model.weight.numpy().T + model.bias.numpy(), rtol=1e-6)
        step(x, np.zeros((4, 2), np.float32))
        if k == 3:
            model.weight.data = np.full((2, 3), 7, np.float32)
    model.to(F64)
    np.testing.assert_allclose(f(x.astype("f8")).numpy(), x @ model.weight.numpy().T + model.bias.numpy())


def test_values_out_of_range_are_refused_by_every_call():
    f = tx.jit(lambda x, i: x[i])
    x, i = np.arange(5.0), np.array([4, 0])
    for _ in range(3):
        assert f(x, i).tolist() == [4, 0]
    with pytest.raises(tx.CallError, match=r"`i\[1\]` is 5, expected a value in -5\.\.5"):
        f(x, np.array([4, 5]))
    assert f(x, i).tolist() == [4, 0]


@pytest.mark.parametrize(
    "function", [lambda *xs: sum(xs[1:], xs[0]), lambda x, y=None: x if y is None else x + y]
)
def test_a_call_with_more_arguments_is_another_one(function: Callable):
    """An array that could be the result of a call with fewer is an argument, which nothing is
    written to.
    """
    f = tx.jit(function)
    x, y = np.ones((2, 3), np.float32), np.full((2, 3), 5, np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(f(x).numpy(), x)
    for _ in range(3):
        np.testing.assert_array_equal(f(x, y).numpy(), np.full((2, 3), 6))
    assert (y == 5).all() and f.traces == 2


def test_too_many_arrays_are_refused_and_left_alone():
    f, x, y = tx.jit(lambda x: x + 1), np.ones(3, np.float32), np.full(3, 5, np.float32)
    for _ in range(3):
        f(x)
    with pytest.raises(tx.CallError, match="too many positional arguments"):
        f(x, y)
    capture = Capture("more")
    plan = Plan(capture, [capture.input("x", (3,), F32) + 1])
    for arrays in ((), (x, y)):
        with pytest.raises(tx.CallError, match=f"the plan takes 1 arrays, found {len(arrays)}"):
            plan(*arrays)
    assert (y == 5).all()


def test_what_cannot_be_traced_leaves_nothing():
    f = tx.jit(lambda x: x.reshape(7))
    for _ in range(2):
        with pytest.raises(tx.CallError):
            f(np.ones(3, np.float32))
    assert not f._traces


@pytest.mark.parametrize(
    ("given", "found"),
    [([1, 2], "list"), (3, "int"), (np.ones(4, np.float32), "float32[4]"), (np.ones(3), "float64[3]")],
)
def test_plans_say_what_they_were_given(given: object, found: str):
    capture = Capture("one")
    plan = Plan(capture, [capture.input("x", (3,), F32) + 1])
    with pytest.raises(tx.CallError) as error:
        plan(given)
    assert (
        str(error.value)
        == f"""\
error[shape]: the plan takes float32[3], found {found}
  help: np.asarray(x, dtype) makes an array of another dtype, x.reshape one of another shape"""
    )


def test_numbers_by_default_are_arguments_of_each_call():
    f, x = tx.jit(lambda x, s=2.0: x * s), np.ones(3, np.float32)
    for _ in range(4):
        assert f(x).tolist() == [2, 2, 2]
    assert f(x, 3.0).tolist() == [3, 3, 3] and f.traces == 1


class Reshaped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(np.zeros(4096, np.float32))

    def forward(self, x):
        return x @ x.capture.latest(self.weight).reshape((64, 64))


def test_an_array_that_a_plan_knows_stays():
    """It is known by its identity, which another one could have when it is gone, though its
    memory is not.
    """
    model = Reshaped()
    f, x = tx.jit(model), np.eye(64, dtype=np.float32)
    assert f(x).numpy().sum() == 0
    first = weakref.ref(model.weight.data)
    model.to(F64)
    model.to(F32)
    model.weight.data = np.full(4096, 7, np.float32)
    gc.collect()
    assert first() is not None
    np.testing.assert_array_equal(f(x).numpy(), np.full((64, 64), 7))


RUNNING = (
    "error[running]: `function` is called while it runs, by an operator of its own or by a signal handler"
)


def test_a_program_that_is_called_by_what_it_runs_is_refused():
    """Both runs would write the same memory."""

    def again(x: np.ndarray) -> np.ndarray:
        return f(np.zeros(4)).numpy() if nested else x

    nested, operator = [], tx.op("extern op again(X: f64[N]) -> Y: f64[N]")
    tx.register_extern("again", again)
    f, x = tx.jit(lambda x: operator((x + 1).cumsum(0)).cumsum(0) + x), np.ones(4)
    expected = f(x).numpy()
    nested.append(True)
    for each in (f, lambda x: f(x[::-1])):
        with pytest.raises(tx.CallError) as error:
            each(x)
        assert str(error.value).startswith(RUNNING)
    nested.clear()
    np.testing.assert_array_equal(f(x).numpy(), expected)


def test_a_call_of_arrays_within_another_function_sees_variables():
    """It is part of the function around it: what the variables hold then is not what they hold
    in every call.
    """
    model = nn.Linear(2, 3, bias=False)
    inner = tx.jit(lambda x, scale=2.0: model(x) * scale)
    eye = np.eye(2, dtype=np.float32)
    for _ in range(2):
        inner(eye)
    outer = tx.jit(lambda y: y + inner(eye))
    for k in range(3):
        model.weight.data = np.full((3, 2), k, np.float32)
        np.testing.assert_array_equal(outer(np.ones((2, 3), np.float32)).numpy(), np.full((2, 3), 1 + 2 * k))
    assert outer.traces == 1


def test_what_depends_on_arrays_alone_has_values_while_a_function_is_traced():
    table = tx.jit(lambda n: n * n)
    f = tx.jit(lambda x: x * float(table(np.arange(3.0))[2]))
    assert f(np.ones(2)).tolist() == f(np.ones(2)).tolist() == [4, 4]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (
            lambda x, n: [x] * n,
            "`x` stands for f64[2, 3] while a program is captured, without values, and an array was asked of "
            "it\n"
            "  help: use operators of texpr.ops, or write one with tx.op",
        ),
        (
            lambda x, n: x.reshape(n, -1),
            "`n` stands for i64[] while a program is captured, without values, and a number was asked of it\n"
            "  help: use operators of texpr.ops, or write one with tx.op; an argument that decides what is "
            'computed is static: tx.jit(static=["name"])',
        ),
    ],
)
def test_arguments_that_are_meant_to_be_static(function: Callable, wanted: str):
    with pytest.raises(tx.CallError) as e:
        tx.jit(function)(np.ones((2, 3)), 3)
    assert str(e.value) == f"error[symbolic]: {wanted}"


def test_an_optimizer_does_not_step_while_a_program_is_captured():
    layer = nn.Linear(3, 2)
    optimizer = nn.optim.SGD(layer.parameters(), 0.1)

    @tx.jit
    def step(x):
        layer(x).sum().backward()
        optimizer.step()

    with pytest.raises(tx.CallError) as e:
        step(np.ones((2, 3), "f4"))
    assert (
        str(e.value)
        == """\
error[symbolic]: SGD.step() while a program is captured
  help: nn.TrainingStep and nn.Trainer compile a model, its gradients and the update as one program"""
    )


def test_the_plan_of_a_call():
    @tx.jit
    def f(x, scale=2.0):
        return {"y": x * scale + 1, "n": x.shape[0]}

    x = np.arange(3, dtype="f4")
    plan = f.plan(x)
    assert isinstance(plan, Plan) and f.traces == 1 and len(plan.launches) == 1
    assert f(x)["y"].tolist() == [1, 3, 5] and f.traces == 1, "the call runs that plan"
    assert f.plan(tx.tensor(x), scale=3.0) is plan, "numbers are data"
    assert plan(x, np.float64(3))[0].tolist() == [1, 4, 7]
    for shape in ((0,), (1,), (2, 2)):
        assert f.plan(np.ones(shape, "f8")) is not plan
    assert f.traces == 4


def test_a_function_has_no_plan_within_another_one():
    inner = tx.jit(lambda x: x + 1)

    with pytest.raises(tx.CallError, match="no plan of its own here") as refused:
        tx.jit(lambda x: inner.plan(x))(np.ones(2))
    assert refused.value.help == "call plan() with arrays, outside of traced functions"
    with pytest.raises(tx.CallError, match="missing a required argument"):
        inner.plan()
