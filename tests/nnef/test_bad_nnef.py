"""Files that are damaged, or that somebody made to do harm: an error with its place, and no memory asked
for by what they claim.
"""

from __future__ import annotations

import os
import random
import re
import resource

import numpy as np
import pytest

import texpr as tx
from tests.nnef.models import archive, folder, graph, tensor
from texpr.support.errors import CheckpointError

W = np.arange(6, dtype="f4").reshape(2, 3)
TEXT = graph("w = variable(shape = [2, 3], label = 'w'); y = x + w;", x=[2, 3])
FILE = tensor(W)
BAD_TENSORS = {
    "empty": (b"", "byte 0: the file ends within its header of 128 bytes"),
    "short": (FILE[:100], "byte 100: the file ends within its header of 128 bytes"),
    "magic": (b"PK" + FILE[2:], "byte 0: it begins with 50 4b, a tensor of NNEF with 4e ef"),
    "version": (FILE[:2] + b"\2\0" + FILE[4:], "byte 2: version 2.0 of tensor files; 1.0 is read"),
    "rank": (tensor(W, rank=9), "byte 8: 9 axes, the limit is 8"),
    "huge rank": (tensor(W, rank=2**32 - 1), "byte 8: 4,294,967,295 axes, the limit is 8"),
    "type": (tensor(W, kind=9), "byte 48: element type 0x9, which NNEF 1.0 does not have"),
    "bits": (tensor(W, bits=7), "byte 44: 7 bits for an element of type float"),
    "length": (
        tensor(W, length=20),
        "byte 4: a tensor of shape [2, 3] with 32 bits an element needs 24 bytes, and 20 are declared",
    ),
    "billions": (
        tensor(W, extent0=2**32 - 1, extent1=2**32 - 1),
        "byte 4: a tensor of shape [4294967295, 4294967295] with 32 bits an element needs 73,786,976,260,478,468,100 bytes, "
        "and 24 are declared",
    ),
    "truncated": (FILE[:-1], "byte 151: the file has 151 bytes, and its header declares 152"),
    "longer": (FILE + b"\0", "byte 152: the file has 153 bytes, and its header declares 152"),
    "claims 4 GB": (
        tensor(W, extent0=2**29, extent1=1, length=2**31),
        "byte 152: the file has 152 bytes, and its header declares 2,147,483,776",
    ),
}


@pytest.mark.parametrize("case", BAD_TENSORS)
def test_damaged_tensors_are_refused_with_a_byte(tmp_path, case):
    data, message = BAD_TENSORS[case]
    place = folder(tmp_path / "net", TEXT, {"w": data})
    with pytest.raises(CheckpointError) as error:
        tx.nnef.load(place)
    assert error.value.message == f"{place}/w.dat, {message}"
    held = archive(tmp_path / "net.tgz", {"graph.nnef": TEXT.encode(), "w.dat": data})
    with pytest.raises(CheckpointError, match=re.escape(message)):
        tx.nnef.load(held)


def test_tensors_of_another_shape_are_refused(tmp_path):
    place = folder(tmp_path / "net", TEXT, {"w": W.T.copy()})
    with pytest.raises(CheckpointError) as error:
        tx.nnef.load(place)
    assert error.value.message == "the variable has shape [2, 3], its file `w.dat` [3, 2]"


def test_links_and_names_that_lead_outside_are_refused(tmp_path):
    secret = tmp_path / "secret.dat"
    secret.write_bytes(FILE)
    place = folder(tmp_path / "net", TEXT)
    os.symlink(secret, place / "w.dat")
    with pytest.raises(CheckpointError, match="is a link, which is not followed"):
        tx.nnef.load(place)
    for label in ("../secret", "/etc/passwd", "a/../../secret", "..", "C:\\\\x", ""):
        text = graph(f"w = variable(shape = [2, 3], label = '{label}'); y = x + w;", x=[2, 3])
        with pytest.raises(CheckpointError, match="leads outside of the model"):
            tx.nnef.load(folder(tmp_path / "net", text))
    for name in ("../graph.nnef", "/graph.nnef", "a/../../b"):
        with pytest.raises(CheckpointError, match="leads outside of the archive"):
            tx.nnef.load(archive(tmp_path / "a.tgz", {"graph.nnef": TEXT.encode(), name: FILE}))


def test_archives_that_are_damaged_are_refused(tmp_path):
    good = archive(tmp_path / "a.tgz", {"graph.nnef": TEXT.encode(), "w.dat": FILE}).read_bytes()
    path = tmp_path / "b.tgz"
    for cut in range(0, len(good), 7):
        path.write_bytes(good[:cut])
        try:
            model = tx.nnef.load(path)
        except CheckpointError:
            continue
        assert cut > len(good) // 2 and np.array_equal(model.state_dict()["w"], W)  # what is gone is no file
    path.write_bytes(b"no archive at all" * 100)
    with pytest.raises(CheckpointError, match="it is no archive of tar"):
        tx.nnef.load(path)
    with pytest.raises(CheckpointError, match="has no file `graph.nnef`"):
        tx.nnef.load(archive(tmp_path / "c.tgz", {"w.dat": FILE}))
    with pytest.raises(CheckpointError, match="neither a folder nor a file"):
        tx.nnef.load("/dev/null")
    with pytest.raises(FileNotFoundError):
        tx.nnef.load(tmp_path / "absent.tgz")


def test_random_damage_is_an_error_or_another_model(tmp_path):
    """Bytes changed anywhere: nothing but an error of texpr, or a model that runs."""
    chance = random.Random(3)
    for k in range(120):
        text, data = bytearray(TEXT.encode()), bytearray(FILE)
        for held in (text,) if k % 2 else (data,):
            for _ in range(chance.randint(1, 4)):
                held[chance.randrange(len(held))] = chance.randrange(256)
        path = archive(tmp_path / "a.tar", {"graph.nnef": bytes(text), "w.dat": bytes(data)}, "w")
        try:
            tx.nnef.load(path)
        except tx.Error:
            pass


def test_texts_cut_anywhere_are_refused(tmp_path):
    for cut in range(0, len(TEXT) - 3, 5):
        with pytest.raises(CheckpointError):
            tx.nnef.load(folder(tmp_path / "net", TEXT[:cut]))


def test_claims_of_billions_ask_for_no_memory(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bodies = {
        "w = variable(shape = [4000000000, 4], label = 'w'); y = x;": "is not there|has shape",
        "c = constant(shape = [100000, 100000], value = [0.0]); y = x;": "10,000,000,000 elements",
        "c = [0] * 4000000000; y = x;": "an array of more than",
        "c = [for a in [0] * 1000000 yield [0] * 1000000]; y = x;": "more than 16,777,216 items",
        "a = [0] * 9999; c = [for i in a yield [for j in a yield 0]]; y = x;": "1,048,576 steps of `for`",
    }
    for body, message in bodies.items():
        with pytest.raises(tx.Error, match=message):
            tx.nnef.load(folder(tmp_path / "net", graph(body, x=[2])))(np.zeros(2, "f4"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB
