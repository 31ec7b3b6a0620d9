"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("texpr", deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fuzz", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "texpr"))

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # Shells start jobs in the background so, and children would inherit it: tests of Ctrl-C would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew; read the diff afterwards")


MISSING = {
    "gpu": "" if Path("/dev/nvidiactl").exists() else "no CUDA device here",
    "qemu": "" if shutil.which("qemu-aarch64") and shutil.which("aarch64-linux-gnu-gcc") else "no qemu-aarch64 with a cross compiler here",
}
"""Why tests with a marker cannot run on this machine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker, reason in MISSING.items():
            if reason and item.get_closest_marker(marker) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True, scope="module")
def only_new_objects_are_collected() -> None:
    """What was there before a file of tests stays: millions of objects at last, that no collection of garbage need look at."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compare a text with `golden/<test file>/<test name>.txt` beside the test; `--update-golden` writes it."""
    here = Path(str(request.path))
    name = request.node.name.replace("[", "-").replace("]", "").replace("/", "_")
    path = here.parent / "golden" / here.stem / f"{name}.txt"

    def check(text: str) -> None:
        # Where a test calls from moves with every edit.
        text = re.sub(r"\b(test_\w+\.py):\d+", r"\1:LINE", text.rstrip("\n") + "\n")
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"no golden file {path.name}: run pytest --update-golden and read what it writes"
        assert text == path.read_text(encoding="utf-8")

    return check
