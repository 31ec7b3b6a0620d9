"""`cache_write`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import SQUARE, TILES, buffered, refusals, tiles_of_any_size

BUFFERED = {
    "cache_write": ("stencil", {}, 's.split("j", 8).cache_write("Y", "jo")'),
    "cache_write_sum": ("matmul", SQUARE, f'{TILES}.cache_write("C_acc", "ko", name="tile")'),
    "cache_write_whole_sum": ("matmul", {}, 's.cache_write("C_acc", "j")'),
    "cache_write_output": ("matmul", SQUARE, f'{TILES}.cache_write("C", "io")'),
    "cache_write_every_other": (
        "interleaved",
        {},
        's.split("Y.0.i", 4, tail="overlap").cache_write("Y", "Y.0.io")',
    ),
    "cache_write_every_other_guarded": (
        "interleaved",
        {},
        's.split("Y.1.i", 4).cache_write("Y", "Y.1.io").parallel("Y.1.io")',
    ),
}


@pytest.mark.parametrize("name", BUFFERED)
def test_listing_and_certificate(name, golden):
    buffered(golden, *BUFFERED[name])


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("name", BUFFERED)
def test_tiles_of_any_size(name, size):
    tiles_of_any_size(size, *BUFFERED[name])


REFUSED = [
    ("matmul", {}, 's.cache_write("A", "k")'),
    ("matmul", {}, 's.split("j", 8).vectorize("ji").cache_write("C", "ji")'),
    ("matmul", {}, 's.reorder("k", "i", "j").cache_write("C_acc", "C.k", out=False)'),
    ("matmul", {}, 's.cache_write("C", "C.i", out=False)'),
    ("matmul", {}, 's.cache_write("C", "C.i", out=0)'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
