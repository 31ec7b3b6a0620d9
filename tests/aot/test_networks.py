"""Networks and training steps in files: the same bits as in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import texpr as tx
from tests.aot.programs import needs_gcc, run
from texpr import nn
from texpr.graph import Capture, Plan
from texpr.ir.dtypes import F32, I64
from texpr.runtime.process import qemu

X = np.random.default_rng(0).standard_normal((4, 1, 8, 8), dtype=np.float32)
LABELS = np.array([1, 0, 9, 3])


def network() -> nn.Module:
    nn.manual_seed(0)
    layers = (
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    return nn.Sequential(*layers).eval()


@needs_gcc
@pytest.mark.parametrize("code", ["net.o", "net.a", "./net.so"])
@pytest.mark.parametrize("weights", ["inside", "beside"])
def test_a_network_computes_the_same_bits(code: str, weights: str, tmp_path: Path):
    model = network()
    nn.export(model, tmp_path / code, X, header=tmp_path / "net.h", weights=weights, name="net")
    arrays = [(X, False), (np.zeros((4, 10), np.float32), True)]
    if weights == "beside":
        arrays.append((np.frombuffer((tmp_path / f"{code}.weights").read_bytes(), np.uint8), False))
    (computed,) = run(tmp_path, "net", code, "net.h", arrays)
    np.testing.assert_array_equal(computed, model(X))


@needs_gcc
def test_a_network_of_several_results_some_of_which_are_views(tmp_path: Path):
    class Several(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(np.full((1, 1, 1, 1), 2, np.float32))

        def forward(self, x, y):
            z = x * self.scale
            return z.reshape((4, 64)), {
                "mean": z.mean((1, 2, 3)),
                "same": z,
                "given": y,
                "weight": self.scale,
            }

    model, y = Several().eval(), np.arange(3, dtype=np.int64)
    nn.export(model, tmp_path / "net.o", X, y, header=tmp_path / "net.h")
    first, rest = model(X, y)
    expected = [first, *rest.values()]
    arrays = [(X, False), (y, False), *((np.zeros_like(e), True) for e in expected)]
    for computed, wanted in zip(run(tmp_path, "network", "net.o", "net.h", arrays), expected, strict=True):
        np.testing.assert_array_equal(computed, wanted)


@needs_gcc
def test_training_steps_are_the_same(tmp_path: Path):
    """Weights, statistics of batches, the optimizer's state and the numbers of dropout after
    three steps in C are those in Python.
    """
    nn.manual_seed(3)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(64, 10),
    )
    step = nn.TrainingStep(
        model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    )
    step.save(tmp_path / "step.o", X, LABELS, header=tmp_path / "step.h")
    plan = step.plan((X.shape, F32), (LABELS.shape, I64))
    assert any(len(n.lengths) > 1 for n in plan.launches), (
        "updates are one loop in Python, and calls of its kernel in C"
    )
    state = np.frombuffer((tmp_path / "step.o.weights").read_bytes(), np.uint8)
    arrays = [
        (X, False),
        (LABELS, False),
        (np.zeros((), np.float32), True),
        (np.zeros((4, 10), np.float32), True),
        (state, True),
    ]
    loss, output, after = run(tmp_path, "step", "step.o", "step.h", arrays, times=3)
    losses = [step(X, LABELS) for _ in range(3)]
    assert loss == np.float32(losses[2]) and losses[2] < losses[0]
    np.testing.assert_array_equal(output, plan.results[1])
    plan.save(tmp_path / "later.o", weights="beside", name="step")
    assert after.tobytes() == (tmp_path / "later.o.weights").read_bytes() != state.tobytes()


@pytest.mark.qemu
@pytest.mark.parametrize("target", ["aarch64", "aarch64+sve"])
def test_a_network_on_other_processors(target: str, tmp_path: Path):
    model = network()
    nn.export(model, tmp_path / "net.o", X, target=target, name="net")
    computed = np.zeros((4, 10), np.float32)
    qemu.run((tmp_path / "net.o").read_bytes(), "texpr_net", [X], [computed], [])
    np.testing.assert_allclose(computed, model(X), rtol=1e-5, atol=1e-6)


def test_headers(golden, tmp_path: Path):
    nn.export(
        network(),
        tmp_path / "net.o",
        X,
        header=tmp_path / "net.h",
        target="x86-64-v3",
        weights="beside",
        name="net",
    )
    golden((tmp_path / "net.h").read_text())


@pytest.mark.parametrize(
    "options, said",
    [
        (
            {"target": "sm_80"},
            "error[save]: a whole program for sm_80 is not one object\n"
            "  help: choose a CPU that LLVM compiles for, or save its kernels alone",
        ),
        ({"weights": "somewhere"}, "error[save]: weights are inside or beside, not 'somewhere'"),
        (
            {"path": "net.obj", "weights": "beside", "target": "x86-64-v3"},
            "error[save]: code for x86-64-v3 is not saved as `net.obj`\n"
            "  help: give the file a name that ends with .o, .a, .so, .s, .ll",
        ),
        (
            {"name": "a net"},
            "error[save]: 'a net' is not a name for a function of C\n  help: letters, digits and underscores",
        ),
    ],
)
def test_what_cannot_be_saved(options: dict[str, str], said: str, tmp_path: Path):
    with pytest.raises(tx.CompileError) as e:
        nn.export(network(), tmp_path / options.pop("path", "net.o"), X, **options)
    assert str(e.value) == said and not list(tmp_path.iterdir())


def test_networks_in_training_are_refused(tmp_path: Path):
    model = network()
    model.get_submodule("1").train()
    with pytest.raises(tx.CompileError) as e:
        nn.export(model, tmp_path / "net.o", X)
    assert (
        str(e.value)
        == "error[save]: `1` is in training mode: what it computes depends on its batches\n  help: call "
        "model.eval() first"
    )


def test_what_is_assigned_to_is_not_inside(tmp_path: Path):
    model = network().train()
    step = nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.01))
    with pytest.raises(tx.CompileError) as e:
        step.plan((X.shape, F32), (LABELS.shape, I64)).save(tmp_path / "step.o")
    assert str(e.value) == (
        "error[save]: step assigns to its variables, which cannot be inside of an object\n"
        '  help: write weights="beside"; to save a network, call model.eval() first'
    )


@pytest.mark.parametrize("options", [{"accumulate": 2}, {"precision": "f16"}])
def test_steps_that_python_decides_on(options: dict[str, Any], tmp_path: Path):
    model = network().train()
    step = nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.01), **options)
    with pytest.raises(tx.CompileError) as e:
        step.save(tmp_path / "step.o", X, LABELS)
    assert str(e.value) == (
        "error[save]: a step that accumulates gradients or scales its loss decides in Python what comes "
        "next\n"
        "  help: save a step in f32 or bf16, of one batch"
    )


def test_large_weights_are_not_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("texpr.graph.execution.c_library.MOST_INSIDE", 1000)
    with pytest.raises(tx.CompileError) as e:
        nn.export(network(), tmp_path / "net.o", X)
    assert str(e.value) == (
        "error[save]: 2,824 bytes of weights do not go into an object, which holds 1,000\n"
        '  help: write weights="beside"'
    )


def test_a_program_without_kernels(tmp_path: Path):
    capture = Capture("same")
    x = capture.input("x", (3,), F32)
    Plan(capture, [x]).save(tmp_path / "same.o", header=tmp_path / "same.h")
    assert "texpr_same" in (tmp_path / "same.h").read_text()
