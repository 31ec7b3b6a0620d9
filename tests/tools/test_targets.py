"""`bench targets`: the table, and that it can fail."""

from __future__ import annotations

import numpy as np
import pytest

from texpr.__main__ import main
from texpr.compiler import CompiledKernel

FILE = """op softmax<T: float>(X: T[*A:axis, D, *B]; axis) -> Y: T[*A, D, *B] {
  e[*a, j, *b] = exp(X[*a, j, *b] - max(k: X[*a, k, *b]))
  Y[*a, j, *b] = e[*a, j, *b] / sum(k: e[*a, k, *b])
}
op count(I: i32[N] in 0..M) -> H: i32[M] require M > 0 { H[v] = 0  H[I[i]] += 1 }
"""
ON_A_DEVICE = """target      operators  gradients
emulated:0      2 / 2      1 / 1
"""
TABLE = """target  operators  gradients
native      2 / 2      1 / 1
sm_80       2 / 2      1 / 1
"""


def test_the_table(tmp_path, capsys):
    (tmp_path / "ops.tx").write_text(
        FILE.replace("in 0..M) -> H: i32[M] require M > 0", "in 0..8) -> H: i32[8]")
    )
    assert main(["bench", "targets", str(tmp_path / "ops.tx"), "--targets", "native,sm_80"]) == 0
    assert capsys.readouterr().out == TABLE


def test_devices_are_targets(tmp_path, capsys):
    (tmp_path / "ops.tx").write_text(
        FILE.replace("in 0..M) -> H: i32[M] require M > 0", "in 0..8) -> H: i32[8]")
    )
    assert main(["bench", "targets", str(tmp_path / "ops.tx"), "--targets", "emulated"]) == 0
    assert capsys.readouterr().out == ON_A_DEVICE


def test_parts(tmp_path, capsys):
    (tmp_path / "ops.tx").write_text(
        "".join(f"op f{k}(X: f32[N]) -> Y: f32[N] {{ Y[i] = {k} * X[i] }}\n" for k in range(2, 5))
    )
    for part, count in (("1/2", 2), ("2/2", 1)):
        assert (
            main(["bench", "targets", str(tmp_path / "ops.tx"), "--targets", "native", "--part", part]) == 0
        )
        assert f"native      {count} / {count}      {count} / {count}" in capsys.readouterr().out
    assert main(["bench", "targets", "--targets", "native", "--part", "3/2"]) == 1
    assert "--part 3/2: expected a part of all, such as 1/3" in capsys.readouterr().err


def test_wrong_kernels_are_listed(tmp_path, capsys, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "ops.tx").write_text("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }\n")
    monkeypatch.setattr(CompiledKernel, "emulate", lambda self, *arrays: np.zeros_like(arrays[0]))
    assert main(["bench", "targets", str(tmp_path / "ops.tx"), "--targets", "sm_80"]) == 1
    table = capsys.readouterr().out
    assert "sm_80       0 / 1      0 / 1" in table and "sm_80: double: Y differs by 1." in table


def test_unknown_targets(tmp_path, capsys):
    (tmp_path / "ops.tx").write_text("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }\n")
    assert main(["bench", "targets", str(tmp_path / "ops.tx"), "--targets", "sm_1"]) == 1
    assert "there is no target 'sm_1'" in capsys.readouterr().err
