"""Forms of calls that need no Python: numbers, names, constants, inputs left out, strides, shapes
in turns. The law is that an operator of which native code serves nothing says the same: every
result, and the whole text of every complaint.
"""

from __future__ import annotations

import ctypes
import enum
import gc
import resource
import sys
import tracemalloc
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.runtime.native.threads import at_once
from texpr.compiler import CompiledKernel, Op
from texpr.runtime.call import numpy_api
from texpr.runtime.call.callable import Callable
from texpr.runtime.native import jit, native_library

TEXT = """
op both(A: f32[N], B: f32[N]) -> (C: f32[N], D: f32[N]) { C[i] = A[i] + B[i]  D[i] = A[i] - B[i] }
op raised(A: f32[N], b: f32) -> C: f32[N] { C[i] = A[i] + b }
op counted(A: i8[N], b: i8) -> C: i8[N] { C[i] = A[i] + b }
op shifted(A: f32[N]; by = 1, times = 1) -> C: f32[N] { C[i] = A[i] * times + by }
op biased(A: f32[N], b: f32[N] = 0, c: f32[N] = 1) -> C: f32[N] { C[i] = A[i] * c[i] + b[i] }
op either<T: num>(a: T, b: T) -> C: T { C = a + b }
op picked(A: f32[N], k: i32[1] in 0..N) -> C: f32 { C = A[k[0]] }
op chosen(A: f32[N], k: i32 in 0..N) -> C: f32 { C = A[k] }
op placed(A: f32[N], k: i32[N] in 0..N distinct) -> C: f32[N] { C[k[i]] = A[i] }
op rows(k: u8[M, N] distinct) -> C: u8[M] { C[i] = k[i, 0] }
op flat(A: f32[*S]) -> C: f32[*S] { C[*s] = 3 * A[*s] }
op turned(A: f32[M, N]) -> C: f32[M, N] { C[i, j] = 2 * A[i, j] }
op added(A: f32[N], B: f32[N]) -> C: f32[N] { C[i] = A[i] + B[i] }
"""
NAMES = (
    "both",
    "raised",
    "counted",
    "shifted",
    "biased",
    "either",
    "picked",
    "chosen",
    "placed",
    "rows",
    "flat",
    "turned",
    "added",
)


class Alone(Op):
    """An operator of which native code serves nothing."""

    def _native(self, *_):
        return None

    def _general(self, *arrays, **options):
        known, numpy_api.layouts_are_known = numpy_api.layouts_are_known, lambda: False
        try:
            return super()._general(*arrays, **options)
        finally:
            numpy_api.layouts_are_known = known


def alone(name: str, text: str = TEXT) -> Op:
    made = tx.op(text, name)
    return Alone(made.signature, made._make, made._origin)


class Counted(Op):
    """An operator that counts the calls which Python serves."""

    python = 0

    def _general(self, *arrays, **options):
        self.python += 1
        return super()._general(*arrays, **options)


def counted(name: str, text: str = TEXT) -> Counted:
    made = tx.op(text, name)
    return Counted(made.signature, made._make, made._origin)


def outcome(call, *arguments, **options):
    """What a call gives, so that two can be compared."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = call(*arguments, **options)
        except Exception as error:
            return type(error), str(error)
    results = found if isinstance(found, tuple) else (found,)
    said = [str(w.message) for w in warned]
    return (
        type(found).__name__,
        getattr(found, "_fields", ()),
        [(r.dtype, r.shape, r.strides, r.tobytes()) for r in results],
        said,
    )


A = np.arange(6, dtype=np.float32)
B = np.linspace(-3, 3, 6, dtype=np.float32)
MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)
SERVED = {
    "two outputs": ("both", lambda f: f(A, B)),
    "out, two": ("both", lambda f: f(A, B, out=(np.empty(6, "f4"), np.empty(6, "f4")))),
    "float": ("raised", lambda f: f(A, 2.5)),
    "int": ("raised", lambda f: f(A, 7)),
    "int that is rounded": ("raised", lambda f: f(A, 2**62 + 2**37 + 1)),
    "bool": ("raised", lambda f: f(A, True)),
    "NumPy f32": ("raised", lambda f: f(A, np.float32(2.5))),
    "NumPy f64": ("raised", lambda f: f(A, np.float64(0.1))),
    "NumPy i64": ("raised", lambda f: f(A, np.int64(-3))),
    "NumPy bool": ("raised", lambda f: f(A, np.True_)),
    "rank 0": ("raised", lambda f: f(A, np.array(0.1))),
    "rank 0, step": ("raised", lambda f: f(A, np.arange(3.0)[1:2].reshape(()))),
    "nan": ("raised", lambda f: f(A, float("nan"))),
    "infinity": ("raised", lambda f: f(A, float("-inf"))),
    "a number by name": ("raised", lambda f: f(A, b=0.1)),
    "all by name": ("raised", lambda f: f(b=0.1, A=A)),
    "least i8": ("counted", lambda f: f(np.zeros(3, "i1"), -128)),
    "largest i8": ("counted", lambda f: f(np.zeros(3, "i1"), np.uint64(127))),
    "no out": ("added", lambda f: f(A, B, out=None)),
    "out by name": ("added", lambda f: f(A, B=B, out=np.empty(6, "f4"))),
    "names in another order": ("added", lambda f: f(out=np.empty(6, "f4"), B=B, A=A)),
    "constant": ("shifted", lambda f: f(A, by=3)),
    "large constant": ("shifted", lambda f: f(A, by=int("1000000"))),
    "float constant": ("shifted", lambda f: f(A, by=float("0.5"))),
    "two constants": ("shifted", lambda f: f(A, times=2, by=int("5000"))),
    "constant and out": ("shifted", lambda f: f(A, by=3, out=np.empty(6, "f4"))),
    "left out": ("biased", lambda f: f(A)),
    "left out, out": ("biased", lambda f: f(A, out=np.empty(6, "f4"))),
    "left out in between": ("biased", lambda f: f(A, c=B)),
    "one left out": ("biased", lambda f: f(A, B)),
    "none left out": ("biased", lambda f: f(A, B, A)),
    "none left out, with output": ("biased", lambda f: f(A, B, A, out=np.empty(6, "f4"))),
    "only numbers": ("either", lambda f: f(1, 2.5)),
    "only numbers of NumPy": ("either", lambda f: f(np.float64(0.1), np.float64(0.2))),
    "a number beside one of NumPy": ("either", lambda f: f(np.int16(100), 200)),
    "value in range": ("chosen", lambda f: f(A, 5)),
    "permutation": ("placed", lambda f: f(A, np.array([3, 1, 0, 2, 5, 4], "i4"))),
    "permutation, backwards": ("placed", lambda f: f(A, np.arange(6, dtype="i4")[::-1])),
    "permutation of many": (
        "placed",
        lambda f: f(np.arange(3000, dtype="f4"), np.arange(3000, dtype="i4")[::-1]),
    ),
    "distinct in rows": ("rows", lambda f: f(np.array([[250, 255, 251], [251, 250, 249]], "u1"))),
    "step": ("added", lambda f: f(np.arange(12, dtype="f4")[::2], B[::-1])),
    "broadcast": ("added", lambda f: f(A, np.broadcast_to(np.float32(2), 6))),
    "transposed": ("turned", lambda f: f(MATRIX.T)),
    "columns": ("turned", lambda f: f(MATRIX[:, 1:3])),
    "large, transposed": ("turned", lambda f: f(np.arange(5000, dtype="f4").reshape(50, 100).T)),
    "value of other strides": ("picked", lambda f: f(A[::-1], np.array([[3, 9]], "i4")[:, 0])),
}


@pytest.mark.parametrize("name, call", SERVED.values(), ids=SERVED)
def test_what_needs_no_python(name, call):
    op = counted(name)
    expected = outcome(call, alone(name))
    assert outcome(call, op) == expected
    first = op.python
    for _ in range(3):
        assert outcome(call, op) == expected
    assert first == 1 == op.python


class Float(float):
    """Not taken natively: a subclass may mean anything."""


class Int(int):
    def __index__(self):
        raise ZeroDivisionError("not an index today")


class Number:
    def __float__(self):
        return 2.5

    def __index__(self):
        return 2


class Name(str):
    def __eq__(self, other):
        raise ZeroDivisionError("no comparison")

    __hash__ = str.__hash__


class Mode(enum.IntEnum):
    ONE = 1


def read_only() -> np.ndarray:
    made = np.zeros(6, "f4")
    made.flags.writeable = False
    return made


ODD = {
    "float for int": ("counted", lambda f: f(np.zeros(3, "i1"), 1.5)),
    "NumPy float for int": ("counted", lambda f: f(np.zeros(3, "i1"), np.float32(1))),
    "bool for int": ("counted", lambda f: f(np.zeros(3, "i1"), True)),
    "above": ("counted", lambda f: f(np.zeros(3, "i1"), 128)),
    "below": ("counted", lambda f: f(np.zeros(3, "i1"), np.int32(-129))),
    "huge": ("counted", lambda f: f(np.zeros(3, "i1"), 2**80)),
    "huge for float": ("raised", lambda f: f(A, 2**80)),
    "beyond i64": ("raised", lambda f: f(A, 2**63)),
    "beyond f32": ("raised", lambda f: f(A, 1e39)),
    "beyond f32 by rounding": ("raised", lambda f: f(A, 3.4028235677973366e38)),
    "the largest f32": ("raised", lambda f: f(A, 3.4028235677973362e38)),
    "complex": ("raised", lambda f: f(A, 1j)),
    "None": ("raised", lambda f: f(A, None)),
    "text": ("raised", lambda f: f(A, "2")),
    "f16": ("raised", lambda f: f(A, np.float16(0.1))),
    "long double": ("raised", lambda f: f(A, np.longdouble(0.1))),
    "long long": ("raised", lambda f: f(A, np.longlong(3))),
    "large u64": ("raised", lambda f: f(A, np.uint64(2**64 - 1))),
    "object": ("raised", lambda f: f(A, np.array(None))),
    "big endian": ("raised", lambda f: f(A, np.array(0.1, ">f8"))),
    "date": ("raised", lambda f: f(A, np.datetime64("2020-01-01"))),
    "subclass of float": ("raised", lambda f: f(A, Float(2.5))),
    "subclass of int": ("raised", lambda f: f(A, Int(2))),
    "an object with __float__": ("raised", lambda f: f(A, Number())),
    "a list": ("raised", lambda f: f(A, [2.5])),
    "an array of one": ("raised", lambda f: f(A, np.ones(1, "f4"))),
    "a number for an array": ("raised", lambda f: f(1.0, 2.0)),
    "mixed": ("either", lambda f: f(np.float64(1), np.float32(2))),
    "mixed with an array": ("either", lambda f: f(np.array(1.0), np.float32(2))),
    "an array beside a number": ("either", lambda f: f(np.array(1, "i1"), 1000)),
    "large numbers": ("either", lambda f: f(2**40, 1e300)),
    "out of range": ("chosen", lambda f: f(A, 6)),
    "below range": ("chosen", lambda f: f(A, np.int64(-1))),
    "array out of range": ("picked", lambda f: f(A[::-1], np.array([6, 9], "i4")[::2])),
    "a value twice": ("placed", lambda f: f(A, np.array([3, 1, 0, 2, 5, 3], "i4"))),
    "a value twice, of many": ("placed", lambda f: f(np.zeros(3000, "f4"), np.arange(3000, dtype="i4") // 2)),
    "a value twice and one out of range": ("placed", lambda f: f(A, np.array([3, 1, 0, 2, 6, 3], "i4"))),
    "a value twice in a row": ("rows", lambda f: f(np.array([[250, 255, 251], [251, 250, 251]], "u1"))),
    "values far apart": ("rows", lambda f: f(np.array([[0, 255, 100], [251, 0, 249]], "u1"))),
    "constant of NumPy": ("shifted", lambda f: f(A, by=np.float32(0.1))),
    "constant array": ("shifted", lambda f: f(A, by=np.array(2))),
    "enum": ("shifted", lambda f: f(A, by=Mode.ONE)),
    "True is not 1": ("shifted", lambda f: (f(A, by=1), f(A, by=True))[1]),
    "1.0 is not 1": ("shifted", lambda f: (f(A, by=1), f(A, by=1.0))[1]),
    "minus zero": ("shifted", lambda f: (f(A, times=0.0, by=-0.0), f(A, times=-0.0, by=-0.0))[1]),
    "without the constant of before": ("shifted", lambda f: (f(A, by=3), f(A))[1]),
    "without the constant of before, with out": (
        "shifted",
        lambda f: (f(A, by=3), f(A, out=np.empty(6, "f4")))[1],
    ),
    "by position what was another one by name": (
        "biased",
        lambda f: (f(A, c=B), f(A, B, out=np.empty(6, "f4")))[1],
    ),
    "hundreds": ("biased", lambda f: f(*[A] * 300, out=np.empty(6, "f4"))),
    "hundreds, and a name": ("added", lambda f: f(*[A] * 300, B=B)),
    "nan constant": ("shifted", lambda f: f(A, by=float("nan"))),
    "text constant": ("shifted", lambda f: f(A, by="1")),
    "unknown name": ("shifted", lambda f: f(A, bye=1)),
    "twice": ("biased", lambda f: f(A, B, b=B)),
    "missing": ("biased", lambda f: f(b=B)),
    "none": ("biased", lambda f: f()),
    "None by name": ("biased", lambda f: f(A, b=None)),
    "too many": ("biased", lambda f: f(A, B, A, np.empty(6, "f4"), A)),
    "an output too early": ("biased", lambda f: f(A, B, out=np.empty(5, "f4"))),
    "both kinds of output": ("biased", lambda f: f(A, B, A, np.empty(6, "f4"), out=np.empty(6, "f4"))),
    "made names": ("added", lambda f: f(**{"".join(["A", ""]): A, Name("B"): B})),
    "names that are no text": ("added", lambda f: f(A, **{1: B})),
    "read-only": ("added", lambda f: f(A, B, out=read_only())),
    "read-only, two": ("both", lambda f: f(A, B, out=(np.empty(6, "f4"), read_only()))),
    "one of two": ("both", lambda f: f(A, B, out=np.empty(6, "f4"))),
    "the same twice": ("both", lambda f: f(A, B, out=(x := np.empty(6, "f4"), x))),
    "strided output": ("added", lambda f: f(A, B, out=np.empty(12, "f4")[::2])),
    "output over a strided input": (
        "added",
        lambda f: f((x := np.arange(12, dtype="f4"))[::2], B, out=x[:6]),
    ),
    "structured": ("added", lambda f: f(np.zeros(6, "f4,i4"), B)),
    "masked": ("added", lambda f: f(np.ma.array(A), B)),
    "subclass of ndarray": ("added", lambda f: f(A.view(type("Sub", (np.ndarray,), {})), B)),
    "matrix": ("turned", lambda f: f(np.matrix(MATRIX))),
    "memmap": ("added", lambda f: f(A.view(np.memmap), B)),
    "unaligned": ("added", lambda f: f(np.zeros(25, "u1")[1:].view("f4"), B)),
    "unaligned, strided": ("added", lambda f: f(np.zeros(49, "u1")[1:].view("f4")[::2], B)),
    "no elements": ("added", lambda f: f(np.zeros((0, 3), "f4")[:, 0], np.zeros(0, "f4"))),
    "wrong extent": ("added", lambda f: f(A[::2], B)),
    "wrong rank": ("added", lambda f: f(MATRIX.T, B)),
}


@pytest.mark.parametrize("name, call", ODD.values(), ids=ODD)
def test_what_goes_through_python_says_the_same(name, call):
    op = tx.op(TEXT, name)
    for served, good in SERVED.values():  # native code is there for calls of other forms
        if served == name:
            good(op)
    expected = outcome(call, alone(name))
    for _ in range(3):
        assert outcome(call, op) == expected


NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(-300, 300),
    st.sampled_from(
        [k * 2**n + d for n in (7, 8, 15, 16, 31, 32, 63, 64) for k in (-1, 1) for d in (-1, 0, 1)]
    ),
    st.floats(),
    st.floats(width=32),
    st.sampled_from([3.4028235e38, 3.4028236e38, 1e-46, -0.0]),
)
KINDS = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
TYPES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool")
ECHO = {t: f"op echo(x: {t}) -> y: {t} {{ y = x }}" for t in TYPES}
ECHOES = {t: (tx.op(text), alone("echo", text)) for t, text in ECHO.items()}


@given(st.sampled_from(TYPES), NUMBERS, st.sampled_from([None, *KINDS]), st.booleans())
def test_a_number_means_the_same(dtype, number, kind, array):
    """Python's, as NumPy's of each kind, and in arrays of rank 0: to every dtype, or refused."""
    value: object = number
    if kind is not None:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = (
                    np.array(number).astype(kind)[()]
                    if isinstance(number, float)
                    else np.dtype(kind).type(number)
                )
        except (OverflowError, ValueError, TypeError):
            return
        value = np.array(value) if array else value
    served, python = ECHOES[dtype]
    assert outcome(served, value) == outcome(python, value)


def test_most_numbers_need_no_python():
    for dtype in [t for t in TYPES if t != "f16"]:
        op = counted("echo", ECHO[dtype])
        number = {"b": True, "f": 0.5}.get(dtype[0], 3)
        kind = op(number).dtype
        for value in (number, kind.type(number), np.array(number, kind)):
            op(value)
        assert op.python == 1, dtype


@pytest.mark.parametrize("extents", [(3, 4), (3, 4, 5), tuple(range(2, 12))])
def test_shapes_in_turns(extents):
    op = counted("added")
    arrays = [np.arange(n, dtype=np.float32) for n in extents]
    with tx.options(specializations=len(extents)):
        for a in arrays:
            op(a, a)
    first = op.python
    for _ in range(5):
        for a in arrays:
            assert (op(a, a) == 2 * a).all()
    assert first == len(extents) == op.python


def test_forms_that_were_put_out_come_back():
    """Native code looks for the latest sixteen; those before them are found in Python, and then
    natively again.
    """
    op = counted("shifted")
    for k in range(40):
        assert (op(A, by=k) == A + k).all()
    assert op.python == 40 and len(op._served) == 16
    assert (op(A, by=3) == A + 3).all() and op.python == 41
    assert (op(A, by=3) == A + 3).all() and op.python == 41


KERNELS = {
    "constant sizes": (
        "added",
        {"N": 6},
        lambda k: (k(A, B), k(A, B=B), k(A[::-1], B), k(A, B, out=np.empty(6, "f4")))[-1],
    ),
    "a number": ("raised", {"N": 6}, lambda k: (k(A, 2), k(A, b=np.float64(0.1)))[1]),
    "a symbolic size": ("added", {}, lambda k: (k(A, A), k(A, B, np.empty(6, "f4")))[1]),
    "shapes in turns": ("added", {}, lambda k: (k(A[:2], B[1:3]), k(A[:3], B[1:4]))[1]),
    "checks": (
        "placed",
        {},
        lambda k: (k(A, np.arange(6, dtype="i4")), k(A[:3], np.array([2, 0, 1], "i4")))[1],
    ),
    "one size of two": ("turned", {"N": 4}, lambda k: (k(MATRIX), k(MATRIX[:2]))[1]),
    "a pack": ("flat", {}, lambda k: (k(MATRIX), k(MATRIX.reshape(2, 6)), k(A))[1]),
}


@pytest.mark.parametrize("name, sizes, call", KERNELS.values(), ids=KERNELS)
def test_kernels_need_no_python(monkeypatch, name, sizes, call):
    python: list[tuple] = []
    general = CompiledKernel._general
    monkeypatch.setattr(
        CompiledKernel, "_general", lambda self, *a, **o: python.append(a) or general(self, *a, **o)
    )
    kernel = tx.schedule(tx.op(TEXT, name), **sizes).compile()
    expected, first = outcome(call, kernel), len(python)
    for _ in range(3):
        assert outcome(call, kernel) == expected
    assert len(python) == first


def test_what_kernels_of_symbolic_sizes_refuse():
    """What was checked for some shapes holds for these alone."""
    back = tx.op("op back(X: f32[N], W: f32[K]) -> Y: f32[N] require N > K { Y[i] = X[i] + sum(k: W[k]) }")
    kernel = tx.schedule(back).compile()
    for _ in range(2):
        assert (kernel(A, B[:5]) == A + B[:5].sum()).all()
        for arrays in ((A, B), (A[:5], B[:5]), (A[:0], B[:0])):
            with pytest.raises(
                tx.CallError, match=f"back requires N > K, and K = {len(arrays[1])}, N = {len(arrays[0])}"
            ):
                kernel(*arrays)
        with pytest.raises(tx.CallError) as error:
            kernel(A, B[:5], A[:3])
        assert str(error.value) == "error[shape]: axis 0 of `Y` has extent 3, expected N = 6 (axis 0 of `X`)"


def test_python_lays_out_names_in_their_order():
    class Empty(Callable):
        pass

    empty = Empty()
    empty._become(target := lambda: None)
    empty._function = None
    assert ctypes.c_void_p.from_address(id(empty) + object.__basicsize__ + 8).value == id(target)


def test_a_named_tuple_is_one():
    op = counted("both")
    for _ in range(2):
        found = op(A, B)
        assert found._fields == ("C", "D") and found == (found.C, found.D) and not hasattr(found, "__dict__")
        plain = type(found)(A.copy(), B.copy())
        assert gc.is_tracked(found) and sys.getrefcount(found.C) == sys.getrefcount(plain.C)
        assert hash(type(found)(1, 2)) == hash((1, 2)) and found._replace(C=1).C == 1
    assert op.python == 1


def test_the_library_reads_where_tuples_have_a_hash(monkeypatch):
    """From Python 3.14 on, a word more lies in front of the items."""
    hash_at, behind = "@python_tuple_hash = internal constant i64", object.__basicsize__ + 8
    assert f"{hash_at} {behind if sys.version_info >= (3, 14) else 0}," in native_library.text()
    monkeypatch.setitem(native_library.text.__globals__, "tuple", SimpleNamespace(__basicsize__=behind + 8))
    assert f"{hash_at} {behind}," in native_library.text()
    assert f"@python_tuple_items = internal constant i64 {behind + 8}," in native_library.text()
    assert jit.compile_as_written(native_library.text())


CALLS = 30_000


@pytest.mark.parametrize(
    "form",
    [
        "two outputs",
        "float",
        "NumPy f64",
        "rank 0",
        "all by name",
        "names in another order",
        "two constants",
        "left out in between",
        "step",
        "large, transposed",
    ],
)
def test_nothing_leaks(form):
    name, call = SERVED[form]
    op = tx.op(TEXT, name)
    for _ in range(3):
        call(op)
    gc.collect()
    objects = (A, B, MATRIX, None, np.dtype("f4"), np.dtype("f8"), np.ndarray, op, op._served[0], float, int)
    before = [sys.getrefcount(each) for each in objects]
    tracemalloc.start()
    try:
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(CALLS // (10 if name == "turned" else 1)):
            call(op)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - start
    finally:
        tracemalloc.stop()
    assert (
        all(abs(sys.getrefcount(each) - count) < 20 for each, count in zip(objects, before))
        and grown < 10_000
    )


def test_what_does_not_fit_leaks_nothing():
    op = tx.op(TEXT, "picked")
    index, wrong = np.array([1, 9], "i4")[::2], np.array([6, 9], "i4")[::2]
    big = np.arange(2000, dtype="f4")
    wrong[0] = 1000
    for _ in range(2):
        op(big[::2], index)
    before = [sys.getrefcount(each) for each in (big, index, wrong)]
    tracemalloc.start()
    try:
        for _ in range(100):
            pytest.raises(tx.CallError, op, big[1::2], wrong)
        gc.collect()
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(300):
            pytest.raises(tx.CallError, op, big[1::2], wrong)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - start
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(each) for each in (big, index, wrong)] == before and grown < 10_000


def test_marks_are_given_back():
    op, order = tx.op(TEXT, "placed"), np.arange(20_000, dtype="i4")
    x = np.zeros(20_000, "f4")

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    for _ in range(10):
        op(x, order)
    before = resident()
    for _ in range(2000):
        op(x, order)
    assert resident() - before < 10 << 20


def test_threads_call_in_all_forms():
    """Each thread has forms of its own and some in common, so the order in which native code
    asks changes all along.
    """
    ops = {name: tx.op(TEXT, name) for name in NAMES}
    expected = {key: outcome(call, alone(name)) for key, (name, call) in SERVED.items()}

    def work(shift: int) -> None:
        order = list(SERVED)[shift::2] + list(SERVED)[:shift]
        for _ in range(40):
            for key in order:
                name, call = SERVED[key]
                assert outcome(call, ops[name]) == expected[key], key

    at_once(work, (0, 1, 9, 20))
