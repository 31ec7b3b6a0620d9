"""The coefficients in the package are those the script fits."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from texpr.passes.math import coefficients

MODULE = Path(coefficients.__file__)


@pytest.fixture(scope="module")
def script() -> dict:
    return runpy.run_path(str(MODULE.parents[3] / "scripts" / "fit_polynomials.py"))


def test_the_script_writes_the_module(script) -> None:
    """Some of the polynomials: all of them take half a minute."""
    text = MODULE.read_text(encoding="utf-8")
    problems = list(script["problems"]())
    assert [line.partition(" ")[0] for line in text.splitlines() if line.endswith("= (")][
        -len(problems) :
    ] == [p.name for p in problems]
    assert "\n".join(script["constants"]()) in text
    for problem in problems[1::9]:
        assert "\n".join(script["fitted"](problem)) in text
