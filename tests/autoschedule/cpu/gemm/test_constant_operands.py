"""Products with operands that have the same values from call to call."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.interpreter.tensor import interpret


def product(rows: int, terms: int, columns: int) -> tx.Op:
    return tx.op(
        f"""op f(W: f32[{rows}, {terms}], X: f32[{terms}, {columns}], b: f32[{rows}]) -> Y: f32[{rows}, {columns}] {{
          Y[o, i] = max(b[o] + sum(c: W[o, c] * X[c, i]), 0)
        }}"""
    )


def script(op: tx.Op, target: str = "x86-64-v3", constant: tuple[str, ...] = ("W",)) -> str:
    return tx.schedule(op).auto(target, constant=list(constant)).script()


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "aarch64", "aarch64+sve"])
def test_rows_that_are_constant_are_packed_once(target: str):
    """In front of all loops, so that callers keep the panels."""
    op = product(256, 128, 196)
    assert 'cache_read("W")' in script(op, target)
    assert 'cache_read("W")' not in script(op, target, ())
    tx.schedule(op).auto(target, constant=["W"]).certificate()


def test_rows_that_the_first_cache_holds_stay():
    assert 'cache_read("W")' not in script(product(64, 128, 196))


@pytest.mark.parametrize("form", ["W[k, j]", "W[j, k]"])
@pytest.mark.parametrize(
    ("rows", "target"),
    [
        (8, "x86-64-v4"),
        (16, "x86-64-v4"),
        (64, "x86-64-v4"),
        (12, "x86-64-v3"),
        (24, "x86-64-v3"),
        (16, "aarch64"),
    ],
)
def test_columns_that_are_constant_are_packed_once_for_few_rows(rows: int, target: str, form: str):
    """Whichever way they lie; those that are not constant are read in place."""
    shape = "512, 1024" if form == "W[k, j]" else "1024, 512"
    op = tx.op(
        f"op f(X: f32[{rows}, 512], W: f32[{shape}]) -> Y: f32[{rows}, 1024] {{ Y[i, j] = sum(k: X[i, k] * {form}) }}"
    )
    s = tx.schedule(op).auto(target, constant=["W"])
    assert 'cache_read("W")' in s.script() and 'layout("W_cache"' in s.script()
    s.certificate()
    assert 'cache_read("W")' not in script(op, target, ())


@pytest.mark.parametrize("rows", [6, 64, 70, 129])
@pytest.mark.parametrize("columns", [17, 33, 49, 50])
def test_bits_are_those_of_products_in_place(rows: int, columns: int):
    op, rng = product(rows, 200, columns), np.random.default_rng(rows)
    arrays = [rng.standard_normal(shape, dtype="f4") for shape in ((rows, 200), (200, columns), (rows,))]
    packed, *others = (
        tx.schedule(op).auto(constant=constant).compile()(*arrays) for constant in (["W", "b"], ["W"], [])
    )
    for found in others:
        np.testing.assert_array_equal(found, packed)
    np.testing.assert_allclose(packed, tx.schedule(op).compile()(*arrays), rtol=0, atol=1e-4)


def test_lanes_that_are_left_over_stand_beside_the_tiles_of_their_rows():
    """A tile of rows is read once for all lanes."""
    listing = str(tx.schedule(product(512, 256, 49)).auto("x86-64-v3", constant=["W"]))
    tiles = listing[listing.index("for Y.ooi in") : listing.index("Y_acc_rest[")]
    assert listing.count("for Y.ooi in") == 1
    assert [
        line.count("X_cache[iio, c") + 2 * line.count("X_cache[3, c")
        for line in tiles.splitlines()
        if "+=" in line
    ] == [1, 2]


@pytest.mark.parametrize(("target", "masked"), [("x86-64-v3", False), ("x86-64-v4", True)])
@pytest.mark.parametrize("rows", [16, 64])
def test_only_the_last_lanes_are_asked_for_without_masks(target: str, masked: bool, rows: int):
    """Rows of 55 * 55 elements do not end with a register."""
    s = tx.schedule(product(rows, 32, 3025)).auto(target, constant=["W"])
    assert ("partition(" in s.script()) != masked
    lines = [line for line in str(s).splitlines() if " = X[" in line or " += X_cache[" in line]
    assert masked or any("if" not in line for line in lines)
    s.certificate()


@pytest.mark.parametrize("rows", [12, 24, 64])
def test_panels_are_copied_one_after_the_other_where_registers_are_few(rows: int):
    """A block has 8 KiB: 16 lanes of 128 terms."""
    assert 'split("Y.io", 1, tail="clip")\n' in script(product(rows, 128, 3136))
    assert 'split("Y.io", 1, tail="clip")\n' not in script(product(rows, 128, 3136), "x86-64-v4")


@pytest.mark.parametrize(("terms", "cut"), [(2048, False), (4096, True)])
def test_terms_are_cut_where_a_panel_of_all_leaves_the_second_cache(terms: int, cut: bool):
    assert ('split("Y.c"' in script(product(64, terms, 49))) == cut


def has_lanes_of_rows(script: str) -> bool:
    return 'split("Y.o", 32, tail="mask")' in script and 'cache_write("Y", "Y.oo")' in script


@pytest.mark.parametrize(
    ("rows", "columns", "target", "expected"),
    [
        (256, 49, "x86-64-v4", True),
        (160, 49, "x86-64-v4", True),
        (160, 36, "x86-64-v4", True),
        (256, 48, "x86-64-v4", False),
        (256, 196, "x86-64-v4", False),
        (264, 49, "x86-64-v4", False),
        (64, 49, "x86-64-v4", False),
        (256, 49, "x86-64-v3", False),
        (256, 49, "aarch64", False),
    ],
)
def test_rows_are_lanes_where_columns_leave_many_over(rows: int, columns: int, target: str, expected: bool):
    """Of four vectors of 16 lanes, 49 columns fill little more than three; whole vectors of rows
    leave none over. Results are turned on their way to memory.
    """
    s = tx.schedule(product(rows, 64, columns)).auto(target, constant=["W"])
    assert has_lanes_of_rows(s.script()) == expected
    s.certificate()
    assert not has_lanes_of_rows(script(product(rows, 64, columns), target, ()))


@pytest.mark.parametrize("columns", [17, 36, 49, 50, 81])
def test_results_that_are_turned(columns: int):
    """Few terms, so that each is seen."""
    op, rng = product(160, 20, columns), np.random.default_rng(columns)
    s = tx.schedule(op).auto("x86-64-v4", constant=["W"])
    arrays = [rng.standard_normal(shape, dtype="f4") for shape in ((160, 20), (20, columns), (160,))]
    expected = interpret(s.program, arrays)[0]
    np.testing.assert_allclose(interpret_kernel(s.kernel, arrays, {})[0], expected, rtol=0, atol=1e-5)


def test_the_next_panel_is_asked_for_while_few_tiles_use_this_one():
    assert 'prefetch("W_cache", "Y.oo", 1, at="Y.co")' in script(product(512, 256, 49), "x86-64-v4")
    assert "prefetch" not in script(product(512, 256, 196), "x86-64-v4")
