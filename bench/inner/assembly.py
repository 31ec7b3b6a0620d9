"""Innermost loops as they stand in the assembly of x86-64 and ARM processors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LABEL = re.compile(r"([.\w\"]+):")
_INSTRUCTION = re.compile(r"\t([a-z][\w.]*)(?:\t(.*))?$")
_COMMENT = re.compile(r"//.*|@.*|[ \t]#(?![-\d]).*")
_BRANCH = re.compile(
    r"b(\.?(eq|ne|[hlg][iest]|[chlmp][csilo]|v[cs]|al|first|none|any|last))?$|cbn?z$|tbn?z$|j[a-z]+$"
)
_ALWAYS = ("b", "jmp", "ret", "retq", "bx", "br", "brk", "udf", "trap")
_CALLS = ("bl", "blr", "blx", "call", "callq")
_ENTRY = re.compile(r"^(?=(?!\.L)[.\w\"$]+:)", re.MULTILINE)
_FRAME = re.compile(r"^\t(?:(?:mov|add)\t(x29|r11), sp\b|movq\t%rsp, (%rbp)$)", re.MULTILINE)
"""What a function begins with that keeps a place of the stack in a register for its whole
length.
"""
_FIXED = re.compile(
    r"\((%[er]sp|frame)\)|(?:\[|v?(?:ld|st)m\w*\t)(\w+)(?:, #-?\w+(?:, mul vl)?)?(?:[]!]|, \{|:\d+\])"
)
"""A place in memory that is a register and a number: `-8(%rsp)`, `[sp, #8]`, `vldmia r2, {...}`."""
_PLACE = re.compile(r"add(?:vl)?\t(\w+), (?:sp|frame), #")
_WRITTEN = re.compile(r"\w+\t(\w+), ")
_PRODUCTS = (
    "fmla",
    "vmla",
    "vfma",
    "vpdp",
    "vdpbf16",
    "sdot",
    "udot",
    "bfdot",
    "bfmmla",
    "smmla",
    "ummla",
    "tdp",
)


@dataclass(eq=False)
class _Block:
    """Instructions that run one after the other, and the blocks that may follow."""

    body: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    after: list[_Block] = field(default_factory=list)
    before: list[_Block] = field(default_factory=list)


def inner_loops(assembly: str) -> list[list[str]]:
    """The instructions of each loop without one inside, but for loops that call a function: those
    hand out work. What is done for numbers that are seldom met is left out.

    A register that holds a place of the stack for the whole function is called `frame` in them.
    """
    return [loop for function in _ENTRY.split(assembly) for loop in _of_function(function)]


def _of_function(assembly: str) -> list[list[str]]:
    for frame in {name for found in _FRAME.findall(assembly) for name in found if name}:
        counts = re.search(
            rf"\t{frame}, {frame}\b", assembly
        )  # it holds an address for some time, and other values too
        assembly = assembly if counts else re.sub(rf"{frame}\b", "frame", assembly)
    blocks = _blocks(assembly)
    found = _loops(blocks)
    inner = [
        loop
        for header, loop in found.items()
        if not any(other in loop for other in found if other is not header)
    ]
    bodies = [
        [n for block in blocks if block in loop and not _is_rare(block) for n in block.body] for loop in inner
    ]
    return [body for body in bodies if not any(n.split()[0] in _CALLS for n in body)]


def _is_rare(block: _Block) -> bool:
    """Whether a block calls code for numbers that are seldom met, with what is put aside around
    the call.
    """
    return any(n.split()[0] in _CALLS and "rare" in n for n in block.body)


def _blocks(assembly: str) -> list[_Block]:
    """In the order of the text, with their successors."""
    here, labels, ended = _Block(), {}, True
    blocks: list[_Block] = [here]
    for line in assembly.splitlines():
        label, instruction = _LABEL.match(line), _INSTRUCTION.match(_COMMENT.sub("", line).rstrip())
        if label or (instruction and ended):
            following = _Block()
            if not ended:
                here.after.append(following)
            here, ended = following, False
            blocks.append(here)
        if label:
            labels[label[1]] = here
        if instruction:
            name, operands = instruction[1], instruction[2] or ""
            here.body.append(line.strip())
            jumps = bool(_BRANCH.match(name))
            here.targets += [operands.split()[-1]] if jumps else []
            ended = ended_by(name, operands)
            if jumps and not ended:
                following = _Block()
                here.after.append(following)
                here = following
                blocks.append(here)
    for block in blocks:
        block.after += [labels[t] for t in block.targets if t in labels]
        for n in block.after:
            n.before.append(block)
    return blocks


def ended_by(name: str, operands: str) -> bool:
    """Whether nothing follows an instruction in the text."""
    return name in _ALWAYS or (name.startswith(("pop", "ldm")) and "pc" in operands)


def _loops(blocks: list[_Block]) -> dict[_Block, set[_Block]]:
    """The natural loops: of each header, the blocks that lead back to it without leaving what it
    dominates.
    """
    found: dict[_Block, set[_Block]] = {}
    for header in blocks:
        reached, stack = {header}, [header]
        without = _reached([b for b in blocks if not b.before and b is not header], header)
        backs = [b for b in header.before if b not in without]
        if not backs or not any(b in _reached([header], None) for b in backs):
            continue
        stack = [b for b in backs if b is not header]
        while stack:
            block = stack.pop()
            if block not in reached:
                reached.add(block)
                stack += block.before
        found[header] = reached
    return found


def _reached(stack: list[_Block], without: _Block | None) -> set[_Block]:
    found: set[_Block] = set()
    while stack:
        block = stack.pop()
        if block is not without and block not in found:
            found.add(block)
            stack += block.after
    return found


def products(loop: list[str]) -> int:
    """How many instructions of a loop add products."""
    return sum(n.startswith(_PRODUCTS) for n in loop)


def on_stack(loop: list[str]) -> list[str]:
    """The instructions of a loop that use the stack, be it for the address of what lies there."""
    return [n for n in loop if re.search(r"\b([er]?sp|frame)\b", n)]


def kept(loop: list[str]) -> list[str]:
    """Those that load or store at a fixed place of the stack, which is what becomes of values that
    no register is left for: an offset from it, or what a register was just made the address of.

    Tensors that lie there as well are indexed by registers.
    """
    found: list[str] = []
    places: set[str] = set()
    for n in loop:
        bases = [match[1] or match[2] for match in _FIXED.finditer(n)]
        if not n.startswith("lea") and any(
            base in ("%rsp", "%esp", "sp", "frame") or base in places for base in bases
        ):
            found.append(n)
        if made := _PLACE.match(n):
            places.add(made[1])
        elif written := _WRITTEN.match(n):
            places.discard(written[1])
    return found
