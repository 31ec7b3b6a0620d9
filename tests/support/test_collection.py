"""Cycles that are not looked for meanwhile."""

from __future__ import annotations

import gc

import pytest

from texpr.support.gc_pause import MANY, uncollected


@pytest.fixture
def thawed():
    """pytest freezes what it made."""
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    yield
    if frozen:
        gc.freeze()


def test_much_that_was_made_meanwhile_is_old_at_once(thawed):
    with uncollected():
        assert not gc.isenabled()
        made = [[] for _ in range(MANY + 1000)]
    assert gc.isenabled() and gc.get_freeze_count() == 0
    assert any(found is made for found in gc.get_objects(generation=2))


def test_little_stays_young(thawed):
    gc.collect()
    with uncollected():
        made = [[] for _ in range(10)]
    assert not any(found is made for found in gc.get_objects(generation=2))


def test_what_was_frozen_stays_so(thawed):
    gc.freeze()
    frozen = gc.get_freeze_count()
    with uncollected():
        made = [[] for _ in range(MANY + 1000)]
    assert 0 < frozen == gc.get_freeze_count() and made
    gc.unfreeze()


def test_who_collects_nothing_goes_on_so():
    gc.disable()
    try:
        with pytest.raises(ValueError), uncollected():
            raise ValueError
        assert not gc.isenabled()
    finally:
        gc.enable()
    with pytest.raises(ValueError), uncollected():
        raise ValueError
    assert gc.isenabled()
