"""What a model imports whose kernels are on disk: nothing that makes kernels."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.test_warm_starts import heavy_modules
from tests.onnx.models import mlp


def test_a_model_from_disk_loads_nothing_that_compiles(tmp_path: Path):
    (tmp_path / "mlp.onnx").write_bytes(mlp().SerializeToString())
    code = f"""
import numpy as np, texpr as tx
with tx.options(cache_dir={str(tmp_path / "cache")!r}):
    model = tx.onnx.load({str(tmp_path / "mlp.onnx")!r})
    assert model(np.ones((2, 4), "f4")).shape == (2, 3)
"""
    assert "texpr.compiler.pass_pipeline" in heavy_modules(code)
    assert heavy_modules(code) == set()
