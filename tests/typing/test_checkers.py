"""mypy --strict and pyright on code of users: what is right is accepted with the types it has, mistakes
are found.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MYPY = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary"]


def mypy(file: Path, folder: Path) -> set[int]:
    """Lines with errors. What mypy says of the package itself is not asked for."""
    pytest.importorskip("mypy")
    environment = os.environ | {"MYPYPATH": str(ROOT), "MYPY_CACHE_DIR": str(folder)}
    done = subprocess.run([*MYPY, str(file)], capture_output=True, text=True, env=environment, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    return {int(line) for line in re.findall(r"^\S*?:(\d+): error: ", done.stdout, re.MULTILINE)}


def pyright(file: Path, folder: Path) -> set[int]:
    """Lines with errors, counted from 1, under the rules that pyright has by itself."""
    pytest.importorskip("pyright")
    shutil.copy(file, folder)
    settings = {"include": [file.name], "extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, "-p", str(folder)], capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == 1
    return {each["range"]["start"]["line"] + 1 for each in found["generalDiagnostics"]}


@pytest.mark.slow
@pytest.mark.timeout(500)
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_right_code_is_accepted(checker, tmp_path):
    assert checker(HERE / "user_code.py", tmp_path) == set()


@pytest.mark.slow
@pytest.mark.timeout(500)
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_mistakes_are_found(checker, tmp_path):
    lines = (HERE / "wrong_use.py").read_text(encoding="utf-8").splitlines()
    assert checker(HERE / "wrong_use.py", tmp_path) == {
        number for number, line in enumerate(lines, 1) if line.endswith("# wrong")
    }


def test_right_code_runs():
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "user_code.py"], capture_output=True, text=True, env=environment, cwd=HERE
    )
    assert done.returncode == 0, done.stderr
