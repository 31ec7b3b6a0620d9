"""What a call of a kernel imports that is on disk: nothing that makes kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = (
    "islpy",
    "lark",
    "texpr.aot.link",
    "texpr.autodiff.reverse",
    "texpr.autoschedule.driver",
    "texpr.compiler.pass_pipeline",
    "texpr.compiler.schedule",
    "texpr.lang.elaboration.elaborate",
    "texpr.lang.syntax",
    "texpr.passes.loop",
    "texpr.poly.constraints",
    "texpr.poly.certificate",
    "texpr.poly.dependence",
    "texpr.runtime.emulator",
    "texpr.schedule.script",
    "texpr.schedule.steps",
    "texpr.targets.cpu.x86_emitters",
    "texpr.targets.emit",
    "texpr.targets.gpu",
)
"""Modules and packages that only a compilation needs."""


def heavy_modules(code: str) -> set[str]:
    """The modules of a compilation that a fresh interpreter has loaded after some code."""
    show = "import sys; print('modules', *sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True
    )
    names = next(line for line in result.stdout.splitlines() if line.startswith("modules ")).split()
    return {name for name in names if f"{name}.".startswith(tuple(f"{heavy}." for heavy in HEAVY))}


def test_importing_loads_nothing_that_compiles():
    names = "tx.op, tx.Op, tx.tensor, tx.options, tx.ops, tx.nn.Module, tx.onnx.load"
    assert heavy_modules(f"import texpr as tx; {names}") == set()
    assert heavy_modules("import texpr as tx; tx.Schedule") >= {"texpr.compiler.schedule"}, (
        "the test sees them"
    )


def test_a_kernel_from_disk_loads_nothing_that_compiles(tmp_path: Path):
    code = f"""
import numpy as np, texpr as tx
x = np.arange(12, dtype="f4").reshape(3, 4)
with tx.options(cache_dir={str(tmp_path)!r}):
    double = tx.op("op double(X: f32[N, M]) -> Y: f32[N, M] {{ Y[i, j] = 2 * X[i, j] }}")
    assert (double(x) == 2 * x).all()
    assert np.allclose(tx.ops.softmax(x, axis=1).sum(1), 1)
    assert tx.ops.linear(x, x).shape == (3, 3)
    assert ((tx.tensor(x) + 1).numpy() == x + 1).all()
"""
    assert "texpr.compiler.pass_pipeline" in heavy_modules(code)
    assert heavy_modules(code) == set()
