"""Programs and kernels after each pass. The pictures are in `golden/test_pictures/`."""

from __future__ import annotations

from pathlib import Path

import pytest

import texpr as tx
from tests.properties.schedule.drawing import TEXTS
from texpr.ir.loop import For
from texpr.ir.printing.loop import show_kernel
from texpr.ir.printing.tensor import show_program
from texpr.ir.traverse import statements
from texpr.lang import parse_kernel
from texpr.passes import desugar, hoist, inline_calls, lower, specialize
from texpr.passes.loop.insert_polls import insert_polls
from texpr.passes.loop.legalize_vectors import chunk_vectors
from texpr.passes.loop.place_buffers import place
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.passes.loop.unroll import expand_unrolled
from texpr.passes.loop.unswitch import unswitch

OPS = vars(tx.load(Path(__file__).parents[1] / "compiler" / "operators.tx"))


@pytest.mark.parametrize(
    "name, constants",
    [
        ("matmul", {}),
        ("conv2d", {"S": 2, "P": 1}),
        ("softmax", {"axis": 1}),
        ("maxpool", {}),
        ("scatter", {"V": 50}),
        ("places", {}),
        ("shift", {}),
        ("ragged", {}),
        ("any_all", {}),
        ("window", {}),
    ],
)
def test_lower(name, constants, golden):
    golden(show_kernel(lower(OPS[name].program(constants=constants))))


def test_inline_calls(golden):
    program = OPS["attention"].program()
    golden(f"{show_program(program)}\n{show_program(inline_calls(program))}")


@pytest.mark.parametrize(
    "text",
    [
        "op first(X: f32[M, N]) -> (y: i64[M], z: i64) { y[i] = argmax(j: X[i, j])  z = argmin(i where i > 1 "
        "or i == 0: X[i, 0]) }",
        "op place(X: f32[M, N, 4]) -> (r: i64[M], q: i64[M]) { r[i] = argmax(j, k: X[i, j, k])  q[m] = "
        "argmax<1>(j, k: X[m, j, k]) }",
        "op byte(X: f32[M, 3, 4]) -> (r: i64[M], q: i64[M]) { r[i] = argmax(j, k: X[i, j, k])  q[m] = "
        "argmax<1>(j, k: X[m, j, k]) }",
        "op logic(X: f32[M, N]) -> (a: bool[M], b: bool) { a[i] = any(j: X[i, j] > 0)  b = all(i, j: X[i, j] "
        "!= X[i, j]) }",
    ],
)
def test_desugar(text, golden):
    golden(show_program(desugar(tx.op(text).program())))


HOISTED = {
    "shared": "Y[i, j] = X[i, j] / sum(k: X[i, k])",
    "kept": "Y[i, j] = sum(k: X[i, k] * X[j, k]) + 1",
    "twice": "Y[i, j] = sum(k: X[i, k]) * max(k: X[k, j])",
    "nested": "Y[i, j] = sum(k: X[i, k] * sum(l: X[k, l] * X[l, j]))",
    "lazy": "Y[i, j] = if i > 0 then sum(k where X[i - 1, k] > 0: X[i - 1, k]) else 0",
    "condition": "Y[i, j] = 0 for i in 0..N where i < 1\n  Y[i, j] = sum(k: X[i - 1, k]) for i in 0..N where "
    "i >= 1",
}


@pytest.mark.parametrize("name", HOISTED)
def test_hoist(name, golden):
    program = tx.op(f"op hoisted(X: f32[N, N]) -> Y: f32[N, N] {{ {HOISTED[name]} }}").program()
    golden(f"{show_program(program)}\n{show_program(hoist(program))}\n{show_kernel(lower(program))}")


PLACED = {
    "softmax": ("softmax", {}, 's.compute_at("Y_sum", "Y.i").compute_at("e", "Y.i").compute_at("m", "Y.i")'),
    "matmul": (
        "matmul",
        {"M": 64, "N": 64, "K": 8},
        's.split("i", 4).split("j", 16).reorder("io", "jo", "k", "ii", "ji").parallel("io")',
    ),
    "rfactor": (
        "matmul",
        {"K": 64},
        's.split("k", 8).rfactor("ki", reassoc=True).reorder("i", "j", "ko", "ki").vectorize("ki")',
    ),
    "carried": ("lag", {}, 's.compute_at("h", "Y.i")'),
    "nothing": ("blur", {}, "s"),
}


@pytest.mark.parametrize("name", PLACED)
def test_place(name, golden):
    op, sizes, steps = PLACED[name]
    s = tx.schedule(tx.op(TEXTS[op]), **sizes)
    exec(steps, {"s": s})
    golden(show_kernel(place(s.kernel)))


@pytest.mark.parametrize("extent, register", [(44, 64), (16, 64), (7, 32), (1, 32), (9, 16)])
def test_chunk_vectors(extent, register, golden):
    s = tx.schedule(tx.op(TEXTS["stencil"]), N=extent).vectorize("j")
    golden(show_kernel(chunk_vectors(s.kernel, register)))


@pytest.mark.parametrize("terms, dtype", [(48, "f32"), (40, "f32"), (64, "bf16")])
def test_registers_are_added_before_lanes_are(terms, dtype, golden):
    """Where they are full, and terms as wide as sums in registers."""
    s = tx.schedule(tx.op(f"op f(X: {dtype}[N]) -> y: {dtype} {{ y = sum(i: X[i]) }}"), N=terms).rfactor(
        "i", reassoc=True
    )
    golden(show_kernel(chunk_vectors(s.vectorize("i").vectorize("i_sum").kernel, 64)))


def test_loops_of_one_iteration_are_written_out():
    kernel = tx.schedule(
        tx.op("op f(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = 2 * X[i, j] }"), N=3, M=1
    ).kernel
    assert [loop.var.name for loop in statements(expand_unrolled(kernel)) if isinstance(loop, For)] == ["i"]


def test_unroll_and_guards(golden):
    s = tx.schedule(tx.op(TEXTS["stencil"]), M=7, N=3).split("i", 4).unroll("ii").unroll("j")
    unrolled = expand_unrolled(s.kernel)
    golden(f"{show_kernel(unrolled)}\n{show_kernel(drop_guards(unrolled))}")


def test_the_last_tile_of_a_triangle_is_written_out():
    """Of a tail that all rows but one need, the loop stays."""
    triangle, tail = (
        parse_kernel(
            "kernel f(X: f32[4, 9]) -> (Y: f32[3])\n  for i in 0..2\n    for k in 0..3\n"
            + "".join(
                f"      if {at} < {end}\n        Y[{j}] += X[i, k]\n"
                for j, (at, end) in enumerate(conditions)
            )
        )
        for conditions in (
            (("2 * i + k", "1 + i * 2"), ("k", 2), ("k", 3)),
            (("2 * k", 5), ("2 * k + 1", 5), ("k", 3)),
        )
    )
    assert expand_unrolled(tail) is tail
    assert (
        show_kernel(drop_guards(expand_unrolled(triangle)))
        == """\
kernel f(X: f32[4, 9]) -> (Y: f32[3])
  for i in 0..2
    Y[0] += X[i, 0]
    Y[1] += X[i, 0]
    Y[2] += X[i, 0]
    Y[1] += X[i, 1]
    Y[2] += X[i, 1]
    Y[2] += X[i, 2]
"""
    )


def test_a_condition_on_the_loops_around_is_asked_once():
    def after(*body: str) -> list[str]:
        lines = "".join(f"      {line}\n" for line in body)
        kernel = parse_kernel(
            f"kernel f(X: f32[4, 9]) -> (Y: f32[3])\n  for i in 0..4\n    for k in 0..9\n{lines}"
        )
        return show_kernel(unswitch(kernel)).splitlines()[2:]

    first, last = "Y[0] += X[i, k]", "Y[2] += X[i, k]"
    one, other = ("if i < 3", "  Y[1] += X[i, k]"), ("if i < 2", "  Y[1] += X[i, k]")
    held, loop = f"        {one[1].strip()}", "      for k in 0..9"
    assert after(first, *one, last, *one) == [
        "    if i < 3",
        loop,
        f"        {first}",
        held,
        f"        {last}",
        held,
        "    if not i < 3",
        loop,
        f"        {first}",
        f"        {last}",
    ]
    for body in (
        one,
        (first, *one, *other),
        (first, "if k < 3", one[1]),
        (first, "if X[i, 0] < 3.0", one[1]),
    ):
        stays = ["    for k in 0..9", *(f"      {line}" for line in body)]
        assert after(*body) == stays, "it is for all, one of several, or of the iteration or data"


@pytest.mark.parametrize(
    "name, sizes",
    [("lag", {"M": 1 << 30}), ("matmul", {"M": 512, "N": 512, "K": 512}), ("chain", {}), ("lag", {"M": 9})],
)
def test_polls(name, sizes, golden):
    golden(show_kernel(insert_polls(tx.schedule(tx.op(TEXTS[name]), **sizes).kernel)))


def test_specialize(golden):
    program = OPS["conv1d"].program(constants={"S": 2, "P": 1})
    sizes = {v: n for v, n in zip(program.sizes, (2, 3, 9, 4, 3))}
    partly = {v: n for v, n in sizes.items() if v.name in "CQ"}
    golden(f"{show_program(specialize(program, partly))}\n{show_program(specialize(program, sizes))}")
