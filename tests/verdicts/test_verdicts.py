"""What is said of schedules is what was recorded, and takes no more questions: `python
scripts/verdicts.py record` records anew.
"""

from __future__ import annotations

import pytest

from tests.verdicts.verdict import COUNTED, digest, listed, recorded

RECORDS = {r.key: r for r in listed()}


@pytest.mark.parametrize("key", RECORDS, ids=digest)
def test_verdict(key: str):
    old = RECORDS[key]
    new = recorded(old.case, old.faults)
    assert "\n".join(new.says) == "\n".join(old.says), old.case
    for (owner, name), now, most in zip(COUNTED, new.work, old.work, strict=True):
        assert now <= most, f"more calls of {owner.__name__}.{name}: {old.case}"
