"""`fold_storage`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

import texpr as tx
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from tests.schedule.steps.cases import OPS, exact, refusals, scheduled
from texpr.ir.build import integer
from texpr.schedule.steps.placement.fold_storage import folded_storage

EXACT = {
    "window": ("blur", {}, 's.compute_at("h", "Y.i", slide=True).fold_storage("h", 0)'),
    "window_given": ("blur", {}, 's.compute_at("h", "Y.i", slide=True).fold_storage("h", "Y.i", 4)'),
    "window_of_strips": (
        "blur",
        {},
        's.split("Y.i", 4).compute_at("h", "Y.io", slide=True).fold_storage("h", 0)',
    ),
    "strips_of_windows": (
        "blur",
        {},
        's.split("Y.i", 4).compute_at("h", "Y.ii", slide=True).fold_storage("h", 0).parallel("Y.io")',
    ),
    "behind": ("lag", {}, 's.compute_at("h", "Y.i").fold_storage("h", "Y.i")'),
    "recurrence": ("fibonacci", {}, 's.reverse_compute_at("y", "h.t").fold_storage("h", 0)'),
    "consumer": ("blur", {}, 's.reverse_compute_at("Y", "h.i").fold_storage("h", 0)'),
    "once_each": (
        "chain",
        {},
        's.compute_at("z", "Y.i").compute_at("t", "Y.i").fold_storage("t", 0).fold_storage("z_acc", 0)',
    ),
    "updates": ("softmax", {}, 's.fold_storage("Y_sum_acc", 0)'),
    "downwards": ("downwards", {}, 's.compute_at("h", "Y.i", slide=True).fold_storage("h", 0)'),
    "two_windows": (
        "six",
        {},
        's.compute_at("b", "c.i").compute_at("a", "c.i", slide=True).fold_storage("a", 0).fold_storage("b", '
        "0)",
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_every_bit(name, golden):
    exact(golden, *EXACT[name])


REFUSED = [
    ("lag", {}, 's.fold_storage("h", 0)'),
    ("lag", {}, 's.fold_storage("h", 1)'),
    ("lag", {}, 's.fold_storage("h", 0, 0)'),
    ("lag", {}, 's.fold_storage("h", None)'),
    ("lag", {}, 's.fold_storage("h", "X")'),
    ("lag", {}, 's.fold_storage("Y", 0)'),
    ("lag", {}, 's.compute_at("h", "Y.i").fold_storage("h", 0, 1)'),
    ("lag", {}, 's.fold_storage("h", "Y.i", 7)'),
    ("vectors", {}, 's.compute_at("t", "Y.i").vectorize("Y.i").fold_storage("t", 0)'),
    ("fibonacci", {}, 's.fold_storage("h", 0)'),
    ("fibonacci", {}, 's.reverse_compute_at("y", "h.t").fold_storage("h", 0, 1)'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))


@pytest.mark.parametrize("name", EXACT)
def test_one_less_is_too_few(name):
    """A depth that fold finds is the smallest that keeps the answer: with one less, some run is
    wrong, or the depth is 1.
    """
    op, sizes, text = EXACT[name]
    if "given" in name:
        return
    s = tx.schedule(OPS[op], **sizes)
    exec(text, {"s": s})
    step = next(each for each in s.steps if each.name == "fold_storage")
    before = tx.schedule(OPS[op], **sizes)
    for each in s.steps[: s.steps.index(step)]:
        before.apply(each)
    tensor, d = next(t for t in s.kernel.temporaries if t.name == step.args[0]), 0
    depth = integer(tensor.shape[d]) or 1
    if depth == 1:
        return
    whole = next(t for t in before.kernel.temporaries if t.name == tensor.name)
    small = folded_storage(before.kernel, whole, d, depth - 1)
    sizes = {v: 9 for v in s.program.sizes}
    with pytest.raises(AssertionError):
        check(Scheduled(s.program, sizes, small, s.steps), small, random_arrays(s.program, sizes))


@pytest.mark.parametrize("name", EXACT)
def test_certified(name):
    assert scheduled(*EXACT[name]).certificate().bit_exact


def test_one_buffer_less_is_too_few():
    """With the indices of two buffers taken modulo one, what is computed ahead takes the place
    of what is still needed.
    """
    s = tx.schedule(OPS["blur"], M=8, N=4).split("Y.i", 2).compute_at("h", "Y.io").pipeline("h")
    buffer = next(t for t in s.kernel.temporaries if t.name == "h")
    small = folded_storage(s.kernel, buffer, 0, 1)
    sizes = dict(zip(s.program.sizes, (8, 4)))
    with pytest.raises(AssertionError):
        check(Scheduled(s.program, sizes, small, s.steps), small, random_arrays(s.program, sizes))
