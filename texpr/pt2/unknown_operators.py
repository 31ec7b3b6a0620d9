"""The error of archives whose graphs need operators that texpr does not read."""

from __future__ import annotations

from texpr.support.errors import CheckpointError


class UnknownOperators(CheckpointError):
    """A program needs operators, overloads of them or dtypes that texpr does not read. All of them
    are listed.
    """
