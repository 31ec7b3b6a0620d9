"""Kernels of devices are found on disk, and made once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr.compiler.kernels import device_code

double = tx.op("op double(X: f32[N]) -> Y: f32[N] { e[i] = 2 * X[i]  Y[i] = e[i] + sum(k in 0..N: e[k]) }")
X = np.arange(6, dtype=np.float32)


def run() -> np.ndarray:
    kernel = tx.schedule(double, N=6).auto("sm_80").compile("sm_80")
    return kernel(tx.tensor(X, device="emulated")).numpy()


def test_a_kernel_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = []
    original = device_code.emitted
    monkeypatch.setattr(device_code, "emitted", lambda *given: made.append(given) or original(*given))
    with tx.options(cache_dir=tmp_path):
        for _ in range(3):
            np.testing.assert_allclose(run(), 2 * X + 30, rtol=1e-6)
    assert len(made) == 1


def test_what_is_damaged_is_made_anew(tmp_path: Path):
    with tx.options(cache_dir=tmp_path):
        run()
        for file in (f for f in tmp_path.rglob("*") if f.is_file()):
            file.write_bytes(b"{}")
        np.testing.assert_allclose(run(), 2 * X + 30, rtol=1e-6)


def test_a_kernel_that_was_not_proven_is_proven_when_it_is_asked_for(tmp_path: Path):
    with tx.options(cache_dir=tmp_path):
        with tx.options(certify=False):
            run()
        kernel = tx.schedule(double, N=6).auto("sm_80").compile("sm_80")
        assert kernel.device_code.certificate
