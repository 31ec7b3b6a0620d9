"""The default schedule of sums over windows: convolutions with edges, strides, groups, of one to
three dimensions.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import texpr as tx
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from texpr.autoschedule.cpu.convolution import direct, register_tiling, sliding_window
from texpr.autoschedule.cpu.convolution.convolution_costs import ConvolutionCosts
from texpr.autoschedule.driver import auto
from texpr.ir.loop_kind import VECTOR
from texpr.ir.machine import Machine
from texpr.schedule.structure.loops import all_loops, find_loops, loops_around

NEAR = Machine(vector_bytes=16, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)
"""Everything stays in the second cache."""
FAR = Machine(vector_bytes=16, vector_registers=32, caches=(256, 1024), cores=2)
"""Nothing does."""
FEW = Machine(vector_bytes=16, vector_registers=16, caches=(256, 1 << 20), cores=1)

IMAGE = """op image(X: f32[N, H, W, C], F: f32[R, Q, C, K]; S, P) -> Y: f32[N, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1, K]
    require R <= H + 2*P, Q <= W + 2*P {
  Y[n, y, x, k] = sum(r, q, c: X[n, S*y + r - P, S*x + q - P, c | 0] * F[r, q, c, k])
}"""
FIRST = """op first(X: f32[N, C, H, W], F: f32[K, C, R, Q]; S, P) -> Y: f32[N, K, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1]
    require R <= H + 2*P, Q <= W + 2*P {
  Y[n, k, y, x] = sum(c, r, q: X[n, c, S*y + r - P, S*x + q - P | 0] * F[k, c, r, q])
}"""
PANELS = """op panels(X: f32[N, H, W, C], F: f32[K, R, Q, C, L]) -> Y: f32[N, H, W, (K, L)] {
  Y[n, y, x, (k, l)] = sum(r, q, c: X[n, y + r - 1, x + q - 1, c | 0] * F[k, r, q, c, l])
}"""
GROUPS = """op groups(X: f32[N, H, W, G, C], F: f32[G, R, Q, C, K]) -> Y: f32[N, H, W, (G, K)] {
  Y[n, y, x, (g, k)] = sum(r, q, c: X[n, y + r - 1, x + q - 1, g, c | 0] * F[g, r, q, c, k])
}"""
LINE = """op line(X: f64[N, W, C], F: f64[Q, C, K]) -> Y: f64[N, W, K] {
  Y[n, x, k] = sum(q, c: X[n, x + 2*q - 2, c | 0] * F[q, c, k])
}"""
ALONE = """op alone(X: f32[C, H, W], F: f32[K, C, 3, 3]) -> Y: f32[K, H, W] {
  Y[k, y, x] = sum(c, r, q: X[c, y + r - 1, x + q - 1 | 0] * F[k, c, r, q])
}"""
VOLUME = """op volume(X: i32[D, H, W, C], F: i32[A, R, Q, C, K]) -> Y: i32[D - A + 1, H - R + 1, W - Q + 1, K]
    require A <= D, R <= H, Q <= W {
  Y[z, y, x, k] = sum(a, r, q, c: X[z + a, y + r, x + q, c] * F[a, r, q, c, k])
}"""

CASES = {
    "same": (IMAGE, {"N": 2, "H": 7, "W": 7, "C": 5, "R": 3, "Q": 3, "K": 16, "S": 1, "P": 1}),
    "rows left over": (IMAGE, {"N": 1, "H": 9, "W": 37, "C": 3, "R": 3, "Q": 5, "K": 24, "S": 1, "P": 1}),
    "lanes left over": (IMAGE, {"N": 1, "H": 8, "W": 14, "C": 4, "R": 3, "Q": 3, "K": 21, "S": 1, "P": 1}),
    "stride 2": (IMAGE, {"N": 1, "H": 17, "W": 29, "C": 2, "R": 3, "Q": 3, "K": 8, "S": 2, "P": 1}),
    "pointwise": (IMAGE, {"N": 3, "H": 6, "W": 14, "C": 40, "R": 1, "Q": 1, "K": 32, "S": 1, "P": 0}),
    "channels first": (FIRST, {"N": 2, "H": 6, "W": 17, "C": 5, "R": 3, "Q": 3, "K": 21, "S": 1, "P": 1}),
    "channels first, stride 2": (
        FIRST,
        {"N": 1, "H": 9, "W": 13, "C": 9, "R": 3, "Q": 3, "K": 16, "S": 2, "P": 0},
    ),
    "panels": (PANELS, {"N": 2, "H": 6, "W": 14, "C": 4, "R": 3, "Q": 3, "K": 3, "L": 8}),
    "groups": (GROUPS, {"N": 1, "H": 9, "W": 10, "G": 2, "C": 3, "R": 3, "Q": 3, "K": 8}),
    "channels first, one tile of lanes": (
        FIRST,
        {"N": 2, "H": 9, "W": 17, "C": 20, "R": 3, "Q": 3, "K": 8, "S": 1, "P": 1},
    ),
    "channels first, pointwise, stride 2": (
        FIRST,
        {"N": 2, "H": 9, "W": 9, "C": 9, "R": 1, "Q": 1, "K": 16, "S": 2, "P": 0},
    ),
    "line": (LINE, {"N": 2, "W": 33, "C": 6, "Q": 3, "K": 12}),
    "a single image": (ALONE, {"C": 5, "H": 6, "W": 17, "K": 21}),
    "volume": (VOLUME, {"D": 5, "H": 6, "W": 9, "C": 2, "A": 2, "R": 2, "Q": 3, "K": 16}),
}
EDGES = [name for name, (text, sizes) in CASES.items() if "| 0" in text and sizes.get("P") != 0]


def scheduled(name: str, machine: Machine) -> tx.Schedule:
    text, sizes = CASES[name]
    s = tx.schedule(tx.op(text), **sizes)
    s.steps[:], s.kernel = auto(s.kernel, machine)
    return s


@pytest.mark.parametrize("machine", [NEAR, FAR, FEW], ids=["near", "far", "few"])
@pytest.mark.parametrize("name", CASES)
def test_windows_keep_every_bit_and_are_certified(name, machine, monkeypatch):
    costs = ConvolutionCosts(block_terms=8)
    monkeypatch.setattr(direct, "CONVOLUTION_COSTS", costs)
    monkeypatch.setattr(sliding_window, "CONVOLUTION_COSTS", costs)
    s = scheduled(name, machine)
    bound = {v: CASES[name][1][v.name] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )
    assert "every sum has all its terms" in str(s.certificate())


@pytest.mark.parametrize("machine", [NEAR, FAR], ids=["near", "far"])
@pytest.mark.parametrize("name", EDGES)
def test_the_sums_of_a_window_ask_nothing_about_edges(name, machine):
    products = [line for line in str(scheduled(name, machine)).splitlines() if "+=" in line]
    assert products and not any("if" in line for line in products)


def test_no_core_has_many_more_rows():
    """17 rows in blocks of 4 are 9 for the busier of two cores; blocks of 5 would be 10."""
    sizes = {"N": 1, "H": 17, "W": 17, "C": 16, "R": 1, "Q": 7, "K": 8, "S": 1, "P": 0}
    steps = auto(tx.schedule(tx.op(FIRST), **sizes).kernel, NEAR)[0]
    assert 'split("Y.y", 4, tail="clip")' in map(str, steps)


def test_a_single_image_is_copied_in_a_loop_over_one_block_of_rows():
    """There is no other loop around its tiles."""
    script = scheduled("a single image", NEAR).script()
    assert 'split("Y.y", 6)' in script and 'cache_read("X", "Y.yo")' in script


def test_a_panel_that_is_far_comes_in_blocks_of_terms(monkeypatch):
    monkeypatch.setattr(direct, "CONVOLUTION_COSTS", ConvolutionCosts(block_terms=8))
    assert (
        '"Y.r"' in scheduled("same", FAR).script().split("cache_write")[0]
        and "cache_write" in scheduled("same", FAR).script()
    )
    assert "cache_write" not in scheduled("same", NEAR).script()


@pytest.mark.parametrize(("images", "channels", "by_terms"), [(8, 32, False), (1, 32, False), (8, 128, True)])
def test_blocks_of_terms_are_for_panels_whose_tiles_are_far_too(images: int, channels: int, by_terms: bool):
    """Of 9 x 32 x 64 weights the near half of a cache holds a tile of 8 lanes and an image, of 9
    x 128 x 64 it does not.
    """
    machine = replace(NEAR, caches=(32 << 10, 64 << 10), cores=1)
    s = tx.schedule(tx.op(IMAGE), N=images, C=channels, H=14, W=14, K=64, R=3, Q=3, S=1, P=1)
    steps, _ = auto(s.kernel, machine)
    assert any(step.name == "cache_write" for step in steps) == by_terms
    assert 'cache_read("F", "Y.no")' in map(str, steps) or images == 1 or by_terms, (
        "copied once for several images"
    )


@pytest.mark.parametrize(("window", "stride", "rows"), [(3, 1, 10), (3, 2, 2), (1, 1, 4)])
def test_blocks_of_rows_are_as_small_as_their_overlap_allows(window: int, stride: int, rows: int):
    """Windows of three rows share two of them, one where every second row has a window; those of
    one row share none.
    """
    machine = replace(NEAR, caches=(32 << 10, 64 << 10), cores=1)
    s = tx.schedule(tx.op(IMAGE), N=1, C=64, H=28, W=28, K=32, R=window, Q=window, S=stride, P=window // 2)
    assert f'split("Y.y", {rows}, tail="clip")' in map(str, auto(s.kernel, machine)[0])


def test_a_panel_is_walked_along_where_its_field_is_the_larger():
    order = next(
        line for line in scheduled("pointwise", NEAR).script().splitlines() if line.startswith("reorder")
    )
    assert order.index('"Y.x"') < order.index('"Y.ko"')


def test_channels_come_last_in_copies_unless_positions_are_neighbours_or_next_to_them():
    beside = scheduled("channels first", NEAR).script()
    assert 'vectorize("X_cache.d3")' in beside and 'layout("X_cache"' not in beside
    for step, turned in ((2, False), (3, True)):
        s = tx.schedule(tx.op(FIRST), N=1, C=8, H=14, W=14, K=8, R=3, Q=3, S=step, P=1)
        assert (
            'layout("X_cache", "a b c d -> a c d b")' in [str(each) for each in auto(s.kernel, NEAR)[0]]
        ) is turned


def test_lanes_are_neighbours_where_there_are_such():
    s = tx.schedule(tx.op(PANELS), N=1, H=6, W=7, C=4, R=3, Q=3, K=8, L=8)
    steps, _ = auto(s.kernel, NEAR)
    assert 'vectorize("Y.l")' in [str(step) for step in steps]


def test_each_part_of_a_target_has_sums_of_its_own():
    """The gradient of a convolution that skips elements is several equations; the sums of each
    are laid out once.
    """
    s = tx.schedule(tx.grad(tx.op(FIRST), ["X"]), N=1, C=8, H=14, W=14, K=8, R=3, Q=3, S=2, P=1)
    script = "\n".join(str(step) for step in auto(s.kernel, NEAR)[0])
    laid_out = [line for line in script.splitlines() if line.startswith('layout("dX_acc')]
    assert len(laid_out) == 3 and all(line.endswith('"a b c d -> a c d b")') for line in laid_out)
    assert len({line.split(",")[0] for line in laid_out}) == 3


def test_a_panel_that_few_positions_use_is_copied_for_all_images():
    """The gradient in the weights: a window of positions for each channel of the image."""
    s = tx.schedule(tx.grad(tx.op(FIRST), ["F"]), N=2, C=4, H=9, W=9, K=24, R=3, Q=3, S=1, P=1)
    steps, kernel = auto(s.kernel, NEAR)
    assert any(str(step).startswith('cache_read("dY", "dF.ko') for step in steps)
    (order,) = [str(step) for step in steps if str(step).startswith('reorder("dF.k')]
    assert order.index('"dF.koi"') < order.index('"dF.c"')


@pytest.mark.parametrize(("images", "at"), [(1, "Y.n"), (3, "Y.no"), (64, "Y.no")])
def test_a_panel_is_copied_once_for_all_blocks_of_rows_and_few_images(images: int, at: str):
    s = tx.schedule(tx.op(FIRST), N=images, C=512, H=64, W=64, K=24, R=3, Q=3, S=1, P=1)
    steps, kernel = auto(s.kernel, NEAR)
    script = [str(step) for step in steps]
    assert f'cache_read("F", "{at}")' in script and 'split("Y.y", ' in " ".join(script)
    assert any(step.startswith('parallel("F_cache') for step in script) == (images < 64)


def test_one_position_is_no_window():
    s = tx.schedule(tx.grad(tx.op(FIRST), ["F"]), N=2, C=32, H=28, W=28, K=32, R=1, Q=1, S=1, P=0)
    assert 'vectorize("dF.c' in "\n".join(str(step) for step in auto(s.kernel, FAR)[0])


@pytest.mark.parametrize("name", ["pointwise", "same"])
def test_the_pictures_of_windows(name, golden):
    golden(scheduled(name, NEAR).script())


def test_a_panel_of_one_tile_is_copied_by_squares():
    """The gradient in the weights of few channels: channels of dY lie apart, and squares of them
    are transposed in registers.
    """
    gradient = tx.grad(tx.op(FIRST), ["F"])
    sizes = {"N": 2, "C": 3, "H": 18, "W": 18, "K": 16, "R": 3, "Q": 3}
    machine = replace(NEAR, vector_bytes=32, instructions=frozenset({"transpose4_f32", "transpose8_f32"}))
    s = tx.schedule(gradient, **sizes, S=1, P=0)
    s.steps[:], s.kernel = auto(s.kernel, machine)
    assert 'tensorize("dY_cache.d3i", "transpose8_f32")' in s.script()
    bound = {v: sizes[v.name] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )
    assert "every sum has all its terms" in str(s.certificate())
    narrow = tx.schedule(gradient, **sizes | {"H": 14, "W": 14}, S=1, P=0)
    assert 'tensorize("dY_cache.d3i", "transpose4_f32")' in [
        str(step) for step in auto(narrow.kernel, machine)[0]
    ], "12 positions"


def test_panels_of_several_tiles_are_copied_by_squares():
    """The gradient in the weights of more channels: squares of halves of registers where rows
    hold no whole ones.
    """
    gradient = tx.grad(tx.op(FIRST), ["F"])
    machine = replace(FAR, vector_bytes=32, instructions=frozenset({"transpose4_f32", "transpose8_f32"}))
    sizes = {"N": 2, "C": 4, "H": 10, "W": 10, "K": 64, "R": 3, "Q": 3}
    s = tx.schedule(gradient, **sizes, S=1, P=0)
    s.steps[:], s.kernel = auto(s.kernel, machine)
    script = s.script()
    assert 'split("dY_cache.d1", 16)' in script and 'tensorize("dY_cache.d3", "transpose8_f32")' in script, (
        script
    )
    bound = {v: sizes[v.name] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )
    assert "every sum has all its terms" in str(s.certificate())


@pytest.mark.parametrize(("lanes", "order"), [(64, "d1o d1io d2 d3 d1ii"), (16, "d1o d2 d3 d1i")])
def test_rows_that_lie_apart_are_copied_to_their_ends(lanes: int, order: str):
    """Squares of the same rows follow each other, line after line of each, and what comes next
    is asked for where it is far.
    """
    machine = replace(FAR, vector_bytes=32, instructions=frozenset({"transpose8_f32"}))
    s = tx.schedule(tx.grad(tx.op(FIRST), ["F"]), N=4, C=4, H=10, W=10, K=lanes, R=3, Q=3, S=1, P=0)
    script = [str(step) for step in auto(s.kernel, machine)[0]]
    loops = [f'"dY_cache.{d}"' for d in order.split()]
    assert (
        any(step == f"reorder({', '.join(loops)})" for step in script)
        and 'prefetch("dY", "dY_cache.d2", 8)' in script
    ), script
    script = [str(step) for step in auto(s.kernel, replace(machine, caches=(1 << 20, 1 << 24)))[0]]
    assert not any(step.startswith("prefetch") for step in script), "everything is near"


def test_a_far_panel_of_one_tile_comes_in_blocks_of_terms():
    """The gradient in the weights of few channels: each core turns a block of dY for all of its
    channels of the image.
    """
    gradient = tx.grad(tx.op(FIRST), ["F"])
    sizes = {"N": 4, "C": 4, "H": 10, "W": 10, "K": 8, "R": 3, "Q": 3}
    s = tx.schedule(gradient, **sizes, S=1, P=1)
    s.steps[:], s.kernel = auto(s.kernel, replace(FAR, vector_bytes=32))
    script = s.script()
    assert (
        'cache_read("dY", "dF.yo")' in script
        and 'cache_write("dF_acc", "dF.ci")' in script
        and 'parallel("dF.co")' in script
    ), script
    bound = {v: sizes[v.name] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )
    assert "every sum has all its terms" in str(s.certificate())


def test_positions_that_skip_are_worth_a_copy():
    """A pointwise convolution that skips positions: lanes go across channels, and neighbouring
    positions lie apart.
    """
    s = tx.schedule(tx.op(FIRST), N=2, C=128, H=12, W=12, K=32, R=1, Q=1, S=3, P=0)
    script = [str(step) for step in auto(s.kernel, NEAR)[0]]
    assert 'layout("X_cache", "a b c d -> a c d b")' in script and 'vectorize("Y.ki")' in script


def test_blocks_of_terms_are_as_deep_as_the_lanes_of_a_core_allow():
    """Half a MiB for 9 taps of the 64 or 128 lanes of a core: room for 227 or 113 channels, of
    which divisors are taken.
    """
    for lanes, depth in ((256, 128), (512, 64)):
        s = tx.schedule(tx.op(FIRST), N=8, C=256, H=8, W=8, K=lanes, R=3, Q=3, S=1, P=1)
        steps = [str(step) for step in auto(s.kernel, replace(NEAR, vector_bytes=64, cores=4))[0]]
        assert f'split("Y.c", {depth}, tail="clip")' in steps, steps
        assert 'vectorize("Y_acc_tile.d3")' in steps, "channels come last there"


def test_rows_of_windows_are_no_streams():
    """Rows that windows share are read again: their sums stay in registers, tile by tile,
    instead of beside rows that come once.
    """
    s = tx.schedule(
        tx.op("""op depthwise(X: f32[H, W, C], F: f32[R, Q, C]) -> Y: f32[H//2, W//2, C] {
      Y[y, x, c] = sum(r, q: X[2*y + r - 1, 2*x + q - 1, c | 0] * F[r, q, c]) }"""),
        H=112,
        W=112,
        C=96,
        R=3,
        Q=3,
    )
    wide = Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)
    _, kernel = auto(s.kernel, wide)
    assert [n.var.name for n in loops_around(kernel, find_loops(kernel, "Y.r")[0])] == ["y", "xo", "co"]


@pytest.mark.parametrize(("window", "written_out"), [(2, True), (3, True), (4, False)])
def test_few_terms_of_a_maximum_are_written_out(window: int, written_out: bool):
    """So that it stays in a register; of more terms those along a row are."""
    sizes = {"N": 2, "C": 3, "H": 16, "W": 64}
    s = tx.schedule(tx.ops.maxpool2d, R=window, Q=window, **sizes).auto("x86-64-v4")
    assert [f'unroll("Y.{name}")' in s.script() for name in "rq"] == [written_out, True]
    bound = {v: sizes[v.name] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )
    assert "every sum has all its terms" in str(s.certificate())


@pytest.mark.parametrize(("padding", "shared"), [(1, "Y.yo"), (0, "Y.k")])
def test_cores_copy_a_field_with_edges_for_themselves(padding, shared):
    """One of them would copy it for all tiles of lanes while the others wait."""
    text = """op panels(X: f32[N, H, W, C], F: f32[K, R, Q, C, L]; P) -> Y: f32[N, H + 2*P - R + 1, W + 2*P - Q + 1, (K, L)]
        require R <= H + 2*P, Q <= W + 2*P {
      Y[n, y, x, (k, l)] = sum(r, q, c: X[n, y + r - P, x + q - P, c | 0] * F[k, r, q, c, l])
    }"""
    sizes = {
        "N": 1,
        "H": 34 - 2 * padding,
        "W": 34 - 2 * padding,
        "C": 64,
        "K": 8,
        "R": 3,
        "Q": 3,
        "L": 32,
        "P": padding,
    }
    machine = Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)
    steps = [str(step) for step in auto(tx.schedule(tx.op(text), **sizes).kernel, machine)[0]]
    assert f'parallel("{shared}")' in steps


def test_loops_whose_terms_are_left_out_are_not_joined():
    """What is left out at the edges of an image asks where in it an element is: for each lane,
    were rows and columns one loop.
    """
    sizes = {"N": 4, "H": 8, "W": 8, "C": 128, "K": 128, "R": 3, "Q": 3, "S": 1, "P": 1}
    machine = Machine(vector_bytes=64, vector_registers=32, caches=(48 << 10, 2 << 20), cores=1)
    steps = [str(step) for step in auto(tx.schedule(tx.op(FIRST), **sizes).kernel, machine)[0]]
    assert 'drop_padding("Y.r", finite=True)' in steps and not any(step.startswith("fuse") for step in steps)


def test_a_window_loses_its_edges_once():
    """Terms in blocks of one: what bounds the terms of a block bounds the loop over blocks as
    well.
    """
    sizes = {"N": 8, "H": 7, "W": 7, "C": 512, "K": 512, "R": 3, "Q": 3, "S": 1, "P": 1}
    machine = Machine(vector_bytes=64, vector_registers=32, caches=(48 << 10, 2 << 20), cores=2)
    steps = [str(step) for step in auto(tx.schedule(tx.op(IMAGE), **sizes).kernel, machine)[0]]
    assert 'split("Y.q", 1, tail="clip")' in steps and [s for s in steps if s.startswith("partition")] == [
        'partition("Y.qi")'
    ]


@pytest.mark.parametrize(("window", "channels"), [(3, 1), (3, 3), (7, 3)])
def test_the_first_layer_of_a_network_has_lanes_across_channels(window: int, channels: int):
    sizes = {"N": 1, "C": channels, "H": 65, "W": 65, "K": 32, "R": window, "Q": window, "S": 2, "P": 1}
    s = tx.schedule(tx.op(FIRST), **sizes)
    _, kernel = auto(s.kernel, NEAR)
    lanes = [n for n in all_loops(kernel) if n.kind == VECTOR and n.tensor == "Y"]
    assert lanes and all(n.var.name.startswith("k") for n in lanes)


@pytest.mark.parametrize(
    ("most", "sizes", "height"),
    [
        (6, (28, 1), (4, 1)),
        (6, (7, 7), (4, 1)),
        (6, (13, 13), (5, 1)),
        (6, (27, 27), (6, 1)),
        (14, (13, 13), (13, 1)),
        (14, (7, 6), (7, 2)),
    ],
)
def test_tiles_of_a_row_are_of_nearly_one_size(most: int, sizes: tuple[int, int], height: tuple[int, int]):
    assert register_tiling.tile_height(most, *sizes) == height


PHASES = """op phases(X: f32[N, C, W], F: f32[C, K, Q]; S) -> Y: f32[N, K, S, W + (Q + S - 1)//S - 1] require S >= 1 {
  Y[n, k, b, v] = sum(c in 0..C, q in 0..(Q + S - 1)//S: X[n, c, v - q | 0] * F[c, k, S*q + b | 0])
}"""


def test_parts_of_the_weights_are_no_positions():
    """Each weight belongs to one phase: along these no window slides, along the row of X one does."""
    s = tx.schedule(tx.op(PHASES), N=2, C=64, K=32, W=40, Q=4, S=2).auto("x86-64-v3")
    assert "Y: DirectConvolution" in s.explain() and 'cache_read("F"' in s.script(), s.script()
    s.certificate()
