"""A target that is no part of the package: C that one can read, compiled by the system's
compiler.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from examples import c_target
from tests.compare import same_numbers
from texpr.__main__ import main
from texpr.compiler.imports import LIBRARY
from texpr.ir.dtypes import DTYPES, int_range, numpy_dtype
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.tensor import Program
from texpr.targets import find_target, register_target
from texpr.targets.registry import _added

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
ROOT = Path(__file__).parents[2]

OPS = """
op softmax<T: float>(X: T[*A:axis, D, *B]; axis = 1) -> Y: T[*A, D, *B] {
  e[*a, j, *b] = exp(X[*a, j, *b] - max(k: X[*a, k, *b]))
  Y[*a, j, *b] = e[*a, j, *b] / sum(k: e[*a, k, *b])
}
op conv2d(X: f32[N, C, H, W], F: f32[K, C, R, Q], b: f32[K]; S = 2, P = 1) -> Y: f32[N, K, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1]
  require S >= 1, R <= H + 2*P, Q <= W + 2*P {
  Y[n, k, y, x] = b[k] + sum(c, r, q: X[n, c, S*y + r - P, S*x + q - P | 0] * F[k, c, r, q])
}
op scatter(G: f32[B, D], idx: i32[B] in 0..7) -> dE: f32[7, D] { dE[v, d] = 0  dE[idx[b], d] += G[b, d] }
"""

INTEGERS = """op integers<T: int>(x: T[N], y: T[N]) -> (quotient: T[N], rest: T[N], left: T[N], right: T[N], high: T[N], more: T[N],
  large: T[N], eighth: T[N], last: T[N], size: T[N], wide: i64[N], some: bool) {
  quotient[i] = x[i] // y[i]
  rest[i] = x[i] % y[i]
  left[i] = shl(x[i], y[i])
  right[i] = shr(x[i], y[i])
  high[i] = mulhi(x[i], y[i])
  more[i] = x[i] * y[i] + x[i] - y[i]
  large[i] = max(x[i], y[i])
  eighth[i] = x[i] // 8
  last[i] = x[i] % 8
  size[i] = abs(x[i])
  wide[i] = i64(x[i])
  some = any(i: x[i] == y[i])
}"""

FLOATS = """op floats<T: float>(x: T[N], y: T[N]) -> (large: T[N], small: T[N], near: T[N], root: T[N], byte: i8[N],
  word: u64[N], half: f16[N], brain: bf16[N], odd: bool[N], total: T) {
  large[i] = max(x[i], y[i])
  small[i] = min(x[i], y[i])
  near[i] = rint(x[i] * y[i])
  root[i] = sqrt(abs(x[i])) / y[i] - -x[i]
  byte[i] = i8(x[i])
  word[i] = u64(x[i])
  half[i] = f16(x[i])
  brain[i] = bf16(x[i])
  odd[i] = isnan(x[i]) or isinf(y[i])
  total = sum(i: x[i] * y[i])
}"""


def in_c(program: Program, *arrays: np.ndarray) -> dict[str, np.ndarray]:
    found = tx.Schedule(program).auto("c").compile("c")(*arrays)
    return dict(zip((t.name for t in program.outputs), found, strict=True))


def assert_same_bits(program: Program, *arrays: np.ndarray) -> None:
    expected = interpret(program, arrays)
    for (name, found), wanted in zip(in_c(program, *arrays).items(), expected, strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg=name)
        if found.dtype.kind == "f":
            np.testing.assert_array_equal(
                np.signbit(found) & ~np.isnan(found), np.signbit(wanted) & ~np.isnan(wanted), err_msg=name
            )


def test_it_is_short():
    """What the docs say of it."""
    assert len(Path(c_target.__file__).read_text(encoding="utf-8").splitlines()) < 550


@pytest.mark.parametrize("name", ("softmax", "conv2d", "scatter"))
def test_text(name: str, golden: Callable[[str], None], tmp_path: Path):
    (tmp_path / "ops.tx").write_text(OPS)
    kernel = tx.schedule(getattr(tx.load(tmp_path / "ops.tx"), name)).auto("c").compile("c")
    golden(kernel.text.removeprefix(c_target.PROLOGUE))


@pytest.mark.parametrize("dtype", ("i8", "u16", "i32", "u32", "i64", "u64"))
def test_integers_wrap_and_divide_as_the_interpreter_has_them(dtype: str):
    t = DTYPES[dtype]
    least, most = int_range(t)
    edges = [
        least,
        least + 1,
        0,
        1,
        2,
        3,
        t.bits - 1,
        t.bits,
        most - 1,
        most,
        *([-1, -2, -7] if t.is_signed else []),
    ]
    x, y = (a.ravel() for a in np.meshgrid(np.array(edges, numpy_dtype(t)), np.array(edges, numpy_dtype(t))))
    assert_same_bits(tx.op(INTEGERS).program({"T": t}), x, y)


@pytest.mark.parametrize("dtype", ("f16", "f32", "f64"))
def test_floats_have_the_bits_of_the_interpreter(dtype: str):
    edges = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        1e-7,
        3.14159265,
        100.7,
        -128.5,
        65504.0,
        1 + 2**-8,
        1 + 2**-8 + 2**-20,
        np.inf,
        -np.inf,
        np.nan,
    ]
    x, y = (a.ravel() for a in np.meshgrid(*[np.array(edges, dtype.replace("f", "float"))] * 2))
    with np.errstate(all="ignore"):
        assert_same_bits(tx.op(FLOATS).program({"T": DTYPES[dtype]}), x, y)


def test_wide_integers_become_bf16_by_one_rounding():
    x = np.array(
        [
            0,
            1,
            -1,
            2**62 + 2**54,
            2**62 + 2**54 + 1,
            2**62 + 2**54 - 1,
            -(2**62) - 2**54 - 1,
            2**63 - 1,
            -(2**63),
        ],
        np.int64,
    )
    assert_same_bits(
        tx.op("op f(x: i64[N]) -> (y: bf16[N], z: f64[N]) { y[i] = bf16(x[i])  z[i] = f64(y[i]) }").program(),
        x,
    )


@pytest.mark.parametrize("name", ("f8e4m3", "f8e5m2"))
def test_floats_of_8_bits(name: str):
    bits = np.arange(256, dtype=np.uint8)
    op = tx.op(
        f"op f(x: {name}[N], z: f64[M], n: i64[M]) -> (y: f32[N], p: {name}[N], q: {name}[M], r: {name}[M]) "
        f"{{"
        f" y[i] = f32(x[i])  p[i] = x[i] * 1.5  q[i] = {name}(z[i])  r[i] = {name}(n[i]) }}"
    )
    ends = [
        0.0,
        -0.0,
        1e300,
        -1e300,
        np.inf,
        -np.inf,
        np.nan,
        464,
        464 + 1e-9,
        61440,
        61440 - 1e-9,
        2.0**-10,
        2.0**-10 + 1e-19,
        1.0625 - 1e-17,
    ]
    x = np.array(
        [*ends, *np.random.default_rng(0).standard_normal(300) * 10.0 ** np.arange(-150, 150).clip(-8, 6)]
    )
    whole = np.random.default_rng(1).integers(-70000, 70000, len(x))
    program = op.program()
    for t, found, wanted in zip(
        program.outputs,
        in_c(program, bits, x, whole).values(),
        interpret(program, [bits, x, whole]),
        strict=True,
    ):
        same_numbers(found, wanted, t.dtype)


def test_names_that_c_has_and_loops_that_steps_marked():
    op = tx.op(
        "op f(int: f32[N], free: f32[N]) -> static: f32[N] { static[for_] = int[for_] * exp(free[for_]) + "
        "free[for_] }"
    )
    kernel = tx.schedule(op).split("for_", 8).vectorize("for_i").parallel("for_o").compile("c")
    x = np.linspace(-1, 1, 21, dtype=np.float32)
    np.testing.assert_allclose(kernel(x, x), x * np.exp(x) + x, rtol=1e-6)
    assert "/* parallel */" in kernel.text and "int_2[" in kernel.text


def test_the_op_suite_in_part(capsys: pytest.CaptureFixture[str]):
    operators = LIBRARY / "softmax.tx"
    assert (
        main(
            [
                "bench",
                "targets",
                str(operators),
                "--load",
                str(ROOT / "examples" / "c_target.py"),
                "--targets",
                "c",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out == "target  operators  gradients\nc           5 / 5      5 / 5\n"


def test_what_c_has_not():
    kernel = tx.schedule(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }")).compile("c")
    with pytest.raises(tx.CompileError) as error:
        _ = kernel.llvm
    assert (
        str(error.value)
        == "error[target]: LLVM does not compile kernels for c\n  help: .text is what is compiled"
    )
    model = tx.nn.Linear(3, 2)
    with pytest.raises(tx.CompileError, match="a whole program for c is not one object"):
        tx.nn.export(model.eval(), "net.o", np.zeros((1, 3), np.float32), target="c")


def test_files_that_are_no_targets(capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "targets", "--load", "nowhere.py", "--targets", "c"]) == 1
    assert "nowhere.py is no Python file" in capsys.readouterr().err


def test_registered_targets_are_found_and_do_not_replace_others():
    assert find_target("c").machine == c_target.MACHINE
    before = list(_added)
    register_target(lambda name: find_target("c") if name in ("c2", "armv7") else None)
    try:
        assert find_target("c2").name == "c" and find_target("armv7").name == "armv7"
    finally:
        _added[:] = before
        find_target.cache_clear()
    with pytest.raises(tx.CompileError, match="there is no target 'c2'"):
        find_target("c2")
