"""Writes what follows from the registry of steps: the stub of the methods of schedules, the pages of
the reference, one a kind.

    python scripts/steps.py
"""

from __future__ import annotations

import re
from inspect import Parameter, cleandoc
from pathlib import Path

from texpr.schedule.steps.registry import KINDS, Rule, rules

ROOT = Path(__file__).parents[1]
STUB = Path("texpr/schedule/script/step_methods.pyi")
PAGES = Path("docs/reference/steps")
TITLES = {
    "loops": "Steps on loops",
    "placement": "Steps that place computations",
    "buffers": "Steps on buffers",
    "reductions": "Steps on reductions",
    "algebra": "Algebraic rewrites",
    "hardware": "Steps for hardware",
}
HEAD = '''"""Signatures of the steps. Written by `python scripts/steps.py` from `schedule.steps.registry`."""

from collections.abc import Mapping, Sequence
from typing import Self

from texpr.ir.expr import Var
from texpr.schedule.steps.registry import Rule

class StepMethods:
    def _call(self, rule: Rule, args: Sequence[object], options: Mapping[str, object]) -> Self: ...
'''
TAIL = "\ndef add_method(rule: Rule) -> None: ...\n"
SECTION = re.compile(r"^(Args|Raises|Source):(.*)$")


def written() -> dict[Path, str]:
    """The files with their texts."""
    steps = list(rules().values())
    stub = HEAD + "".join(map(_stubbed, steps)) + TAIL
    return {
        STUB: stub,
        **{PAGES / f"{kind}.md": _page(kind, [s for s in steps if s.kind == kind]) for kind in KINDS},
    }


def _stubbed(rule: Rule) -> str:
    parameters = ", ".join(["self", *_parameters(rule)])
    lines = f"    def {rule.name}({parameters}) -> Self: ..."
    if len(lines) > 110:
        lines = f"    def {rule.name}(\n        {parameters},\n    ) -> Self: ..."
    return "\n".join([lines, *(f"    {alias} = {rule.name}" for alias in rule.aliases)]) + "\n"


def _parameters(rule: Rule) -> list[str]:
    found: list[str] = []
    for p in rule.signature.parameters.values():
        if (
            p.kind is Parameter.KEYWORD_ONLY
            and "*" not in found
            and not any(each.startswith("*") for each in found)
        ):
            found.append("*")
        stars = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(p.kind, "")
        found.append(
            f"{stars}{p.name}: {p.annotation}" + ("" if p.default is Parameter.empty else f" = {p.default!r}")
        )
    return found


def _page(kind: str, steps: list[Rule]) -> str:
    head = (
        f"# {TITLES[kind]}\n\nWritten by `python scripts/steps.py` from the docstrings in "
        f"`texpr/schedule/steps/{kind}/`.\n"
    )
    contents = ", ".join(f"[`{s.name}`](#{s.name})" for s in steps)
    return "\n".join([head, contents, *map(_section, steps)]) + "\n"


def _section(rule: Rule) -> str:
    body = [f"\n## {rule.name}\n", f"`{rule.name}{rule.usage}`\n".replace("'", '"')]
    if rule.aliases:
        body.append(f"Older name: {', '.join(f'`{a}`' for a in rule.aliases)}.\n")
    return "\n".join([*body, *_paragraphs(cleandoc(rule.function.__doc__ or ""))])


def _paragraphs(text: str) -> list[str]:
    """The docstring as Markdown: rewrites as code, arguments and errors as lists."""
    found: list[str] = []
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if (
            "->" in block
            and not any(SECTION.match(line) for line in lines)
            and not lines[0].rstrip().endswith((".", ","))
        ):
            found.append("\n".join(["```", *lines, "```"]))
        elif any(SECTION.match(line) for line in lines):
            found += _lists(lines)
        else:
            found.append(block)
    return ["\n\n".join(found)]


def _lists(lines: list[str]) -> list[str]:
    """Sections of a docstring."""
    found: list[str] = []
    for line in lines:
        section = SECTION.match(line)
        if section:
            found.append(f"**{section[1]}**" + (f": {section[2].strip()}" if section[2].strip() else ""))
        elif re.match(r"^    \w", line):
            name, _, rest = line.strip().partition(": ")
            found.append(f"* `{name}`: {rest}")
        else:
            found[-1] += f" {line.strip()}"
    return found


if __name__ == "__main__":
    for path, text in written().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
        print(path)
