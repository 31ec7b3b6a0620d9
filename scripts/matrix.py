"""Tests on several Pythons, with the newest and the oldest dependencies.

    python scripts/matrix.py                       # the quick part (`QUICK`) on each Python that is here
    python scripts/matrix.py --all                 # the whole suite
    python scripts/matrix.py --python 3.13 --dependencies oldest --tests tests/onnx
    python scripts/matrix.py --path DIRECTORY      # with the `pythonX.Y` of another directory
    python scripts/matrix.py --bounds              # oldest versions without a wheel; runs no Python but this

Each run has an environment of its own, with the wheel of this checkout and the group `test` of
pyproject.toml. A Python that is not here, and one for which a dependency has no wheel, is shown as
absent, with the reason. The free-threaded build runs without the GIL, and islpy is built for it from
its sources. Ends with 1 where a run failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from texpr.support.table import Table  # noqa: E402
from texpr.tools.doctor.requirement import Requirement, parse  # noqa: E402

PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.14t")
DEPENDENCIES = ("newest", "oldest")
QUICK = (
    "tests/support",
    "tests/lang/syntax",
    "tests/lang/test_pygments_lexer.py",
    "tests/ir/printing",
    "tests/ir/test_small_floats.py",
    "tests/poly/constraints",
    "tests/runtime/call",
    "tests/runtime/native/test_pool.py",
    "tests/runtime/native/test_threads_option.py",
    "tests/compiler/test_small_floats.py",
    "tests/nn/test_checkpoint.py",
    "tests/onnx/test_load.py",
    "tests/onnx/test_versions.py",
    "tests/tools/test_doctor.py",
)
"""What depends on Python or on another package: objects and calls, threads and signals, isl, LLVM,
the parser, arrays, files of weights, ONNX, colours.
"""
FIRST_WHEELS = {
    "3.13": {
        "numpy": "2.1.0",
        "islpy": "2025.1.2",
        "ml-dtypes": "0.5.0",
        "scikit-learn": "1.6.0",
        "matplotlib": "3.9.2",
    },
    "3.14": {
        "numpy": "2.3.2",
        "islpy": "2026.1",
        "ml-dtypes": "0.5.4",
        "scikit-learn": "1.7.2",
        "matplotlib": "3.10.5",
        "pillow": "12.0.0",
    },
    "3.14t": {"islpy": "2026.2.1", "scikit-learn": "1.8.0", "safetensors": "0.9.0rc0", "mpi4py": "4.1.1"},
}
"""The first release of a package with wheels for a Python, where that is after its lower bound. Those
for 3.14 count for 3.14t too. Of islpy it is the first whose sources today's nanobind builds.
"""
BUILT = {"3.14t": ("islpy",)}
"""Packages that have no wheel for a Python and are built from their sources: that takes a C++ compiler
and some minutes, once; pip keeps what it built.
"""
PROBE = (
    "import sys, sysconfig, platform; print(platform.python_version(), "
    "'t' if sysconfig.get_config_var('Py_GIL_DISABLED') else '')"
)
LIMIT = 3600
"""Seconds of one run of the tests."""


class Result(NamedTuple):
    """The result of a run: `passed`, `failed` or `absent`, and its last line or the reason."""

    state: str
    reason: str


def main() -> int:
    """Print a row for each Python and set of dependencies; 1 if one failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", nargs="*", default=PYTHONS, metavar="X.Y", help="such as 3.13 or 3.14t")
    parser.add_argument("--dependencies", nargs="*", default=DEPENDENCIES, choices=DEPENDENCIES)
    parser.add_argument("--path", default="", help="directories to search first")
    parser.add_argument(
        "--tests", nargs="*", default=QUICK, metavar="PATH", help="tests (default: quick part)"
    )
    parser.add_argument("--all", action="store_true", help="the whole suite")
    parser.add_argument("--workers", default="2", help="processes of pytest (default: %(default)s)")
    parser.add_argument("--bounds", action="store_true", help="check that the oldest versions have wheels")
    parser.add_argument("--logs", type=Path, help="a directory for what pytest prints")
    arguments = parser.parse_args()
    if arguments.bounds:
        return print_bounds(arguments.python)
    table = Table({"python": "<7", "is": "<8", "dependencies": "<12", "result": "<7", "time": ">6", "": "<"})
    print(table.header(), flush=True)
    failed = False
    with TemporaryDirectory(prefix="texpr-matrix-") as folder:
        for python in arguments.python:
            for row in _rows(python, arguments, Path(folder)):
                failed = failed or row[3] == "failed"
                print(table.row(*row), flush=True)
    return int(failed)


def _rows(python: str, arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[str, ...]]:
    """The rows of a Python."""
    found = find_python(python, arguments.path)
    if found is None:
        yield python, "", "", "absent", "", f"no python{python} in pyenv, on the path, or known to uv"
        return
    program, version = found
    for dependencies in arguments.dependencies:
        began = time.perf_counter()
        state, reason = run(program, python, dependencies, arguments, folder / f"{python}-{dependencies}")
        yield python, version, dependencies, state, f"{time.perf_counter() - began:.0f} s", reason


def find_python(python: str, path: str = "") -> tuple[Path, str] | None:
    """A Python of a version, `3.13` or `3.14t` (free-threaded), and its full version."""
    for program in _candidates(python, path):
        try:
            done = subprocess.run([program, "-c", PROBE], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        version, threading = f"{done.stdout.strip()} ".split(" ", 1) if not done.returncode else ("", "")
        if version.startswith(f"{python.rstrip('t')}.") and threading.strip() == python.lstrip("0123456789."):
            return program, version
    return None


def _candidates(python: str, path: str) -> Iterator[Path]:
    """Programs that may be a Python: of directories, pyenv, the path, and uv, if it is here."""
    places = [*filter(None, path.split(os.pathsep)), *os.environ.get("PATH", "").split(os.pathsep)]
    named = [Path(place) / f"python{python}" for place in places]
    given = len([place for place in path.split(os.pathsep) if place])
    yield from (program for program in named[:given] if program.exists())
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    patch = lambda p: int("".join(filter(str.isdigit, p.name.rpartition(".")[2])) or 0)  # noqa: E731
    for folder in sorted(versions.glob(f"{python.rstrip('t')}.*"), key=patch, reverse=True):
        yield folder / "bin" / "python"
    yield from (program for program in named[given:] if program.exists())
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv:
        done = subprocess.run([uv, "python", "find", "--offline", python], capture_output=True, text=True)
        yield from map(Path, done.stdout.split())


def run(program: Path, python: str, dependencies: str, arguments: argparse.Namespace, folder: Path) -> Result:
    """Make an environment and run the tests in it, with the wheel in front of the checkout."""
    environment, tree = folder / "venv", folder / "tree"
    problem = _install(program, python, dependencies, environment, folder)
    if problem:
        return Result("absent" if "No matching distribution" in problem else "failed", problem)
    _copy(tree)
    packages = next(environment.glob("lib/python*/site-packages"))
    (packages / "tree.pth").write_text(f"{tree}\n", encoding="utf-8")  # behind the wheel
    tests = ["tests", "--all"] if arguments.all else list(arguments.tests)
    command = [
        environment / "bin" / "pytest",
        "-q",
        *(
            "-o",
            "pythonpath=",
            "-p",
            "no:cacheprovider",
            "-n",
            arguments.workers,
            "-m",
            "not gpu and not qemu",
        ),
        *tests,
    ]
    variables = {**os.environ, "TEXPR_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": ""}
    if python.endswith("t"):
        variables["PYTHON_GIL"] = "0"
    try:
        done = subprocess.run(command, cwd=tree, env=variables, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Result("failed", f"no end after {LIMIT} s")
    finally:
        shutil.rmtree(tree)
    if arguments.logs:
        arguments.logs.mkdir(parents=True, exist_ok=True)
        (arguments.logs / f"{python}-{dependencies}.txt").write_text(
            done.stdout + done.stderr, encoding="utf-8"
        )
    last = (done.stdout.strip() or done.stderr.strip() or "no output").splitlines()[-1]
    shutil.rmtree(environment)
    return Result("failed" if done.returncode else "passed", last.strip("= "))


def _install(program: Path, python: str, dependencies: str, environment: Path, folder: Path) -> str:
    """Make an environment; a line that says why it cannot be made, empty if it can."""
    folder.mkdir(parents=True)
    wheels, constraints = folder.parent / "wheels", folder / "constraints.txt"
    pip = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    lines = [f"{name}=={version}\n" for name, version in oldest(python).items()]
    constraints.write_text("".join(lines) if dependencies == "oldest" else "", encoding="utf-8")
    steps: list[list[str | Path]] = [[program, "-m", "venv", environment]]
    if not wheels.exists():
        steps.append([*pip, "wheel", "-q", "--no-deps", "-w", wheels, _copy(folder / "source")])
    for step in steps:
        if problem := _problem(step):
            return problem
    wheel = next(wheels.glob("texpr-*.whl"))
    kinds = ["--only-binary=:all:", *(f"--no-binary={name}" for name in BUILT.get(python, ()))]
    return _problem([*pip, "install", "-q", *kinds, "-c", constraints, wheel, *_group("test")])


def _problem(command: Sequence[str | Path]) -> str:
    """The error of a command, its most telling line; empty for none."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=ROOT.parent)
    if not done.returncode:
        return ""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ")] or lines[-1:]
    told = [line for line in errors if "No matching distribution" in line] or errors  # else the conflict
    return told[0].removeprefix("ERROR: ") if told else f"ended with {done.returncode}"


def _copy(to: Path) -> Path:
    """A copy of the checkout without environments, caches and builds."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "site")
    return Path(shutil.copytree(ROOT, to, ignore=ignored))


def _group(name: str) -> list[str]:
    """The requirements of a group of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"][name]


def oldest(python: str) -> dict[str, str]:
    """The lower bound of each package, or the first release with wheels for this Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    read = [parse(line) for line in [*project["dependencies"], *_group("test"), *extras]]
    bounds: dict[str, str] = {}
    for each in read:
        # Several lines may name a package, with different bounds: the environment meets all of them.
        if each is not None and (bound := _lower(each)):
            known = bounds.get(each.package)
            bounds[each.package] = bound if known is None or _at_least(bound, known) else known
    first = FIRST_WHEELS.get(python.rstrip("t"), {}) | FIRST_WHEELS.get(python, {})
    return bounds | {n: v for n, v in first.items() if n in bounds}


def _at_least(version: str, bound: str) -> bool:
    return Requirement("", ((">=", bound),), "").allows(version)


def print_bounds(pythons: Sequence[str]) -> int:
    """Print the oldest versions that have no wheel for a Python, with those that have; 1 if there are some.

    pip is asked for each package by itself, as it is for another Python: only that wheels are there is
    looked at, not that they go together.
    """
    needed = {
        each.package for line in [*_dependencies(), *_group("test")] if (each := parse(line)) is not None
    }
    found = False
    for python in pythons:
        for name, version in oldest(python).items():
            if name not in needed or name in BUILT.get(python, ()):
                continue
            command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed"]
            command += ["--no-deps", "--only-binary=:all:", "--target", "unused"]
            command += ["--implementation", "cp", "--python-version", python.rstrip("t")]
            command += ["--abi", f"cp{python.replace('.', '')}"] if python.endswith("t") else []
            done = subprocess.run([*command, f"{name}=={version}"], capture_output=True, text=True)
            if done.returncode:
                there = re.search(r"\(from versions: (.*)\)", done.stderr)
                print(
                    f"{python}: {name} {version} has no wheel; there are {there[1] if there else 'none'}",
                    flush=True,
                )
                found = True
    if not found:
        print(f"every oldest version has a wheel for {', '.join(pythons)}")
    return int(found)


def _dependencies() -> list[str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]


def _lower(requirement: Requirement) -> str:
    return next((bound for comparison, bound in requirement.clauses if comparison == ">="), "")


if __name__ == "__main__":
    sys.exit(main())
