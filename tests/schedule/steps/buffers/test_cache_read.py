"""`cache_read`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import SQUARE, TILES, buffered, refusals, tiles_of_any_size

BUFFERED = {
    "cache_read": ("matmul", SQUARE, f'{TILES}.cache_read("B", "ko")'),
    "cache_read_clipped": (
        "matmul",
        {"M": 7, "N": 30, "K": 5},
        f'{TILES}.cache_read("A", "ko", name="panel")',
    ),
    "cache_read_symbolic": ("matmul", {}, f'{TILES}.cache_read("A", "io").cache_read("B", "jo")'),
    "cache_read_halo": ("blur", {}, 's.split("h.i", 4).cache_read("X", "h.io")'),
    "cache_read_padded": (
        "conv",
        {"M": 64, "N": 64},
        's.split("y", 8).split("x", 16).reorder("yo", "xo", "yi", "p", "q", "xi").cache_read("X", "xo")',
    ),
    "cache_read_two_paddings": ("twice", {}, 's.split("i", 4).cache_read("X", "io")'),
    "cache_read_gather": (
        "gather",
        {},
        's.split("d", 4).reorder("do", "k", "di").cache_read("E", "do").cache_read("idx", "k")',
    ),
    "cache_read_widened": (
        "narrow",
        {},
        's.split("j", 16, tail="pad").reorder("jo", "i", "k", "ji").cache_read("B", "jo", dtype="f32")',
    ),
    "cache_read_along": (
        "gram",
        {"M": 64, "K": 64},
        f'{TILES}.cache_read("A", "jo", along="ji").cache_read("A", "ko", along="ii")',
    ),
    "cache_read_every_third": (
        "thirds",
        {},
        's.split("i", 4, tail="clip").cache_read("X", "io").layout("X_cache", "i -> i/2 i%2")',
    ),
    "cache_read_of_the_kernel": (
        "matmul",
        {},
        f'{TILES}.cache_read("B").split("B_cache.d1", 16).layout("B_cache", "a b -> b/16 a b%16")',
    ),
    "cache_read_of_the_kernel_padded": ("twice", {}, 's.cache_read("X")'),
    "cache_read_of_the_kernel_beside_a_copy": (
        "gram",
        {},
        's.cache_read("A", along="j").layout("A_cache", "a b -> b a").cache_read("A", along="i", name="rows")',
    ),
    "cache_read_wrapped": ("wrapped", {}, 's.split("i", 4).cache_read("X", "io")'),
}


@pytest.mark.parametrize("name", BUFFERED)
def test_listing_and_certificate(name, golden):
    buffered(golden, *BUFFERED[name])


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("name", BUFFERED)
def test_tiles_of_any_size(name, size):
    tiles_of_any_size(size, *BUFFERED[name])


REFUSED = [
    ("gather", {}, 's.cache_read("idx", "d").cache_read("E", "k")'),
    ("matmul", {}, 's.cache_read("D", "i")'),
    ("matmul", {}, 's.cache_read("C", "i")'),
    ("matmul", {}, 's.cache_read("C")'),
    ("matmul", {}, 's.cache_read("A", "z")'),
    ("matmul", {}, 's.cache_read("A", "i", name="for")'),
    ("matmul", {}, 's.cache_read(3, "i")'),
    ("matmul", {}, 's.split("j", 8).unroll("ji").cache_read("B", "ji")'),
    ("matmul", {}, 's.cache_read("A", "i", dtype="f64")'),
    ("matmul", {}, 's.cache_read("A", "i", dtype="f8")'),
    ("prefix", {}, 's.split("i", 4).cache_read("Y", "io")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
