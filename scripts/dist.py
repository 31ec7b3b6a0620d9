"""Sdist and wheel, built and tried as a stranger would: `make dist`.

    python scripts/dist.py [--site ADDRESS]    # into dist/; needs build and twine (group `release`)

A package index shows the README without the files beside it: `--site` is the address at which they
can be seen, and its links become absolute.

Both are built and checked by twine. The wheel must hold the package alone, the sdist also tests,
documents, examples, benches and scripts. The wheel is installed in a new environment, where no
checkout is near, and runs a kernel and `doctor`. The sdist is installed in another one and runs a
part of its own tests.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
IN_SDIST = (
    "bench",
    "changes",
    "docs",
    "editors",
    "examples",
    "findings",
    "scripts",
    "tests",
    "texpr",
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "pyproject.toml",
)
"""Folders and files of the root that the sdist must hold, the folders whole."""
KERNEL = """
import numpy as np, texpr as tx
op = tx.op("op twice(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
print(tx.__version__, tx.__file__, op(np.arange(3, dtype="f4")))
"""
TESTS = (
    "tests/support",
    "tests/lang/syntax",
    "tests/ir/printing",
    "tests/repo/test_package.py",
    "tests/tools/test_doctor.py",
)


def main() -> int:
    """Build, check, install and run."""
    parser = argparse.ArgumentParser(description="Build sdist and wheel, and try them")
    parser.add_argument(
        "--site", metavar="ADDRESS", default="", help="where the files of the checkout can be seen"
    )
    site = parser.parse_args().site
    shutil.rmtree(DIST, ignore_errors=True)
    with TemporaryDirectory(prefix="texpr-source-") as folder:
        source = _source(Path(folder) / "texpr", site) if site else ROOT
        _run([sys.executable, "-m", "build", "--outdir", DIST, source], quiet=True)
    (sdist,), (wheel,) = DIST.glob("texpr-*.tar.gz"), DIST.glob("texpr-*.whl")
    _run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel])
    problems = [*missing_files(sdist), *needless_files(wheel)]
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    with TemporaryDirectory(prefix="texpr-dist-") as folder:
        _try_wheel(wheel, Path(folder) / "wheel")
        _try_sdist(sdist, Path(folder) / "sdist")
    print(f"{sdist.name}: {sdist.stat().st_size >> 10} KiB, {wheel.name}: {wheel.stat().st_size >> 10} KiB")
    return 0


def with_absolute_links(readme: str, site: str) -> str:
    """The README with links to files below an address; those to other sites stay.

    Raises:
        SystemExit: it is no address.
    """
    if not re.fullmatch(r"https?://\S+", site):
        raise SystemExit(f"{site!r} is no address; --site https://...")
    return re.sub(r"\]\((?!https?://|#)([^)]+)\)", rf"]({site.rstrip('/')}/\1)", readme)


def _source(folder: Path, site: str) -> Path:
    """A copy of the checkout, whose README has absolute links."""
    shutil.copytree(
        ROOT, folder, ignore=shutil.ignore_patterns(".[!g]*", "build", "dist", "__pycache__", "*.egg-info")
    )
    readme = folder / "README.md"
    readme.write_text(with_absolute_links(readme.read_text(encoding="utf-8"), site), encoding="utf-8")
    return folder


def missing_files(sdist: Path) -> list[str]:
    """A line for each file of the checkout that belongs into the sdist and is not there."""
    with tarfile.open(sdist) as file:
        there = {name.partition("/")[2] for name in file.getnames()}
    wanted = [path for name in IN_SDIST for path in _files(ROOT / name)]
    return [f"{sdist.name} lacks {path}" for path in wanted if path not in there]


def _files(path: Path) -> list[str]:
    """The files at a path, from the root; caches of Python and of notebooks aside."""
    if not path.is_dir():
        return [path.relative_to(ROOT).as_posix()]
    files = (each for each in sorted(path.rglob("*")) if each.is_file() and each.name[0] != ".")
    found = [each.relative_to(ROOT) for each in files]
    skipped = ("__pycache__", ".ipynb_checkpoints", "_build")
    return [
        p.as_posix() for p in found if not set(skipped) & set(p.parts) and p.suffix not in (".pyc", ".pyo")
    ]


def needless_files(wheel: Path) -> list[str]:
    """A line for each file of the wheel that is not of the package, and for what the package lacks."""
    with ZipFile(wheel) as file:
        names = set(file.namelist())
    outside = [
        n for n in names if not n.startswith(("texpr/", f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/"))
    ]
    lacking = [path for path in _files(ROOT / "texpr") if path not in names]
    return [
        *(f"{wheel.name} holds {n}" for n in sorted(outside)),
        *(f"{wheel.name} lacks {p}" for p in lacking),
    ]


def _try_wheel(wheel: Path, folder: Path) -> None:
    """Run a kernel, `--version` and `doctor` from the wheel, with nothing else of texpr near."""
    python = _environment(folder, [wheel])
    for command in (["-c", KERNEL], ["-m", "texpr", "--version"], ["-m", "texpr", "doctor"]):
        _run([python, *command], folder)


def _try_sdist(sdist: Path, folder: Path) -> None:
    """Run a part of the tests that the sdist holds, on the texpr that was installed from it."""
    folder.mkdir()
    with tarfile.open(sdist) as file:
        file.extractall(folder, filter="data")
    (source,) = folder.glob("texpr-*")
    python = _environment(folder, [sdist, "--group", f"{source / 'pyproject.toml'}:test"])
    _run([python, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *TESTS], source)


def _environment(folder: Path, packages: Sequence[str | Path]) -> Path:
    """The Python of a new environment with these packages."""
    _run([sys.executable, "-m", "venv", folder / "venv"])
    python = folder / "venv" / "bin" / "python"
    _run([python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"], quiet=True)
    _run([python, "-m", "pip", "install", "--quiet", *packages], quiet=True)
    return python


def _run(command: Sequence[str | Path], folder: Path | None = None, quiet: bool = False) -> None:
    """Run a command outside of the checkout; its output is shown if it fails, or unless `quiet`.

    Raises:
        SystemExit: it failed.
    """
    words = [str(part) for part in command]
    variables = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        words,
        cwd=folder or ROOT.parent,
        env=variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if not quiet or done.returncode:
        print(done.stdout, end="", flush=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: ended with {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
