"""Results of checks."""

from __future__ import annotations

from typing import Literal

from texpr.support.frozen_dataclass import frozen


@frozen
class Finding:
    """The result of a check.

    Attributes:
        section: the group of checks.
        name: the subject, unique in its section.
        status: `ok`, `problem`, `absent` (optional, and not here) or `fact` (nothing to check).
        value: what was found.
        help: a way out of a problem, or the way to what is absent.
    """

    section: str
    name: str
    status: Literal["ok", "problem", "absent", "fact"]
    value: str
    help: str = ""

    @property
    def is_problem(self) -> bool:
        """True if the check failed."""
        return self.status == "problem"
