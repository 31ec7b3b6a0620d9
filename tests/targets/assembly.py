"""Innermost loops as they stand in the assembly of ARM processors."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import texpr as tx
from bench.x86 import __file__ as BENCH
from texpr.ir.dtypes import DTYPES

_LABEL = re.compile(r"(\.L\w+):")
_BRANCH = re.compile(r"\s+(?:b[a-z.]*|cbn?z|tbn?z)\s.*?(\.L\w+)$")
_PRODUCTS = ("fmla", "vmla", "vfma", "sdot", "udot", "bfdot", "bfmmla")


def inner_loops(assembly: str) -> list[list[str]]:
    """The instructions of each loop without one inside, but for loops that call a function: those hand out work."""
    lines, labels, found = assembly.splitlines(), {}, []
    for at, line in enumerate(lines):
        if label := _LABEL.match(line):
            labels[label[1]] = at
            continue
        branch = _BRANCH.match(line)
        begin = labels.get(branch[1]) if branch else None
        if begin is None or any(_LABEL.match(n) for n in lines[begin + 1 : at]):
            continue
        body = [n.strip() for n in lines[begin + 1 : at + 1] if n.startswith("\t") and not n.strip().startswith((".", "//", "@"))]
        if not any(n.startswith(("bl\t", "blr\t")) for n in body):
            found.append(body)
    return found


def products(loop: list[str]) -> int:
    """How many instructions of a loop add products."""
    return sum(n.startswith(_PRODUCTS) for n in loop)


def on_stack(loop: list[str]) -> list[str]:
    """The instructions of a loop that use the stack."""
    return [n for n in loop if re.search(r"\bsp\b", n)]


@cache
def _operators() -> object:
    return tx.load(Path(BENCH).with_name("operators.tx"))


def of_bench(kind: str, target: str, dtype: str = "", constants: dict[str, int] | None = None, **sizes: int) -> str:
    """The assembly of an operator of the bench with its default schedule."""
    op = getattr(_operators(), kind)
    program = op.program({"T": DTYPES[dtype]} if dtype else None, constants)
    known = {v: sizes[v.name] for v in program.sizes}
    return tx.Schedule(program, known).auto(target).compile(target).asm
