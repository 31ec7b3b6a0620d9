"""Floats of 8 bits in operators: computed in f32, rounded once, equal to the interpreter on
every target.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import texpr as tx
from tests.compare import same_numbers
from texpr.ir.dtypes import DTYPES, F8E4M3, F8E5M2, F32, DType, from_numpy, numbers_of, readable, stored
from texpr.ir.printing.tensor import show_program
from texpr.support.errors import CallError, CheckError
from texpr.targets import find_target

SMALL = pytest.mark.parametrize("t", (F8E4M3, F8E5M2), ids=str)
BITS = np.arange(256, dtype=np.uint8)
FOREIGN = ("x86-64", "x86-64-v3", "aarch64", "aarch64+sve", "a64fx", "armv7", "sm_80", "sm_89")


def next_to_ties(t: DType) -> np.ndarray:
    """All numbers of a type, what lies between two of them, and the f32 next to either."""
    with np.errstate(all="ignore"):
        numbers = np.unique(numbers_of(BITS, t)[np.isfinite(numbers_of(BITS, t))]).astype(np.float64)
        middles = [*(numbers[1:] + numbers[:-1]) / 2, numbers[-1] + (numbers[-1] - numbers[-2]) / 2]
        ends = np.concatenate([numbers, middles]).astype(np.float32)
        around = [ends, np.nextafter(ends, np.float32(np.inf)), np.nextafter(ends, np.float32(-np.inf))]
        return np.concatenate([*around, np.array([np.nan, np.inf, -np.inf, 1e30, 1e-40, -1e-40], np.float32)])


@pytest.mark.qemu
@SMALL
@pytest.mark.parametrize("name", FOREIGN)
def test_targets(t: DType, name: str):
    """All 256 values widened, and what rounds: vectors with a rest, for processors without any
    such instruction.
    """
    target = find_target(name)
    for text, x in (
        (f"op f(X: {t}[N]) -> Y: f32[N] {{ Y[i] = f32(X[i]) }}", BITS),
        (f"op f(X: f32[N]) -> Y: {t}[N] {{ Y[i] = {t}(X[i]) }}", next_to_ties(t)),
        (
            f"op f(X: f64[N]) -> Y: {t}[N] {{ Y[i] = {t}(X[i]) }}",
            next_to_ties(t).astype(np.float64) * (1 + 2.0**-45),
        ),
    ):
        op = tx.op(text)
        found = np.asarray(tx.schedule(op).auto(target.name).compile(target.name).emulate(x))
        same_numbers(found, np.asarray(tx.interpret(op, x)), op.program().outputs[0].dtype)


@SMALL
def test_elements(t: DType):
    """All pairs under +, *, /, max, a comparison and a choice."""
    op = tx.op(f"""op f(X: {t}[N], Z: {t}[N]) -> (A: {t}[N], B: {t}[N], C: {t}[N], D: {t}[N], E: bool[N], F: {t}[N]) {{
  A[i] = X[i] + Z[i]
  B[i] = X[i] * Z[i]
  C[i] = X[i] / Z[i]
  D[i] = max(X[i], Z[i])
  E[i] = X[i] < Z[i]
  F[i] = if E[i] then X[i] else Z[i]
}}""")
    x, z = np.repeat(BITS, 256), np.tile(BITS, 256)
    for found, expected, output in zip(op(x, z), tx.interpret(op, x, z), op.program().outputs):  # type: ignore[arg-type]
        same_numbers(np.asarray(found), np.asarray(expected), output.dtype)


@SMALL
def test_reductions(t: DType):
    op = tx.op(f"""op f(X: {t}[M, N]) -> (a: f32[M], b: {t}[M], c: i64[M], d: {t}[M]) {{
  a[i] = sum(j: X[i, j])
  b[i] = max(j: X[i, j])
  c[i] = argmin(j: X[i, j])
  d[i] = prod(j: X[i, j])
}}""")
    x = stored(np.random.default_rng(0).integers(-8, 9, (40, 37)) / 8, t)
    for found, expected, output in zip(op(x), tx.interpret(op, x), op.program().outputs):  # type: ignore[arg-type]
        same_numbers(np.asarray(found), np.asarray(expected), output.dtype)


@SMALL
@pytest.mark.parametrize("update", ["+=", "*=", "max=", "min="])
@pytest.mark.parametrize("lanes", [False, True])
def test_updates_round_once(t: DType, update: str, lanes: bool):
    op = tx.op(f"op f(X: {t}[N], Z: {t}[N]) -> Y: {t}[N] {{ Y[i] = Z[i]  Y[k] {update} X[k] for k in 0..N }}")
    s = tx.schedule(op)
    if lanes:
        s.vectorize("Y.1.k")
    x, z = np.repeat(BITS, 256), np.tile(BITS, 256)
    same_numbers(np.asarray(s.compile()(x, z)), np.asarray(tx.interpret(op, x, z)), t)


def test_lowest():
    """f8e4m3 has no infinity."""
    op = tx.op("op f<T: float>(X: T[N]) -> Y: T[N] { Y[i] = if i == 0 then lowest(T) else X[i] }")
    for t, lowest in ((F8E4M3, -448), (F8E5M2, -np.inf)):
        x = readable(stored([1, 2], t), t)
        assert (
            numbers_of(op(x), t).tolist()
            == numbers_of(np.asarray(tx.interpret(op, x)), t).tolist()
            == [lowest, 2]
        )


def test_it_prints_as_it_is_read():
    text = "op f(X: f8e4m3[N], Z: f8e5m2[N]) -> Y: f8e5m2[N] { Y[i] = f8e5m2(f32(X[i]) + f32(Z[i])) }"
    printed = show_program(tx.op(text).program())
    assert "f8e4m3" in printed and show_program(tx.op(printed).program()) == printed


def complaint(text: str) -> str:
    with pytest.raises(CheckError) as error:
        tx.op(text).program()
    return "\n".join(line for line in str(error.value).splitlines() if line.startswith(("error", "  help")))


def test_complaints():
    assert complaint("op f(X: f8e4m3[N]) -> Y: f8e4m3[N] { Y[i] = 500 }") == (
        "error[dtype]: 500 does not fit f8e4m3\n  help: its largest number is 448"
    )
    assert complaint("op f(X: f8e4m3[N]) -> Y: f8e4m3[N] { Y[i] = -inf }") == (
        "error[dtype]: f8e4m3 has no infinity\n  help: its largest number is 448"
    )
    assert complaint("op f(X: f8e5m2[N]) -> Y: f8e5m2[N] { Y[i] = 70000 }") == (
        "error[dtype]: 70000 does not fit f8e5m2\n  help: write inf if you mean it"
    )
    for word, usual in (("float8_e4m3fn", "f8e4m3"), ("fp8", "f8e4m3"), ("Float8E5M2", "f8e5m2")):
        assert complaint(f"op f(X: {word}[N]) -> Y: f32[N] {{ Y[i] = 0 }}").endswith(
            f"did you mean `{usual}`?"
        )


@SMALL
def test_gradients(t: DType):
    """Of the inputs' type, computed in f32, as those of bf16."""
    gradient = tx.grad(tx.op(f"op f(X: {t}[N], w: {t}[N]) -> y: f32 {{ y = sum(i: X[i] * w[i] * w[i]) }}"))
    x, w = stored([1, 2, -0.5], t), stored([0.5, 1.5, -2], t)
    dx, dw = gradient(x, w, np.float32(1))
    assert (dx.dtype, dw.dtype) == (np.uint8, np.uint8)
    np.testing.assert_array_equal(numbers_of(dx, t), numbers_of(stored([0.25, 2.25, 4], t), t))
    np.testing.assert_array_equal(numbers_of(dw, t), numbers_of(stored([1, 6, 2], t), t))


@SMALL
def test_tensors(t: DType):
    x = tx.tensor([1.0, 1.1, 3.14159, -300.0], t.name)
    assert (
        (x + 1).dtype is t
        and (x * np.ones(4, "f4")).dtype is F32
        and x.numpy().dtype.name.startswith("float8")
    )
    np.testing.assert_array_equal(
        x.numpy().astype("f4"), numbers_of(stored([1.0, 1.1, 3.14159, -300.0], t), t)
    )
    np.testing.assert_array_equal(
        (x * 0.5).astype("f64").numpy(), numbers_of(stored(x.numpy().astype("f4") / 2, t), t)
    )
    again = tx.tensor(x.numpy())
    assert again.dtype is t and again.tolist() == x.tolist()
    # NumPy has no such floats; from 2.5 on it raises BufferError.
    with pytest.raises((RuntimeError, BufferError), match="Unsupported dtype in DLTensor"):
        np.from_dlpack(x)


@pytest.mark.parametrize(
    ("a", "b", "both"),
    [
        ("f8e4m3", "f8e5m2", "f32"),
        ("f8e4m3", "f16", "f16"),
        ("f8e5m2", "bf16", "bf16"),
        ("f8e4m3", "f64", "f64"),
        ("f8e5m2", "bool", "f8e5m2"),
        ("f8e4m3", "i8", "f16"),
        ("f8e5m2", "u16", "f32"),
        ("f8e4m3", "i64", "f64"),
    ],
)
def test_promotion(a: str, b: str, both: str):
    x, y = tx.tensor([1.0], a), tx.tensor([1], b)
    assert (x * y).dtype is (y * x).dtype is DTYPES[both]


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "bfloat16"])
def test_calls_take_arrays_of_ml_dtypes(name: str):
    """Results are bits."""
    op = tx.op("op f<T: float>(X: T[N]) -> Y: T[N] { Y[i] = X[i] * X[i] }")
    x = np.array([1.5, 2, 20], getattr(ml_dtypes, name))
    t = from_numpy(x.dtype)
    assert t is not None
    for given in (x, x[::-1][::-1], np.repeat(x, 2)[::2]):
        found = op(given)
        np.testing.assert_array_equal(numbers_of(found, t), stored_numbers([2.25, 4, 400], t))
        np.testing.assert_array_equal(found, tx.interpret(op, given))
    other = tx.op("op g(X: u8[N], Z: u16[N]) -> Y: u8[N] { Y[i] = X[i] }")
    with pytest.raises(CallError, match=f"is {name}, expected uint"):
        other(x if x.itemsize == 1 else np.zeros(3, "u1"), x if x.itemsize == 2 else np.zeros(3, "u2"))


def stored_numbers(values: list[float], t: DType) -> np.ndarray:
    return numbers_of(stored(values, t), t)
