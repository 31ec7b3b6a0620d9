"""Element types: one object of each."""

from __future__ import annotations

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import texpr as tx
from texpr.ir.dtypes import BF16, BOOL, DTYPES, F8E5M2, F32, F64, I8, I32, I64, U8, U16, DType, numpy_dtype


def test_there_is_one_object_of_each():
    for t in DTYPES.values():
        assert DType(t.kind, t.bits) is t and pickle.loads(pickle.dumps(t)) is t and copy.deepcopy(t) is t
    assert I64 != DType("u", 64) and DType("i", 128) is DType("i", 128)


def test_kinds():
    assert [t.is_int for t in (I64, U8, F32, BF16, BOOL)] == [True, True, False, False, False]
    assert [t.is_float for t in (I64, U8, F32, BF16, BOOL)] == [False, False, True, True, False]


SAME = [
    *((t, v) for t in DTYPES.values() if not t.as_bits for v in (numpy_dtype(t), numpy_dtype(t).type)),
    *((t, v) for t in DTYPES.values() for v in (t.name, f"torch.{t.name}", t)),
    *((F32, v) for v in ("float32", "f4", "torch.float32")),
    *((t, v) for t, v in ((F64, float), (I64, int), (BOOL, bool), (BF16, "bfloat16"))),
    *((BF16, v) for v in (ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16))),
    (F8E5M2, ml_dtypes.float8_e5m2),
]


@pytest.mark.parametrize(("t", "value"), SAME)
def test_a_dtype_equals_what_means_it(t, value):
    """Both ways; the eight bits of "i8" are texpr's."""
    assert t == value and value == t and not t != value and not value != t
    for other in set(DTYPES.values()) - {t}:
        assert other != value and value != other and not other == value and not value == other


@pytest.mark.parametrize(
    "value",
    [
        None,
        32,
        "",
        "floaty",
        "f4, f4",
        "test_abs: 1 passing, 0 failing",
        "(2,3)f4",
        np.dtype(">f4"),
        np.dtype("M8[s]"),
        *([np.dtypes.StringDType()] if hasattr(np.dtypes, "StringDType") else []),
        np.dtype([("a", "f4")]),
        object,
        [],
        F32.name + " ",
    ],
)
def test_a_dtype_equals_nothing_else(value):
    for t in DTYPES.values():
        assert t != value and value != t and not t == value and not value == t


def test_arrays_and_tensors_are_no_dtypes():
    assert F32 != np.ones(2, "f4") and F32 != tx.ones(2) and BF16 != np.uint16 and U16 == np.uint16


def test_dtypes_as_keys_are_texprs_own():
    """As NumPy's, whose dtypes equal types and texts with other hashes."""
    assert {F32: 1}[DType("f", 32)] == 1 and I8 in (np.int8,) and I32 in ["i32"]
    assert len({F32, np.dtype("f4")}) == 2


def test_dtypes_by_name():
    found = [tx.float16, tx.bfloat16, tx.float32, tx.float64, tx.int8, tx.uint8, tx.int64, tx.uint64]
    assert [t.name for t in found] == ["f16", "bf16", "f32", "f64", "i8", "u8", "i64", "u64"]
    assert tx.ones(2, dtype=tx.float64).to(tx.int32).dtype == np.int32 and "uint16" in dir(tx)
