"""Answers to what frameworks ask of an operator before it runs."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.bridges import derived
from texpr.bridges.derived import Described
from texpr.ir.dtypes import DTYPES

PAIRS = tx.op(
    "op pairs<T: float>(X: T[N], Y: T[2*N + 1]; k = 0) -> (Z: T[N + 3], n: i32) "
    "{ Z[i] = X[i | 0] + Y[2 * i | 0] * k\n n = i32(N) }"
)
F32, F64 = DTYPES["f32"], DTYPES["f64"]


def convert(dtype: object) -> str:
    return f"to({dtype})"


class Traced:
    """An integer that a framework traces with."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __add__(self, other: object) -> Traced:
        return Traced(self.value + int(getattr(other, "value", other)))  # type: ignore[call-overload]

    def __mul__(self, other: object) -> Traced:
        return Traced(self.value * int(getattr(other, "value", other)))  # type: ignore[call-overload]

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, other: object) -> bool:
        return self.value == getattr(other, "value", other)

    def __hash__(self) -> int:
        return hash(self.value)


def test_shapes_and_dtypes_of_results():
    given = {"X": Described((3,), F32), "Y": Described((7,), F32)}
    program = derived.program_for(PAIRS, given, {"k": 2}, convert)
    assert derived.results_of(program, [(3,), (7,)]) == (Described((6,), F32), Described((), DTYPES["i32"]))


def test_sizes_that_are_traced_stay_traced():
    given = {"X": Described((Traced(3),), F32), "Y": Described((Traced(7),), F32)}
    program = derived.program_for(PAIRS, given, {}, convert)
    found = derived.results_of(program, [(Traced(3),), (Traced(7),)])
    assert isinstance(found[0].shape[0], Traced) and found[0].shape[0] == 6


@pytest.mark.parametrize(
    "given,text",
    [
        (
            {"X": Described((3,), F32), "Y": Described((7,), F64)},
            "error[dtype]: pairs: `Y` is f64, but `X` is f32, and both are T\n"
            "  help: convert one of them: to(None)",
        ),
        ({"X": Described((3,), F32)}, "error[arguments]: pairs: `Y` is missing"),
    ],
)
def test_refusals(given: dict[str, Described], text: str):
    with pytest.raises(tx.CallError) as caught:
        derived.program_for(PAIRS, given, {}, convert)
    assert str(caught.value) == text


def test_another_dtype_is_refused_with_a_way_out():
    twice = tx.op("op twice(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
    with pytest.raises(tx.CallError) as caught:
        derived.program_for(twice, {"X": Described((3,), F64)}, {}, convert)
    assert str(caught.value) == ("error[dtype]: twice: `X` is f64, expected f32\n  help: convert it: to(f32)")


def bound(operator: tx.Op, *arrays: np.ndarray) -> derived.Bound | None:
    names = [p.name for p in operator.signature.inputs]
    given = {n: Described(a.shape, DTYPES[f"{a.dtype.kind}{8 * a.itemsize}"]) for n, a in zip(names, arrays)}
    return derived.bound(
        operator, derived.program_for(operator, given, {}, convert), [a.shape for a in arrays]
    )


def test_kernels_run_on_memory_of_others():
    x, y = np.arange(3, dtype=np.float32), np.arange(7, dtype=np.float32)
    found, (z, n) = bound(PAIRS, x, y), PAIRS(x, y)
    assert found is not None and found.calls.call is not None
    made = found.calls.call(x.ctypes.data, y.ctypes.data)
    assert isinstance(made, tuple) and made[0].tolist() == z.tolist() and made[1] == n
    out, count = np.zeros(6, np.float32), np.zeros((), np.int32)
    assert found.calls.run(x.ctypes.data, y.ctypes.data, out.ctypes.data, count.ctypes.data) is None
    assert out.tolist() == z.tolist() and count == n


def test_one_result_and_none_of_its_elements():
    twice = tx.op("op twice(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
    for n in (0, 1, 5):
        x = np.ones(n, np.float32)
        found = bound(twice, x)
        assert found is not None and found.calls.call is not None
        assert found.calls.call(x.ctypes.data).tolist() == [2.0] * n


def test_what_has_more_to_do_is_left_to_calls():
    gather = tx.op("op gather(X: f32[N], k: i64[M] in 0..N) -> Y: f32[M] { Y[i] = X[k[i]] }")
    assert bound(gather, np.zeros(3, np.float32), np.zeros(2, np.int64)) is None


def test_errors_of_functions_in_kernels_are_raised():
    def refuse(X: np.ndarray) -> np.ndarray:  # noqa: N803
        raise ValueError("no")

    tx.register_extern("refuse_all", refuse)
    x = np.zeros(2, np.float32)
    found = bound(tx.op("extern op refuse_all(X: f32[N]) -> Y: f32[N]"), x)
    assert found is not None
    with pytest.raises(ValueError, match="no"):
        found.calls.run(x.ctypes.data, x.copy().ctypes.data)


def test_running_out_of_memory_is_an_error():
    repeat = tx.op("op repeat(n: i32) -> Y: f32[35184372088832] { Y[i] = f32(n) }")
    program = derived.program_for(repeat, {"n": Described((), DTYPES["i32"])}, {}, convert)
    try:
        found = derived.bound(repeat, program, [()])
    except tx.Error:
        return
    n = np.zeros((), np.int32)
    assert found is not None and found.calls.call is not None
    with pytest.raises(tx.ResourceError):
        found.calls.call(n.ctypes.data)
