"""Only regular files are read, and their length is looked at first: a pipe would be waited for,
and a device has no end.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.support.files import read_file

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pipes and devices of Linux")
TEXT = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }\n"


@pytest.fixture(params=["pipe", "device", "folder"])
def strange(request, tmp_path: Path) -> Path:
    path = tmp_path / "strange.tx"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "folder":
        path.mkdir()
    return Path("/dev/zero") if request.param == "device" else path


def test_texts(strange: Path):
    with pytest.raises(OSError, match="it is no regular file|Is a directory"):
        tx.load(strange)


def test_texts_that_are_used(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.tx")
    main = tmp_path / "main.tx"
    main.write_text('use "pipe.tx": g\n' + TEXT)
    with pytest.raises(tx.CheckError, match="it is no regular file"):
        tx.load(main)


def test_weights(strange: Path):
    with pytest.raises(OSError, match="it is no regular file|Is a directory"):
        nn.load(nn.Linear(2, 2), strange)


def test_texts_of_absurd_length(tmp_path: Path):
    path = tmp_path / "long.tx"
    with path.open("wb") as file:
        file.truncate(20 << 30)  # no disk holds it: a file with a hole
    with pytest.raises(tx.ResourceError, match="it has 21,474,836,480 bytes, more than"):
        tx.load(path)
    with pytest.raises(OSError, match="more than 10"):
        read_file(path, 10)


def test_entries_of_the_cache(tmp_path: Path):
    with tx.options(cache_dir=tmp_path):
        tx.op(TEXT)(np.ones(2, "f4"))
        entries = [p for p in tmp_path.rglob("*") if p.is_file()]
        for p in entries:
            p.unlink()
            os.mkfifo(p)
        assert tx.op(TEXT)(np.ones(2, "f4")).tolist() == [2, 2]
