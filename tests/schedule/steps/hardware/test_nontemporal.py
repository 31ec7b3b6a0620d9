"""`nontemporal`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {
    "nontemporal": ("matmul", {"N": 16}, 's.cache_write("C", "i").vectorize("C_tile.d1").nontemporal("C")')
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.nontemporal("A")'),
    ("matmul", EIGHT, 's.nontemporal("D")'),
    ("blur", {}, 's.nontemporal("h")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
