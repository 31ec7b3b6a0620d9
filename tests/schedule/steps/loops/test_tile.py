"""`tile`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {
    "tile": ("matmul", {}, 's.tile("i", "j", sizes=(4, 8))'),
    "tile_skewed": ("diagonal", {}, 's.skew("j", "i", 1).tile("i", "j", sizes=(4, 8))'),
    "tiled": (
        "matmul",
        {"M": 64, "N": 64, "K": 64},
        """s.split("i", 32).split("j", 64).reorder("io", "jo", "k", "ii", "ji")
s.vectorize("ji").parallel("io")""",
    ),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.tile("i", sizes=4)'),
    ("matmul", EIGHT, 's.tile("i", "j", sizes=(4,))'),
    ("matmul", EIGHT, "s.tile(sizes=())"),
    ("matmul", EIGHT, 's.tile("i", "i", sizes=(4, 4))'),
    ("matmul", EIGHT, 's.tile("i", "j", sizes=(4, 0))'),
    ("matmul", EIGHT, 's.tile("i", "x", sizes=(4, 4))'),
    ("matmul", EIGHT, 's.tile("i", "j", sizes="ab")'),
    ("matmul", EIGHT, 's.tile("i", "j", sizes=(4, 3), tail="exact")'),
    ("diagonal", {}, 's.tile("i", "j", sizes=(4, 8))'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
