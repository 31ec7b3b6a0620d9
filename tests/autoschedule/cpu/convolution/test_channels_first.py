"""The ends of sums over windows whose channels come first: rows are turned in registers on their
way in and out.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import texpr as tx
from tests.autoschedule.cpu.convolution.test_direct import FAR, FIRST, NEAR
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from texpr.autoschedule.cpu.convolution import direct, sliding_window
from texpr.autoschedule.cpu.convolution.convolution_costs import ConvolutionCosts
from texpr.autoschedule.driver import auto

ENDED = """op ended(M: f32[N, K, H, W], B: f32[K], X: f32[N, C, H, W], F: f32[C, K, R, Q], A: f32[N, K, H, W]) -> Y: f32[N, K, H, W] {
  Y[n, k, y, x] = if M[n, k, y, x] > 0 then A[n, k, y, x] + B[k] * sum(c, r, q: X[n, c, y - r + 1, x - q + 1 | 0] * F[c, k, r, q]) else 0
}"""
LINE = """op line(M: f32[N, K, W], X: f32[N, C, W], F: f32[C, K, Q]) -> Y: f32[N, K, W] {
  Y[n, k, x] = M[n, k, x] * sum(c, q: X[n, c, x - q + 1 | 0] * F[c, k, q])
}"""
BIASED = """op biased(X: f32[N, C, H, W], F: f32[K, C, R, Q], B: f32[K]; S, P)
    -> Y: f32[N, K, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1] require R <= H + 2*P, Q <= W + 2*P {
  Y[n, k, y, x] = max(B[k] + sum(c, r, q: X[n, c, S*y + r - P, S*x + q - P | 0] * F[k, c, r, q]), 0)
}"""
SQUARES = frozenset({"transpose4_f32", "transpose8_f32"})
SIZES = {"N": 2, "C": 5, "K": 16, "R": 3, "Q": 3}
CASES = {
    "squares of 8": (ENDED, SIZES | {"H": 5, "W": 16}, "transpose8_f32"),
    "squares of 4 under two rows": (ENDED, SIZES | {"H": 4, "W": 4}, "transpose4_f32"),
    "positions left over": (ENDED, SIZES | {"H": 5, "W": 26}, "transpose4_f32"),
    "a row by its tiles": (ENDED, SIZES | {"H": 3, "W": 48}, "transpose8_f32"),
    "a line": (LINE, {"N": 3, "C": 7, "K": 8, "W": 24, "Q": 3}, "transpose8_f32"),
}


@pytest.mark.parametrize("where", [NEAR, FAR], ids=["near", "far"])
@pytest.mark.parametrize("name", CASES)
def test_ends_keep_every_bit_and_are_certified(name, where, monkeypatch):
    costs = ConvolutionCosts(block_terms=8)
    monkeypatch.setattr(direct, "CONVOLUTION_COSTS", costs)
    monkeypatch.setattr(sliding_window, "CONVOLUTION_COSTS", costs)
    text, sizes, square = CASES[name]
    s = tx.schedule(tx.op(text), **sizes)
    s.steps[:], s.kernel = auto(s.kernel, replace(where, instructions=SQUARES))
    for buffer in ("Y_tile", "M_cache"):
        assert any(f'tensorize("{buffer}.' in line and square in line for line in s.script().splitlines()), (
            s.script()
        )
    bound = {v: sizes[v.name] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )
    assert "every sum has all its terms" in str(s.certificate())


def test_rows_beyond_the_second_cache_are_turned_tile_by_tile():
    text, sizes, _ = CASES["a row by its tiles"]
    near, far = (
        list(
            map(str, auto(tx.schedule(tx.op(text), **sizes).kernel, replace(where, instructions=SQUARES))[0])
        )
        for where in (NEAR, FAR)
    )
    assert 'cache_write("Y", "Y.y")' in near and 'cache_write("Y", "Y.xo")' in far


STEPS = """op steps(X: f32[N, C, W], F: f32[K, C, Q]; S, P) -> Y: f32[N, K, (W + 2*P - Q)//S + 1] require Q <= W + 2*P {
  Y[n, k, x] = max(sum(c, q: X[n, c, S*x + q - P | 0] * F[k, c, q]), 0)
}"""


@pytest.mark.parametrize(
    ("step", "padding", "width"), [(1, 0, 96), (1, 1, 101), (2, 0, 96), (2, 1, 131), (3, 2, 100)]
)
def test_a_line_beyond_the_second_cache_comes_in_blocks(step: int, padding: int, width: int):
    """Each is copied once, for all lanes; the positions that are left over have code of their own."""
    sizes = {"N": 2, "C": 7, "K": 16, "W": width, "Q": 3, "S": step, "P": padding}
    s = tx.schedule(tx.op(STEPS), **sizes)
    machine = replace(NEAR, caches=(256, 4096), instructions=SQUARES)
    s.steps[:], s.kernel = auto(s.kernel, machine)
    assert 'cache_read("X", "Y.xo")' in s.script() and 'cache_write("Y"' in s.script(), s.script()
    assert 'cache_read("X", "Y.xo")' not in "".join(
        map(str, auto(tx.schedule(tx.op(STEPS), **sizes).kernel, NEAR)[0])
    )
    bound = {v: sizes[v.name] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )
    s.certificate()


def test_idle_lanes_of_the_last_tile_are_no_rows_of_squares():
    """24 channels are a register and a half: their rows are turned all the same."""
    sizes = {"N": 1, "C": 3, "K": 24, "H": 33, "W": 96, "R": 3, "Q": 3, "S": 2, "P": 1}
    s = tx.schedule(tx.op(BIASED), **sizes)
    machine = replace(NEAR, vector_bytes=64, instructions=SQUARES)
    s.steps[:], s.kernel = auto(s.kernel, machine)
    assert 'split("Y.k", 16, tail="mask")' in s.script() and 'tensorize("Y_tile.' in s.script()
    bound = {v: sizes[v.name] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )


def test_rows_from_memory_are_asked_for_a_row_early():
    text, sizes, _ = CASES["squares of 8"]
    for where, early in ((NEAR, []), (FAR, ['prefetch("M", "Y.y", 1)', 'prefetch("A", "Y.y", 1)'])):
        steps, _ = auto(
            tx.schedule(tx.op(text), **sizes).kernel,
            replace(where, instructions=frozenset({"transpose8_f32"})),
        )
        assert sorted(str(step) for step in steps if step.name == "prefetch") == sorted(early)


def test_lanes_left_over_are_written_lane_by_lane():
    """A square of them would reach beyond the last lane."""
    s = tx.schedule(tx.op(ENDED), **SIZES | {"H": 5, "W": 8, "K": 21})
    script = [
        str(step) for step in auto(s.kernel, replace(NEAR, instructions=frozenset({"transpose4_f32"})))[0]
    ]
    assert 'layout("Y_acc", "a b c d -> a c d b")' in script and not any(
        "Y_tile" in step or "M_cache" in step for step in script
    )


def test_few_positions_are_written_lane_by_lane():
    """Three positions of a row are less than a square."""
    s = tx.schedule(tx.op(FIRST), N=2, C=5, K=16, H=12, W=3, R=3, Q=3, S=1, P=1)
    script = [
        str(step) for step in auto(s.kernel, replace(NEAR, instructions=frozenset({"transpose4_f32"})))[0]
    ]
    assert 'layout("Y_acc", "a b c d -> a c d b")' in script and not any("Y_tile" in step for step in script)


def test_the_picture_of_an_end(golden):
    s = tx.schedule(tx.op(ENDED), **SIZES | {"H": 5, "W": 16})
    golden(
        "\n".join(
            str(step) for step in auto(s.kernel, replace(NEAR, instructions=frozenset({"transpose8_f32"})))[0]
        )
    )
