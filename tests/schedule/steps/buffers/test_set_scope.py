"""`set_scope`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import SQUARE, TILES, buffered, refusals, tiles_of_any_size

BUFFERED = {
    "scope": (
        "matmul",
        SQUARE,
        f'{TILES}.cache_read("A", "ko").cache_write("C_acc", "ko").set_scope("A_cache", "heap")'
        '.set_scope("C_acc_tile", "register").set_scope("C_acc", "stack")',
    )
}


@pytest.mark.parametrize("name", BUFFERED)
def test_listing_and_certificate(name, golden):
    buffered(golden, *BUFFERED[name])


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("name", BUFFERED)
def test_tiles_of_any_size(name, size):
    tiles_of_any_size(size, *BUFFERED[name])


REFUSED = [
    ("matmul", {}, 's.set_scope("C_acc", "disk")'),
    ("matmul", {}, 's.set_scope("A", "stack")'),
    ("matmul", {}, 's.cache_read("B", "i").set_scope("B_cache", "stack")'),
    (
        "matmul",
        {},
        's.split("j", 1000).split("i", 64).reorder("io", "jo", "k", "ii", "ji").set_scope("C_acc", "stack")',
    ),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
