"""Tests of operators inside other frameworks, each in environments of its own with the newest and
the oldest version that texpr says it supports:

    python scripts/bridges.py                            # all of them
    python scripts/bridges.py --only torch --versions newest
    python scripts/bridges.py --only torch --versions 2.8.0

Environments stay in `.bridges/`; remove the folder to have the newest again. Ends with 1 where a
run failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".bridges"
FRAMEWORKS = ("torch", "jax")
"""Their packages, extras and folders of tests have these names."""


def main() -> int:
    """Run the tests of each framework with each version; 1 if a run failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=FRAMEWORKS, choices=FRAMEWORKS)
    parser.add_argument("--versions", nargs="*", default=["newest", "oldest"], metavar="VERSION")
    arguments = parser.parse_args()
    failed = []
    for framework in arguments.only:
        for version in arguments.versions:
            named = oldest(framework) if version == "oldest" else version
            if run(framework, named) != 0:
                failed.append(f"{framework} {named}")
    print("failed: " + ", ".join(failed) if failed else "all passed", flush=True)
    return int(bool(failed))


def oldest(framework: str) -> str:
    """The lower bound of the extra, which has the framework's name, with three numbers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["optional-dependencies"][framework]
    bound = next(line.partition(">=")[2] for line in lines if line.startswith(f"{framework}>="))
    return ".".join((bound.split(".") + ["0", "0"])[:3])


def run(framework: str, version: str) -> int:
    """Run the tests with one version; the exit status."""
    python = environment(framework, version)
    found = _said([str(python), "-c", f"import {framework}; print({framework}.__version__)"])
    print(f"== {framework} {found}", flush=True)
    return subprocess.run(
        [str(python), "-m", "pytest", "-q", "-n", "2", *tests(framework)], cwd=ROOT
    ).returncode


def tests(framework: str) -> tuple[str, ...]:
    """The tests of a framework: of its folder, of docstrings, of its page."""
    page = f"tests/docs/test_pages.py::test_code[docs/guide/inside_{framework}.md]"
    return f"tests/bridges/{framework}", "tests/bridges/test_examples.py", page


def environment(framework: str, version: str) -> Path:
    """The Python of an environment, made unless it is there."""
    folder = FOLDER / f"{framework}-{version}"
    python, done = folder / "bin" / "python", folder / ".installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        wanted = framework if version == "newest" else f"{framework}=={version}"
        _install(python, [wanted])
        _install(
            python, ["--editable", f"{ROOT}[lowp]", "pytest", "hypothesis", "pytest-timeout", "pytest-xdist"]
        )
        done.touch()
    return python


def _install(python: Path, wanted: Sequence[str]) -> None:
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)


def _said(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
