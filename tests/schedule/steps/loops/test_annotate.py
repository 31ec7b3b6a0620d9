"""`annotate`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {
    "annotate": (
        "stencil",
        {},
        's.annotate("i", tuned=16, by="hand, twice").parallel("i").annotate("j", w=0.5).annotate("i", '
        "tuned=8)",
    )
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.annotate("i")'),
    ("matmul", EIGHT, 's.annotate("i", a="#")'),
    ("matmul", EIGHT, 's.annotate("i", a=None)'),
    ("matmul", EIGHT, 's.annotate("i", a=float("nan"))'),
    ("matmul", EIGHT, 's.annotate("x", a=1)'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
