"""Two provers: the certificate shares isl's context and quota with the checks of steps, and
nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.repo.source import ROOT

POLY = ROOT / "texpr" / "poly"
SHARED = {"proof_thread.one_at_a_time", "solver.OutOfQuota", "solver.context", "solver.run_within_quota"}


def shared_names(text: str) -> Iterator[str]:
    """What a text imports from `poly` outside of the certificate."""
    for n in ast.walk(ast.parse(text)):
        module = n.module if isinstance(n, ast.ImportFrom) else None
        if module and module.startswith("texpr.poly") and not module.startswith("texpr.poly.certificate"):
            yield from (f"{module}.{a.name}" for a in n.names)
        elif module == "texpr" or isinstance(n, ast.Import):
            yield from (
                a.name for a in n.names if a.name.split(".")[-1] == "poly" or a.name.startswith("texpr.poly")
            )


def _files(inside: bool) -> list[Path]:
    return [f for f in POLY.rglob("*.py") if (POLY / "certificate" in f.parents) is inside]


def test_the_certificate_shares_isl_alone():
    found = {name for f in _files(True) for name in shared_names(f.read_text(encoding="utf-8"))}
    assert found == {f"texpr.poly.constraints.{name}" for name in SHARED}


def test_the_checks_of_steps_do_not_know_the_certificate():
    assert [f for f in _files(False) if "texpr.poly.certificate" in f.read_text(encoding="utf-8")] == []


def test_what_is_shared_is_found():
    text = (
        "from texpr.poly.dependence.legality import Conflict\nfrom texpr import poly\nimport "
        "texpr.poly.program\n"
    )
    assert list(shared_names(text)) == [
        "texpr.poly.dependence.legality.Conflict",
        "poly",
        "texpr.poly.program",
    ]
