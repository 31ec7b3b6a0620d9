"""Writes `docs/reference/support.md`, the support matrix: targets from the registry, features from the
table below, each with the test that shows it.

    PYTHONPATH=. python scripts/support.py
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from texpr.ir.dtypes import DTYPES
from texpr.ir.machine import Machine
from texpr.targets import find_target, target_names

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "support.md"
PLATFORMS = ("x86-64", "AArch64", "ARMv7", "NVIDIA GPU")
YES, NO = "yes", "no"


class Feature(NamedTuple):
    """A row: a cell for each platform, and the test or command that shows it."""

    name: str
    cells: tuple[str, str, str, str]
    shown: str


def everywhere(name: str, shown: str) -> Feature:
    """A feature that all platforms have."""
    return Feature(name, (YES, YES, YES, YES), shown)


FEATURES = {
    "Language and proofs": [
        everywhere("all rules of the language", "tests/compiler/test_rules.py"),
        everywhere("a certificate for each compiled kernel", "tests/poly/certificate"),
        Feature("`extern` operators", (YES, YES, YES, NO), "tests/targets/gpu/test_ptx.py"),
        everywhere("gradients: reverse, forward, any order", "tests/autodiff"),
        everywhere("default schedules, `auto()`", "tests/autoschedule"),
    ],
    "Code": [
        Feature("vectors", ("SSE2, AVX2, AVX-512", "NEON, SVE", "NEON", "threads"), "tests/targets"),
        Feature("vectors of any length", (NO, "SVE", NO, NO), "tests/targets/cpu/test_scalable_vectors.py"),
        Feature(
            "products of 8-bit integers",
            ("VNNI, AMX", "dotprod, i8mm", "widened", "tensor cores"),
            "tests/autoschedule",
        ),
        Feature(
            "products of bf16", ("AVX512-BF16, AMX", "bf16", "widened", "tensor cores"), "tests/autoschedule"
        ),
        Feature(
            "products of 8-bit floats",
            ("widened", "widened", "widened", "tensor cores from `sm_89`"),
            "tests/targets/gpu/test_f8_products.py",
        ),
        Feature("parallel loops", ("threads", "threads", "one thread", "blocks"), "tests/runtime/native"),
    ],
    "Ways to run": [
        Feature("calls in this process", (YES, YES, NO, YES), "tests/compiler"),
        Feature(
            "emulation without the hardware",
            (NO, "QEMU", "QEMU", "fibers on the CPU"),
            "tests/runtime/emulator",
        ),
        Feature("objects and libraries for C", (YES, YES, YES, NO), "tests/aot/test_kernels.py"),
        Feature("networks and training steps for C", (YES, YES, YES, NO), "tests/aot/test_networks.py"),
        Feature("whole programs, `tx.jit`", (YES, YES, NO, YES), "tests/graph"),
        Feature("training with `nn.Trainer`", (YES, YES, NO, YES), "tests/gpu/test_networks.py"),
        Feature("ONNX models, both ways", (YES, YES, NO, YES), "tests/onnx"),
        Feature("tuning, `tx.tune`", (YES, YES, NO, NO), "tests/tune"),
    ],
    "Where it was run": [
        Feature("hardware", ("AMD Zen 3 to 5, Intel Xeon", NO, NO, "H200"), "docs/benchmarks"),
        Feature("tests of each change", (YES, "QEMU", "QEMU", "emulator, ptxas"), "tests/targets"),
    ],
}
OPERATING_SYSTEMS = """| system | state |
|---|---|
| Linux on x86-64, glibc | supported, tested with each change |
| Linux on AArch64, glibc | supported; kernels are tested in QEMU, texpr itself has not run on hardware |
| Linux with musl (Alpine) | not tried |
| macOS | not supported: signals, the linking of objects and the thread pool are written for ELF and Linux |
| Windows | not supported: the same, and the calling convention of the native runtime; WSL 2 is Linux |
"""
HEAD = """# Support matrix

Written by `scripts/support.py`: targets come from the registry, each row of features names the
tests that show it.

## Operating systems and Python

{systems}
Python 3.11 and newer, and the free-threaded build from 3.14 on, where `pip` builds islpy by a C++
compiler. Elsewhere no compiler is needed to install or to use texpr; shared libraries for C are
linked by the system's C compiler.

"""


def page() -> str:
    """The page as it should be."""
    return HEAD.format(systems=OPERATING_SYSTEMS) + _features() + _targets() + _dtypes()


def _features() -> str:
    titles = ["feature", *PLATFORMS, "shown by"]
    parts = []
    for theme, rows in FEATURES.items():
        body = [_row([f.name, *f.cells, f"`{f.shown}`"]) for f in rows]
        parts.append("\n".join([f"## {theme}\n", _row(titles), _row(["---"] * len(titles)), *body, ""]))
    return "\n".join(parts)


def _targets() -> str:
    titles = ["target", "vector", "registers", "FMA", "instructions for products", "copies"]
    rows = [_row([f"`{n}`", *_machine(find_target(n).machine)]) for n in target_names() if n != "native"]
    head = "## Targets\n\n`native` is the machine that texpr runs on: `python -m texpr doctor` prints it.\n"
    return "\n".join([head, _row(titles), _row(["---"] * len(titles)), *rows, "", ""])


def _machine(machine: Machine) -> list[str]:
    return [
        _vector(machine),
        str(machine.vector_registers),
        YES if machine.fma else NO,
        ", ".join(_products(machine)) or "none",
        "bulk" if machine.has_bulk_copy else "asynchronous" if machine.has_async_copy else "plain",
    ]


def _vector(machine: Machine) -> str:
    if machine.gpu_threads:
        return "threads"
    if machine.scalable_bytes > machine.vector_bytes:
        return f"{machine.vector_bytes} bytes or more"
    return f"{machine.vector_bytes} bytes"


PRODUCTS = {
    "vpdp": "VNNI",
    "vdpbf16": "AVX512-BF16",
    "tdp": "AMX",
    "sdot": "dotprod",
    "bfdot": "bf16",
    "smmla": "i8mm",
    "mma_": "tensor cores",
    "wgmma_": "warpgroups",
}


def _products(machine: Machine) -> list[str]:
    return [
        said
        for prefix, said in PRODUCTS.items()
        if any(name.startswith(prefix) for name in machine.instructions)
    ]


def _dtypes() -> str:
    groups = {
        "truth values": [d for d in DTYPES.values() if d.kind == "bool"],
        "integers": [d for d in DTYPES.values() if not d.is_float and d.kind != "bool"],
        "floats": [d for d in DTYPES.values() if d.is_float],
    }
    rows = [_row([said, ", ".join(f"`{d}`" for d in dtypes)]) for said, dtypes in groups.items()]
    head = "## Types of elements\n\nAll targets have all of them. Floats of 16 and 8 bits are computed in `f32`.\n"
    return "\n".join([head, _row(["kind", "types"]), _row(["---", "---"]), *rows, ""])


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
