"""`pad`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import TILES, buffered, refusals, tiles_of_any_size

BUFFERED = {
    "pad": (
        "matmul",
        {},
        f'{TILES}.cache_read("B", "io").pad("B_cache", 1, 16, extra=16).pad("B_cache", 0, 4)',
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
    ("matmul", {}, 's.pad("C_acc", 2, 8)'),
    ("matmul", {}, 's.pad("C_acc", 0, 0)'),
    ("matmul", {}, 's.pad("C_acc", 0, 8, extra=-1)'),
    ("matmul", {}, 's.pad("B", 0, 8)'),
    ("matmul", {}, 's.pad("C_acc", "i", 8)'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
