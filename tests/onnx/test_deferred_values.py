"""Large weights of a file are read when they are needed: models that keep packed copies of them have
no others.
"""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.graph.execution import first_run
from texpr.graph.execution.placement import Host
from texpr.onnx import large_values
from texpr.runtime.slabs import Reused
from texpr.support import background
from texpr.support.errors import CheckpointError

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "preadv"), reason="values are read at once")
SIDE, LAYERS = 600, 3
X = np.random.default_rng(1).normal(size=(100, SIDE)).astype("f4")


def _model(side: int = SIDE, reads: bool = False) -> Any:
    """Products with weights `w0`, `w1`, ... and biases.

    Args:
        reads: also add rows of the first weight to the result, which no kernel packs.
    """
    h, rng = onnx.helper, np.random.default_rng(0)
    shapes = {f"w{k}": (side, side) for k in range(LAYERS)} | {f"b{k}": (side,) for k in range(LAYERS)}
    values = [
        onnx.numpy_helper.from_array((rng.normal(size=s) / side**0.5).astype("f4"), n)
        for n, s in shapes.items()
    ]
    nodes = [h.make_node("Gemm", [f"x{k}", f"w{k}", f"b{k}"], [f"x{k + 1}"]) for k in range(LAYERS)]
    if reads:
        bounds = {"first": [0], "last": [len(X)]}
        values += [onnx.numpy_helper.from_array(np.array(v, "i8"), n) for n, v in bounds.items()]
        nodes.append(h.make_node("Slice", ["w0", *bounds], ["part"]))
        nodes.append(h.make_node("Add", [f"x{LAYERS}", "part"], ["y"]))
    last = "y" if reads else f"x{LAYERS}"
    x, y = (h.make_tensor_value_info(n, 1, ["rows", side]) for n in ("x0", last))
    graph = h.make_graph(nodes, "g", [x], [y], values)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(_model().SerializeToString())
    return path


def _deferred(model: Any) -> list[str]:
    return [n for n, v in model.named_parameters() if v.is_deferred]


ALL = [f"w{k}" for k in range(LAYERS)]


def expected(model: Any, path: Path) -> np.ndarray:
    """Results of a model with these weights that has them in memory."""
    other = tx.onnx.load(path.read_bytes())
    other.load_state_dict(model.state_dict())
    return other(X)


def test_calls_leave_packed_weights_in_the_file(path: Path):
    model = tx.onnx.load(path)
    assert _deferred(model) == ALL
    first = model(X)
    np.testing.assert_array_equal(first, tx.onnx.load(path.read_bytes())(X))
    np.testing.assert_array_equal(model(X), first)
    np.testing.assert_allclose(model(X[:99]), first[:99], 1e-5, 1e-5)  # another plan
    np.testing.assert_array_equal(model(np.asfortranarray(X)), first)
    assert _deferred(model) == ALL


def test_states_are_those_of_the_file(path: Path):
    model, other = tx.onnx.load(path), tx.onnx.load(path.read_bytes())
    model(X)
    for _ in range(2):
        for name, value in model.state_dict().items():
            np.testing.assert_array_equal(value, other.state_dict()[name])
    assert _deferred(model) == ALL
    for same in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(same(X), model(X))


def assigned(model: Any) -> None:
    model._parameters["w1"].data = np.full((SIDE, SIDE), 0.5, "f4")


def written(model: Any) -> None:
    model._parameters["w1"].data[...] *= 2


def element_set(model: Any) -> None:
    with tx.no_grad():
        model._parameters["w1"][0, 0] = 7.0


def state_loaded(model: Any) -> None:
    model.load_state_dict({k: v * 3 for k, v in model.state_dict().items()})


def trained(model: Any) -> None:
    nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1)).fit(
        X, np.zeros_like(X), epochs=1, progress=False
    )
    model.eval()


CHANGES = [assigned, written, element_set, state_loaded, trained]


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_changes(path: Path, change: Callable[[Any], None], called: bool):
    model = tx.onnx.load(path)
    before = model(X) if called else None
    change(model)
    after = model(X)
    np.testing.assert_array_equal(after, expected(model, path))
    assert before is None or not np.array_equal(before, after)
    np.testing.assert_array_equal(model(X), after)
    assert not called or not _deferred(model)  # weights that change once may do so again


def test_an_array_that_somebody_holds_may_change_at_any_time(path: Path):
    model = tx.onnx.load(path)
    model(X)
    held = model._parameters["w2"].data
    for factor in (2, 3):
        held *= factor
        np.testing.assert_array_equal(model(X), expected(model, path))


def test_a_saved_model_over_its_own_file(path: Path):
    model = tx.onnx.load(path)
    model(X)
    model._parameters["w0"].data = np.zeros((SIDE, SIDE), "f4")
    tx.onnx.save(model, path, X)
    np.testing.assert_array_equal(model(X), tx.onnx.load(path)(X))
    np.testing.assert_array_equal(model(X), expected(model, path))


@pytest.mark.parametrize("called", [False, True])
def test_a_file_that_is_gone_keeps_its_values(path: Path, called: bool):
    model, data = tx.onnx.load(path), path.read_bytes()
    first = model(X) if called else None
    path.unlink()
    path.write_bytes(b"another one")
    path.unlink()
    found, wanted = model(X), tx.onnx.load(data)(X)
    np.testing.assert_array_equal(found, wanted)
    assert first is None or np.array_equal(first, found)
    assert {k: v.tobytes() for k, v in model.state_dict().items()} == {
        k: v.tobytes() for k, v in tx.onnx.load(data).state_dict().items()
    }


def test_a_file_that_is_written_to_is_an_error(path: Path):
    model, other, data = tx.onnx.load(path), tx.onnx.load(path), path.read_bytes()
    first = other(X)
    with open(path, "r+b") as file:
        file.truncate(1000)
        file.write(data)
    with pytest.raises(CheckpointError, match="has changed since the model was loaded"):
        model(X)
    with pytest.raises(CheckpointError, match="has changed since the model was loaded"):
        other.state_dict()
    np.testing.assert_array_equal(other(X), first)  # it has its copies


@pytest.mark.parametrize(
    "ask", [np.asarray, lambda w: w.numpy(), lambda w: w.data, lambda w: pickle.dumps(w, 5), copy.copy]
)
def test_a_weight_that_cannot_be_read_spoils_no_copies(path: Path, ask: Callable[[Any], object]):
    model = tx.onnx.load(path)
    first = model(X)
    with open(path, "r+b") as file:
        file.truncate(1000)
    with pytest.raises(CheckpointError, match="has changed since the model was loaded"):
        ask(model._parameters["w1"])
    np.testing.assert_array_equal(model(X), first)


def test_weights_that_kernels_read_lie_in_memory(tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(_model(reads=True).SerializeToString())
    model = tx.onnx.load(path)
    np.testing.assert_array_equal(model(X), tx.onnx.load(path.read_bytes())(X))
    np.testing.assert_array_equal(model(X), model(X))
    assert "w0" not in _deferred(model)
    with tx.options(disable="prepack"):
        plain = tx.onnx.load(path)
        np.testing.assert_allclose(plain(X), model(X), 1e-5, 1e-5)
    assert not _deferred(plain)


def test_tensors_and_programs(path: Path):
    """Other ways of calling a model read its weights."""
    model, wanted = tx.onnx.load(path), tx.onnx.load(path.read_bytes())(X)
    np.testing.assert_allclose(model(tx.tensor(X)).numpy(), wanted, 1e-5, 1e-5)
    np.testing.assert_allclose(tx.jit(tx.onnx.load(path))(X), wanted, 1e-5, 1e-5)
    other = tx.onnx.load(path).train()
    np.testing.assert_allclose(other(X), wanted, 1e-5, 1e-5)
    assert not _deferred(other)


def _beside(tmp_path: Path) -> Path:
    """The model with its values in another file."""
    path = tmp_path / "beside.onnx"
    onnx.save(_model(), path, save_as_external_data=True, location="values.bin", size_threshold=1)
    return path


def test_values_in_another_file_stay_there(tmp_path: Path, path: Path):
    model, wanted = tx.onnx.load(_beside(tmp_path)), tx.onnx.load(path.read_bytes())(X)
    assert _deferred(model) == ALL
    np.testing.assert_array_equal(model(X), wanted)
    assert _deferred(model) == ALL
    assert model.state_dict()["b1"].shape == (SIDE,)
    (tmp_path / "values.bin").unlink()
    np.testing.assert_array_equal(
        tx.onnx.load(path.read_bytes()).state_dict()["w2"], model.state_dict()["w2"]
    )


def test_values_in_another_file_that_is_written_to(tmp_path: Path):
    model = tx.onnx.load(_beside(tmp_path))
    with open(tmp_path / "values.bin", "r+b") as file:
        file.truncate(1000)
    with pytest.raises(CheckpointError, match="values.bin has changed since the model was loaded"):
        model(X)


def test_values_in_the_file_and_beside_it(tmp_path: Path, path: Path):
    whole, _ = onnx.load(path), _beside(tmp_path)
    model = onnx.load(tmp_path / "beside.onnx", load_external_data=False)
    model.graph.initializer[1].CopyFrom(whole.graph.initializer[1])
    onnx.save(model, tmp_path / "both.onnx")
    loaded = tx.onnx.load(tmp_path / "both.onnx")
    assert _deferred(loaded) == ALL
    np.testing.assert_array_equal(loaded(X), tx.onnx.load(path.read_bytes())(X))


def test_setting_a_value_does_not_read_the_old_one(path: Path):
    model = tx.onnx.load(path)
    with open(path, "r+b") as file:
        file.truncate(1000)
    model.load_state_dict({n: np.ones(v.shape, "f4") for n, v in model.named_parameters()})
    np.testing.assert_array_equal(model(X), expected(model, _copied(path)))


def _copied(path: Path) -> Path:
    """A file with a model."""
    path.write_bytes(_model().SerializeToString())
    return path


def test_many_models_do_not_use_up_files(path: Path, monkeypatch: pytest.MonkeyPatch):
    gc.collect()
    monkeypatch.setattr(large_values, "MOST_OPEN", large_values.OpenFile.count + 2)
    models = [tx.onnx.load(path) for _ in range(4)]
    assert [_deferred(m) for m in models] == [ALL, ALL, [], []]
    assert len({m(X).tobytes() for m in models}) == 1


def test_a_first_call_that_is_interrupted(path: Path, monkeypatch: pytest.MonkeyPatch):
    """The next one goes on."""
    model, read, times = tx.onnx.load(path), large_values.StoredValues.read, []

    def interrupted(values: large_values.StoredValues, memory: np.ndarray) -> np.ndarray:
        times.append(0)
        if len(times) == 2:
            raise KeyboardInterrupt
        return read(values, memory)

    monkeypatch.setattr(large_values.StoredValues, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model(X)
    for _ in range(2):
        np.testing.assert_array_equal(model(X), tx.onnx.load(path.read_bytes())(X))
    assert _deferred(model) == ALL


@pytest.mark.parametrize("last", range(LAYERS))
def test_a_first_run_that_fails_leaves_copies_that_were_made(
    path: Path, last: int, monkeypatch: pytest.MonkeyPatch
):
    """The next one makes the others, and writes to none that are there."""
    monkeypatch.setattr(first_run, "LEAST", 0)
    model, sequence, steps = tx.onnx.load(path), Host.sequence, []

    def failing(placement: Host, *arguments: Any) -> Any:
        step = sequence(placement, *arguments)
        if len(steps) > last:
            return step
        steps.append(step)
        return step if len(steps) <= last else fail

    def fail() -> None:
        raise MemoryError

    monkeypatch.setattr(Host, "sequence", failing)
    with pytest.raises(MemoryError):
        model(X)
    for _ in range(2):
        np.testing.assert_array_equal(model(X), tx.onnx.load(path.read_bytes())(X))
    assert _deferred(model) == ALL


class Counted(Reused):
    """Counts arrays of weights."""

    held: ClassVar[list[int]] = [0]

    def take(self, size: int) -> np.ndarray:
        self.held.append(self.held[-1] + 1)
        return super().take(size)

    def give_back(self, array: np.ndarray) -> None:
        self.held.append(self.held[-1] - 1)
        super().give_back(array)


@pytest.mark.parametrize("most", [4 * SIDE**2 - 1, 4 * SIDE**2])
def test_weights_are_read_one_ahead(path: Path, most: int, monkeypatch: pytest.MonkeyPatch):
    """Two are in memory at once, if they are not large, and each is read once."""
    places: list[int] = []
    read = large_values.StoredValues.read
    monkeypatch.setattr(Counted, "held", [0])
    monkeypatch.setattr(first_run, "Reused", Counted)
    monkeypatch.setattr(first_run, "MOST_AHEAD", most)
    monkeypatch.setattr(
        large_values.StoredValues, "read", lambda self, m: places.append(self._offset) or read(self, m)
    )
    found = tx.onnx.load(path)(X)
    assert len(places) == len(set(places)) == LAYERS and Counted.held[-1] == 0
    assert max(Counted.held) == (2 if most >= 4 * SIDE**2 else 1)
    np.testing.assert_array_equal(found, tx.onnx.load(path.read_bytes())(X))


def test_weights_that_come_to_memory_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch):
    """Who asks for an array while the first run prepares its step takes it from there."""
    take = Reused.take
    model = tx.onnx.load(path)

    def taken(memory: Reused, size: int) -> np.ndarray:
        found = take(memory, size)
        model._parameters["w1"].data  # noqa: B018
        return found

    monkeypatch.setattr(Reused, "take", taken)
    np.testing.assert_array_equal(model(X), tx.onnx.load(path.read_bytes())(X))
    assert _deferred(model) == ["w0", "w2"]


@pytest.mark.parametrize("threads", [0, 1])
def test_two_threads_read_large_values(path: Path, threads: int, monkeypatch: pytest.MonkeyPatch):
    if not threads:

        def fails(*_: object) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(background, "start_new_thread", fails)
    monkeypatch.setattr(large_values, "IN_HALVES", 1)
    wanted, model = tx.onnx.load(path.read_bytes()), tx.onnx.load(path)
    for name, value in wanted.state_dict().items():
        np.testing.assert_array_equal(model.state_dict()[name], value)
    np.testing.assert_array_equal(model(X), wanted(X))
    with open(path, "r+b") as file:
        file.truncate(1000)
    with pytest.raises(CheckpointError, match="has changed since the model was loaded"):
        model.state_dict()


def test_first_calls_of_several_threads(path: Path):
    model, wanted = tx.onnx.load(path), tx.onnx.load(path.read_bytes())(X)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(model, [X, X[:99], X, X[:99]]))
    for y in found:
        np.testing.assert_allclose(y, wanted[: len(y)], 1e-5, 1e-5)
    assert _deferred(model) == ALL


def test_saved_code_has_the_weights(tmp_path: Path, path: Path):
    model = tx.onnx.load(path)
    model(X)
    nn.export(model, tmp_path / "model.a", X)
    assert (tmp_path / "model.a").stat().st_size > 4 * LAYERS * SIDE**2 and _deferred(model) == ALL


def test_files_are_closed(path: Path):
    numbers = Path("/proc/self/fd")
    if not numbers.exists():
        pytest.skip("files of a process are not known")
    model = tx.onnx.load(path)
    model(X)
    gc.collect()
    before = len(list(numbers.iterdir()))
    del model
    gc.collect()
    assert len(list(numbers.iterdir())) == before - 1


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in /proc")
def test_the_peak_of_a_model(tmp_path: Path):
    """A process that loads a model and calls it has its weights in memory once, the packed copies, and
    two of them while they are packed.
    """
    peaks, sizes = [], []
    for side in (600, 2000):
        path = tmp_path / f"{side}.onnx"
        path.write_bytes(_model(side).SerializeToString())
        sizes.append(path.stat().st_size)
        subprocess.check_call([sys.executable, "-c", PEAK, str(path)])  # compiles
        peaks.append(int(subprocess.check_output([sys.executable, "-c", PEAK, str(path)])))
    largest = 4 * 2000**2
    assert peaks[1] - peaks[0] < 1.1 * (sizes[1] - sizes[0]) + 2 * largest


PEAK = """
import sys
import numpy as np
import texpr as tx
model = tx.onnx.load(sys.argv[1])
side = model._parameters["b0"].size
for _ in range(2):
    model(np.ones((100, side), np.float32))
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM")))
"""
