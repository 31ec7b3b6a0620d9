"""Magika says what type a file has: files of this repository, and a new type after fine-tuning."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

import texpr as tx
from bench.pretrained.packaged import PACKAGED
from tests.models.running import loaded, run_in_c
from tests.repo.source import ROOT
from texpr import nn

pytestmark = pytest.mark.timeout(600)
BLOCK, HALF, PADDING = 4096, 1024, 256


def features(data: bytes) -> np.ndarray:
    """The first and the last 1,024 bytes without space around them; 256 where there are none."""
    begin, end = data[:BLOCK].lstrip()[:HALF], data[-BLOCK:].rstrip()[-HALF:]
    found = [PADDING] * (2 * HALF)
    found[: len(begin)] = begin
    found[2 * HALF - len(end) :] = end
    return np.array([found], np.int32)


def labels() -> list[str]:
    settings = (PACKAGED["magika"].path.parent / "config.min.json").read_text(encoding="utf-8")
    return json.loads(settings)["target_labels_space"]


FILES = {
    "texpr/onnx/model.py": "python",
    "docs/guide/models.md": "markdown",
    "docs/tutorials/01_ten_minutes.ipynb": "ipynb",
    "texpr/runtime/native/pool.c": "c",
    "pyproject.toml": "toml",
    "Makefile": "makefile",
}


@pytest.mark.parametrize(("path", "wanted"), FILES.items())
def test_files_of_this_repository(path, wanted):
    model = loaded("magika")
    scores = model(features((ROOT / path).read_bytes()))
    assert labels()[int(scores.argmax())] == wanted and scores.sum() == pytest.approx(1, abs=1e-5)


def test_bytes_of_other_kinds():
    model, rng = loaded("magika"), np.random.default_rng(0)
    assert labels()[int(model(features(rng.bytes(5000))).argmax())] == "randombytes"
    image, file = pytest.importorskip("PIL.Image"), io.BytesIO()
    image.fromarray(rng.integers(0, 255, (60, 80, 3), np.uint8)).save(file, "png")
    assert labels()[int(model(features(file.getvalue())).argmax())] == "png"


class _Logits(nn.Module):
    """The scores as logarithms, which the loss takes."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x):
        return (self.model(x) + 1e-9).log()


def pieces(paths: list, size: int = 900) -> np.ndarray:
    """Features of pieces of files."""
    texts = [p.read_bytes() for p in paths]
    found = [features(t[k : k + size]) for t in texts for k in range(0, max(1, len(t) - size), size)]
    return np.concatenate(found)


def test_its_head_learns_a_type(tmp_path):
    """Operators of texpr are no type that Magika knows; the last layer learns it in the place of
    another one, and keeps Python. The rest stays as it was, and C says the same.
    """
    model = tx.onnx.load(PACKAGED["magika"].path) if not PACKAGED["magika"].missing else loaded("magika")
    before = {n: np.array(v) for n, v in model.state_dict().items()}
    head = [n for n, p in model.named_parameters() if 214 in p.data.shape]
    assert len(head) == 2
    for name, p in model.named_parameters():
        p.requires_grad = name in head
    new, python = labels().index("xpi"), labels().index("python")
    ours = pieces(sorted((ROOT / "texpr/ops/library").glob("*.tx")))
    theirs = pieces(sorted((ROOT / "texpr/nn/modules").glob("*.py")))[: len(ours)]
    x = np.concatenate([ours[1::2], theirs[1::2]])
    y = np.array([new] * len(ours[1::2]) + [python] * len(theirs[1::2]))
    assert (model(ours[::2]).argmax(1) != new).all()
    trainable = [p for p in model.parameters() if p.requires_grad]
    trainer = nn.Trainer(_Logits(model), nn.NLLLoss(), nn.optim.Adam(trainable, lr=3e-3))
    trainer.fit(x, y, epochs=8, batch_size=16, progress=False)
    model.eval()
    assert (model(ours[::2]).argmax(1) == new).mean() > 0.9
    assert (model(theirs[::2]).argmax(1) == python).mean() > 0.9
    changed = {n for n, v in model.state_dict().items() if not np.array_equal(v, before[n])}
    assert changed == set(head)
    wanted = model(ours[:1])
    (found,) = run_in_c(model, [ours[:1]], [wanted], tmp_path)
    np.testing.assert_array_equal(found, wanted)
