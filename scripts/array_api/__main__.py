"""Runs the tests of the array API standard on `texpr.array_api`, and counts.

python -m scripts.array_api [--suite FOLDER] [--examples N] [arguments of pytest]

The suite is github.com/data-apis/array-api-tests at `COMMIT`, in build/array-api-tests unless a folder is
given. What is left out, with a reason each, stands in `skips.txt` beside this file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ADDRESS = "https://github.com/data-apis/array-api-tests"
COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
"""Its submodule is the text of the standard."""
PATCHES = {
    "array_api_tests/dtype_helpers.py": (
        "[(dt, dtype_nbits[dt]) for dt in complex_dtypes], key=lambda x: x[1]\n)[0]",
        "[(dt, dtype_nbits[dt]) for dt in complex_dtypes], key=lambda x: x[1], default=(real_float_dtypes[-1], 0)\n)[0]",
    )
}
"""Lines of the suite that no namespace without complex numbers gets past, and what they become."""


def fetched() -> Path:
    """The suite in `build`, cloned if it is not there."""
    folder = ROOT / "build/array-api-tests"
    if not folder.exists():
        subprocess.run(["git", "clone", "--quiet", ADDRESS, folder], check=True)
        subprocess.run(["git", "-C", folder, "checkout", "--quiet", COMMIT], check=True)
        subprocess.run(["git", "-C", folder, "submodule", "--quiet", "update", "--init"], check=True)
    return folder


def patch(folder: Path) -> None:
    """Let the suite run without complex numbers.

    Raises:
        SystemExit: the suite is another one than that of `COMMIT`.
    """
    for name, (old, new) in PATCHES.items():
        path = folder / name
        text = path.read_text()
        if new not in text:
            if old not in text:
                raise SystemExit(f"{path} is not that of {COMMIT}: the line to change is not there")
            path.write_text(text.replace(old, new))


def main() -> int:
    """Run the suite; 0 where nothing failed but what `skips.txt` names."""
    parser = argparse.ArgumentParser(prog="python -m scripts.array_api", description=__doc__)
    parser.add_argument("--suite", type=Path, help="a folder with the suite; cloned unless given")
    parser.add_argument("--examples", type=int, default=5, help="of Hypothesis for each test")
    given, rest = parser.parse_known_args()
    folder = fetched() if given.suite is None else given.suite.resolve()
    patch(folder)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])),
        "ARRAY_API_TESTS_MODULE": "texpr.array_api",
        "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "scripts.array_api.plugin",
        "-p",
        "no:cacheprovider",
    ]
    command += ["--disable-deadline", "--derandomize", "--max-examples", str(given.examples)]
    command += ["--tb=short", *(rest or ["array_api_tests"])]
    return subprocess.run(command, cwd=folder, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
