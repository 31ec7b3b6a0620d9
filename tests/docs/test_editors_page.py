"""The page about editors: its setups start the server, what it names is there."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from texpr.tools.lsp.formatting import WIDEST

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "editors.md"
TEXT = PAGE.read_text(encoding="utf-8")


def fenced(kind: str) -> str:
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return found


def test_setups_start_the_server():
    command = ["python", "-m", "texpr", "lsp"]
    helix = tomllib.loads(fenced("toml"))["language-server"]["texpr"]
    assert [helix["command"], *helix["args"]] == command
    assert json.loads(fenced("json"))["clients"]["texpr"]["command"] == command
    assert '"python", "-m", "texpr", "lsp"' in fenced("lua")
    assert '"python" "-m" "texpr" "lsp"' in fenced("elisp")


def test_what_it_names_is_there():
    for path in re.findall(r"`((?:editors|scripts)/[\w./]+)`", TEXT):
        assert (ROOT / path).exists(), path
    package = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
    settings = set(package["contributes"]["configuration"]["properties"])
    assert settings == set(re.findall(r"`(texpr\.(?:python|inPython))`", TEXT))
    assert f"{package['name']}-{package['version']}.vsix" in TEXT and f"up to {WIDEST} columns" in TEXT
