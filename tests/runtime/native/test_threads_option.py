"""The option `threads` reaches the pool."""

from __future__ import annotations

from texpr.runtime.native import native_library
from texpr.support.options import options


def test_a_block_changes_the_pool_while_it_lasts():
    native_library.symbols()
    before = native_library.threads()
    with options(threads=1):
        assert native_library.threads() == 1
        with options(threads=3):
            assert native_library.threads() == 3
        assert native_library.threads() == 1
    assert native_library.threads() == before


def test_a_plain_call_changes_it_for_good():
    native_library.symbols()
    before = native_library.threads()
    options(threads=before + 1)
    assert native_library.threads() == before + 1
    options(threads=before)
    assert native_library.threads() == before
