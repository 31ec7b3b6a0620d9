"""`layout`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import SQUARE, TILES, buffered, refusals, tiles_of_any_size

BUFFERED = {
    "layout": ("matmul", SQUARE, f'{TILES}.cache_read("B", "io").layout("B_cache", "k j -> j/16 k j%16")'),
    "layout_copy": (
        "matmul",
        SQUARE,
        f'{TILES}.cache_read("B", "io").split("B_cache.d1", 16).layout("B_cache", "k j -> j/16 k/4 j%16 k%4")'
        '.vectorize("B_cache.d1i")',
    ),
    "layout_intermediate": ("chain", {}, 's.layout("t", "i j -> j i")'),
}


@pytest.mark.parametrize("name", BUFFERED)
def test_listing_and_certificate(name, golden):
    buffered(golden, *BUFFERED[name])


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("name", BUFFERED)
def test_tiles_of_any_size(name, size):
    tiles_of_any_size(size, *BUFFERED[name])


REFUSED = [
    ("matmul", {}, 's.layout("A", "i j -> j i")'),
    ("matmul", {}, 's.layout("C", "i j -> j i")'),
    ("matmul", {}, 's.layout("C_acc", "i j")'),
    ("matmul", {}, 's.layout("C_acc", "i -> i")'),
    ("matmul", {}, 's.layout("C_acc", "i i -> i i")'),
    ("matmul", {}, 's.layout("C_acc", "i j -> j")'),
    ("matmul", {}, 's.layout("C_acc", "i j -> j/4 i")'),
    ("matmul", {}, 's.layout("C_acc", "i j -> j/4 i j%2")'),
    ("matmul", {}, 's.layout("C_acc", "i j -> j/0 i j%0")'),
    ("matmul", {}, 's.layout("C_acc", "i j -> i j k")'),
    ("matmul", {}, 's.layout("C_acc", 3)'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
