"""Every pretrained model: the same numbers as ONNX Runtime, after saving and in C too."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import texpr as tx
from bench.pretrained.packaged import PACKAGED
from tests.models.running import Fixed, agree, loaded, outputs, positional, run_in_c, session

pytestmark = pytest.mark.timeout(900)  # networks of hundreds of kernels are compiled
each = pytest.mark.parametrize("name", PACKAGED)
PARAMETERS = {
    "magika": 784_223,
    "silero": 545_282,
    "silero op15": 309_633,
    "silero op18": 545_671,
    "silero half": 309_633,
    "silero openvino": 309_633,
    "silero sequence": 309_633,
    "ocr detection": 1_171_592,
    "ocr orientation": 129_356,
    "ocr recognition": 2_688_509,
    "basic pitch": 35_740,
    "nsnet2": 2_687_561,
    "nsnet2 48k": 6_168_114,
}
"""Numbers that training changes, those in branches for another rate too."""


@each
def test_weights_are_parameters(name):
    model = loaded(name)
    assert sum(p.data.size for p in model.parameters()) == PARAMETERS[name]


@each
def test_beside_onnxruntime(name):
    entry, model = PACKAGED[name], loaded(name)
    for seed in range(2):
        wanted = session(entry.path).run(None, {**entry.example(seed), **entry.fixed})
        agree(outputs(model(*positional(name, seed))), wanted)


@each
def test_saved_again(name, tmp_path):
    model, given = loaded(name), positional(name)
    names = [n for n in model.model.inputs if n not in model.fixed]
    tx.onnx.save(model, tmp_path / "again.onnx", tuple(given), inputs=names)
    found = session(tmp_path / "again.onnx").run(None, dict(zip(names, given)))
    agree(found, outputs(model(*given)))


@each
def test_exported_to_c(name, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    model, given = loaded(name), positional(name)
    found = run_in_c(model, given, outputs(model(*given)), tmp_path)
    agree(found, outputs(model(*given)), 1e-6)
    with tx.options(disable="prepack"):  # C has no kernels for constant weights
        entry = PACKAGED[name]
        plain = Fixed(tx.onnx.load(entry.path), entry.fixed).eval()
        for y, w in zip(found, outputs(plain(*given)), strict=True):
            np.testing.assert_array_equal(y, w)
