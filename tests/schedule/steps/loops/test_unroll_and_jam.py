"""`unroll_and_jam`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {"jam": ("matmul", {"M": 6}, 's.unroll_and_jam("i", 4)')}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.unroll_and_jam("i", 0)'),
    ("matmul", EIGHT, 's.unroll_and_jam("x", 2)'),
    ("matmul", EIGHT, 's.unroll_and_jam("i", 2, tail="cut")'),
    ("matmul", EIGHT, 's.unroll_and_jam("i", "2")'),
    ("diagonal", {}, 's.unroll_and_jam("i", 2)'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
