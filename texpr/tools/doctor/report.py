"""Findings as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

from texpr.support.spelling import counted
from texpr.support.table import aligned
from texpr.tools.doctor.finding import Finding


def as_text(findings: Sequence[Finding]) -> str:
    """A table for each section, with the ways out, and the number of problems in the last line."""
    parts = [f"{name}\n{_section(list(part))}" for name, part in groupby(findings, lambda f: f.section)]
    problems = sum(each.is_problem for each in findings)
    return "\n\n".join([*parts, counted(problems, "problem") if problems else "no problem"])


def _section(findings: Sequence[Finding]) -> str:
    """Lines of a section; the way out of a problem has a line below it."""
    lines = aligned([("", "" if f.status == "fact" else f.status, f.name, _value(f)) for f in findings], "<")
    shown = []
    for finding, line in zip(findings, lines.split("\n"), strict=True):
        shown.append(line)
        if finding.is_problem and finding.help:
            shown.append(f"{' ' * 11}help: {finding.help}")
    return "\n".join(shown)


def _value(finding: Finding) -> str:
    """The value on one line, with the way to what is absent."""
    value = " ".join(finding.value.split())
    return f"{value}: {finding.help}" if finding.status == "absent" and finding.help else value


def as_json(findings: Sequence[Finding]) -> str:
    """An object with `ok` and the list `findings`."""
    fields = ("section", "name", "status", "value", "help")
    rows = [{name: getattr(each, name) for name in fields} for each in findings]
    return json.dumps({"ok": not any(f.is_problem for f in findings), "findings": rows}, indent=2)
