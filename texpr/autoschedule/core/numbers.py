"""Sizes of tiles as numbers."""

from __future__ import annotations


def even(n: int, most: int) -> int:
    """The largest divisor of `n` that is at least half of `most` and at most that, else parts of
    nearly one size.
    """
    divisors = [d for d in range(most, most // 2 - 1, -1) if n % d == 0]
    return divisors[0] if divisors else nearly_even(n, most)


def nearly_even(n: int, most: int) -> int:
    """The size of as few parts of at most `most` as there can be, where the last is little
    shorter.
    """
    return -(-n // -(-n // most))
