"""Loops and choices over values, against loops in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import nn
from texpr.runtime.native import jit as native

random = np.random.default_rng(4)
W = tx.tensor(random.standard_normal((3, 3)) * 0.4)
Step = Callable[[Any, Any], tuple[Any, Any]]
BODIES: dict[str, Step] = {
    "sum": lambda h, x: (h + x, h),
    "recurrent": lambda h, x: ((h @ W + x).tanh(), h * 2),
    "softmax": lambda h, x: ((h * x).softmax() + h * 0.1, (h * x).sum()),
    "choice": lambda h, x: (tx.where(h > h.mean(), h * 0.5, x), h.max()),
    "shifted": lambda h, x: (tx.cat([x[:1], h[:-1]]), h[0]),
    "cond": lambda h, x: (tx.cond(x[0] > 0, lambda a, b: a + b.exp(), lambda a, b: a * 0.5 - b, h, x), h),
    "inner": lambda h, x: (h * 0.5 + tx.scan(lambda c, v: (c * 0.9 + v, c), 0.0, x)[0], h),
    "nothing": lambda h, x: (h * x, None),
}


def looped(f: Step, c: Any, xs: Any, count: int, reverse: bool) -> tuple[Any, Any]:
    """The loop in Python."""
    ys = []
    for k in range(count)[::-1] if reverse else range(count):
        c, y = f(c, xs[k])
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    return c, None if ys[0] is None else tx.stack(ys)


@examples(10)
@given(st.sampled_from(sorted(BODIES)), st.integers(1, 5), st.booleans(), st.booleans())
def test_scan(name: str, count: int, reverse: bool, traced: bool):
    """The values and the gradients of a loop in Python."""
    f, init, rows = BODIES[name], random.standard_normal(3), random.standard_normal((count, 3))

    def all_of(loop: Callable[[Any, Any], Any]) -> list[np.ndarray]:
        h, xs = tx.tensor(init, requires_grad=True), tx.tensor(rows, requires_grad=True)
        c, y = loop(h, xs)
        loss = (c * 1.5).sum() if y is None else (c * 1.5).sum() + (y * y).sum()
        loss.backward()
        zeros = np.zeros_like(rows)
        found = [c.numpy(), h.grad.numpy(), zeros if xs.grad is None else xs.grad.numpy()]
        return [*found, y.numpy()] if y is not None else found

    def scanned(h: Any, xs: Any) -> Any:
        return tx.scan(f, h, xs, reverse=reverse)

    found = all_of(tx.jit(scanned) if traced else scanned)
    for a, b in zip(found, all_of(lambda h, xs: looped(f, h, xs, count, reverse)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_values_are_nested():
    def step(c: Any, x: Any) -> Any:
        return {"n": c["n"] + 1, "h": c["h"] * x["a"]}, (c["h"], {"b": x["b"]})

    xs = {"a": np.array([2.0, 3.0]), "b": np.array([[1, 2], [3, 4]])}
    carry, (h, inner) = tx.scan(step, {"n": 0, "h": 1.0}, xs)
    assert carry["n"].item() == 2 and carry["h"].item() == 6
    assert h.tolist() == [1, 2] and inner["b"].tolist() == [[1, 2], [3, 4]]


def test_lengths():
    powers = tx.scan(lambda c, _: (c * 2, c), 1, length=np.int64(5))  # type: ignore[arg-type]
    assert powers[0].item() == 32 and powers[1].tolist() == [1, 2, 4, 8, 16]
    carry, y = tx.scan(lambda c, x: (c + x.sum(), x), 1.0, np.zeros((0, 3)))
    assert carry.item() == 1 and y.shape == (0, 3)


def test_parameters_are_used_from_outside():
    cell, xs = nn.Linear(3, 3), tx.tensor(random.standard_normal((4, 3)).astype("f4"))
    y = tx.scan(lambda h, x: ((cell(h) + x).tanh(), h), tx.zeros(3, dtype="f32"), xs)[1]
    y.sum().backward()
    found, cell.weight.grad = cell.weight.grad.numpy(), None
    h: Any = tx.zeros(3, dtype="f32")
    total: Any = 0
    for x in xs:
        total, h = total + h.sum(), (cell(h) + x).tanh()
    total.backward()
    np.testing.assert_allclose(found, cell.weight.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_mapped():
    x = random.standard_normal((3, 4))
    sums = tx.vmap(lambda r: tx.scan(lambda c, v: (c + v, c + v), 0.0, r)[1])
    np.testing.assert_allclose(sums(x).numpy(), np.cumsum(x, 1), rtol=1e-12)
    roots = tx.vmap(lambda v: tx.cond(v > 0, lambda v: v.sqrt(), lambda v: v * 0, v))
    np.testing.assert_allclose(roots(x[0]).numpy(), np.sqrt(np.maximum(x[0], 0)), rtol=1e-12)
    doubled = tx.vmap(lambda n: tx.while_loop(lambda n: n < 100, lambda n: n * 2, n))
    assert doubled(np.array([3, 7, 200])).tolist() == [192, 112, 200]


def test_how_much_is_compiled_does_not_depend_on_the_length(monkeypatch: pytest.MonkeyPatch):
    counts = []
    for length in (3, 50):
        linked: list[object] = []
        known = native.link
        with monkeypatch.context() as patch:
            patch.setattr(
                native, "link", lambda *a, linked=linked, known=known: linked.append(a) or known(*a)
            )
            step = tx.jit(
                lambda xs: tx.scan(lambda h, x: ((h @ W + x).tanh(), h), tx.zeros(3, dtype="f64"), xs)[
                    1
                ].sum()
            )
            step(random.standard_normal((length, 3)))
        (plan,) = [t.plan for traces in step._traces.values() for t in traces]
        counts.append((len(plan.launches), len(plan.program.equations)))
    assert counts[0] == counts[1]


def test_cond():
    calls = []

    def then(x: Any) -> Any:
        calls.append("then")
        return x * 2

    def orelse(x: Any) -> Any:
        calls.append("else")
        return -x

    assert tx.cond(True, then, orelse, tx.tensor(3.0)).item() == 6
    assert tx.cond(tx.tensor(0) > 1, then, orelse, tx.tensor(3.0)).item() == -3
    assert calls == ["then", "else"]  # outside of traced functions the one that is chosen
    f = tx.jit(lambda p, x: tx.cond(p > 0, then, orelse, x))
    assert [f(tx.tensor(v), tx.tensor(3.0)).item() for v in (1, 0, 2)] == [6, -3, 6]
    assert calls == ["then", "else", "then", "else"]  # traced once


def test_what_is_not_chosen_has_no_part_in_a_gradient():
    @tx.jit
    def slope(x: Any) -> Any:
        tx.cond(x > 0, lambda x: (x.log() * x.sqrt()).sum(), lambda x: x * 3, x).backward()
        return x.grad

    for value, wanted in ((4.0, np.log(4) / 4 + 0.5), (0.0, 3.0), (-1.0, 3.0)):
        found = slope(tx.tensor(value, requires_grad=True)).item()
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_products_in_a_side():
    a, b = random.standard_normal((3, 4)), random.standard_normal((4, 2))
    f = tx.jit(
        lambda p, a, b: tx.cond(p, lambda a, b: (a @ b).relu(), lambda a, b: (a @ b).sum() + a[:, :2], a, b)
    )
    np.testing.assert_allclose(f(np.array(True), a, b).numpy(), np.maximum(a @ b, 0), rtol=1e-12)
    np.testing.assert_allclose(f(np.array(False), a, b).numpy(), (a @ b).sum() + a[:, :2], rtol=1e-12)


@examples(15)
@given(st.integers(1, 1000), st.booleans())
def test_while_loop(n: int, traced: bool):
    """Collatz's steps."""

    def loop(n: Any) -> Any:
        half = lambda s: {"n": tx.where(s["n"] % 2 == 0, s["n"] // 2, 3 * s["n"] + 1), "k": s["k"] + 1}  # noqa: E731
        return tx.while_loop(lambda s: s["n"] != 1, half, {"n": n, "k": 0})["k"]

    steps, m = 0, n
    while m != 1:
        m, steps = (m // 2 if m % 2 == 0 else 3 * m + 1), steps + 1
    assert (tx.jit(loop) if traced else loop)(tx.tensor(n)).item() == steps


def test_while_loop_uses_what_is_outside():
    target, rate = tx.tensor(2.0), tx.tensor(0.5)
    root = tx.while_loop(
        lambda x: abs(x * x - target) > 1e-12, lambda x: x - rate * (x * x - target) / x, tx.tensor(1.0)
    )
    np.testing.assert_allclose(root.item(), np.sqrt(2))


REFUSED = {
    "shape": (
        lambda: tx.scan(lambda c, x: (tx.stack([c, c]), None), tx.tensor(1.0), np.ones(3)),
        "error[shape]: scan: a carried value is f64[] before a step and f64[2] after it\n"
        "  help: give init that shape and dtype, or convert in the body: .astype(c.dtype)",
    ),
    "dtype": (
        lambda: tx.scan(lambda c, x: (c.astype("f32"), None), tx.tensor(1.0), np.ones(3)),
        "error[dtype]: scan: a carried value is f64[] before a step and f32[] after it\n"
        "  help: give init that shape and dtype, or convert in the body: .astype(c.dtype)",
    ),
    "lengths": (
        lambda: tx.scan(lambda c, x: (c, x), 1.0, (np.ones(3), np.ones(4))),
        "error[shape]: scan: the lengths of xs and `length` are 3, 4\n  help: all steps run along the first axis",
    ),
    "a wrong length": (
        lambda: tx.scan(lambda c, x: (c, x), 0, np.ones(1), length=True),
        "error[arguments]: scan: length is True, expected a number of steps\n  help: length=10",
    ),
    "no length": (
        lambda: tx.scan(lambda c, x: (c, x), 1.0),
        "error[arguments]: scan: there is no xs, and no length\n  help: length=10",
    ),
    "no pair": (
        lambda: tx.scan(lambda c, x: c + x, 1.0, np.ones(3)),
        "error[arguments]: scan: <lambda> returned Symbolic, expected (carry, y)\n"
        "  help: return carry, None where there is no result",
    ),
    "nesting": (
        lambda: tx.scan(lambda c, x: ((c, c), x), 1.0, np.ones(3)),
        "error[arguments]: scan: <lambda> gives a carried value that is nested in another way than init\n"
        "  help: return the same dicts, lists and tuples, with a tensor for each one",
    ),
    "order": (
        lambda: tx.scan(lambda c, x: (tx.ops.sort(c), x), tx.ones(3), np.ones(3)).item(),
        "error[scan]: scan: `argsort_rows` is an operator of the runtime, and no part of a recurrence",
    ),
    "sides": (
        lambda: tx.jit(lambda x: tx.cond(x > 0, lambda x: x, lambda x: tx.stack([x, x]), x))(tx.tensor(1.0)),
        "error[shape]: cond: <lambda> gives f64[], <lambda> gives f64[2]\n"
        "  help: both return the same nesting, shapes and dtypes",
    ),
    "condition": (
        lambda: tx.cond(tx.ones(3) > 0, lambda: 1, lambda: 2),
        "error[arguments]: cond: the condition is bool[3], expected one boolean\n"
        "  help: compare: x.sum() > 0; element by element it is tx.where",
    ),
    "order in a side": (
        lambda: tx.jit(lambda x: tx.cond(x[0] > 0, lambda x: tx.ops.sort(x), lambda x: x, x))(tx.ones(3)),
        "error[cond]: cond: `argsort_rows` is an operator of the runtime, which would run on either side",
    ),
    "while": (
        lambda: tx.while_loop(lambda x: x, lambda x: x, tx.tensor(1.0)),
        "error[arguments]: while_loop: <lambda> gives f64[], expected one boolean\n  help: compare: x.sum() > 0",
    ),
    "gradient of while": (
        lambda: tx.while_loop(
            lambda x: x < 9, lambda x: x * 2, tx.tensor(1.0, requires_grad=True)
        ).backward(),
        "error[gradient]: no gradient flows through while_loop: the number of its steps is not known before it "
        "runs\n  help: tx.scan(f, init, length=...) has gradients; or detach what comes out: .detach()",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str):
    call, message = REFUSED[what]
    with pytest.raises(tx.Error) as e:
        call()
    assert str(e.value).startswith(message)
