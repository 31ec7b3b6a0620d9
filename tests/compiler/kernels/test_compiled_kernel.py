"""Kernels as users hold them: symbolic sizes, code to read, object files for C, vectors and
threads that are real.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.compiler.operators import operators
from tests.properties.compiler.test_values import numbers
from tests.strategies import LAYOUTS

OPS = operators()


@pytest.mark.parametrize("known", [{}, {"K": 17}, {"M": 3, "N": 33}, {"M": 3, "K": 17, "N": 33}])
@pytest.mark.parametrize("auto", [False, True])
def test_sizes_may_stay_symbolic(known, auto):
    s = tx.schedule(OPS["matmul"], T="f64", **known)
    kernel = (s.auto() if auto else s).compile()
    assert {v.name for v in kernel.kernel.sizes} == {"M", "N", "K"} - known.keys()
    for shape in ((3, 17, 33), (1, 17, 1), (0, 17, 5), (5, 17, 0), (8, 16, 16)):
        m, k, n = (known.get(name, extent) for name, extent in zip("MKN", shape))
        a, b = numbers("f8", (m, k)), numbers("f8", (k, n), 1)
        np.testing.assert_array_equal(kernel(a, b), a @ b)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_symbolic_packs_of_any_layout(layout):
    change = LAYOUTS[layout]
    kernel = tx.schedule(OPS["softmax"], axis=1).auto().compile()
    for shape in ((3, 17), (3, 17, 2), (1, 5, 2, 2), (2, 1)):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        expected = tx.interpret(OPS["softmax"], x, axis=1)
        np.testing.assert_allclose(kernel(change(x)), expected, rtol=1e-5)
        out = np.zeros(shape, np.float32)
        assert kernel(change(x), out=out) is out
        np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_symbolic_groups():
    flatten, back = (
        tx.schedule(OPS["flatten"]).auto().compile(),
        tx.schedule(OPS["unflatten"]).auto().compile(),
    )
    x = numbers("f4", (2, 3, 5))
    np.testing.assert_array_equal(flatten(x), x.reshape(2, 15))
    y = numbers("f4", (3, 10))
    np.testing.assert_array_equal(back(y), y.reshape(3, 5, 2))


def test_kernels_without_an_optional_input():
    convolve = tx.op(
        "op conv(X: f32[N, W], F: f32[Q], b: f32[N] = 2) -> Y: f32[N, W - Q + 1] require Q <= W {\n"
        "  Y[n, i] = sum(q: X[n, i + q] * F[q]) + b[n] }"
    )
    x, f, b = numbers("f4", (3, 9)), numbers("f4", (2,)), numbers("f4", (3,))
    windows = np.lib.stride_tricks.sliding_window_view(x, 2, axis=1) @ f
    without, given = tx.schedule(convolve, b=None, Q=2), tx.schedule(convolve, Q=2)
    np.testing.assert_array_equal(without.split("i", 4).vectorize("ii").compile()(x, f), windows + 2)
    np.testing.assert_array_equal(
        given.split("i", 4).vectorize("ii").compile()(x, f, b), windows + b[:, None]
    )


@pytest.mark.parametrize(
    "given, message",
    [
        ({"B": None}, "error[arguments]: matmul: `B` has no default, so it cannot be None"),
        (
            {"B": 3},
            "error[arguments]: matmul: `B` is an input, which a schedule does not have\n  help: B=None "
            "leaves an optional one out",
        ),
    ],
)
def test_schedules_take_no_inputs(given, message):
    with pytest.raises(tx.CallError) as error:
        tx.schedule(OPS["matmul"], **given)
    assert str(error.value) == message


COMPLAINTS = {
    "compiled for other sizes": (
        lambda k: k(numbers("f4", (4, 4)), numbers("f4", (4, 4))),
        "error[shape]: matmul was compiled for K = 3, and K = 4 here\n  help: leave K out of "
        "tx.schedule(...) to keep it symbolic",
    ),
    "too few": (
        lambda k: k(numbers("f4", (4, 3))),
        "error[arguments]: matmul takes 2 arrays (A, B), 1 were given\n"
        "  help: where B has a default, tx.schedule(op, B=None) makes a kernel without it",
    ),
    "other shapes": (
        lambda k: k(numbers("f4", (4, 3)), numbers("f4", (2, 4))),
        "error[shape]: axis 0 of `B` has extent 2, expected K = 3",
    ),
    "other rank": (
        lambda k: k(numbers("f4", (4, 3)), numbers("f4", (3,))),
        "error[rank]: `B` has 1 dimension, expected 2",
    ),
    "other dtype": (
        lambda k: k(numbers("f8", (4, 3)), numbers("f4", (3, 4))),
        "error[dtype]: `A` is float64, expected float32\n  help: use A.astype(np.float32)",
    ),
    "out of another shape": (
        lambda k: k(numbers("f4", (4, 3)), numbers("f4", (3, 5)), out=np.zeros((5, 4), np.float32)),
        "error[shape]: axis 0 of `C` has extent 5, expected M = 4 (axis 0 of `A`)",
    ),
    "no such target": (
        lambda k: tx.schedule(OPS["matmul"]).compile("vax"),
        "error[target]: there is no target 'vax'\n    targets: ",
    ),
    "ptx": (
        lambda k: k.ptx,
        "error[target]: native has no PTX\n  help: compile for a GPU target; .asm is the assembly",
    ),
    "foreign": (
        lambda k: tx.schedule(OPS["relu"]).compile("aarch64")(numbers("f4", (3,))),
        "error[target]: code for aarch64 does not run in this process\n"
        "  help: kernel.emulate(...) runs it in an emulator; kernel.save(...) writes it to a file",
    ),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaints(name):
    call, message = COMPLAINTS[name]
    kernel = tx.schedule(OPS["matmul"], K=3).compile()
    with pytest.raises(tx.Error) as error:
        call(kernel)
    assert str(error.value).startswith(message)


def test_outputs_of_symbolic_packs_are_checked():
    kernel = tx.schedule(OPS["relu"]).compile()
    x = numbers("f4", (3, 5))
    for out in (
        np.zeros((5, 3), np.float32),
        np.zeros((3, 5)),
        np.zeros(15, np.float32),
        np.broadcast_to(np.float32(0), (3, 5)),
        [0],
    ):
        with pytest.raises(tx.CallError):
            kernel(x, out=out)
    shifted = np.zeros((2, 3, 5), np.float32)
    shifted[0] = x
    out = shifted.reshape(-1)[3:18].reshape(3, 5)
    np.testing.assert_array_equal(kernel(shifted[0], out=out), np.maximum(x, 0))


def test_value_ranges_of_symbolic_kernels_are_checked():
    for name, options in (("embed", {}), ("window", {"L": 3})):
        kernel = tx.schedule(OPS[name], **options).compile()
        x = numbers("f4", (5, 4)) if name == "embed" else numbers("f4", (9,))
        wrong = np.array([[0, 1], [9, 2]], np.int32) if name == "embed" else 7
        with pytest.raises(tx.CallError, match="expected a value in 0"):
            kernel(x, wrong)


def test_code_to_read():
    kernel = tx.schedule(OPS["matmul"], M=64, N=64, K=64).auto().compile()
    assert "define" in kernel.llvm and "@texpr_matmul" in kernel.llvm
    assert "texpr_matmul:" in kernel.asm
    assert str(kernel).startswith("kernel matmul(A: f32[64, 64], B: f32[64, 64]) -> (C: f32[64, 64])")
    assert repr(kernel) == "<kernel matmul for native>"


@pytest.mark.parametrize(
    "target, vector",
    [
        ("x86-64-v3", r"v(fmadd|mulps|addps)\w*\s+.*ymm"),
        ("x86-64-v4", r"v(fmadd|mulps|addps)\w*\s+.*zmm"),
        ("x86-64", r"(mulps|addps)\s+.*xmm"),
        ("aarch64", r"(fmla|fadd|fmul)\s+v\d+\.4s"),
    ],
)
@pytest.mark.parametrize("name", ["matmul", "rows", "add"])
def test_vectors_are_real(name, target, vector):
    asm = (
        tx.schedule(OPS[name], **({"M": 64, "N": 64, "K": 64} if name == "matmul" else {}))
        .auto(target)
        .compile(target)
        .asm
    )
    assert re.search(vector, asm), asm


def test_a_vectorized_loop_has_no_scalar_arithmetic():
    s = (
        tx.schedule(tx.op("op axpy(X: f32[1024], Y: f32[1024]) -> Z: f32[1024] { Z[i] = X[i] * 2 + Y[i] }"))
        .split("i", 16)
        .vectorize("ii")
    )
    asm = s.compile("x86-64-v3").asm
    assert re.search(r"ymm", asm) and not re.search(r"\bv?(mul|add)ss\b", asm)


C_PROGRAM = """
#include <stdio.h>
#include "kernel.h"
int main(void) {
  float a[3 * 4], b[4 * 5], c[3 * 5];
  for (int i = 0; i < 12; i++) a[i] = i;
  for (int i = 0; i < 20; i++) b[i] = i % 7;
  SIZES
  int32_t status = texpr_NAME(slots);
  for (int i = 0; i < 15; i++) printf("%g ", c[i]);
  return status;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
@pytest.mark.parametrize("name", ["matmul", "malloc"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_saved_objects_run_without_texpr(symbolic, name, tmp_path: Path):
    op = (
        OPS["matmul"]
        if name == "matmul"
        else tx.op(
            "op malloc(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { T[i, j] = sum(k: A[i, k] * B[k, j])  "
            "C[i, j] = T[i, j] }"
        )
    )
    s = tx.schedule(op, **({} if symbolic else {"M": 3, "K": 4, "N": 5}))
    if name == "matmul":
        s.auto()
    kernel = s.compile()
    kernel.save(tmp_path / "kernel.o", header=tmp_path / "kernel.h")
    order = [v.name for v in kernel.kernel.sizes]
    values = {"M": 3, "K": 4, "N": 5}
    slots = ", ".join(["a", "b", "c", *(f"(void*){values[v]}L" for v in order)])
    source = C_PROGRAM.replace("SIZES", f"void *slots[] = {{{slots}}};").replace("NAME", name)
    (tmp_path / "main.c").write_text(source)
    subprocess.run(
        ["gcc", "-Wall", "-Werror", "main.c", "kernel.o", "-o", "main", "-lm"],
        cwd=tmp_path,
        check=True,
        timeout=60,
    )
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, timeout=10)
    a, b = np.arange(12, dtype=np.float32).reshape(3, 4), (np.arange(20) % 7).astype(np.float32).reshape(4, 5)
    assert done.returncode == 0
    np.testing.assert_array_equal(np.array(done.stdout.split(), float), (a @ b).ravel())


def test_headers(golden, tmp_path: Path):
    kernel = tx.schedule(OPS["embed"], T="bool").compile()
    kernel.save(tmp_path / "embed.o", header=tmp_path / "embed.h")
    golden(
        re.sub(
            r"which was \S+ of \S+\.$",
            "which was this machine.",
            (tmp_path / "embed.h").read_text(),
            flags=re.MULTILINE,
        )
    )


def test_saving_nowhere(tmp_path: Path):
    kernel = tx.schedule(OPS["relu"]).compile()
    with pytest.raises(OSError):
        kernel.save(tmp_path / "no" / "such" / "relu.o")
    assert not list(tmp_path.iterdir())


def test_the_certificate_of_auto_is_in_its_listing():
    text = str(tx.schedule(OPS["matmul"], M=512, N=512, K=512).auto())
    assert "parallel  # proven independent" in text and "vector  # proven independent" in text


def test_schedules_that_users_write():
    s = tx.schedule(OPS["conv1d"], N=2, C=3, W=33, K=8, Q=3, P=1)
    s.split("k", 4).reorder("n", "ko", "x", "c", "q", "ki").unroll("q").vectorize("ki").parallel(
        "n"
    ).contract()
    kernel = s.compile()
    x, f = numbers("f4", (2, 3, 33)), numbers("f4", (8, 3, 3), 1)
    np.testing.assert_array_equal(kernel(x, f), OPS["conv1d"](x, f, P=1))
    again = tx.schedule(OPS["conv1d"], N=2, C=3, W=33, K=8, Q=3, P=1).replay(s.script())
    assert str(again) == str(s)


@pytest.mark.parametrize(
    "text, options, expected",
    [
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }", {"N": 16}, "trivial"),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }", {"N": 30_000}, "short"),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }", {}, "interruptible"),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }", {"N": 10_000_000}, "interruptible"),
    ],
)
def test_only_long_kernels_look_for_control_c(text, options, expected):
    assert tx.schedule(tx.op(text), **options).compile().native.built.duration == expected
