"""Kernels in files: what C and C++ programs compute with them is what Python does, bit for bit."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.aot.programs import needs_gcc, run
from texpr.aot import find_tool
from texpr.runtime.process import qemu
from texpr.targets import target_names

softmax = tx.op("""op softmax(X: f32[N, D]) -> Y: f32[N, D] {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}""")
words = tx.op("""op words(int: f32[V, D], class: i32[N] in 0..V, NULL: f16[N]) -> (slots: f32[N, D], double: bool[N]) require V > 0 {
  slots[n, d] = int[class[n], d]
  double[n] = NULL[n] > 0.5
}""")
place = tx.op("op place(X: bf16[N], p: i32[N] in 0..N distinct) -> Y: bf16[N] { Y[p[i]] = X[i] }")
X = np.random.default_rng(0).standard_normal((5, 37), dtype=np.float32)


@needs_gcc
@pytest.mark.parametrize("compiler", ["gcc", "g++"])
@pytest.mark.parametrize("code", ["code.o", "code.a", "./code.so", "code.s"])
def test_programs_compute_the_same_bits(code: str, compiler: str, tmp_path: Path):
    kernel = tx.schedule(softmax, D=37).auto().compile()
    kernel.save(tmp_path / code, header=tmp_path / "code.h")
    link = "code.s" if code == "code.s" else code
    if code == "code.s":
        subprocess.run(["gcc", "-c", "code.s", "-o", "assembled.o"], cwd=tmp_path, check=True, timeout=60)
        link = "assembled.o"
    (computed,) = run(
        tmp_path, "softmax", link, "code.h", [(X, False), (np.zeros_like(X), True)], [5], compiler=compiler
    )
    np.testing.assert_array_equal(computed, kernel(X))


@needs_gcc
@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_names_that_are_words_in_c(compiler: str, tmp_path: Path):
    table, index, half = (
        np.arange(12, dtype=np.float32).reshape(4, 3),
        np.array([3, 0], np.int32),
        np.array([0.25, 0.75], np.float16),
    )
    kernel = tx.schedule(words).auto().compile()
    kernel.save(tmp_path / "code.o", header=tmp_path / "code.h")
    results = (np.zeros((2, 3), np.float32), True), (np.zeros(2, bool), True)
    arrays = [(table, False), (index, False), (half.view(np.uint16), False), *results]
    order = [{"V": 4, "D": 3, "N": 2}[v.name] for v in kernel.kernel.sizes]
    for computed, expected in zip(
        run(tmp_path, "words", "code.o", "code.h", arrays, order, compiler=compiler),
        kernel(table, index, half),
    ):
        np.testing.assert_array_equal(computed, expected)


TAKEN = (
    "int int_ int__ errno NAN INT64_MAX int64_t uint64_t I linux DBL_MAX M_PI EINVAL SIGINT EXIT_FAILURE "
    "complex stdin BUFSIZ "
    "__x86_64__ size_t slots texpr_f texpr_f_call"
).split()


@needs_gcc
@pytest.mark.parametrize(
    "flags",
    [
        ("gcc", "-std=c99", "-x", "c"),
        ("gcc", "-std=gnu17", "-x", "c"),
        ("g++", "-std=c++11", "-x", "c++"),
        ("g++", "-std=gnu++20", "-x", "c++"),
    ],
    ids="{0[1]}".format,
)
def test_names_of_macros_and_types(flags: tuple[str, ...], tmp_path: Path):
    """Behind all headers that a program may include; different names stay different; and a
    header may be included twice.
    """
    tensors = ", ".join(f"{name}: f32[EOF]" for name in TAKEN)
    kernel = tx.schedule(
        tx.op(f"op f({tensors}) -> BUF: f32[EOF] {{ BUF[i] = {' + '.join(f'{n}[i]' for n in TAKEN)} }}")
    ).compile()
    kernel.save(tmp_path / "f.o", header=tmp_path / "f.h")
    numbers = ", ".join(f"x + {k}" for k in range(len(TAKEN)))
    headers = "assert complex errno float limits locale math signal stdio stdlib time unistd".split()
    if flags[0] == "g++":
        headers.remove("complex")  # the one of C; C++ has its own, without these macros
    (tmp_path / "main.source").write_text(
        "".join(f"#include <{h}.h>\n" for h in headers)
        + '#include "f.h"\n#include "f.h"\n'
        + f"""
static float x[{len(TAKEN)}], y[1];
int main(void) {{
  for (int k = 0; k < {len(TAKEN)}; k++) x[k] = (float)k;
  return texpr_f_call({numbers}, y, 1) || y[0] != {sum(range(len(TAKEN)))};
}}"""
    )
    command = [*flags, "-Wall", "-Wextra", "-Werror", "main.source", "-x", "none", "f.o", "-o", "main"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert built.returncode == 0, built.stderr
    assert subprocess.run(["./main"], cwd=tmp_path, timeout=60).returncode == 0


@needs_gcc
def test_several_kernels_in_one_program(tmp_path: Path):
    """One operator twice, and one whose name differs by case alone."""
    doubled = "op {}(X: f32[N]) -> Y: f32[N] {{ Y[i] = {} * X[i] }}"
    tx.schedule(tx.op(doubled.format("f", 2)), N=1).compile().save(
        tmp_path / "one.o", header=tmp_path / "one.h", name="f_of_1"
    )
    tx.schedule(tx.op(doubled.format("f", 2))).compile().save(tmp_path / "any.o", header=tmp_path / "any.h")
    tx.schedule(tx.op(doubled.format("F", 3))).compile().save(
        tmp_path / "large.o", header=tmp_path / "large.h"
    )
    (tmp_path / "main.c").write_text("""
#include "one.h"
#include "any.h"
#include "large.h"
static float x[1] = {1}, a[1], b[1], c[1];
int main(void) {
  if (texpr_f_of_1_call(x, a) || texpr_f_call(x, b, 1) || texpr_F_call(x, c, 1)) return 1;
  return a[0] != 2 || b[0] != 2 || c[0] != 3;
}""")
    built = subprocess.run(
        ["gcc", "-Wall", "-Werror", "main.c", "one.o", "any.o", "large.o", "-o", "main"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert built.returncode == 0, built.stderr
    assert subprocess.run(["./main"], cwd=tmp_path, timeout=60).returncode == 0


@pytest.mark.parametrize("name", ["a b", "1st", "größe", "x;y", 3])
def test_names_that_c_does_not_take(name: str, tmp_path: Path):
    with pytest.raises(tx.CompileError) as e:
        tx.schedule(softmax).compile("x86-64-v3").save(tmp_path / "code.o", name=name)
    assert (
        str(e.value)
        == f"error[save]: {name!r} is not a name for a function of C\n  help: letters, digits and underscores"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name, operator, sizes",
    [
        ("symbolic", softmax, {}),
        ("constant", softmax, {"N": 5, "D": 37}),
        ("words", words, {}),
        ("distinct", place, {}),
    ],
)
def test_headers(name: str, operator: tx.Op, sizes: dict[str, int], golden, tmp_path: Path):
    kernel = tx.schedule(operator, **sizes).compile("x86-64-v3")
    kernel.save(tmp_path / "code.o", header=tmp_path / "code.h")
    golden((tmp_path / "code.h").read_text())


def test_archives_have_an_index_and_are_always_the_same(tmp_path: Path):
    kernel = tx.schedule(softmax, D=37).compile("x86-64-v3")
    for name in ("one.a", "two.a"):
        kernel.save(tmp_path / name)
    assert (tmp_path / "one.a").read_bytes() == (tmp_path / "two.a").read_bytes()
    listed = subprocess.run(["ar", "t", "one.a"], cwd=tmp_path, capture_output=True, text=True, check=True)
    indexed = subprocess.run(["nm", "-s", "one.a"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert listed.stdout == "texpr.o\n" and "texpr_softmax in texpr.o" in indexed.stdout
    extracted = subprocess.run(["ar", "p", "one.a", "texpr.o"], cwd=tmp_path, capture_output=True, check=True)
    kernel.save(tmp_path / "one.o")
    assert extracted.stdout == (tmp_path / "one.o").read_bytes()


@needs_gcc
def test_shared_libraries_show_one_symbol(tmp_path: Path):
    tx.schedule(softmax, D=37).auto().compile().save(tmp_path / "code.so")
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", "code.so"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [line.split()[-1] for line in shown.stdout.splitlines()] == ["texpr_softmax"]
    dynamic = subprocess.run(
        ["readelf", "-d", "-l", "code.so"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "TEXTREL" not in dynamic and "RWE" not in dynamic


def test_text_forms(tmp_path: Path):
    kernel = tx.schedule(softmax).compile("x86-64-v3")
    kernel.save(tmp_path / "code.ll")
    assert re.search(r"define .*i32 @texpr_softmax\(ptr", (tmp_path / "code.ll").read_text())
    gpu = tx.schedule(softmax).auto("sm_80").compile("sm_80")
    gpu.save(tmp_path / "code.ptx")
    ptx = (tmp_path / "code.ptx").read_text()
    launches = re.findall(
        r"^// launch (texpr_softmax_\d): grid \(.*N.*, 1, 1\), block \(\d+, \d+, 1\)$", ptx, re.MULTILINE
    )
    assert launches == re.findall(r"\.visible \.entry (\w+)\(", ptx)


@pytest.mark.parametrize(
    "target, name, said",
    [
        (
            "x86-64-v3",
            "code.obj",
            "error[save]: code for x86-64-v3 is not saved as `code.obj`\n"
            "  help: give the file a name that ends with .o, .a, .so, .s, .ll",
        ),
        (
            "x86-64-v3",
            "code",
            "error[save]: code for x86-64-v3 is not saved as `code`\n"
            "  help: give the file a name that ends with .o, .a, .so, .s, .ll",
        ),
        (
            "sm_80",
            "code.o",
            "error[save]: code for sm_80 is not saved as `code.o`\n"
            "  help: give the file a name that ends with .ptx, .cubin, .ll",
        ),
    ],
)
def test_other_suffixes(target: str, name: str, said: str, tmp_path: Path):
    kernel = tx.schedule(softmax).auto(target).compile(target)
    with pytest.raises(tx.CompileError) as e:
        kernel.save(tmp_path / name)
    assert str(e.value) == said and not list(tmp_path.iterdir())


def test_no_header_for_a_gpu(tmp_path: Path):
    with pytest.raises(tx.CompileError) as e:
        tx.schedule(softmax).auto("sm_80").compile("sm_80").save(
            tmp_path / "code.ptx", header=tmp_path / "code.h"
        )
    assert str(e.value) == (
        "error[save]: code for sm_80 is launched by a driver: there is no C header for it\n  help: leave "
        "header out"
    )
    assert not list(tmp_path.iterdir())


def test_tools_that_are_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    kernel, gpu = tx.schedule(softmax).compile("aarch64"), tx.schedule(softmax).auto("sm_80").compile("sm_80")
    kernel.save(tmp_path / "code.o")
    gpu.save(tmp_path / "code.ptx")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("texpr.aot.nvidia_tools.find_spec", lambda name: None)
    with pytest.raises(tx.ResourceError) as e:
        kernel.save(tmp_path / "code.so")
    assert str(e.value) == (
        "error[save]: no C compiler for aarch64 is installed; it links shared libraries\n"
        "  help: on Debian: apt install qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross; or save a .o "
        "or a .a, "
        "which need none"
    )
    with pytest.raises(tx.ResourceError) as e:
        gpu.save(tmp_path / "code.cubin")
    assert (
        str(e.value)
        == "error[save]: ptxas is not installed; it assembles PTX\n  help: pip install nvidia-cuda-nvcc, or "
        "save a .ptx"
    )


@pytest.mark.parametrize("package", ["cu13", "cuda_nvcc"])
def test_ptxas_of_a_package(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Packages of PyPI put nothing on the path; what is there comes first."""
    assembler = """#!/bin/sh
case $1 in -arch=sm_70) echo "ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'" >&2; exit 1;; esac
while [ "$1" != -o ]; do shift; done
echo made > $2
"""
    for folder in (tmp_path / "nvidia" / package / "bin", tmp_path / "path"):
        folder.mkdir(parents=True)
        (folder / "ptxas").write_text(assembler)
        (folder / "ptxas").chmod(0o755)
    (tmp_path / "nvidia" / "file").touch()
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    assert find_tool("ptxas") == str(tmp_path / "nvidia" / package / "bin" / "ptxas")
    tx.schedule(softmax).auto("sm_80").compile("sm_80").save(tmp_path / "code.cubin")
    assert (tmp_path / "code.cubin").read_text() == "made\n"
    with pytest.raises(tx.CompileError) as e:
        tx.schedule(softmax).auto("sm_70").compile("sm_70").save(tmp_path / "old.cubin")
    assert str(e.value) == (
        "error[link]: ptxas failed: ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'\n"
        "  help: this ptxas has no sm_70; one of CUDA 12 knows sm_50 to sm_120: pip install "
        "nvidia-cuda-nvcc-cu12"
    )
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert find_tool("ptxas") == str(tmp_path / "path" / "ptxas")


def test_a_failure_leaves_what_was_there(tmp_path: Path):
    kernel = tx.schedule(softmax).compile("x86-64-v3")
    (tmp_path / "code.o").write_bytes(b"before")
    with pytest.raises(OSError):
        kernel.save(tmp_path / "no" / "code.o")
    with pytest.raises(OSError):
        kernel.save(tmp_path / "code.o", header=tmp_path / "no" / "code.h")
    with pytest.raises(OSError):
        kernel.save(tmp_path / "code.o", header=tmp_path)
    with pytest.raises(tx.CompileError):
        kernel.save(tmp_path / "code.o.txt")
    with pytest.raises(tx.CompileError) as e:
        kernel.save(tmp_path / "code.o", header=tmp_path / "." / "code.o")
    assert (
        str(e.value)
        == "error[save]: code and its header cannot both be `code.o`\n  help: name the header code.h, say"
    )
    assert (tmp_path / "code.o").read_bytes() == b"before" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(find_tool("ptxas") is None, reason="ptxas is not installed: pip install nvidia-cuda-nvcc")
def test_cubins(tmp_path: Path):
    tx.schedule(softmax).auto("sm_80").compile("sm_80").save(tmp_path / "code.cubin")
    assert (tmp_path / "code.cubin").read_bytes().startswith(b"\x7fELF")


@needs_gcc
def test_floats_of_8_bits_are_bytes(tmp_path: Path):
    cut = tx.op(
        "op cut(X: f32[N]) -> (Y: f8e4m3[N], Z: f8e5m2[N]) { Y[i] = f8e4m3(X[i])  Z[i] = f8e5m2(X[i]) }"
    )
    kernel = tx.schedule(cut).auto().compile()
    kernel.save(tmp_path / "code.o", header=tmp_path / "code.h")
    header = (tmp_path / "code.h").read_text()
    assert "uint8_t" in header and "the bits of f8e4m3" in header and "the bits of f8e5m2" in header
    x = np.append(100 * X.ravel(), [np.nan, np.inf, 464, 1e-3]).astype(np.float32)
    arrays = [(x, False), (np.zeros(x.shape, np.uint8), True), (np.zeros(x.shape, np.uint8), True)]
    for computed, expected in zip(run(tmp_path, "cut", "code.o", "code.h", arrays, [len(x)]), kernel(x)):
        np.testing.assert_array_equal(computed, expected)


@pytest.mark.qemu
@pytest.mark.parametrize(
    "target", [name for name in target_names() if name.startswith(("aarch64", "a64fx", "armv7"))]
)
def test_assembly_says_what_it_needs(target: str, tmp_path: Path):
    """An assembler that is told nothing takes it; products of bytes and of bf16 are among the
    instructions where the target has them.
    """
    product = tx.op(
        "op f(A: i8[M, K], B: i8[N, K]) -> C: i32[M, N] { C[i, j] = sum(k: i32(A[i, k]) * i32(B[j, k])) }"
    )
    compiler = qemu.PROCESSORS["armv7" if target == "armv7" else "aarch64"].compiler
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    for op, sizes in ((softmax, {"D": 37}), (product, {"M": 64, "N": 64, "K": 64})):
        tx.schedule(op, **sizes).auto(target).compile(target).save(tmp_path / "code.s")
        built = subprocess.run(
            [compiler, "-c", "code.s", "-o", "code.o"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert built.returncode == 0, built.stderr
