"""Models in ONNX: what they compute, what they are trained as, what is refused."""

from __future__ import annotations

import os

import numpy as np
import pytest

import texpr as tx
from texpr import nn

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

from tests.onnx.models import mlp, model, run  # noqa: E402

X = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)


def reference(state, x):
    h = np.maximum(x @ state["first.weight"].T + state["first.bias"], 0)
    return h @ state["second.weight"].T + state["second.bias"]


def test_a_model_is_a_module_whose_initializers_are_parameters(tmp_path):
    path = tmp_path / "mlp.onnx"
    onnx.save(mlp(), path)
    for source in (path, path.read_bytes(), mlp()):
        loaded = tx.onnx.load(source)
        assert (loaded.inputs, loaded.outputs) == (("x",), ("y",))
        assert list(loaded.state_dict()) == ["first.weight", "first.bias", "second.weight", "second.bias"]
        assert np.allclose(loaded(X), reference(loaded.state_dict(), X), atol=1e-5)  # f32, sums of 8 terms
        assert np.array_equal(loaded(x=X[:2]), loaded(X[:2]))


def test_a_model_keeps_the_values_of_initializers_once():
    """As its parameters; the ModelProto that was given stays as it is."""
    source = mlp()
    before = source.SerializeToString(deterministic=True)
    loaded = tx.onnx.load(source)
    assert [list(t.dims) for t in loaded._proto.graph.initializer] == [[0]] * 4
    assert source.SerializeToString(deterministic=True) == before
    assert np.allclose(loaded(X), reference(loaded.state_dict(), X), atol=1e-5)


def test_gradients_of_an_imported_model_are_those_of_its_formula():
    loaded = tx.onnx.load(mlp())
    out = loaded(tx.tensor(X))
    (out * out).sum().backward()
    state = {n: a.astype(np.float64) for n, a in loaded.state_dict().items()}
    h = X @ state["first.weight"].T + state["first.bias"]
    dy = 2 * reference(state, X.astype(np.float64))
    dh = (dy @ state["second.weight"]) * (h > 0)
    wanted = {
        "first.weight": dh.T @ X,
        "first.bias": dh.sum(0),
        "second.weight": dy.T @ np.maximum(h, 0),
        "second.bias": dy.sum(0),
    }
    for name, parameter in loaded.named_parameters():
        assert np.allclose(parameter.grad.numpy(), wanted[name], rtol=1e-4, atol=1e-4), (
            name
        )  # f32, values up to 1e2


def test_an_imported_model_is_trained():
    loaded, target = tx.onnx.load(mlp()), tx.onnx.load(mlp(1))
    x = np.random.default_rng(2).normal(size=(64, 4)).astype(np.float32)
    trainer = nn.Trainer(loaded, nn.MSELoss(), nn.optim.Adam(loaded.parameters(), lr=2e-2))
    history = trainer.fit(x, target(x), epochs=15, batch_size=32, progress=False)
    assert history["loss"][-1] < 0.3 * history["loss"][0]


def test_values_that_decide_shapes_are_part_of_the_program():
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    loaded = tx.onnx.load(
        model([node], [("x", [2, 6]), ("shape", ["n"], TensorProto.INT64)], [("y", ["a", "b"])])
    )
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    assert loaded(x, np.array([3, 4])).shape == (3, 4)
    assert np.array_equal(loaded(x, np.array([-1, 4])), x.reshape(-1, 4))


def test_shapes_are_computed_when_the_program_is_made():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["b"]),
        helper.make_node("Concat", ["b", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    loaded = tx.onnx.load(
        model(nodes, [("x", ["n", 2, 3])], [("y", ["n", 6])], {"zero": np.array([0]), "rest": np.array([-1])})
    )
    assert loaded(np.ones((4, 2, 3), np.float32)).shape == (4, 6)
    assert loaded(np.ones((7, 2, 3), np.float32)).shape == (7, 6)


def test_running_statistics_are_buffers():
    data = {n: np.full(2, v, np.float32) for n, v in (("w", 1), ("b", 0), ("m", 3), ("v", 4))}
    loaded = tx.onnx.load(
        model(
            [helper.make_node("BatchNormalization", ["x", "w", "b", "m", "v"], ["y"])],
            [("x", [1, 2, 3])],
            [("y", [1, 2, 3])],
            data,
        )
    )
    assert [n for n, _ in loaded.named_parameters()] == ["w", "b"] and [
        n for n, _ in loaded.named_buffers()
    ] == ["m", "v"]
    assert np.allclose(loaded(np.full((1, 2, 3), 5, np.float32)), 1, atol=1e-5)


def body(nodes, inputs, outputs):
    kinds = {"c": TensorProto.BOOL, "go": TensorProto.BOOL, "k": TensorProto.INT64}
    infos = [
        [
            helper.make_tensor_value_info(
                n, kinds.get(n[:2] if n.startswith("go") else n[:1], TensorProto.FLOAT), s
            )
            for n, s in given
        ]
        for given in (inputs, outputs)
    ]
    return helper.make_graph(nodes, "body", *infos)


def loop(trips):
    inner = body(
        [helper.make_node("Add", ["h", "x"], ["h2"]), helper.make_node("Identity", ["c"], ["c2"])],
        [("k", []), ("c", []), ("h", [3])],
        [("c2", []), ("h2", [3])],
    )
    node = helper.make_node("Loop", ["trips" if trips else "", "", "x"], ["y"], body=inner)
    return model([node], [("x", [3])], [("y", [3])], {"trips": np.array(trips)} if trips else {})


def test_loops_are_unrolled():
    assert np.array_equal(tx.onnx.load(loop(4))(np.ones(3, np.float32)), np.full(3, 5, np.float32))


def test_a_loop_that_does_not_end_is_an_error():
    with pytest.raises(tx.ResourceError, match="more than 20,000 nodes of the model run; loops are unrolled"):
        inner = body(
            [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Identity", ["h"], ["h2"])],
            [("k", []), ("c", []), ("h", [3])],
            [("c2", []), ("h2", [3])],
        )
        node = helper.make_node("Loop", ["", "", "x"], ["y"], body=inner)
        tx.onnx.load(model([node], [("x", [3])], [("y", [3])]))(np.ones(3, np.float32))


def test_everything_unsupported_is_listed_at_once():
    nodes = [
        helper.make_node("NoSuch", ["x"], ["a"]),
        helper.make_node("Other", ["a"], ["b"], domain="my.own"),
        helper.make_node("NoSuch", ["b"], ["y"]),
    ]
    with pytest.raises(tx.onnx.UnsupportedOp) as error:
        tx.onnx.load(model(nodes, [("x", [2])], [("y", [2])], domains=["my.own"]))
    assert (
        str(error.value)
        == """error[onnx]: the model needs what texpr does not have
    ai.onnx.NoSuch, version 21: 2 nodes
    my.own.Other, version 1: 1 node
  help: the reference page `ONNX operators` lists those that are read"""
    )


def relu(**changes):
    return model([helper.make_node("Relu", ["x"], ["y"])], [("x", [2])], [("y", [2])], **changes)


def cyclic():
    return model(
        [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])],
        [("x", [2])],
        [("b", [2])],
    )


def twice():
    return model(
        [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["y"])],
        [("x", [2])],
        [("y", [2])],
    )


def with_tensor(change):
    made = model(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [("x", [2])],
        [("y", [2])],
        {"w": np.ones(2, np.float32)},
    )
    change(made.graph.initializer[0])
    return made


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (cyclic, "breaks a rule of ONNX"),
        (twice, "breaks a rule of ONNX"),
        (
            lambda: with_tensor(lambda t: t.dims.__setitem__(0, 2**40)),
            r"the tensor `w` of f32\[1099511627776\] needs 4,398,046,511,104 bytes",
        ),
        (lambda: with_tensor(lambda t: t.dims.__setitem__(0, -2)), r"the tensor `w` has dimensions \[-2\]"),
        (lambda: relu(opset=29), "version 29 of ONNX's operators; 1 to 28 are read"),
        (lambda: relu(opset=99), "version 99 of ONNX's operators"),
        (lambda: b"\x00\x01not a model", "cannot be read"),
        (lambda: 3.5, "a model is a path, bytes or an onnx.ModelProto"),
    ],
)
def test_bad_models_are_refused(bad, words):
    with pytest.raises(tx.CheckpointError, match=words):
        tx.onnx.load(bad())


def test_subgraphs_that_are_nested_too_deep_are_refused():
    inner = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "g", [], [helper.make_tensor_value_info("y", 1, [2])]
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "g", [], [helper.make_tensor_value_info("y", 1, [2])]
    )
    for _ in range(20):
        node = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=other)
        inner = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", 1, [2])])
    with pytest.raises(tx.ResourceError, match="nested deeper than 16"):
        tx.onnx.load(model(list(inner.node), [("x", [2]), ("c", [], TensorProto.BOOL)], [("y", [2])]))


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("../secret", "are at `../secret`, outside of the model's folder"),
        ("/etc/hostname", "are at `/etc/hostname`, outside of the model's folder"),
        ("m/../../x", "are at `m/../../x`, outside of the model's folder"),
        ("missing.bin", "are in `missing.bin`, which is not there"),
        ("link", "are at `link`, a link to outside of the model's folder"),
        ("", "have no place: ''"),
        (".", "have no place: '.'"),
        ("inner", "are in `inner`, which is no file"),
    ],
)
def test_data_outside_of_the_models_folder_is_refused(tmp_path, location, words):
    (tmp_path / "secret").write_bytes(b"12345678")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "inner").mkdir()
    made = with_tensor(lambda t: None)
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(tx.CheckpointError) as error:
        tx.onnx.load(folder / "m.onnx")
    assert error.value.message == f"the values of the tensor `w` {words}"
    with pytest.raises(tx.CheckpointError, match="load the model by its path"):
        tx.onnx.load(made)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"offset": "9"}, "begin at byte 9 of `m.data`, which has 8"),
        ({"offset": "-1"}, "have the offset '-1'"),
        ({"offset": "1e3"}, "have the offset '1e3'"),
        ({"length": "99999999999999999999"}, "are 99,999,999,999,999,999,999 bytes from byte 0"),
        ({"length": "4"}, r"are 4 bytes, and \[2\] needs 8"),
        ({"offset": "4"}, r"are 4 bytes, and \[2\] needs 8"),
    ],
)
def test_places_outside_of_a_file_are_refused(tmp_path, given, words):
    (tmp_path / "m.data").write_bytes(bytes(8))
    made = with_tensor(lambda t: None)
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "m.data", **given}.items():
        tensor.external_data.add(key=key, value=value)
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(tx.CheckpointError, match=f"the values of the tensor `w` {words}"):
        tx.onnx.load(tmp_path / "m.onnx")


def test_values_that_many_tensors_share_are_bounded(tmp_path):
    (tmp_path / "m.data").write_bytes(bytes(8))
    made = with_tensor(lambda t: None)
    del made.graph.initializer[:]
    for k in range(9):
        tensor = made.graph.initializer.add(name=f"w{k}" if k else "w", data_type=1, dims=[2])
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="m.data")
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(tx.ResourceError, match="need 72 bytes, and the files have 8"):
        tx.onnx.load(tmp_path / "m.onnx")


def test_data_of_which_another_folder_has_a_hard_link_are_refused(tmp_path):
    """The library refuses them: who made the model may not be allowed to read what its data is
    linked with.
    """
    folder = tmp_path / "model"
    folder.mkdir()
    onnx.save(mlp(), folder / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    os.link(folder / "m.data", tmp_path / "secret")
    with pytest.raises(tx.CheckpointError, match="cannot be read.*hard link"):
        tx.onnx.load(folder / "m.onnx")


def test_data_beside_the_model_are_read(tmp_path):
    onnx.save(mlp(), tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    assert np.array_equal(tx.onnx.load(tmp_path / "m.onnx")(X), tx.onnx.load(mlp())(X))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m(), "the model needs x"),
        (lambda m: m(X, X), "the model has 1 inputs and got 2"),
        (lambda m: m(X, z=X), "no further inputs: z\n  help: it takes x, by position or by name"),
        (lambda m: m(X[:, :3]), r"input `x` has shape \[5, 3\], the model declares \['batch', 4\]"),
        (lambda m: m(np.ones((2, 4), int)), "input `x` is i64, the model declares f32"),
    ],
)
def test_calls_that_do_not_fit(call, words):
    with pytest.raises(tx.CallError, match=words):
        call(tx.onnx.load(mlp()))


def test_named_dimensions_can_be_fixed():
    loaded = tx.onnx.load(mlp(), dims={"batch": 5})
    assert loaded(X).shape == (5, 3)
    with pytest.raises(tx.CallError, match=r"declares \[5, 4\]"):
        loaded(X[:2])
    with pytest.raises(tx.CallError, match="no dimensions rows"):
        tx.onnx.load(mlp(), dims={"rows": 5})


def test_functions_of_a_model_are_read():
    function = helper.make_function(
        "my.own",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 21)],
    )
    made = model(
        [helper.make_node("Twice", ["x"], ["y"], domain="my.own")],
        [("x", [2])],
        [("y", [2])],
        functions=[function],
        domains=["my.own"],
    )
    assert np.array_equal(tx.onnx.load(made)(np.array([1, 2], "f4")), [2, 4])


@pytest.mark.parametrize("version", [12, 13, 22])
@pytest.mark.parametrize("t", [np.float32, np.float16])
def test_dropout_whose_ratio_is_an_initializer(version, t):
    x = np.array([1, -2, 3], t)
    for more, constants in (([], (1,)), ([np.array(False)], (1, 2)), ([np.array(False)], (1,))):
        y, mask = run("Dropout", [x, np.float32(0.5), *more], version, 2, constants)
        assert y.dtype == t and np.array_equal(y, x) and mask.all()
    assert np.array_equal(run("Dropout", [x, np.float32(0), np.array(True)], version, 1, (1, 2)), x)
    y, mask = run("Dropout", [x, np.float32(0.5), np.array(True)], version, 2, (1, 2))
    assert y.dtype == t and np.array_equal(y, np.where(mask, 2 * x, 0))


def scaled():
    """x resized by twice a factor that is a parameter, and times a weight."""
    nodes = [
        helper.make_node("Mul", ["factor", "two"], ["scales"]),
        helper.make_node("Resize", ["x", "", "scales"], ["h"]),
        helper.make_node("Mul", ["h", "weight"], ["y"]),
    ]
    return tx.onnx.load(
        model(
            nodes,
            [("x", ["n"])],
            [("y", ["m"])],
            {"factor": np.ones(1, "f4"), "two": np.full(1, 2, "f4"), "weight": np.full(1, 3, "f4")},
        )
    )


def test_parameters_that_decide_the_program_are_known_to_it():
    loaded, x = scaled(), np.array([1, 2], np.float32)
    assert np.array_equal(loaded(x), [3, 3, 6, 6]) and list(loaded.state_dict()) == [
        "factor",
        "two",
        "weight",
    ]
    loaded.load_state_dict({**loaded.state_dict(), "factor": np.full(1, 0.5, "f4")})
    assert np.array_equal(loaded(x), [3, 6])
    loaded.load_state_dict({**loaded.state_dict(), "weight": np.full(1, 5, "f4")})
    assert np.array_equal(loaded(x), [5, 10])
    y = loaded(tx.tensor(x))
    y.sum().backward()
    assert np.array_equal(y.numpy(), [5, 10]) and dict(loaded.named_parameters())["weight"].grad.numpy() == 3
    with pytest.raises(
        tx.CallError,
        match="input 2 of Resize must be known when the program is made, and it is computed from `factor`",
    ):
        tx.jit(lambda x: scaled()(x))(x)


def test_inputs_keep_the_dtypes_that_the_model_declares():
    made = model(
        [
            helper.make_node("Cast", ["x"], ["c"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["c", "w"], ["y"]),
        ],
        [("x", [2], TensorProto.DOUBLE)],
        [("y", [2])],
        {"w": np.ones(2, "f4")},
    )
    assert np.array_equal(tx.onnx.load(made)(np.array([1, 1e300])), np.array([2, np.inf], "f4"))


@pytest.mark.parametrize(
    "dims",
    [
        [-1, 3, "?", "?"],
        [0, 3, "", ""],
        ["None", 3, "None", "None"],
        ["-1", 3, "-1", "-1"],
        [None, 3, None, None],
    ],
)
def test_declared_dimensions_that_are_not_known(dims):
    loaded = tx.onnx.load(model([helper.make_node("Relu", ["x"], ["y"])], [("x", dims)], [("y", [None] * 4)]))
    for shape in ((1, 3, 4, 5), (2, 3, 1, 0)):
        assert loaded(np.ones(shape, np.float32)).shape == shape
    with pytest.raises(tx.CallError, match=r"the model declares \['\?', 3, '\?', '\?'\]"):
        loaded(np.ones((1, 4, 4, 5), np.float32))


def test_sparse_constants():
    values, places = (
        helper.make_tensor("v", TensorProto.FLOAT, [2], [3.0, 5.0]),
        helper.make_tensor("i", TensorProto.INT64, [2], [1, 4]),
    )
    constant = helper.make_node(
        "Constant", [], ["c"], sparse_value=helper.make_sparse_tensor(values, places, [2, 3])
    )
    made = model([constant, helper.make_node("Add", ["x", "c"], ["y"])], [("x", [2, 3])], [("y", [2, 3])])
    assert tx.onnx.load(made)(np.ones((2, 3), np.float32)).tolist() == [[1, 4, 1], [1, 6, 1]]


def test_a_concatenation_of_many_tensors():
    parts = [np.full((2, 1 + k % 2), k, np.float32) for k in range(100)]
    assert np.array_equal(run("Concat", parts, axis=-1), np.concatenate(parts, axis=-1))
