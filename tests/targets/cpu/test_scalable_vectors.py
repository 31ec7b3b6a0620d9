"""Registers of any length: one object, run with several, gives what the interpreter gives; the
code has what SVE is for.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from bench.inner.assembly import inner_loops, on_stack
from tests.targets.cases import assert_close
from texpr.compiler import pass_pipeline
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.shapes import bind_sizes
from texpr.runtime.process import qemu
from texpr.support.errors import CompileError, ScheduleError
from texpr.targets import compile_kernel, find_target, symbol_of

needs_qemu = pytest.mark.skipif(bool(qemu.missing_tool()), reason=f"{qemu.missing_tool()} is not installed")
SVE = find_target("aarch64+sve")
PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
TILES = """contract()
split("i", 8, tail="peel")
cache_write("C", "io")
reorder("io", "j", "k", "ii")
unroll("ii")
vectorize_scalable("j", 2)"""
ADD = "op add(A: f32[N], B: f32[N]) -> C: f32[N] { C[i] = A[i] + B[i] }"
DOT = "op dot(A: f32[N], B: f32[N]) -> s: f32 { s = sum(i: A[i] * B[i]) }"
ALONG = 'contract()\nvectorize_scalable("i", 4, reassoc=True)'
BOX = """op box(X: f32[H, W]) -> Y: f32[H, W] {
  T[y, x] = X[y, x - 1 | 0] + X[y, x]
  Y[y, x] = T[y, x] * sum(r in 0..3: T[r, x | 0]) }"""

CASES = {
    "elements": (ADD, 'vectorize_scalable("i")', ["f4 37", "f4 37"]),
    "backwards": (
        "op back(A: f64[N]) -> C: f64[N] { C[i] = A[N - 1 - i] }",
        'vectorize_scalable("i", 2)',
        ["f8 37"],
    ),
    "gathers": (
        "op gathered(A: f32[N], I: i32[M] in 0..N) -> C: f32[M] { C[i] = A[I[i]] + A[(2*i) % N] }",
        'vectorize_scalable("i", 2)',
        ["f4 60", "i4 50"],
    ),
    "scatters": (
        "op scattered(A: f32[N], I: i32[N] in 0..64) -> C: f32[64] { C[v] = 0  C[I[i]] max= A[i] }",
        None,
        ["f4 60", "i4 60"],
    ),
    "conditions": (
        "op some(A: f32[N, N]) -> C: f32[N, N] {"
        "  C[i, j] = if j <= i and 3 <= j then A[i, j] else if 2*j > i then exp(A[i, j]) else 1 }",
        'vectorize_scalable("j", 4)',
        ["f4 37x37"],
    ),
    "triangles": (
        "op prefix(A: f32[N, N]) -> C: f32[N] { C[j] = sum(k in 0..j: A[j, k] + 1) }",
        'vectorize_scalable("j", 2)',
        ["f4 37x37"],
    ),
    "a sum of lanes": (DOT, ALONG, ["f4 137", "f4 137"]),
    "a sum of bytes": (
        "op dot(A: i8[N], B: i8[N]) -> s: i32 { s = sum(i: i32(A[i]) * i32(B[i])) }",
        'vectorize_scalable("i", 4)',
        ["i1 137", "i1 137"],
    ),
    "extremes": (
        "op most(A: f64[M, N]) -> (s: f64[M], t: bool) { s[i] = max(j: -abs(A[i, j]))  t = any(j: A[0, j] > "
        "9) }",
        'vectorize_scalable("s.j", 2)\nvectorize_scalable("t.j")',
        ["f8 3x45"],
    ),
    "short numbers": (
        "op mixed(A: u8[N], H: f16[N], B: bf16[N]) -> (C: i64[N], D: f16[N], E: bf16[N], F: bool[N]) {"
        "  C[i] = i64(A[i]) // 3 - i64(A[i]) % 7"
        "  D[i] = H[i] * f16(A[i])  E[i] = bf16(f32(B[i]) + f32(H[i]))  F[i] = A[i] > 40 }",
        "\n".join(f'vectorize_scalable("{t}.i", {n})' for t, n in zip("CDEF", (1, 1, 2, 4))),
        ["u1 43", "f2 43", "b2 43"],
    ),
    "a product": (PRODUCT, TILES, ["f4 17x33", "f4 33x45"]),
    "own values": (BOX, 'compute_at("T", "Y.x", recompute=True)\nvectorize_scalable("Y.x", 2)', ["f4 5x37"]),
}


def arrays(described: list[str]) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for kind, shape in (d.split() for d in described):
        sizes = [int(n) for n in shape.split("x")]
        if kind[0] in "iu":
            found.append(generator.integers(0, 50, sizes).astype(kind))
        else:
            values = generator.standard_normal(sizes)
            found.append(
                (values.astype("f4").view("u4") >> 16).astype("u2") if kind[0] == "b" else values.astype(kind)
            )
    return found


def emulated(
    op: tx.Op,
    script: str | None,
    given: list[np.ndarray],
    lengths: tuple[int, ...],
    target: str = "aarch64+sve",
):
    """What one object computes on processors whose registers have so many bytes."""
    schedule = tx.schedule(op)
    schedule = schedule.auto(target) if script is None else schedule.replay(script)
    pass_pipeline.certificate(schedule.kernel, schedule.program, {})
    kernel = pass_pipeline.prepared(schedule.kernel, find_target(target))
    code = compile_kernel(kernel, find_target(target), alone=True).object_code
    sizes = {v.name: n for v, n in bind_sizes(schedule.program.inputs, [a.shape for a in given])[0].items()}
    for length in lengths:
        outputs = [np.full_like(a, 7) for a in interpret(schedule.program, given)]
        qemu.run(
            code,
            symbol_of(kernel.name),
            given,
            outputs,
            [sizes[v.name] for v in kernel.sizes],
            cpu=f"max,sve-default-vector-length={length}",
        )
        yield outputs


@pytest.mark.qemu
@needs_qemu
@pytest.mark.parametrize("name", CASES)
def test_one_object_for_all_lengths(name: str):
    text, script, described = CASES[name]
    op, given = tx.op(text), arrays(described)
    expected = interpret(op.program(), given)
    for found in emulated(op, script, given, (16, 64) if name != "a product" else (16, 32, 64, 256)):
        assert_close(found, expected)


def assembly(text: str, script: str) -> str:
    return tx.schedule(tx.op(text)).replay(script).compile("aarch64+sve").asm


def test_elements_are_loaded_by_predicates():
    (loop,) = inner_loops(assembly(ADD, 'vectorize_scalable("i")'))
    assert [n.split()[0] for n in loop] == ["whilelo", "ld1w", "ld1w", "fadd", "st1w", "add", "cmp", "b.lt"]


def test_sums_of_tiles_stay_in_registers():
    """16 products of a tile of 8 rows by two registers: no sum is loaded, stored or put on the
    stack in the loop over terms.
    """
    loop = max(inner_loops(assembly(PRODUCT, TILES)), key=lambda n: sum(i.startswith("fmla") for i in n))
    assert sum(bool(re.match(r"fmla\tz\d+\.s", n)) for n in loop) == 16 and not on_stack(loop), loop
    assert (
        not any(n.startswith(("st", "whilelo")) for n in loop)
        and sum(n.startswith("ld1w") for n in loop) == 2
    )


def test_lanes_are_added_after_the_loop():
    text = assembly(DOT, ALONG)
    (loop,) = inner_loops(text)
    assert (
        sum(n.startswith("fmla") for n in loop) == 4
        and not on_stack(loop)
        and "faddv" in text
        and "faddv" not in " ".join(loop)
    )


@pytest.mark.parametrize(
    "script, message",
    (
        ('vectorize_scalable("i", 3)', "error[vectorize]: 3 is not 1, 2 or 4 registers"),
        ('vectorize_scalable("i", reassoc=1)', "error[vectorize]: `reassoc` is True or False, not 1"),
        (
            'vectorize_scalable("i")',
            "error[exact]: lanes of `i` would add the terms of s_acc in another order",
        ),
    ),
)
def test_refused(script: str, message: str):
    with pytest.raises(ScheduleError) as error:
        tx.schedule(tx.op(DOT)).replay(script)
    assert str(error.value).startswith(message + "\n"), error.value


def test_iterations_that_need_each_other():
    op = tx.op("op running(A: f32[N]) -> S: f32[N] { S[0] = A[0]  S[i] = S[i - 1] + A[i] for i in 1..N }")
    with pytest.raises(ScheduleError, match="vectorize_scalable of `i`: its iterations depend on each other"):
        tx.schedule(op).vectorize_scalable("S.1.i")


def test_other_processors_have_no_such_registers():
    schedule = tx.schedule(tx.op(ADD)).vectorize_scalable("i")
    with pytest.raises(CompileError) as error:
        pass_pipeline.build_alone(schedule.kernel, find_target("aarch64"))
    assert str(error.value) == (
        "error[target]: the lanes of `i` are those of registers of any length; this target has none\n"
        "  --> <op>:1:47\n"
        "  1 | op add(A: f32[N], B: f32[N]) -> C: f32[N] { C[i] = A[i] + B[i] }\n"
        "    |                                               ^\n"
        '  help: vectorize("i") names a number of lanes'
    )


def test_products_of_lanes():
    schedule = tx.schedule(tx.op("op every(A: i32[N]) -> p: i32 { p = prod(i: A[i]) }")).vectorize_scalable(
        "i"
    )
    with pytest.raises(CompileError) as error:
        pass_pipeline.build_alone(schedule.kernel, SVE)
    assert str(error.value) == (
        "error[target]: a product over the lanes of registers of any length is not one of their "
        "instructions\n"
        "  help: vectorize names a number of lanes"
    )
