"""The option `threads` reaches the pool."""

from __future__ import annotations

from texpr.runtime.native import library as native
from texpr.support.options import options


def test_a_block_changes_the_pool_while_it_lasts():
    native.symbols()
    before = native.threads()
    with options(threads=1):
        assert native.threads() == 1
        with options(threads=3):
            assert native.threads() == 3
        assert native.threads() == 1
    assert native.threads() == before


def test_a_plain_call_changes_it_for_good():
    native.symbols()
    before = native.threads()
    options(threads=before + 1)
    assert native.threads() == before + 1
    options(threads=before)
    assert native.threads() == before
