"""Numbers of examples of properties that say one."""

from __future__ import annotations

from hypothesis import settings


def examples(number: int) -> settings:
    """Settings of a property: `number` examples where all cases are asked for; fewer in `make
    test` and more in `make fuzz-properties`, as the profile has fewer or more of a property that
    says no number (`tests/conftest.py`).
    """
    share = settings().max_examples / settings.get_profile("texpr").max_examples
    return settings(max_examples=max(min(number, 3), round(number * share)))
