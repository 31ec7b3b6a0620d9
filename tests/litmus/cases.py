"""The litmus suite as data: `legal` or `illegal`, a name and a reason, an operator, sizes, and a
script of steps.

A case is a block of a `.litmus` file; nothing in it is Python, so that other compilers' authors can
read it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import texpr as tx

HERE = Path(__file__).parent
_CASE = re.compile(r"^(legal|illegal) (\w+): (.+)\n((?:  .*\n|\n(?=  ))+)", re.M)
_STEP = re.compile(r"^[a-z_][a-z0-9_]*\(.*\)$")


@dataclass(frozen=True, slots=True)
class Case:
    """A program with a schedule and whether it computes what the program says."""

    file: str
    name: str
    legal: bool
    reason: str
    text: str
    sizes: tuple[tuple[str, int], ...]
    script: str

    def schedule(self) -> tx.Schedule:
        """The schedule after all steps.

        Raises:
            tx.Error: the program or a step is refused.
        """
        return tx.schedule(tx.op(self.text), **dict(self.sizes)).replay(self.script)


def cases() -> list[Case]:
    """All cases, file by file."""
    return [
        _case(path.stem, *found)
        for path in sorted(HERE.glob("*.litmus"))
        for found in _CASE.findall(path.read_text())
    ]


def _case(file: str, verdict: str, name: str, reason: str, body: str) -> Case:
    lines = [line[2:] for line in body.splitlines()]
    steps = [line for line in lines if _STEP.match(line)]
    given = [line for line in lines if line.startswith("sizes ")]
    text = "\n".join(line for line in lines if line not in steps and line not in given)
    sizes = tuple((n, int(v)) for line in given for n, v in re.findall(r"(\w+)=(\d+)", line))
    return Case(file, name, verdict == "legal", reason, text, sizes, "\n".join(steps))
