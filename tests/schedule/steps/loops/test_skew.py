"""`skew`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {
    "skew": ("wave", {}, 's.skew("j", "i").reorder("j", "i").parallel("i")'),
    "skew_back": ("diagonal", {"M": 4}, 's.skew("j", "i", -1)'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.skew("i", "j")'),
    ("matmul", EIGHT, 's.skew("j", "i", 0)'),
    ("matmul", EIGHT, 's.skew("j", "i", 1.0)'),
    ("matmul", EIGHT, 's.skew("j", "i", 2**40)'),
    ("matmul", EIGHT, 's.skew("j", "j")'),
    ("matmul", EIGHT, 's.vectorize("j").skew("j", "i")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
