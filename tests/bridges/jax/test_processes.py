"""Programs that JAX keeps on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

ROOT = Path(__file__).parents[3]
KEPT = """
import sys
import jax, jax.numpy as jnp, texpr as tx
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
f = tx.jax.op(tx.op("op third(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / 3 }"))
print(jax.jit(lambda x: f(x) + 1)(jnp.asarray([3.0, 6.0])).tolist())
"""


def run(text: str, *arguments: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **variables},
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_that_was_kept_runs_in_another_process(tmp_path: Path):
    """The number of a kernel follows from what it is made of."""
    own = {"TEXPR_CACHE_DIR": str(tmp_path / "texpr")}
    outputs = [run(KEPT, str(tmp_path / "jax"), **own)]
    kept = sorted(path.name for path in (tmp_path / "jax").iterdir() if not path.name.endswith("atime"))
    outputs.append(run(KEPT, str(tmp_path / "jax"), **own))
    assert outputs == ["[2.0, 3.0]\n"] * 2
    assert kept and kept == sorted(
        path.name for path in (tmp_path / "jax").iterdir() if not path.name.endswith("atime")
    )
