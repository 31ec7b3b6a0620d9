"""`peel`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {
    "peel": ("stencil", {"M": 8, "N": 8}, 's.peel("i", 1, 0).peel("j", 0, 1)'),
    "peel_symbolic": ("stencil", {}, 's.peel("i", 1, 1).peel("j", 0, 1)'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.peel("i", 9, 0)'),
    ("matmul", EIGHT, 's.peel("i", -1, 0)'),
    ("matmul", EIGHT, 's.peel("i", 0, 0)'),
    ("matmul", EIGHT, 's.peel("i", "1", 0)'),
    ("matmul", EIGHT, 's.peel("i", 0, 1 << 40)'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
