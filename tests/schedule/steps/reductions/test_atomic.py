"""`atomic`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import listing

LISTINGS = {
    "atomic": ("scatter", {}, 's.atomic("Y", reassoc=True).bind("i", "block.x")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])
