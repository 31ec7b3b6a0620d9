"""Models that are written: another runtime computes the same, and they are read back as what
they were.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.ir.dtypes import F8E5M2, U8, numbers_of
from texpr.nn.core import pytree

onnx = pytest.importorskip("onnx")

from texpr.onnx.model_errors import UnsupportedOp  # noqa: E402
from texpr.onnx.writing.graph import Graph, Inexpressible, known  # noqa: E402
from texpr.tools.bench.onnx_saving import difference, find_runtime  # noqa: E402
from texpr.tools.bench.targets import cases_of, expected_of  # noqa: E402

RUN = find_runtime()[1]
RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def check(path, model, *example, **options):
    """Saved and run by another runtime: the same numbers. Gives the operators of the graph."""
    tx.onnx.save(model, path, example, **options)
    proto = onnx.load(path)
    found = RUN(path, dict(zip((v.name for v in proto.graph.input), example)))
    for y, w in zip(found, map(np.asarray, pytree.leaves(model(*example))), strict=True):
        assert y.dtype == w.dtype
        np.testing.assert_allclose(y, w, rtol=1e-4, atol=2e-5)  # f32
    return [n.op_type for n in proto.graph.node if n.op_type != "Constant"]


def digits():
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3, padding="same"),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(),
        nn.Linear(8, 10),
    )


class Text(nn.Module):
    """Words to scores of the next word."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Embedding(16, 8)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)
        self.head = nn.Linear(8, 20)

    def forward(self, ids):
        return self.head(self.layers(self.words(ids) + self.places(np.arange(ids.shape[1]))))


def test_an_image_network(tmp_path):
    model = digits().eval()
    x = normal(2, 64)
    operators = check(tmp_path / "m.onnx", model, x)
    assert operators == [
        "Reshape",
        "Conv",
        "BatchNormalization",
        "Relu",
        "MaxPool",
        "Conv",
        "Gelu",
        "GlobalAveragePool",
        "Reshape",
        "Gemm",
    ]
    loaded = tx.onnx.load(tmp_path / "m.onnx")
    state = model.state_dict()
    assert loaded.inputs == ("x",) and set(loaded.state_dict()) == {
        n for n in state if "num_batches" not in n
    }
    assert np.allclose(loaded(x), model(x), atol=2e-5)
    assert all(np.array_equal(a, state[n]) for n, a in loaded.state_dict().items())
    assert {n for n, _ in loaded.named_parameters()} == {n for n, _ in model.named_parameters()}


def test_a_transformer_of_any_batch(tmp_path):
    model = Text().eval()
    tx.onnx.save(
        model,
        tmp_path / "m.onnx",
        RNG.integers(0, 20, (1, 6)),
        dims={"ids": {0: "batch"}},
        outputs=["scores"],
    )
    more = RNG.integers(0, 20, (5, 6))
    assert np.allclose(RUN(tmp_path / "m.onnx", {"ids": more})[0], model(more), atol=2e-5)
    graph = onnx.load(tmp_path / "m.onnx").graph
    assert [
        [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in (*graph.input, *graph.output)
    ] == [["batch", 6], ["batch", 6, 20]]


@pytest.mark.parametrize(
    ("layer", "operator", "shape"),
    [
        (lambda: nn.GRU(3, 4), "GRU", (5, 2, 3)),
        (lambda: nn.RNN(3, 4), "RNN", (5, 2, 3)),
        (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), "Conv", (2, 4, 9)),
        (
            lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
            "ConvTranspose",
            (2, 4, 5, 5),
        ),
        (lambda: nn.LayerNorm((3, 4)), "LayerNormalization", (2, 3, 4)),
        (lambda: nn.GroupNorm(2, 4), "GroupNormalization", (2, 4, 5)),
        (lambda: nn.AvgPool2d(3, padding=1, count_include_pad=False), "AveragePool", (2, 4, 9, 9)),
        (lambda: nn.MultiheadAttention(8, 2, batch_first=True), "Einsum", ((2, 5, 8),) * 3),
        (lambda: nn.Fold((4, 5), (2, 3), padding=1), "ScatterElements", (1, 6, 25)),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_layers(tmp_path, layer, operator, shape):
    shapes = shape if isinstance(shape[0], tuple) else (shape,)
    assert operator in check(tmp_path / "m.onnx", layer().eval(), *(normal(*s) for s in shapes))


def test_two_dimensions_of_a_recurrent_layer(tmp_path):
    model = nn.LSTM(3, 4, bidirectional=True, batch_first=True)
    tx.onnx.save(model, tmp_path / "m.onnx", normal(2, 5, 3), dims={"input": {0: "batch", 1: "time"}})
    x = normal(4, 7, 3)
    assert all(
        np.allclose(y, w, atol=1e-5)
        for y, w in zip(RUN(tmp_path / "m.onnx", {"input": x}), pytree.leaves(model(x)), strict=True)
    )


@pytest.mark.parametrize(
    "text",
    [
        "op mine(X: f32[N, N]) -> Y: f32[N] { s[n] = max(d: abs(X[n, d])) + 1  Y[n] = tanh(sum(d: X[n, d] / "
        "s[n] * X[d, n])) }",
        "op near(X: f32[N, N]) -> Y: f32[N, N] { Y[i, j] = (X[i - 1, j | 0] + X[i, j] + X[i + 1, (2*j) % N | "
        "clamp]) / 3 }",
        "op lower(X: f32[N, N]) -> Y: f32[N] { Y[i] = sum(j in 0..i + 1: X[i, j]) }",
        "op joined(X: f32[N, N]) -> Y: f32[2*N] { Y[i] = X[i, i]  for i in 0..N  Y[i + N] = X[0, i] * 2 }",
        "op counted(X: f32[N, N]) -> Y: f32[N] { Y[i] = 0  Y[i64(abs(X[i, j]) * 3) | drop] += 1  for i in "
        "0..N, j in 0..N }",
        "op whole(X: f32[N, N]) -> Y: i32[N, N] { Y[i, j] = i32(X[i, j] * 9) // -4 + i32(X[j, i] * 9) % 5 }",
        "op first(X: f32[N, N]) -> Y: i64[N] { Y[i] = argmax(j in 0..N: if j > 0 then X[i, j] else X[i, 0] - "
        "9) }",
    ],
)
def test_own_operators(tmp_path, text):
    own = tx.op(text)
    check(tmp_path / "m.onnx", lambda x: own(x), normal(5, 5))


def test_operators_and_gradients_of_the_library():
    """A few; `python -m texpr bench saving` has all."""
    done = 0
    for name, program, sizes, _ in cases_of(None, (19, 20)):
        given, expected = expected_of(program, sizes)
        try:
            assert not difference(program, given, expected, RUN), name
        except UnsupportedOp:
            continue
        done += 1
    assert done > 3


def test_a_function_with_tensors_of_its_own(tmp_path):
    weight = nn.Parameter(normal(4, 4), name="w")
    table = normal(4)
    assert check(
        tmp_path / "m.onnx", tx.jit(lambda x: tx.where(x > 0, x @ weight, 0.5).sum(0) + table), normal(3, 4)
    )
    assert "w" in tx.onnx.load(tmp_path / "m.onnx").state_dict()


def test_a_module_stays_in_training_mode(tmp_path):
    model = digits()
    model[2].eval()
    before = [m.training for m in model.modules()]
    tx.onnx.save(model, tmp_path / "m.onnx", normal(2, 64))
    assert [m.training for m in model.modules()] == before


def test_everything_that_onnx_lacks_is_listed_and_nothing_is_written(tmp_path):
    high = tx.op("op high(X: i32[N]) -> Y: i32[N] { Y[i] = mulhi(X[i], X[i]) }")
    some = tx.op("op some(X: i32[N]) -> Y: i32[N] { Y[i] = sum(j in 0..clamp(i64(X[i]), 0, N): X[j]) }")
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    with pytest.raises(tx.onnx.UnsupportedOp) as error:
        tx.onnx.save(lambda x: high(high(x)) + some(x), path, np.arange(5, dtype=np.int32))
    assert (
        str(error.value)
        == """error[onnx]: the program has what ONNX does not
    high: the function mulhi: 2 calls
    some: a range that is computed: 1 call"""
    )
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("model", "words"), [(3, "the model is a int"), (lambda x: 1, "the program gives no tensors")]
)
def test_what_is_no_model(tmp_path, model, words):
    with pytest.raises(tx.CallError, match=words):
        tx.onnx.save(model, tmp_path / "m.onnx", normal(3))


def test_what_was_read_is_saved_again(tmp_path):
    model, x = digits().eval(), normal(3, 64)
    tx.onnx.save(model, tmp_path / "m.onnx", x, inputs=["images"], outputs=["scores"])
    tx.onnx.save(tx.onnx.load(tmp_path / "m.onnx"), tmp_path / "again.onnx", x)
    assert tx.onnx.load(tmp_path / "again.onnx").outputs == ("scores",)
    assert np.allclose(RUN(tmp_path / "again.onnx", {"images": x})[0], model(x), atol=2e-5)
    first, second = (tx.onnx.load(tmp_path / n).state_dict() for n in ("m.onnx", "again.onnx"))
    assert set(first) == set(second) and all(np.array_equal(first[n], second[n]) for n in first)


def mean(x):
    return x.sum(0) / float(x.shape[0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"opset": 17}, "opset is 17, expected 21 to"),
        ({"dims": {"x": ["n"]}}, "dims says names of dimensions by input and axis"),
        ({"dims": {"z": {0: "n"}}}, "dims names an input `z`"),
        ({"dims": {"x": {4: "n"}}}, "dims names axis 4 of `x`, which has 2"),
        ({"dims": {"x": {0: "n", 1: "n"}}}, r"the dimension n has extents \[3, 4\]"),
        ({"dims": {"x": {0: "n"}}}, "the program depends on the dimension n: a constant"),
        ({"inputs": ["a", "b"]}, "the example has 1 arguments, and the inputs are a, b"),
        ({"outputs": ["x"]}, "names of outputs differ from those of inputs"),
    ],
)
def test_what_does_not_fit(tmp_path, arguments, words):
    with warnings.catch_warnings(), pytest.raises(tx.CallError, match=words):
        tx.onnx.save(mean, tmp_path / "m.onnx", normal(3, 4), **arguments)
    assert not list(tmp_path.iterdir())


def test_conversions_to_floats_of_8_bits_do_not_saturate(tmp_path):
    f = tx.op(
        "op f(X: f32[N]) -> (Y: f32[N], Q: f8e5m2[N]) { Y[i] = f32(f8e4m3(X[i]))  Q[i] = f8e5m2(X[i]) }"
    )
    x = np.array([1.1, 448, 500, -np.inf, np.nan, 70000], np.float32)
    tx.onnx.save(f, tmp_path / "m.onnx", x)
    nodes = onnx.load(tmp_path / "m.onnx").graph.node
    saturate = [a.i for n in nodes for a in n.attribute if a.name == "saturate"]
    assert saturate == [0, 0]
    for found, expected in zip(tx.onnx.load(tmp_path / "m.onnx")(x), tx.interpret(f, x)):
        np.testing.assert_array_equal(
            np.asarray(found, "f4"), numbers_of(expected, F8E5M2) if expected.dtype == np.uint8 else expected
        )


class Shifted(nn.Module):
    """Two inputs, and a parameter with the name that outputs usually have."""

    def __init__(self):
        super().__init__()
        self.y = nn.Parameter(normal(3))

    def forward(self, x, y1):
        return x + self.y, x - y1


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (lambda x, y: x + y, ["y1"]),
        (lambda y, y1: y * y1, ["y2"]),
        (lambda y0, x: (y0, x + y0), ["y1", "y2"]),
        (lambda x, y: (x, y), ["y0", "y1"]),
        (Shifted(), ["y0", "y2"]),
        (lambda a, b: a + b, ["y"]),
    ],
)
def test_default_names_of_outputs_are_those_that_inputs_and_parameters_leave(tmp_path, model, expected):
    check(tmp_path / "m.onnx", model, normal(3), normal(3))
    assert [v.name for v in onnx.load(tmp_path / "m.onnx").graph.output] == expected


def ran(path, **inputs):
    """The first output; infinities and NaN on the way are none of the test's business."""
    with np.errstate(all="ignore"):
        return RUN(path, inputs)[0]


@pytest.mark.parametrize("t", ["f4", "f8"])
@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [  # of mpmath
        (
            "log1p",
            [1e-8, 1e-5, -1e-5, -0.0, -0.5, 3, np.inf, -1],
            [
                9.99999995e-09,
                9.99995000033333e-06,
                -1.0000050000333336e-05,
                -0.0,
                -0.6931471805599453,
                1.3862943611198906,
                np.inf,
                -np.inf,
            ],
        ),
        (
            "expm1",
            [1e-8, 1e-5, -1e-5, -0.0, 0.5, 5, np.inf, -np.inf],
            [
                1.000000005e-08,
                1.0000050000166667e-05,
                -9.999950000166667e-06,
                -0.0,
                0.6487212707001282,
                147.4131591025766,
                np.inf,
                -1,
            ],
        ),
        (
            "erfc",
            [0, 0.5, 2.5, 7, -3, np.inf, -np.inf],
            [1, 0.4795001221869535, 0.0004069520174449589, 4.183825607779415e-23, 1.9999779095030015, 0, 2],
        ),
        ("exp2", [100, -100, 0.5, -np.inf], [2.0**100, 2.0**-100, 2**0.5, 0]),
    ],
)
def test_functions_keep_their_digits(tmp_path, t, name, x, expected):
    function, x = getattr(tx.ops, name), np.array(x, t)
    tx.onnx.save(lambda x: function(x), tmp_path / "m.onnx", x)
    found = ran(tmp_path / "m.onnx", x=x)
    np.testing.assert_allclose(found, np.array(expected), rtol={"f4": 1e-6, "f8": 2e-15}[t])
    assert np.array_equal(np.signbit(found), np.signbit(expected))


def test_lengths_neither_overflow_nor_vanish(tmp_path):
    x, y = (
        np.array([3e30, -3e-30, 0, np.nan, 0], np.float32),
        np.array([-4e30, 4e-30, 0, -np.inf, -2], np.float32),
    )
    tx.onnx.save(lambda x, y: tx.ops.hypot(x, y), tmp_path / "m.onnx", (x, y))
    np.testing.assert_allclose(ran(tmp_path / "m.onnx", x=x, y=y), [5e30, 5e-30, 0, np.inf, 2], rtol=1e-6)


@pytest.mark.parametrize("source", ["f2", "f4", "f8"])
@pytest.mark.parametrize("target", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_conversions_to_integers_saturate(tmp_path, source, target):
    x = np.array([np.nan, np.inf, -np.inf, -1, -0.9, 1.9, -129], source)
    ends = np.iinfo(target)
    tx.onnx.save(lambda x: x.astype(np.dtype(target)), tmp_path / "m.onnx", x)
    found = ran(tmp_path / "m.onnx", x=x)
    assert found.dtype == target and found.tolist() == [
        0,
        ends.max,
        ends.min,
        max(-1, ends.min),
        0,
        1,
        max(-129, ends.min),
    ]


@pytest.mark.parametrize("t", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers_are_divided_downwards_at_the_ends_of_their_types(tmp_path, t):
    ends = np.iinfo(t)
    few = np.array(sorted({ends.min, 0, 1, 3, 7, ends.max} | ({-1, -3} if ends.min else set())), t)
    a, b = (v.ravel() for v in np.meshgrid(few, few))
    tx.onnx.save(lambda a, b: a // b, tmp_path / "q.onnx", (a, b))
    tx.onnx.save(lambda a, b: a % b, tmp_path / "r.onnx", (a, b))
    pairs = list(zip(a.tolist(), b.tolist()))
    expected = {
        "q": [p // q if q else 0 for p, q in pairs],
        "r": [p % q if q else 0 for p, q in pairs],
    }  # Python's are exact
    for name, numbers in expected.items():
        found = ran(tmp_path / f"{name}.onnx", a=a, b=b)
        assert found.dtype == t and found.tolist() == [ends.min if n > ends.max else n for n in numbers]


def test_floats_are_divided_as_numpy_does(tmp_path):
    a, b = np.array([1, -1, 7, -7, 1, -1], np.float32), np.array([0.1, 0.1, -2, 2, np.inf, 0], np.float32)
    tx.onnx.save(lambda a, b: a // b, tmp_path / "q.onnx", (a, b))
    tx.onnx.save(lambda a, b: a % b, tmp_path / "r.onnx", (a, b))
    assert ran(tmp_path / "q.onnx", a=a, b=b).tolist() == [9, -10, -4, -4, 0, -np.inf]
    rest = [0.09999998658895493, 1.4901161193847656e-08, -1, 1, 1, np.nan]
    np.testing.assert_allclose(ran(tmp_path / "r.onnx", a=a, b=b), rest, rtol=1e-5)


@pytest.mark.parametrize("t", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_negation_complement_and_reductions_of_all_integers(tmp_path, t):
    x = np.array([[0, 1, 5], [np.iinfo(t).min, np.iinfo(t).max, 2]], t)
    functions = {
        "negative": lambda x: -x,
        "complement": lambda x: ~x,
        "largest": lambda x: x.max(1),
        "smallest": lambda x: x.min(1),
        "total": lambda x: x.sum(1),
        "place": lambda x: x.argmax(1),
    }
    wrapped = {
        "negative": 0 - x,
        "complement": ~x,
        "largest": x.max(1),
        "smallest": x.min(1),
        "total": x.sum(1),
        "place": x.argmax(1),
    }
    for name, function in functions.items():
        tx.onnx.save(function, tmp_path / "m.onnx", x)
        found = ran(tmp_path / "m.onnx", x=x)
        assert found.dtype == np.asarray(function(tx.tensor(x))).dtype, name
        assert found.tolist() == wrapped[name].tolist(), name


def test_nodes_whose_element_types_onnx_does_not_have_are_never_written():
    with pytest.raises(Inexpressible, match="^error\\[onnx\\]: Neg of u8$"):
        Graph(()).add("Neg", [known(np.zeros(2, np.uint8), U8)], (2,), U8)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.AdaptiveAvgPool1d(3), (2, 4, 8)),
        (nn.AdaptiveMaxPool1d(3), (2, 4, 8)),
        (nn.AdaptiveAvgPool2d(3), (2, 3, 7, 8)),
        (nn.AdaptiveMaxPool2d(1), (2, 3, 7, 8)),
        (nn.LocalResponseNorm(3), (2, 4, 5)),
        (nn.ZeroPad2d(2), (2, 3, 4, 4)),
        (nn.Fold((4, 4), 2), (2, 8, 9)),
    ],
)
def test_batches_of_any_size_where_windows_reach_beyond_the_border(tmp_path, layer, shape):
    tx.onnx.save(layer, tmp_path / "m.onnx", normal(*shape), inputs=["x"], dims={"x": {0: "n"}})
    for n in (1, 5):
        x = normal(n, *shape[1:])
        np.testing.assert_allclose(ran(tmp_path / "m.onnx", x=x), layer(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3)])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: x.sum(0),
        lambda x: x.sum(-1),
        lambda x: x.reshape((3, 0)),
        lambda x: tx.ops.concat(x, x, axis=0),
        lambda x: tx.where(x > 0, x, 0).astype("i32"),
        lambda x: x @ np.ones((3, 2), np.float32),
        lambda x: x[:, :1].T,
    ],
)
def test_empty_tensors(tmp_path, shape, function):
    x = np.zeros(shape, np.float32)
    tx.onnx.save(function, tmp_path / "m.onnx", x)
    expected = np.asarray(function(tx.tensor(x)))
    for found in (ran(tmp_path / "m.onnx", x=x), np.asarray(tx.onnx.load(tmp_path / "m.onnx")(x))):
        assert found.shape == expected.shape and np.array_equal(found, expected)


@pytest.mark.parametrize("name", ["cumsum", "cumsum_exclusive", "cumsum_reverse"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_running_sums_of_all_numbers(tmp_path, name: str, dtype: str):
    x = RNG.integers(0, 100, (3, 4)).astype(dtype)
    nodes = check(tmp_path / "m.onnx", lambda v: getattr(tx.ops, name)(v, axis=1), x)
    assert nodes.count("CumSum") == 1 and len(nodes) == (1 if dtype in ("f4", "f8", "i4", "i8") else 3)
    np.testing.assert_array_equal(tx.onnx.load(tmp_path / "m.onnx")(x), getattr(tx.ops, name)(x, axis=1))


@pytest.mark.parametrize("example", ["f4", "f8"])
def test_weights_of_another_dtype_than_the_inputs(tmp_path, example):
    """What was read is saved for inputs as the model declares them."""
    h = onnx.helper
    nodes = [
        h.make_node("Cast", ["w"], ["c"], to=1),
        h.make_node("MatMul", ["x", "c"], ["m"]),
        h.make_node("Cast", ["k"], ["f"], to=1),
        h.make_node("Add", ["m", "f"], ["y"]),
    ]
    x, k, y = (h.make_tensor_value_info(n, t, ["n", 3]) for n, t in (("x", 1), ("k", 7), ("y", 1)))
    weight = onnx.numpy_helper.from_array(normal(3, 3).astype("f2"), "w")
    graph = h.make_graph(nodes, "g", [x, k], [y], [weight])
    model = tx.onnx.load(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8))
    given = np.ones((2, 3), example), np.arange(6).reshape(2, 3)
    tx.onnx.save(model, tmp_path / "again.onnx", given)
    again = tx.onnx.load(tmp_path / "again.onnx")
    np.testing.assert_array_equal(again(*given), model(*given))
    nn.export(model, tmp_path / "model.o", *given, header=tmp_path / "model.h")
    assert "const float *x, const int64_t *x1" in (tmp_path / "model.h").read_text()
