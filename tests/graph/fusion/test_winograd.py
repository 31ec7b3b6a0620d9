"""Convolutions by Winograd's method: where it is used, what it computes, what follows changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import nn
from texpr.compiler.scheduled_kernels import automatic
from texpr.graph import Capture, Plan
from texpr.graph.fusion import winograd
from texpr.graph.fusion.cook_toom import POINTS, interpolated
from texpr.graph.fusion.winograd import cost, moved_bytes, plain_cost, with_winograd
from texpr.graph.fusion.winograd_operators import Tiling, output_operator, window_operator
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.dtypes import F32, F64, DType
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.loop import For
from texpr.ir.loop_kind import UNROLLED
from texpr.ir.tensor import Invoke
from texpr.ir.traverse import statements
from texpr.ir.verifier.program import verify_program
from texpr.poly import check_program

RNG = np.random.default_rng(5)


class Block(nn.Module):
    """Two convolutions with what follows them in networks."""

    def __init__(self, channels: int, filters: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, filters, 3, padding=1)
        self.norm = nn.BatchNorm2d(filters)
        self.second = nn.Conv2d(filters, filters, 3, padding=1, bias=False)

    def forward(self, x: tx.Tensor) -> tx.Tensor:
        y = self.norm(self.first(x)).relu()
        return (self.second(y) + y).relu()


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def plan_of(module: nn.Module, shape: tuple[int, ...], dtype: DType = F32, **options) -> Plan:
    """The plan of a call with weights that stay."""
    capture = Capture("block")
    x = capture.input("x", shape, dtype)
    with capture:
        result = module(x)
    return Plan(capture, [result], **{"prepack": True, **options})


def in_tiles(plan: Plan) -> int:
    """Number of convolutions by Winograd's method."""
    return sum(n.program.name == "winograd_product" for n in plan.launches)


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tiles whatever they cost."""
    monkeypatch.setattr(winograd, "GAIN", 0)
    with tx.options(cache_dir=None):  # plans on disk know nothing of it
        yield


def assert_near(found: np.ndarray, wanted: np.ndarray, x: np.ndarray, weight: np.ndarray) -> None:
    """Equal but for roundings, whose size is that of the largest sum of products."""
    largest = float(np.abs(x).max(initial=0) * np.abs(weight).reshape(len(weight), -1).sum(axis=1).max())
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6 * largest + 1e-12)


TAPS = [(3, 3), (5, 5), (2, 2), (3, 5), (1, 7), (7, 1), (1, 5), (3, 1), (2,), (3,), (4,), (5,), (6,), (7,)]


@examples(60)
@given(
    st.sampled_from(TAPS),
    st.sampled_from(sorted({n for sizes in winograd.WINDOWS.values() for n in sizes})),
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 8)),
    st.tuples(st.integers(1, 14), st.integers(1, 14)),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_the_program_in_tiles_computes_convolutions_of_any_shape(
    taps: tuple[int, ...],
    window: int,
    counts: tuple[int, int, int],
    extents: tuple[int, int],
    padding: tuple[int, int],
):
    """By the interpreter, with the image, the weights and the bias as inputs."""
    (images, channels, filters), dims = counts, len(taps)
    before = padding[-dims:]
    sizes = [max(n, r - 2 * p) for n, r, p in zip(extents[-dims:], taps, before, strict=True)]
    results = [n + 2 * p - r + 1 for n, r, p in zip(sizes, taps, before, strict=True)]
    places, offsets = ("y", "x")[-dims:], ("r", "q")[-dims:]
    reads = ", ".join(f"{i} + {r} - {p}" for i, r, p in zip(places, offsets, before, strict=True))
    text = f"""op layer(X: f32[{images}, {channels}, {listed(sizes)}], W: f32[{filters}, {channels}, {listed(taps)}],
                        b: f32[{filters}]) -> Y: f32[{images}, {filters}, {listed(results)}] {{
      Y[n, k, {listed(places)}]
        = max(0, b[k] + sum(c, {listed(offsets)}: X[n, c, {reads} | 0] * W[k, c, {listed(offsets)}]))
    }}"""
    plain = tx.op(text).program()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(winograd, "GAIN", 0)
        patch.setattr(winograd, "WINDOWS", {1: (window,), 2: (6,)})
        tiled, decisions = with_winograd(plain, {plain.inputs[1]})
    verify_program(tiled)
    assert len(decisions) == (window > max(taps) or dims == 2 and 1 not in taps)
    for each in tiled.equations:
        if isinstance(each, Invoke):
            check_program(each.program)  # as is done to texts of users
    x, weight, bias = (floats(*map(int, t)) for t in map(shape_of, plain.inputs))
    (found,), (wanted,) = (interpret(p, [x, weight, bias]) for p in (tiled, plain))
    assert_near(found, wanted, x, weight)


def listed(parts: Sequence[object]) -> str:
    """Parts with commas between them."""
    return ", ".join(map(str, parts))


@pytest.mark.parametrize(
    "module, shape",
    [
        (nn.Conv2d(3, 7, 3, padding=1), (2, 3, 9, 14)),
        (nn.Conv2d(5, 13, 3), (1, 5, 7, 6)),
        (nn.Conv2d(2, 6, 5, padding=2, bias=False), (3, 2, 5, 1)),
        (nn.Conv2d(5, 13, (1, 7), padding=(0, 3)), (1, 5, 9, 17)),
        (nn.Conv2d(5, 13, (7, 1), padding=(3, 0)), (2, 5, 17, 17)),
        (nn.Conv2d(4, 6, (5, 3), padding=(2, 0), bias=False), (1, 4, 8, 15)),
        (nn.Conv1d(5, 13, 5, padding=2), (2, 5, 50)),
        (nn.Conv1d(5, 8, 3, bias=False), (1, 5, 3)),
    ],
)
def test_kernels_compute_it(module: nn.Module, shape: tuple[int, ...], everywhere: None):
    x = floats(*shape)
    tiled, plain = plan_of(module.eval(), shape), plan_of(module, shape, disable=["winograd"])
    assert (in_tiles(tiled), in_tiles(plain)) == (1, 0)
    assert_near(tiled(x)[0], plain(x)[0], x, module.weight.numpy())


@cache
def block_and_plan() -> tuple[Block, Plan]:
    """Two convolutions of images whose sides are no multiples of the tiles."""
    block = Block(32, 48).eval()
    block.norm.running_mean.data = floats(48)
    return block, plan_of(block, (2, 32, 20, 23))


def test_what_follows_a_convolution_is_computed_with_its_tiles():
    block, plan = block_and_plan()
    x = floats(2, 32, 20, 23)
    names = [n.program.name for n in plan.launches]
    assert names == ["winograd_window", "winograd_product", "winograd_output"] * 2
    (found,), (wanted,) = plan(x), plan_of(block, x.shape, disable="winograd")(x)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5)
    assert found.min() == 0


def test_decisions_say_how_many_products_are_left():
    _, plan = block_and_plan()
    lines = [line for line in plan.explain().splitlines() if line.startswith("winograd")]
    assert len(lines) == 2
    assert lines[0] == "winograd weight -> relu_1: yes, 4 times fewer products, by tiles of 4 x 4"


OTHERS = {
    "training": (nn.Conv2d(32, 32, 3, padding=1), (1, 32, 24, 24), {"prepack": False}),
    "strides": (nn.Conv2d(32, 32, 3, padding=1, stride=2), (1, 32, 24, 24), {}),
    "dilation": (nn.Conv2d(32, 32, 3, padding=2, dilation=2), (1, 32, 24, 24), {}),
    "groups": (nn.Conv2d(32, 32, 3, padding=1, groups=4), (1, 32, 24, 24), {}),
    "one tap": (nn.Conv2d(32, 32, 1), (1, 32, 24, 24), {}),
    "seven taps": (nn.Conv2d(32, 32, 7, padding=3), (1, 32, 24, 24), {}),
    "eight taps of a row": (nn.Conv1d(64, 64, 8), (1, 64, 256), {}),
    "strides of a row": (nn.Conv1d(64, 64, 5, stride=2), (1, 64, 256), {}),
    "three channels": (nn.Conv2d(3, 32, 3, padding=1), (1, 3, 24, 24), {}),
    "left out": (nn.Conv2d(32, 32, 3, padding=1), (1, 32, 24, 24), {"disable": "winograd"}),
    "no fusion": (nn.Conv2d(32, 32, 3, padding=1), (1, 32, 24, 24), {"opt": 2}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_plain_sums(name: str):
    module, shape, options = OTHERS[name]
    assert in_tiles(plan_of(module.eval(), shape, **options)) == 0


def test_doubles_are_plain_sums():
    assert in_tiles(plan_of(nn.Conv2d(32, 32, 3, padding=1).double().eval(), (1, 32, 24, 24), F64)) == 0


def test_a_weight_that_is_computed_is_no_constant():
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolution = nn.Conv2d(32, 32, 3, padding=1, bias=False)
            self.scale = nn.Parameter(np.float32(2))

        def forward(self, x: tx.Tensor) -> tx.Tensor:
            return tx.ops.conv2d(x, self.convolution.weight * self.scale, PH=1, PW=1)

    module = Scaled().eval()
    x = floats(1, 32, 24, 24)
    plan = plan_of(module, x.shape)
    assert in_tiles(plan) == 0
    np.testing.assert_allclose(plan(x)[0], 2 * module.convolution(x), rtol=0, atol=2e-5)


def test_weights_are_transformed_anew_when_they_change():
    module = nn.Conv2d(32, 32, 3, padding=1).eval()
    x = floats(1, 32, 24, 24)
    plan = plan_of(module, x.shape)
    (before,) = plan(x)
    np.testing.assert_array_equal(plan(x)[0], before)
    module.weight.data = 2 * module.weight.numpy()
    module.bias.data = 2 * module.bias.numpy()
    np.testing.assert_array_equal(plan(x)[0], 2 * before)


def test_threads_and_batches_change_no_bit():
    module = nn.Conv2d(32, 32, 3, padding=1).eval()
    x = floats(3, 32, 30, 30)  # 64 tiles: in whole vectors of every machine
    found = {}
    for threads in (1, 2):
        with tx.options(threads=threads):
            (found[threads],) = plan_of(module, x.shape)(x)
    np.testing.assert_array_equal(found[1].view(np.uint32), found[2].view(np.uint32))
    (alone,) = plan_of(module, x[1:2].shape)(x[1:2])
    np.testing.assert_array_equal(alone.view(np.uint32), found[1][1:2].view(np.uint32))


def test_an_infinity_stays_in_its_windows():
    """Where the plain sum has one too, and in the rest of the tiles whose windows hold it."""
    module = nn.Conv2d(32, 32, 3, padding=1).eval()
    x = floats(1, 32, 24, 24)
    (clean,) = plan_of(module, x.shape)(x)
    x[0, 3, 9, 9] = np.inf
    (found,) = plan_of(module, x.shape)(x)
    touched = ~np.isfinite(found).all(axis=(0, 1))
    assert touched[8:11, 8:11].all() and not touched[:8].any() and not touched[12:].any()
    np.testing.assert_array_equal(found[..., ~touched], clean[..., ~touched])


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    """The root of the mean square error."""
    return float(np.sqrt(np.mean((found - wanted) ** 2)))


def test_roundings_are_about_twice_those_of_a_plain_sum():
    """Of 2,304 terms."""
    module = nn.Conv2d(256, 32, 3, padding=1, bias=False).eval()
    x = floats(1, 256, 16, 16)
    exact = nn.Conv2d(256, 32, 3, padding=1, bias=False).double().eval()
    exact.weight.data = module.weight.numpy().astype(np.float64)
    wanted = exact(x.astype(np.float64))
    tiled, plain = plan_of(module, x.shape), plan_of(module, x.shape, disable="winograd")
    assert in_tiles(tiled) == 1
    assert 1 < error(tiled(x)[0], wanted) / error(plain(x)[0], wanted) < 2.5


@pytest.mark.parametrize("taps", [3, 5, 7])
def test_roundings_of_one_dimension_are_no_larger(taps: int):
    """Of 256 channels, by windows of eight elements."""
    module = nn.Conv1d(256, 96, taps, padding=taps // 2, bias=False).eval()
    x = floats(1, 256, 512)
    exact = nn.Conv1d(256, 96, taps, padding=taps // 2, bias=False).double().eval()
    exact.weight.data = module.weight.numpy().astype(np.float64)
    wanted = exact(x.astype(np.float64))
    tiled, plain = plan_of(module, x.shape), plan_of(module, x.shape, disable=["winograd"])
    assert in_tiles(tiled) == 1
    assert error(tiled(x)[0], wanted) / error(plain(x)[0], wanted) < 2.5


def test_the_points_have_smaller_errors_than_the_usual_ones():
    """Of 256 channels of tiles of 4x4, in f32, beside f64."""
    weight, windows = floats(8, 256, 3, 3), floats(256, 16, 6, 6)

    def outputs(points: Sequence[int | Fraction], dtype: type) -> np.ndarray:
        found = interpolated(points, 4, 3)
        a, g, b = (np.array(m, float) for m in (found.output, found.taps, found.window))
        u = np.einsum("ir,kcrq,jq->ijkc", g, weight, g).astype(dtype)
        v = np.einsum("iy,ctyx,jx->ijct", b.astype(dtype), windows.astype(dtype), b.astype(dtype))
        sums = np.zeros((6, 6, 8, 16), dtype)
        for c in range(256):
            sums += u[:, :, :, c, None] * v[:, :, None, c]
        return np.einsum("yi,ijkt,xj->ktyx", a.astype(dtype), sums, a.astype(dtype))

    wanted = outputs(POINTS[5], np.float64)
    usual = error(outputs((0, 1, -1, 2, -2), np.float32), wanted)
    assert error(outputs(POINTS[5], np.float32), wanted) < 0.7 * usual


@pytest.mark.parametrize("function", ["silu", "gelu", "mish"])
def test_functions_that_read_a_sum_several_times_end_it(function: str):
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolution = nn.Conv2d(32, 32, 3, padding=1)

        def forward(self, x: tx.Tensor) -> tx.Tensor:
            return getattr(tx.ops, function)(self.convolution(x))

    module, x = Layer().eval(), floats(1, 32, 24, 24)
    tiled = plan_of(module, x.shape)
    assert [n.program.name for n in tiled.launches] == [
        "winograd_window",
        "winograd_product",
        "winograd_output",
    ]
    np.testing.assert_allclose(
        tiled(x)[0], plan_of(module, x.shape, disable="winograd")(x)[0], rtol=0, atol=2e-5
    )


def test_models_from_files_use_it(tmp_path: Path):
    pytest.importorskip("onnx")
    import texpr.onnx

    block = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()).eval()
    x = floats(1, 32, 24, 24)
    texpr.onnx.save(block, tmp_path / "block.onnx", example=x)
    read = texpr.onnx.load(tmp_path / "block.onnx")
    np.testing.assert_array_equal(read(x), block(x))
    with tx.options(disable="winograd"):
        plain = texpr.onnx.load(tmp_path / "block.onnx")(x)
    np.testing.assert_allclose(plain, block(x), rtol=0, atol=2e-5)
    assert not np.array_equal(plain, block(x))  # it is used


TILING = Tiling(1, 64, 56, 56, 64, (3, 3), (1, 1), 56, 56, (4, 4), 8, 6)


def test_costs_count_products_and_bytes():
    assert (TILING.tiles, TILING.panels) == (200, 11)
    assert moved_bytes(TILING) == 4 * 36 * 200 * 128
    assert plain_cost(TILING) > 1.5 * cost(TILING)
    few = replace(TILING, images=1, height=4, width=4, rows=4, columns=4)
    assert cost(few) > plain_cost(few)


@pytest.mark.parametrize("rows, count", [(56, 5), (55, 9), (3, 5), (2, 5)])
def test_rows_of_tiles_share_equations(rows: int, count: int):
    """One that begins, and one for each column of rows that are of equally many tiles."""
    assert len(output_operator(replace(TILING, rows=rows)).equations) == count


@pytest.mark.parametrize("outputs", [4, 2])
def test_transforms_of_windows_are_copies_for_each_row(outputs: int):
    """One equation each; no row asks at run time which one it is."""
    program = window_operator(replace(TILING, outputs=(outputs, outputs)))
    steps = automatic(program, {}).kernel
    assert len(program.equations) <= 5
    kinds = {n.var.name: n.kind for n in statements(steps) if isinstance(n, For) and n.var.name in "ak"}
    assert kinds == {"a": UNROLLED, "k": UNROLLED}


@pytest.mark.parametrize("spare, count", [(0, 1), (-1, 0)])
def test_memory_has_a_limit(spare: int, count: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(winograd, "MOST_BYTES", 4 * 36 * 64 * 64 + spare)
    with tx.options(cache_dir=None):  # plans on disk know nothing of it
        assert in_tiles(plan_of(nn.Conv2d(32, 32, 3, padding=1).eval(), (1, 32, 32, 32))) == count
