"""`rfactor`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {
    "rfactor": ("matmul", {"K": 64}, 's.split("k", 8).rfactor("ki", reassoc=True)'),
    "rfactor_max": ("largest", {}, 's.rfactor("k")'),
    "rfactor_around_elements": (
        "matmul",
        {},
        's.split("j", 8).reorder("i", "jo", "k", "ji").rfactor("k", reassoc=True)',
    ),
    "rfactor_triangle": ("ragged", {}, 's.rfactor("j", reassoc=True)'),
    "rfactor_beside": ("pair", {}, 's.compute_at("s", "p.i").rfactor("s.j", reassoc=True).rfactor("p.j")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.rfactor("k", reassoc=[1])'),
    ("matmul", EIGHT, 's.rfactor("k")'),
    ("matmul", EIGHT, 's.rfactor("i")'),
    ("matmul", EIGHT, 's.rfactor("C")'),
    ("ragged", {}, 's.rfactor("j")'),
    ("ragged", {}, 's.rfactor("i")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
