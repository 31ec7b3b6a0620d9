"""Examples in the docstrings of `tx.torch`."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.docs.test_reference import ENTRIES, failures  # noqa: E402


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    entries = [each for each in ENTRIES if each.name.startswith("tx.torch.")]
    assert {each.short for each in entries} == {"op", "module"}
    failed = [text for each in entries for text in failures(each)]
    assert not failed, "\n".join(failed)
