"""Searching for schedules by measuring: `tx.tune`.

A space is what may be chosen (`space`); a strategy says what to try next (`strategies`,
`learned_model`); trials run in child processes (`measurement`); records are kept by
`compiler.tuning_records`, where operators look for them.
"""

from texpr.tune.search import Trial, Tuned, tune

__all__ = ["Trial", "Tuned", "tune"]
