"""Candidates that go wrong, in place of `measurement.measure_here`."""

from __future__ import annotations

import os
import signal
import time

from texpr.tune import measurement


def die(case: object, script: str) -> float:
    """Crash."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def hang(case: object, script: str) -> float:
    """Take forever."""
    time.sleep(1000)
    return 0.0


def wrong(case, script: str) -> float:
    """Run, and give another result than the default schedule."""
    program, sizes, inputs, expected = measurement._prepared(measurement.Case(**measurement._tuples(case)))
    measurement._check([e + 1 for e in expected], expected)
    return 1e-9
