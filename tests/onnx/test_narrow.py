"""Element types of 8, 4 and 2 bits, beside ml_dtypes and the tables of ONNX's pages about them."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")
ml_dtypes = pytest.importorskip("ml_dtypes")

from onnx import helper  # noqa: E402

from texpr.onnx.narrow_types import NARROW  # noqa: E402

F, H, D = np.float32, np.float16, np.float64
INTEGERS = ("uint2", "int2", "uint4", "int4")
FLOATS = ("float4_e2m1fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
NUMBERS = {t.library: t.number for t in NARROW.values()}
nan, inf = np.nan, np.inf


def through(nodes, arrays, kind, initializers=()):
    """What nodes make of x0, x1, ...; the result `y` has the element type `kind`."""
    infos = [
        helper.make_tensor_value_info(f"x{k}", helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for k, a in enumerate(arrays)
    ]
    out = helper.make_tensor_value_info("y", kind, None)
    graph = helper.make_graph(nodes, "g", infos, [out], list(initializers))
    return tx.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]))(*arrays)


def cast(x, to, **attributes):
    kind = NUMBERS.get(to) or helper.np_dtype_to_tensor_dtype(np.dtype(to))
    return through([helper.make_node("Cast", ["x0"], ["y"], to=kind, **attributes)], [x], kind)


def same(found, wanted):
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert np.array_equal(found.view(np.uint8), wanted.view(np.uint8)), (found, wanted)


def every_number(name):
    bits = 4 if "4_" in name else 8
    return np.arange(1 << bits, dtype=np.uint8).view(getattr(ml_dtypes, name))


def between(name, t):
    """The numbers of a type, those between them, and their neighbours: all cases of rounding."""
    own = np.unique(every_number(name).astype(D))
    own = own[np.isfinite(own)]
    middles = (own[1:] + own[:-1]) / 2
    with np.errstate(over="ignore"):
        exact = np.concatenate([own, middles, [nan, inf, -inf, 0, -0.0, 1e9, -1e9, 1e-40]]).astype(t)
        near = exact.astype(H if t == H else F)
    above, below = (np.nextafter(near, near.dtype.type(way)) for way in (inf, -inf))
    return np.concatenate([exact, above, below]).astype(t)


@pytest.mark.parametrize("t", [F, H, D])
@pytest.mark.parametrize("name", ["float4_e2m1fn", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_floats_are_rounded_once(name, t):
    x, kind = between(name, t), getattr(ml_dtypes, name)
    largest = float(ml_dtypes.finfo(kind).max)
    same(cast(x, name), np.clip(x, -largest, largest).astype(t).astype(kind))
    if name.startswith("float8"):
        same(cast(x, name, saturate=0), x.astype(kind))


def test_floats_of_64_bits_are_rounded_once():
    """ml_dtypes rounds them to f32 first."""
    x = np.nextafter(np.array([0.25, 2.5]), 9)
    assert cast(x, "float4_e2m1fn").astype(F).tolist() == [0.5, 3]
    assert cast(np.array([0.25, 2.5]), "float4_e2m1fn").astype(F).tolist() == [0, 2]


def test_powers_of_two():
    x = np.array([0, 0.124, 0.25, 0.5, 1.1, 2, 3, 6, 1e38, 1.8e38, 2.0**-127, inf, nan], F)
    codes = {
        way: cast(x, "float8_e8m0fnu", round_mode=way).view(np.uint8).tolist()
        for way in ("up", "down", "nearest")
    }
    assert codes["up"] == [0, 124, 125, 126, 128, 128, 129, 130, 254, 254, 0, 255, 255]
    assert codes["down"] == [0, 123, 125, 126, 127, 128, 128, 129, 253, 254, 0, 255, 255]
    assert codes["nearest"][:8] == [0, 124, 125, 126, 127, 128, 129, 130]


@pytest.mark.parametrize("name", FLOATS)
def test_numbers_of_bits(name):
    x = every_number(name)
    for t in (F, D):
        found, wanted = cast(x, t), x.astype(t)
        assert found.dtype == t and np.array_equal(found, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(found)[found == 0], np.signbit(wanted)[wanted == 0])


@pytest.mark.parametrize("name", INTEGERS)
def test_last_bits_of_integers(name):
    kind = getattr(ml_dtypes, name)
    x = np.arange(-40, 40)
    for t in (np.int64, np.int8, F):
        found = cast(x.astype(t), name)
        assert found.dtype == kind and np.array_equal(found.astype(int), x.astype(kind).astype(int))
    whole = x.astype(kind)
    for t in (np.int8 if name.startswith("i") else np.uint8, np.int64, H):
        assert np.array_equal(cast(whole, t), whole.astype(t))
    assert cast(np.array([1.9, -1.9], F), "int4").astype(int).tolist() == [1, -1]


def test_from_one_narrow_type_to_another():
    found = cast(np.array([0.5, 3, -6], ml_dtypes.float4_e2m1fn), "int4")
    assert found.astype(int).tolist() == [0, 3, -6]
    assert cast(np.array([7, -8], ml_dtypes.int4), "float8_e5m2fnuz").astype(F).tolist() == [7, -8]


@pytest.mark.parametrize("name", ["int4", "float4_e2m1fn", "float8_e4m3fnuz"])
def test_elements_that_are_moved(name):
    x = np.array([[1, 2, 3], [-4, 0, 1]], F).astype(getattr(ml_dtypes, name))
    nodes = [
        helper.make_node("Transpose", ["x0"], ["t"]),
        helper.make_node("Identity", ["t"], ["i"]),
        helper.make_node("Flatten", ["i"], ["f"], axis=0),
        helper.make_node("Pad", ["f", "pads"], ["y"]),
    ]
    pads = onnx.numpy_helper.from_array(np.array([0, 1, 0, 2]), "pads")
    wanted = np.pad(x.T.reshape(1, 6).astype(F), ((0, 0), (1, 2))).astype(x.dtype)
    found = through(nodes, [x], NUMBERS[name], [pads])
    assert found.dtype == x.dtype and np.array_equal(found.astype(F), wanted.astype(F))


def test_weights_of_four_bits_share_bytes():
    """Five elements take three bytes, as raw bytes and as numbers of an i32."""
    values = [7, -8, 3, -1, 5]
    scale = onnx.numpy_helper.from_array(np.array([0.5, 2, 1, 1, 0.25], F), "s")
    packed = helper.make_tensor("w", onnx.TensorProto.INT4, [5], np.array(values, ml_dtypes.int4))
    raw = onnx.TensorProto(name="w", dims=[5], data_type=onnx.TensorProto.INT4)
    raw.raw_data = bytes([0x87, 0xF3, 0x05])
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0),
        helper.make_node("Add", ["d", "x0"], ["y"]),
    ]
    for weights in (packed, raw):
        found = through(nodes, [np.zeros(5, F)], 1, [weights, scale])
        assert found.tolist() == [3.5, -16, 3, -1, 1.25]
    raw.raw_data = bytes([0x87, 0xF3])
    with pytest.raises(tx.CheckpointError, match="int4"):
        through(nodes, [np.zeros(5, F)], 1, [raw, scale])


def test_blocks_of_an_axis_have_scales_of_their_own():
    x = np.array([[1, -20, 4, 7], [0.4, 0.6, -1, nan]], F)
    scale = np.array([[1, 2], [0.5, 1]], F)
    zero = onnx.helper.make_tensor("z", onnx.TensorProto.UINT4, [2, 2], [1, 2, 3, 0])
    quantize = helper.make_node("QuantizeLinear", ["x0", "x1", "z"], ["q"], axis=1, block_size=2)
    back = helper.make_node("DequantizeLinear", ["q", "x1", "z"], ["y"], axis=1, block_size=2)
    found = through([quantize, back], [x, scale], 1, [zero])
    assert found.tolist() == [[1, -1, 4, 8], [0.5, 0.5, 0, 0]]
    named = helper.make_node("QuantizeLinear", ["x0", "x1"], ["y"], output_dtype=NUMBERS["float4_e2m1fn"])
    found = through([named], [np.array([0.3, -10, 5], F), np.array(1, F)], NUMBERS["float4_e2m1fn"])
    assert found.astype(F).tolist() == [0.5, -6, 4]


def test_bytes_are_taken_for_floats_and_whole_numbers_for_integers():
    node = [helper.make_node("Cast", ["x0"], ["y"], to=1)]
    graph = helper.make_graph(
        node,
        "g",
        [helper.make_tensor_value_info("x0", NUMBERS["int4"], [2])],
        [helper.make_tensor_value_info("y", 1, [2])],
    )
    loaded = tx.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]))
    assert loaded(np.array([-8, 7])).tolist() == [-8, 7]
    with pytest.raises(tx.CallError, match="input `x0` is int64, the model declares int4") as error:
        loaded(np.array([-8, 8]))
    assert "help: convert it: x.astype(ml_dtypes.int4)" in str(error.value)
    with pytest.raises(tx.CallError, match="input `x0` is float32, the model declares int4"):
        loaded(np.zeros(2, F))


def test_what_computes_with_narrow_types_is_refused():
    x = np.zeros(3, ml_dtypes.int4)
    with pytest.raises(tx.CallError, match="Add: input 0 is int4, which version 14 of it does not take"):
        through([helper.make_node("Add", ["x0", "x0"], ["y"])], [x], NUMBERS["int4"])
    with pytest.raises(tx.CheckpointError, match="the output `y` is int4, the model declares another type"):
        through([helper.make_node("Identity", ["x0"], ["y"])], [x], 3)
