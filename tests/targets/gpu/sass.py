"""What the assembler makes of a kernel: the instructions of the processor, as NVIDIA's
disassembler prints them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from texpr.aot import find_tool

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Zx0-9_.]*)(?: ([^;]*))?;")
_NEVER = "@!PT "
"""Before instructions that do not run: for `sm_90` ptxas puts three loads of nothing in front of
asynchronous copies.
"""
_LABEL = re.compile(r"^(\.L\w+):")


def instructions(ptx: str, name: str, folder: Path) -> list[tuple[str, str]]:
    """Opcodes with their operands, in order; a label is an opcode that begins with a dot."""
    ptxas, disassembler = _tools()
    source, made = folder / "kernel.ptx", folder / "kernel.cubin"
    source.write_text(ptx)
    done = subprocess.run(
        [ptxas, f"-arch={name}", str(source), "-o", str(made)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "C75" not in done.stderr, f"what would run at once is serialized: {done.stderr}"
    text = subprocess.run(
        [disassembler, "-c", str(made)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if (label := _LABEL.match(line)) is not None:
            found.append((label[1], ""))
        elif _NEVER not in line and (one := _INSTRUCTION.match(line)) is not None:
            found.append((one[1], (one[2] or "").strip()))
    return found


def _tools() -> tuple[str, str]:
    """ptxas and nvdisasm."""
    found = find_tool("ptxas"), find_tool("nvdisasm")
    if found[0] is None or found[1] is None:
        pytest.skip("ptxas or nvdisasm is not installed: pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm")
    return found[0], found[1]


def count(code: Sequence[tuple[str, str]], opcode: str) -> int:
    """How many instructions are of a kind: `LDS.128` is a kind of `LDS`, `LDSM` is not."""
    return sum(op == opcode or op.startswith(f"{opcode}.") for op, _ in code)


def loops(code: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """The bodies of loops: from a label to a jump back to it."""
    places = {op: k for k, (op, _) in enumerate(code) if op.startswith(".")}
    back = (
        (places[label], k)
        for k, (op, operands) in enumerate(code)
        if op == "BRA"
        for label in re.findall(r"\.L\w+", operands)
        if places.get(label, k) < k
    )
    return [[one for one in code[start : stop + 1] if not one[0].startswith(".")] for start, stop in back]
