"""Models of which some bytes were changed: they are read, or refused with an error of texpr, at
once.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from google.protobuf.internal import api_implementation
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

import texpr as tx
from tests.onnx.models import mlp, model, run
from tests.onnx.test_backend import cases, left_out

node = helper.make_node


@cache
def whole() -> tuple[tuple[bytes, list | None], ...]:
    """A network, and nodes of all kinds with their inputs."""
    kept = [c for c in cases() if not left_out(c) and c.data_sets]
    return (
        (mlp().SerializeToString(), None),
        *((c.model.SerializeToString(), c.data_sets[0][0]) for c in kept[::25]),
    )


def damaged(data: bytes, r: random.Random) -> bytes:
    """With a few bits and bytes changed, left out or put in."""
    found = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 4))):
        k, how = r.randrange(len(found)), r.random()
        if how < 0.5:
            found[k] ^= 1 << r.randrange(8)
        elif how < 0.8:
            found[k] = r.randrange(256)
        elif how < 0.9:
            del found[k : k + r.randrange(1, 8)]
        else:
            found[k:k] = r.randbytes(r.randrange(1, 8))
    return bytes(found)


@given(st.integers(0, 2**32))
def test_damaged_models(seed: int):
    """Read, some of them called: with `HYPOTHESIS_PROFILE=fuzz` many more."""
    r = random.Random(seed)
    for called in (True, *[False] * 40):
        data, inputs = r.choice(whole())
        try:
            loaded = tx.onnx.load(damaged(data, r))
            str(loaded)
            if called and inputs is not None:
                loaded(*inputs)
        except tx.Error:
            pass


def renamed(change: str) -> bytes:
    """A sum whose names are no text: as long, and no UTF-8."""
    made = model([node("Add", ["x", "x"], ["yyyy"], name="sums")], [("x", ["nnnn"])], [("yyyy", ["nnnn"])])
    return made.SerializeToString().replace(change.encode(), b"\xff" * len(change))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ("Add", "NodeProto.op_type"),
        ("nnnn", "TensorShapeProto.Dimension.dim_param"),
        ("yyyy", "NodeProto.output"),
        ("sums", "NodeProto.name"),
    ],
)
def test_names_that_are_no_text(change: str, field: str):
    with pytest.raises(tx.CheckpointError) as error:
        tx.onnx.load(renamed(change))
    said = str(error.value)
    # protobuf in Python, which is all there is for free-threaded builds, decodes texts as it reads.
    assert (
        said.startswith("error[onnx]: the model is damaged: onnx.") and " is no text: b'\\xff" in said
    ) or (
        said.startswith("error[onnx]: the model cannot be read as ONNX: 'utf-8' codec can't decode byte 0xff")
        and api_implementation.Type() == "python"
    )
    assert change != "Add" or field in str(error.value)


ROWS = [
    ("Einsum", 1, {"equation": "i0->i"}, "Einsum: the equation is `i0->i`"),
    ("Einsum", 1, {"equation": "i->i->i"}, "Einsum: the equation is `i->i->i`"),
    ("Einsum", 1, {"equation": "..i->i"}, "Einsum: the equation is `..i->i`"),
    ("GlobalLpPool", 3, {"p": 0}, "p is 0; a norm has one above 0"),
    ("LpPool", 3, {"p": -2, "kernel_shape": [1]}, "p is -2; a norm has one above 0"),
    ("LpNormalization", 1, {"p": 3}, "p is 3; 1 and 2 are read"),
    ("LayerNormalization", 1, {"stash_type": 8}, "stash_type is string, which texpr does not have"),
    ("EyeLike", 2, {"dtype": 99}, "Attribute dtype does not specify a valid type"),
    ("HannWindow", 0, {"output_datatype": 14}, "output_datatype is complex64, which texpr does not have"),
    ("SequenceEmpty", None, {"dtype": 8}, "dtype is string, which texpr does not have"),
]


@pytest.mark.parametrize(("op", "rank", "attributes", "words"), ROWS)
def test_attributes_that_say_nothing(op: str, rank: int | None, attributes: dict, words: str):
    given = [] if rank is None else [np.ones([3] * rank, "i8" if op == "HannWindow" else "f4")]
    with pytest.raises(tx.CallError) as error:
        run(op, given + given * (op == "LayerNormalization"), **attributes)
    assert words in str(error.value)
