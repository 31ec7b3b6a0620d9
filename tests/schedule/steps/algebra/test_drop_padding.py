"""`drop_padding`: sums are what they were without the terms that are 0, the certificate derives
it, and says so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr.ir.build import compare, conjuncts
from texpr.ir.expr import Node, Reduce, index
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.traverse import rewrite, walk
from texpr.passes.lowering.lower import loops_of
from texpr.poly.certificate import certify
from texpr.support.errors import ScheduleError

SMOOTH = tx.op("op smooth(X: f32[N], w: f32[Q]) -> Y: f32[N] { Y[i] = sum(q: X[i + q - 1 | 0] * w[q]) }")
BOTH = tx.op("""
op both(X: f32[N], Z: f32[N], w: f32[Q]) -> Y: f32[N] {
  Y[i] = 1.0 + sum(q: X[i + q - 1 | 0] * w[q]) * sum(p in 1..Q where p != 2: 3.0 * (w[p] * Z[2*i - p | 0]))
}""")


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("f4")


def _sums(s: tx.Schedule) -> list[Reduce]:
    assert s.kernel.program is not None
    return [n for n in walk(s.kernel.program) if isinstance(n, Reduce)]


@pytest.mark.parametrize(("n", "taps"), [(0, 3), (1, 1), (1, 4), (5, 3), (9, 2), (2, 7)])
def test_no_bit_of_a_sum_changes(n: int, taps: int):
    s = tx.schedule(SMOOTH).drop_padding("q", finite=True).partition("q")
    x, w = _random(n), _random(taps)
    x[: n // 2] = -0.0
    got = interpret_kernel(s.kernel, [x, w], {"N": n, "Q": taps})[0]
    wanted = tx.interpret(SMOOTH, x, w)
    np.testing.assert_array_equal(got.view("u4"), wanted.view("u4"))


def test_the_loop_says_which_of_two_sums_is_meant():
    s = tx.schedule(BOTH).drop_padding("p", finite=True)
    first, second = _sums(s)
    assert first.where is None and second.where is not None and len(conjuncts(second.where)) == 3
    s = s.drop_padding("q", finite=True)
    x, z, w = _random(6), _random(6) + 1, _random(5)
    np.testing.assert_array_equal(
        interpret_kernel(s.kernel, [x, z, w], {"N": 6, "Q": 5})[0], tx.interpret(BOTH, x, z, w)
    )
    assert s.certificate().rewrites["drop_padding"] == ("Y_sum", "Y_sum_")


def test_only_terms_inside_of_the_field_are_multiplied():
    """A weight that is infinite gives NaN beside a zero of the text, and nothing where the term
    is left out.
    """
    x, w = np.ones(4, "f4"), np.array([np.inf, 1, 1], "f4")
    assert np.isnan(np.asarray(tx.interpret(SMOOTH, x, w))[0])
    got = interpret_kernel(
        tx.schedule(SMOOTH).drop_padding("q", finite=True).kernel, [x, w], {"N": 4, "Q": 3}
    )[0]
    np.testing.assert_array_equal(got, np.array([2, np.inf, np.inf, np.inf], "f4"))


def test_certificate_says_what_is_left_out():
    found = tx.schedule(SMOOTH).drop_padding("q", finite=True).certificate()
    assert found.rewrites["drop_padding"] == ("Y",) and not found.bit_exact
    assert found.rounding == "drop_padding: 0 times infinity or NaN is left out of Y"


def _with_conditions(change) -> tuple:
    """The kernel of SMOOTH trimmed, with other conditions, and the program."""
    kernel = tx.schedule(SMOOTH).drop_padding("q", finite=True).kernel

    def rule(n: Node) -> Node | None:
        return replace(n, where=change(n)) if isinstance(n, Reduce) and n.where is not None else None

    assert kernel.program is not None
    program = rewrite(kernel.program, rule)
    return replace(loops_of(program), program=program), tx.schedule(SMOOTH).program


def test_certificate_refuses_terms_that_are_not_0():
    for change in (
        lambda n: compare(">=", n.axes[0].var, index(1)),
        lambda n: compare("<", n.body.lhs.indices[0], index(7)),
    ):
        kernel, program = _with_conditions(change)
        with pytest.raises(ScheduleError, match="the sum of Y is without a term that is not 0"):
            certify(kernel, program)
    kernel, program = _with_conditions(lambda n: n.where)
    assert certify(kernel, program).rewrites["drop_padding"] == ("Y",)


def test_needs_permission():
    with pytest.raises(ScheduleError) as e:
        tx.schedule(SMOOTH).drop_padding("q")
    assert "error[exact]: drop_padding of `q` leaves out 0 times infinity, which is NaN" in str(e.value)
    assert 'help: drop_padding("q", finite=True) permits it' in str(e.value)


@pytest.mark.parametrize(
    "text",
    ["X[i + q - 1 | 1] * w[q]", "X[i + q - 1 | 0] + w[q]", "X[i + q - 1 | clamp] * w[q]", "X[i] * w[q]"],
)
def test_refuses_what_is_not_0_outside(text: str):
    op = tx.op(f"op f(X: f32[N], w: f32[Q]) -> Y: f32[N] {{ Y[i] = sum(q: {text}) }}")
    with pytest.raises(ScheduleError) as e:
        tx.schedule(op).drop_padding("q", finite=True)
    assert "error[drop_padding]: no sum along `q` has a factor that is 0 outside of its tensor" in str(
        e.value
    )


def test_refuses_other_loops_and_later_steps():
    with pytest.raises(ScheduleError, match="no sum along `i` has a factor"):
        tx.schedule(SMOOTH).drop_padding("i", finite=True)
    with pytest.raises(
        ScheduleError, match="drop_padding rewrites the equations, before their loops are changed"
    ):
        tx.schedule(SMOOTH).split("i", 4).drop_padding("q", finite=True)
    with pytest.raises(ScheduleError, match="`finite` is True or False, not 1"):
        tx.schedule(SMOOTH).drop_padding("q", finite=1)  # type: ignore[arg-type]


CONVOLUTION = {"N": 2, "C": 16, "H": 8, "W": 8, "K": 32, "R": 3, "Q": 3, "PH": 1, "PW": 1}


def test_default_schedule_of_a_window(golden):
    """Rows have ranges of taps, tiles know which taps are theirs; both for the image and for the
    weights.
    """
    s = tx.schedule(tx.ops.conv2d, bias=None, **CONVOLUTION).auto("x86-64-v4")
    assert [str(step) for step in s.steps if step.name in ("drop_padding", "partition")] == [
        'drop_padding("Y.r", finite=True)',
        'drop_padding("Y.q", finite=True)',
        'partition("Y.r")',
    ]
    golden(str(s))
    assert s.certificate().rewrites["drop_padding"] == ("Y",)


@pytest.mark.parametrize(
    ("sizes", "copied"), [({}, False), ({"W": 16}, True), ({"W": 16, "PW": 0}, False), ({"W": 20}, True)]
)
def test_a_field_is_copied_if_some_of_its_outside_is_read(sizes: dict[str, int], copied: bool):
    """Few terms lie outside along rows of 16 or more, which need a copy with zeros at their
    ends.
    """
    s = tx.schedule(tx.ops.conv2d, bias=None, **CONVOLUTION | sizes).auto("x86-64-v4")
    assert any(step.name == "drop_padding" for step in s.steps) and ("X_cache" in s.script()) is copied
    assert s.certificate()


def test_few_terms_outside_stay():
    s = tx.schedule(tx.ops.conv2d, bias=None, **CONVOLUTION | {"H": 64, "W": 64}).auto("x86-64-v4")
    assert not any(step.name == "drop_padding" for step in s.steps)
    s = tx.schedule(tx.ops.conv2d, bias=None, **CONVOLUTION).auto("sm_80")
    assert not any(step.name == "drop_padding" for step in s.steps)


def test_gradients_of_a_window_leave_out_zeros_too():
    """The same bits as the interpreter's sums of small whole numbers, in any order."""
    conv = tx.op(
        "op conv(X: f32[3, 4, 4, 4], w: f32[16, 4, 3, 3]) -> y: f32 {\n"
        "  let Y: f32[3, 16, 4, 4]\n"
        "  Y[n, k, i, j] = sum(c, r, q: X[n, c, i + r - 1, j + q - 1 | 0] * w[k, c, r, q])\n"
        "  y = sum(n, k, i, j: Y[n, k, i, j] * Y[n, k, i, j])\n}"
    )
    rng = np.random.default_rng(0)
    x, w = rng.integers(-2, 3, (3, 4, 4, 4)).astype("f4"), rng.integers(-2, 3, (16, 4, 3, 3)).astype("f4")
    for wrt in ("X", "w"):
        slope = tx.grad(conv, wrt=wrt)
        np.testing.assert_array_equal(slope(x, w, np.float32(1)), tx.interpret(slope, x, w, np.float32(1)))
