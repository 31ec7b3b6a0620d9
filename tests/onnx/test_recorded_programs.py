"""Programs of models on disk: what another process converted is not converted again, and is the same;
a model that differs in anything that its program depends on has another one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.graph.execution import plan_records

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from tests.onnx.models import mlp, model  # noqa: E402
from texpr.graph.lowering import plan_cache  # noqa: E402
from texpr.ir.printing.tensor import show_program  # noqa: E402
from texpr.onnx import graph_conversion, program_origins  # noqa: E402
from texpr.onnx.program_origins import Unsaid  # noqa: E402
from texpr.runtime import disk_cache  # noqa: E402
from texpr.runtime.processor_answers import answers  # noqa: E402

X = np.linspace(-1, 1, 8, dtype="f4").reshape(2, 4)
ROWS: list[Any] = [("x", [2, 4])]


class Count:
    """Counts graphs that are converted and programs that are written as keys."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.graphs = self.keys = 0
        graph, key_of = graph_conversion.Run.graph, plan_cache.key_of

        def converted(*arguments: Any) -> Any:
            self.graphs += 1
            return graph(*arguments)

        def written(*arguments: Any) -> str:
            self.keys += 1
            return key_of(*arguments)

        monkeypatch.setattr(graph_conversion.Run, "graph", converted)
        monkeypatch.setattr(plan_cache, "key_of", written)

    def taken(self) -> tuple[int, int]:
        """The counts since the last time."""
        found = self.graphs, self.keys
        self.graphs = self.keys = 0
        return found


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    with tx.options(cache_dir=tmp_path / "cache"):
        yield Count(monkeypatch)


def loaded(proto: Any, **options: Any) -> Any:
    return tx.onnx.load(proto.SerializeToString(), **options)


def unrecorded(proto: Any, *arrays: Any, **options: Any) -> Any:
    """Results without any disk cache."""
    with tx.options(cache_dir=None):
        return loaded(proto, **options)(*arrays)


def plan_of(found: Any) -> Any:
    (call,) = found._plans._made.values()
    return call.plan


def test_a_warm_call_converts_nothing(count: Count):
    first = loaded(mlp())(X)
    assert count.taken() == (1, 1)
    again = loaded(mlp())
    np.testing.assert_array_equal(again(X), first)
    np.testing.assert_array_equal(again(X), first)
    assert count.taken() == (0, 0)
    np.testing.assert_array_equal(unrecorded(mlp(), X), first)


def test_weights_are_those_of_the_model(count: Count, tmp_path: Path):
    loaded(mlp())(X)
    count.taken()
    path = tmp_path / "other.onnx"
    path.write_bytes(mlp(seed=1).SerializeToString())
    found = tx.onnx.load(path)(X)
    assert count.taken() == (0, 0)
    np.testing.assert_array_equal(found, unrecorded(mlp(seed=1), X))


def _reshaped(shape: list[int], as_node: bool, scale: float = 2.0) -> Any:
    """Elements in another shape, times a number that is a node."""
    nodes = [
        helper.make_node("Reshape", ["x", "s"], ["r"]),
        helper.make_node("Constant", [], ["c"], value_float=scale),
        helper.make_node("Mul", ["r", "c"], ["y"]),
    ]
    if as_node:
        nodes.insert(0, helper.make_node("Constant", [], ["s"], value_ints=shape))
    data = {} if as_node else {"s": np.array(shape, "i8")}
    return model(nodes, [("x", ["rows", 4])], [("y", None)], data)


def _transposed(**attributes: Any) -> Any:
    return model([helper.make_node("Transpose", ["x"], ["y"], **attributes)], ROWS, [("y", None)])


def _softmax(version: int) -> Any:
    """Over axes 1 and 2 together before version 13, over the last one since."""
    nodes = [
        helper.make_node("Unsqueeze", ["x", "a"] if version > 12 else ["x"], ["u"], **_axes(version)),
        helper.make_node("Softmax", ["u"], ["y"], axis=1),
    ]
    data = {"a": np.array([1], "i8")} if version > 12 else {}
    return model(nodes, ROWS, [("y", None)], data, opset=version)


def _axes(version: int) -> dict[str, Any]:
    return {} if version > 12 else {"axes": [1]}


def _table(values: list[float]) -> Any:
    """A row of integers, which is a constant of the program, beside the input."""
    nodes = [helper.make_node("Cast", ["t"], ["f"], to=1), helper.make_node("Add", ["x", "f"], ["y"])]
    return model(nodes, ROWS, [("y", [2, 4])], {"t": np.array(values, "i4")})


def _weight(width: int) -> Any:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return model(nodes, ROWS, [("y", None)], {"w": np.ones((4, width), "f4")})


def _named(name: str) -> Any:
    return model([helper.make_node("Relu", ["x"], [name])], ROWS, [(name, [2, 4])])


DIFFERENT = {
    "a shape as an initializer": (_reshaped([4, 2], False), _reshaped([8, 1], False)),
    "a shape as a node": (_reshaped([4, 2], True), _reshaped([8, 1], True)),
    "a number": (_reshaped([4, 2], True), _reshaped([4, 2], True, 3.0)),
    "the sign of a zero": (_reshaped([4, 2], True, 0.0), _reshaped([4, 2], True, -0.0)),
    "an attribute": (_transposed(perm=[1, 0]), _transposed(perm=[0, 1])),
    "no attribute": (_transposed(), _transposed(perm=[0, 1])),
    "the version of operators": (_softmax(12), _softmax(13)),
    "a row of numbers": (_table([1, 2, 3, 4]), _table([1, 2, 4, 3])),
    "the shape of a weight": (_weight(3), _weight(5)),
    "the name of an output": (_named("y"), _named("z")),
}


@pytest.mark.parametrize("which", DIFFERENT)
def test_models_that_differ_have_their_own_programs(count: Count, which: str):
    one, other = DIFFERENT[which]
    for proto in (one, other, one, other):
        found, expected = loaded(proto)(X), unrecorded(proto, X)
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    # Each is converted once, and once without a cache in each of four rounds.
    assert count.taken()[0] == 2 + 4


def test_other_calls_have_their_own_programs(count: Count):
    proto = mlp()
    loaded(proto)(X)
    assert count.taken()[0] == 1
    for change in (lambda: loaded(proto)(X[:1]), lambda: loaded(proto, dims={"batch": 2})(X)):
        np.testing.assert_allclose(change(), change(), 1e-6)
        assert count.taken()[0] == 1
    with pytest.raises(tx.CallError, match="the model declares"):
        loaded(proto, dims={"batch": 3})(X)


@pytest.mark.parametrize("options", [{"opt": 1}, {"disable": "fuse"}, {"fma": True}, {"reassociate": True}])
def test_options_that_matter_are_another_program(count: Count, options: dict[str, Any]):
    loaded(mlp())(X)
    count.taken()
    with tx.options(**options):
        loaded(mlp())(X)
        assert count.taken()[0] == 1
        loaded(mlp())(X)
        assert count.taken()[0] == 0
    with tx.options(threads=1):
        loaded(mlp())(X)
        assert count.taken()[0] == 0


def test_other_code_machines_and_libraries_are_another_program(count: Count, monkeypatch: pytest.MonkeyPatch):
    loaded(mlp())(X)
    for place, name, value in (
        (plan_records, "identity", lambda: "another texpr"),
        (plan_records, "_machine", lambda: ("another machine",)),
        (program_origins.library(), "__version__", "0.0"),
    ):
        count.taken()
        with monkeypatch.context() as patch:
            patch.setattr(place, name, value)
            loaded(mlp())(X)
        assert count.taken()[0] == 1


def test_a_process_that_finds_no_record_loads_no_llvm(tmp_path: Path):
    if not answers():
        pytest.skip("LLVM says what the processor is")
    code = f"""
import sys
import texpr as tx
from texpr.graph.execution.compile import Settings
from texpr.graph.execution.plan_records import Origin, find
tx.options(cache_dir={str(tmp_path)!r})
assert find(Origin("nothing", {{}}), Settings.of(None, None, None)) is None
print("llvmlite" in sys.modules)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_who_watches_passes_sees_nodes_converted(count: Count):
    for chosen in ({"verify": True}, {"cache_dir": None}):
        loaded(mlp())(X)
        count.taken()
        with tx.options(**chosen):
            loaded(mlp())(X)
        assert count.taken()[0] == 1


def test_hooks_see_every_forward(count: Count):
    loaded(mlp())(X)
    found = loaded(mlp())
    found.register_forward_hook(lambda module, inputs, outputs: outputs * 2)
    np.testing.assert_array_equal(found(X), 2 * unrecorded(mlp(), X))


def test_training_takes_no_records(count: Count):
    loaded(mlp())(X)
    results = []
    for _ in range(2):
        found = loaded(mlp())
        np.testing.assert_array_equal(found(X), unrecorded(mlp(), X))
        nn.Trainer(found, nn.MSELoss(), nn.optim.SGD(found.parameters(), lr=0.1)).fit(
            X, np.ones((2, 3), "f4"), epochs=3, progress=False
        )
        results.append(found.eval()(X))
    np.testing.assert_array_equal(*results)
    assert np.abs(results[0] - unrecorded(mlp(), X)).max() > 1e-3
    count.taken()
    for _ in range(2):
        np.testing.assert_allclose(loaded(mlp()).train()(X), unrecorded(mlp(), X), 1e-5)
    assert count.taken()[0] == 2 * 2


def test_weights_that_change_are_read_anew(count: Count):
    loaded(mlp())(X)
    found = loaded(mlp())
    found(X)
    found.load_state_dict(loaded(mlp(seed=1)).state_dict())
    np.testing.assert_array_equal(found(X), unrecorded(mlp(seed=1), X))


def test_reports_are_those_of_a_program_that_was_converted(count: Count, tmp_path: Path):
    made, found = loaded(mlp()), loaded(mlp())
    np.testing.assert_array_equal(made(X), found(X))
    one, other = plan_of(made), plan_of(found)
    assert count.taken() == (1, 1)
    assert str(one) == str(other) and one.explain() == other.explain() and one.text() == other.text()
    assert show_program(one.program) == show_program(other.program)
    assert one.memory_bytes == other.memory_bytes and one.held_bytes == other.held_bytes
    assert [t.name for t in other.profile(2)] == [t.name for t in one.profile(2)]
    for k, plan in enumerate((one, other)):
        plan.save(tmp_path / f"{k}.ll")
    assert (tmp_path / "0.ll").read_bytes() == (tmp_path / "1.ll").read_bytes()
    tx.onnx.save(found, tmp_path / "again.onnx", X)
    np.testing.assert_array_equal(tx.onnx.load(tmp_path / "again.onnx")(X), made(X))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda found: b"",
    "text": lambda found: b"{}",
    "no UTF-8": lambda found: b"\xff" + found,
    "short": lambda found: found[: len(found) // 2],
    "without its last constant": lambda found: found[:-4],
    "longer": lambda found: found + bytes(4),
    "another plan": lambda found: found.replace(b"plan\0", b"plan\1"),
    "another name": lambda found: found.replace(b'"sc"', b'"sd"'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_made_again(count: Count, damage: str, monkeypatch: pytest.MonkeyPatch):
    proto = _table([1, 2, 3, 4])
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(4, "f4"), "c"))
    proto.graph.node.append(helper.make_node("Mul", ["y", "c"], ["z"]))
    proto.graph.output[0].name = "z"
    expected = loaded(proto)(X)
    loaded(proto)(X)
    assert count.taken()[0] == 1
    get, damaged = disk_cache.DiskCache.get, []

    def got(self: Any, key: str) -> bytes | None:
        found = get(self, key)
        if found is None or not key.startswith("origin\0"):
            return found
        damaged.append(DAMAGES[damage](found))
        assert damaged[-1] != found
        return damaged[-1]

    monkeypatch.setattr(disk_cache.DiskCache, "get", got)
    np.testing.assert_array_equal(loaded(proto)(X), expected)
    assert damaged and count.taken()[0] == 1


def test_files_that_are_damaged_are_made_again(count: Count, tmp_path: Path):
    expected = loaded(mlp())(X)
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1])
    np.testing.assert_array_equal(loaded(mlp())(X), expected)
    assert count.taken()[0] == 2


def test_a_plan_that_was_dropped_is_made_again(count: Count, monkeypatch: pytest.MonkeyPatch):
    expected = loaded(mlp())(X)
    get = disk_cache.DiskCache.get
    with monkeypatch.context() as patch:
        patch.setattr(
            disk_cache.DiskCache, "get", lambda self, key: None if key[:5] == "plan\0" else get(self, key)
        )
        np.testing.assert_array_equal(loaded(mlp())(X), expected)
    assert count.taken()[0] == 2


def _with_shape() -> Any:
    """Elements in a shape that is an input."""
    return model(
        [helper.make_node("Reshape", ["x", "s"], ["y"])],
        [("x", [2, 4]), ("s", [2], TensorProto.INT64)],
        [("y", None)],
    )


def test_values_that_decide_shapes_belong_to_the_program(count: Count):
    shapes = [np.array(s, "i8") for s in ([4, 2], [8, 1])]
    for s in shapes:
        np.testing.assert_array_equal(loaded(_with_shape())(X, s), X.reshape(s))
    assert count.taken()[0] == 3  # the first one without the value, which is asked for then
    for s in (*shapes, *shapes):
        np.testing.assert_array_equal(loaded(_with_shape())(X, s), X.reshape(s))
    assert count.taken()[0] == 0


@pytest.mark.parametrize("record", [b"", b"[]", b'[["s"], [], 1, []]', b'[[1], [], "", []]', b"\xff"])
def test_damaged_needs_are_found_again(count: Count, record: bytes, monkeypatch: pytest.MonkeyPatch):
    shape, get = np.array([4, 2], "i8"), disk_cache.DiskCache.get
    loaded(_with_shape())(X, shape)
    count.taken()
    monkeypatch.setattr(
        disk_cache.DiskCache, "get", lambda self, key: record if key[:5] == "need\0" else get(self, key)
    )
    np.testing.assert_array_equal(loaded(_with_shape())(X, shape), X.reshape(4, 2))
    assert count.taken()[0] == 1


def test_parameters_that_decide_shapes_belong_to_the_program(count: Count):
    """The scale of a resized image is a float, so it is a parameter."""
    nodes = [
        helper.make_node("Mul", ["scale", "factor"], ["by"]),
        helper.make_node("Resize", ["x", "", "by"], ["y"]),
    ]
    data = {"scale": np.array([1, 2], "f4"), "factor": np.array([2, 1], "f4")}
    for first in (2, 3, 2, 3):
        proto = model(nodes, ROWS, [("y", None)], data | {"factor": np.array([first, 1], "f4")})
        assert loaded(proto)(X).shape == (2 * first, 8)
    assert count.taken()[0] > 0
    assert loaded(proto)(X).shape == (6, 8)
    assert count.taken()[0] == 0


def test_several_results_and_sequences(count: Count):
    nodes = [
        helper.make_node("Split", ["x"], ["a", "b"], num_outputs=2),
        helper.make_node("SequenceConstruct", ["a", "b"], ["s"]),
    ]
    proto = model(nodes, ROWS, [("a", None)])
    proto.graph.output.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
    for _ in range(2):
        a, s = loaded(proto)(X)
        np.testing.assert_array_equal(a, X[:1])
        assert type(s) is list
        np.testing.assert_array_equal(s, [X[:1], X[1:]])
    assert count.taken()[0] == 1


def test_random_numbers_are_drawn_anew(count: Count):
    proto = model([helper.make_node("RandomNormalLike", ["x"], ["y"])], ROWS, [("y", [2, 4])])
    first, second = loaded(proto), loaded(proto)
    assert not np.array_equal(first(X), first(X)) and np.isfinite(second(X)).all()
    assert count.taken()[0] == 2


def test_large_constants_are_not_kept(count: Count, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plan_records, "MOST_BYTES", 8)
    for _ in range(2):
        loaded(_table([1, 2, 3, 4]))(X)
    assert count.taken()[0] == 2


def test_large_graphs_are_not_looked_through(count: Count, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(program_origins, "MOST_BYTES", 8)
    with pytest.raises(Unsaid):
        program_origins.of_model(mlp(), [], {})
    for _ in range(2):
        loaded(mlp())(X)
    assert count.taken()[0] == 2


def test_processes_that_make_a_record_at_once(count: Count, tmp_path: Path):
    (tmp_path / "mlp.onnx").write_bytes(mlp().SerializeToString())
    code = f"""
import numpy as np, texpr as tx
tx.options(cache_dir={str(tmp_path / "cache")!r})
print(tx.onnx.load({str(tmp_path / "mlp.onnx")!r})(np.ones((2, 4), "f4")).tobytes().hex())
"""
    several = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    found = {process.communicate(timeout=300)[0] for process in several}
    assert all(process.returncode == 0 for process in several)
    assert found == {loaded(mlp())(np.ones((2, 4), "f4")).tobytes().hex() + "\n"}
    assert count.taken()[0] == 0
