"""The coefficients in the package are those the script fits."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from texpr.passes.math import coefficients


@pytest.mark.slow
def test_the_script_writes_the_module() -> None:
    module = Path(coefficients.__file__)
    script = runpy.run_path(str(module.parents[3] / "scripts" / "fit_polynomials.py"))
    assert script["text"]() == module.read_text(encoding="utf-8")
