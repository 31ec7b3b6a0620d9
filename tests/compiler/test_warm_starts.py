"""What a call of a kernel imports that is on disk: nothing that makes kernels."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
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


def heavy_modules(code: str, among: Sequence[str] = HEAVY) -> set[str]:
    """The modules of a compilation that a fresh interpreter has loaded after some code."""
    show = "import sys; print('modules', *sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True
    )
    names = next(line for line in result.stdout.splitlines() if line.startswith("modules ")).split()
    return {name for name in names if f"{name}.".startswith(tuple(f"{heavy}." for heavy in among))}


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


def test_a_network_that_workers_compile_loads_no_llvm(tmp_path: Path):
    code = f"""
import numpy as np, texpr as tx
from texpr import nn
from texpr.compiler import parallel_compile
from texpr.graph.execution import compile
compile.LARGE_NETWORK, parallel_compile.MANY, parallel_compile.KERNELS_OF_A_WORKER = 4, 3, 1
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 6)).eval()
with tx.options(cache_dir={str(tmp_path)!r}, threads=1):
    assert model(np.ones((2, 3), "f4")).shape == (2, 6)
"""
    heavy = heavy_modules(code, ("llvmlite.binding", "texpr.autoschedule.driver", "texpr.poly.certificate"))
    assert heavy == set()
