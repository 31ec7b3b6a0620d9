"""Element types: one object of each."""

from __future__ import annotations

import copy
import pickle

from texpr.ir.dtypes import BF16, BOOL, DTYPES, F32, I64, U8, DType


def test_there_is_one_object_of_each():
    for t in DTYPES.values():
        assert DType(t.kind, t.bits) is t and pickle.loads(pickle.dumps(t)) is t and copy.deepcopy(t) is t
    assert I64 != DType("u", 64) and DType("i", 128) is DType("i", 128)


def test_kinds():
    assert [t.is_int for t in (I64, U8, F32, BF16, BOOL)] == [True, True, False, False, False]
    assert [t.is_float for t in (I64, U8, F32, BF16, BOOL)] == [False, False, True, True, False]
