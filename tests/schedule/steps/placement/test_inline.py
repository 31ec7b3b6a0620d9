"""`inline`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import exact, refusals

EXACT = {
    "blur": ("blur", {}, 's.inline("h")'),
    "chain": ("chain", {}, 's.inline("t")'),
    "choice": ("padded", {}, 's.inline("t")'),
    "flip": ("halves_of", {}, 's.inline("h")'),
    "interleaved": ("evens", {}, 's.inline("t")'),
    "into_a_sum": ("softmax", {}, 's.inline("e")'),
    "into_a_condition": ("masked", {}, 's.inline("h")'),
    "half": ("half", {}, 's.inline("h")'),
    "brain": ("brain", {}, 's.inline("h")'),
    "tiled": ("softmax", {}, 's.split("e.i", 4).split("e.j", 4).inline("e")'),
    "readers_tiled": ("softmax", {}, 's.split("Y.j", 4).inline("e")'),
    "moved": ("lag", {}, 's.compute_at("h", "Y.i").inline("h")'),
    "of_an_output": ("sums", {}, 's.inline("a")'),
}


@pytest.mark.parametrize("name", EXACT)
def test_every_bit(name, golden):
    exact(golden, *EXACT[name])


REFUSED = [
    ("fibonacci", {}, 's.inline("h")'),
    ("fibonacci", {}, 's.reverse_compute_at("y", "h.t").fold_storage("h", 0).inline("h")'),
    ("softmax", {}, 's.inline("m")'),
    ("softmax", {}, 's.inline("X")'),
    ("softmax", {}, 's.inline("Y")'),
    ("softmax", {}, "s.inline(3)"),
    ("softmax", {}, 's.inline("m_acc")'),
    ("scatter", {}, 's.inline("Y")'),
    ("tally", {}, 's.inline("h")'),
    ("running", {}, 's.inline("h")'),
    ("deep", {}, 's.inline("a").inline("b").inline("c").inline("d")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
