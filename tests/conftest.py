"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "texpr", deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "fuzz", deadline=None, max_examples=2_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("texpr"), max_examples=20)

# Programs and kernels are millions of nodes without cycles: the collector of cycles need not be asked
# after each 700 new ones, as usual.
gc.set_threshold(100_000, 20, 20)

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # Shells start jobs in the background so, and children would inherit it: tests of Ctrl-C would
    # wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew; read the diff afterwards"
    )
    parser.addoption(
        "--all", action="store_true", help="all cases, those too that `tests/sweeps.txt` leaves out"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tests that say nothing of a number have a third of the examples, unless all cases are asked for."""
    usual = "texpr" if config.getoption("--all") else "quick"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", usual))


MISSING = {
    "gpu": "" if Path("/dev/nvidiactl").exists() else "no CUDA device here",
    "qemu": ""
    if shutil.which("qemu-aarch64") and shutil.which("aarch64-linux-gnu-gcc")
    else "no qemu-aarch64 with a cross compiler here",
}
"""Why tests with a marker cannot run on this machine."""


SWEEPS = {
    name: int(rate)
    for rate, name in map(
        str.split, Path(__file__).with_name("sweeps.txt").read_text(encoding="utf-8").splitlines()
    )
}
"""Of the cases of these tests each n-th one runs unless all are asked for, of those with 0 none
(`scripts/sweeps.py`).
"""


@pytest.hookimpl(trylast=True)  # what is left once others were deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for marker, reason in MISSING.items():
            if reason and item.get_closest_marker(marker) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))
    if (
        not config.getoption("--all")
        and not any("::" in each for each in config.args)
        and not config.option.keyword
    ):
        _thin_out(config, items)


def _thin_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what `SWEEPS` says."""
    met, out = Counter[str](), set[pytest.Item]()
    for item in items:
        name = item.nodeid.partition("[")[0]
        rate = SWEEPS.get(name, 1)
        out |= {item} if rate == 0 or met[name] % rate else set()
        met[name] += 1
    config.hook.pytest_deselected(items=[i for i in items if i in out])
    items[:] = [i for i in items if i not in out]


@pytest.fixture(autouse=True, scope="module")
def only_new_objects_are_collected() -> None:
    """What was there before a file of tests stays: millions of objects at last, that no
    collection of garbage need look at.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def compiled_in_this_process() -> None:
    """Programs are lowered here, and kernels compiled beside at most one worker: new processes would
    prove again what this one has seen. What asks for more sets these numbers itself.
    """
    from texpr.compiler import parallel_compile
    from texpr.graph.execution import compile

    compile.LARGE = compile.LARGE_NETWORK = parallel_compile.MANY = sys.maxsize
    parallel_compile.waiting = lambda: 0


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compare a text with `golden/<test file>/<test name>.txt` beside the test;
    `--update-golden` writes it.
    """
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
        assert path.exists(), (
            f"no golden file {path.name}: run pytest --update-golden and read what it writes"
        )
        assert text == path.read_text(encoding="utf-8")

    return check
