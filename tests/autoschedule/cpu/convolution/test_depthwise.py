"""Windows that slide over each plane for itself: tiles of rows without conditions, whose results
are those of the plain loops.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.interpreter.tensor import interpret

PLANES = """
op planes(X: f32[N, C, H, W], F: f32[C, R, Q]; S, P) -> Y: f32[N, C, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1]
    require R <= H + 2*P, Q <= W + 2*P {
  Y[n, c, y, x] = sum(r, q: X[n, c, S*y + r - P, S*x + q - P | 0] * F[c, r, q])
}"""


def scheduled(h: int, w: int, r: int, q: int, s: int, p: int, target: str = "native") -> tx.Schedule:
    return tx.schedule(tx.op(PLANES), N=2, C=3, H=h, W=w, R=r, Q=q, S=s, P=p).auto(target)


@pytest.mark.parametrize("target", ("native", "x86-64-v3", "aarch64"))
@pytest.mark.parametrize(
    ("h", "w", "r", "q", "s", "p"),
    (
        (12, 64, 3, 3, 1, 1),
        (12, 70, 3, 3, 1, 1),
        (13, 130, 3, 3, 2, 1),
        (9, 40, 3, 2, 1, 0),
        (3, 66, 3, 3, 1, 1),
        (14, 65, 5, 5, 1, 2),
        (20, 96, 7, 7, 1, 3),
        (7, 33, 1, 3, 1, 1),
        (9, 20, 3, 3, 1, 2),
    ),
)
def test_sums_are_those_of_the_plain_loops(h: int, w: int, r: int, q: int, s: int, p: int, target: str):
    """Bit for bit, and proven."""
    schedule = scheduled(h, w, r, q, s, p, target)
    assert 'unroll("Y.q")' in schedule.script() and 'vectorize("Y.x' in schedule.script()
    schedule.certificate()
    generator = np.random.default_rng(0)
    given = [generator.standard_normal(shape, "f4") for shape in ((2, 3, h, w), (3, r, q))]
    expected = interpret(schedule.program, given)
    np.testing.assert_array_equal(interpret_kernel(schedule.kernel, given, {})[0], expected[0])
    if target == "native":  # products are fused there: 1e-5 of up to 49 of normal numbers
        np.testing.assert_allclose(schedule.compile()(*given), expected[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", ("x86-64-v3", "x86-64-v4", "aarch64"))
@pytest.mark.parametrize(
    ("h", "w", "r", "q", "s", "p"),
    (
        (7, 7, 5, 5, 1, 2),
        (7, 7, 3, 3, 1, 1),
        (14, 14, 5, 5, 2, 2),
        (13, 13, 3, 3, 2, 1),
        (15, 28, 5, 5, 2, 2),
        (13, 16, 5, 4, 2, 0),
        (6, 5, 3, 3, 1, 0),
        (9, 14, 5, 5, 1, 2),
    ),
)
def test_small_planes_are_copied_with_zeros_around_them(
    h: int, w: int, r: int, q: int, s: int, p: int, target: str
):
    """Bit for bit, and proven: no load of a field that is read at its edges asks for anything."""
    schedule = scheduled(h, w, r, q, s, p, target)
    if target != "aarch64" and w > 5:
        assert "Y: DepthwisePlane" in schedule.explain() and 'cache_read("X", "Y.c")' in schedule.script()
        assert ('"a b c d -> a b c d%2 d/2"' in schedule.script()) == (s == 2), "even columns, then odd ones"
    schedule.certificate()
    generator = np.random.default_rng(0)
    given = [generator.standard_normal(shape, "f4") for shape in ((2, 3, h, w), (3, r, q))]
    given[0][0, 1, 3:, 2:] = np.nan
    expected = interpret(schedule.program, given)
    np.testing.assert_array_equal(interpret_kernel(schedule.kernel, given, {})[0], expected[0])
    found = tx.op(PLANES)(*given, S=s, P=p)
    np.testing.assert_allclose(found, expected[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 1), (2, 0)])
def test_groups_of_one_channel_are_planes(stride: int, padding: int):
    """As networks have them: what is summed up over the one channel of a group is its window."""
    sizes = {"N": 2, "G": 3, "C": 1, "K": 1, "H": 13, "W": 40, "R": 3, "Q": 3}
    constants = {"SH": stride, "SW": stride, "PH": padding, "PW": padding, "DH": 1, "DW": 1}
    schedule = tx.schedule(ops.conv2d_grouped, **sizes, **constants).auto("x86-64-v3")
    assert "Y: DepthwiseWindow" in schedule.explain()
    schedule.certificate()
    generator = np.random.default_rng(0)
    given = [generator.standard_normal(shape, "f4") for shape in ((2, 3, 13, 40), (3, 1, 3, 3), (3,))]
    grouped = [a.reshape(b) for a, b in zip(given, ((2, 3, 1, 13, 40), (3, 1, 1, 3, 3), (3, 1)))]
    (found,), (expected,) = interpret_kernel(schedule.kernel, grouped, {}), interpret(schedule.program, given)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


@pytest.mark.parametrize("target", ("native", "x86-64-v3", "aarch64"))
@pytest.mark.parametrize("op", (ops.maxpool2d, ops.avgpool2d))
@pytest.mark.parametrize(("window", "stride", "padding"), ((3, 2, 1), (3, 1, 1), (5, 1, 2), (2, 2, 0)))
def test_pooling(op, window: int, stride: int, padding: int, target: str):
    """A window without weights: bit for bit, and proven. A lane for each result."""
    constants = {"R": window, "Q": window, "SH": stride, "SW": stride, "PH": padding, "PW": padding}
    schedule = tx.schedule(op, N=1, C=3, H=37, W=71, **constants).auto(target)
    assert ": DepthwiseWindow" in schedule.explain()
    schedule.certificate()
    x = np.random.default_rng(0).standard_normal((1, 3, 37, 71), "f4")
    x[0, 1, 5:9, 7:30] = np.nan
    (expected,) = interpret(schedule.program, [x])
    np.testing.assert_array_equal(interpret_kernel(schedule.kernel, [x], {})[0], expected)
    if target == "native":
        np.testing.assert_allclose(schedule.compile()(x), expected, rtol=1e-6, atol=1e-6)


def test_rows_at_edges_have_loops_of_their_own():
    script = scheduled(112, 112, 3, 3, 1, 1, "x86-64-v3").script()
    assert 'peel("Y.y", 1, 1)' in script and 'split("Y.x", 8, tail="peel")\npeel("Y.xo", 1, 1)' in script, (
        script
    )


@pytest.mark.parametrize(
    "text",
    (
        "op longer(X: f32[C, H, W], F: f32[C, 3, 9]) -> Y: f32[C, H - 2, W - 8] require H >= 3, W >= 9 { "
        "Y[c, y, x] = sum(r, q: X[c, y + r, x + q] * F[c, r, q]) }",
        "op largest(X: f32[C, H, W], F: f32[C, 3, 3]) -> Y: f32[C, H - 2, W - 2] require H >= 3, W >= 3 { "
        "Y[c, y, x] = max(r, q: X[c, y + r, x + q] * F[c, r, q]) }",
    ),
)
def test_others_have_other_schedules(text: str):
    """A long row of a window is not written out; extremes are no sums."""
    script = tx.schedule(tx.op(text), C=3, H=20, W=80).auto("x86-64-v3").script()
    assert 'unroll("Y.q")' not in script, script


SPREAD = """op spread(X: f32[N, 2, 2, H, W]) -> Y: f32[N, H, W] {
  Y[n, y, x] = sum(r in 0..2, q in 0..2: X[n, r, q, y - r, x - q | 0]) }"""


@pytest.mark.parametrize("target", ("native", "x86-64-v3"))
def test_planes_of_each_term_are_not_copied(target: str):
    """As a transposed convolution adds them: nothing of a copy would be read twice."""
    schedule = tx.schedule(tx.op(SPREAD), N=3, H=8, W=8).auto(target)
    assert "Y: DepthwisePlane" not in schedule.explain() and "cache_read" not in schedule.script()
    schedule.certificate()
    x = np.random.default_rng(0).standard_normal((3, 2, 2, 8, 8), "f4")
    np.testing.assert_array_equal(
        interpret_kernel(schedule.kernel, [x], {})[0], interpret(schedule.program, [x])[0]
    )
