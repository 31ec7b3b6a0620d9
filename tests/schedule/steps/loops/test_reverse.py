"""`reverse`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {"reverse": ("ragged", {}, 's.reverse("i")')}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.reverse("x")'),
    ("matmul", EIGHT, 's.reverse("k")'),
    ("matmul", EIGHT, 's.unroll("j").reverse("k")'),
    ("diagonal", {}, 's.reverse("i")'),
    ("diagonal", {}, 's.skew("j", "i").reorder("j", "i").reverse("i")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
