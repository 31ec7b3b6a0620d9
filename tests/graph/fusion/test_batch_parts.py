"""Batches that a plan takes in parts: what is taken so, that values stay, and what is kept once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import nn
from texpr.graph import Capture, Plan
from texpr.graph.fusion import batch_parts
from texpr.ir.dtypes import F32
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.verifier.program import verify_program

RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines whose caches hold 80 kB, so that small batches have parts; no records of other plans."""
    monkeypatch.setattr(batch_parts, "moving", lambda size: size + 9 * max(0, size - 80_000))
    monkeypatch.setattr(batch_parts, "LAUNCH", 0)


class Network(nn.Module):
    """Convolutions of images, and a layer whose weights are larger than what it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 32, 3, padding=1)
        self.second = nn.Conv2d(32, 32, 3, padding=1)
        self.last = nn.Linear(32 * 8 * 8, 300)

    def forward(self, x: tx.Tensor) -> tx.Tensor:
        y = self.first(x).relu()
        y = nn.MaxPool2d(2)(self.second(y) + y)
        return self.last(y.reshape(x.shape[0], -1)).relu()


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def plan_of(function: Callable[..., object], *shapes: tuple[int, ...], **options) -> Plan:
    """The plan of a call with weights that stay, lowered now."""
    capture = Capture("network")
    inputs = [capture.input(f"x{k}", shape, F32) for k, shape in enumerate(shapes)]
    with capture:
        result = function(*inputs)
    results = list(result) if isinstance(result, tuple) else [result]
    with tx.options(cache_dir=None):
        return Plan(capture, results, **{"prepack": True, **options})


def decisions(plan: Plan) -> list[str]:
    """The lines about parts of the batch."""
    return [line for line in plan.explain().splitlines() if line.startswith("batch")]


def assert_near(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * max(1, np.abs(wanted).max(initial=0)))


def test_the_first_layers_take_parts_and_the_last_one_the_batch():
    network, x = Network().eval(), floats(8, 3, 16, 16)
    parts, whole = plan_of(network, x.shape), plan_of(network, x.shape, disable="batch")
    (line,) = decisions(parts)
    assert ": yes, 4 parts of 2 of 8 examples stay near" in line or ": yes, 8 parts of 1" in line
    assert not decisions(whole)
    names = [n.program.name for n in parts.launches]
    assert (
        len(names) > 3 * len(whole.launches)
        and sum("300" in str(n.outputs[0].dims) for n in parts.launches) == 1
    )
    assert_near(parts(x)[0], whole(x)[0])
    assert parts.arena.size < whole.arena.size / 2


def test_weights_are_packed_once_and_anew_when_they_change():
    network, x = Network().eval(), floats(8, 3, 16, 16)
    parts, whole = plan_of(network, x.shape), plan_of(network, x.shape, disable="batch")
    kept = {n.prepacked for n in parts.launches if n.prepacked}
    assert len(kept) == len([n for n in whole.launches if n.prepacked]) > 0
    packed = parts.runner._prepacked
    makers = [n for n in parts.launches if packed.copies_to_make(n)]
    assert len(makers) == len(kept)  # nobody touches copies that another launch makes
    before = parts(x)[0]
    np.testing.assert_array_equal(parts(x)[0], before)
    network.first.weight.data = 2 * network.first.weight.numpy()
    network.last.weight.data = 3 * network.last.weight.numpy()
    assert_near(parts(x)[0], whole(x)[0])
    assert not np.array_equal(parts(x)[0], before)


def test_arguments_may_be_strided_and_read_only():
    network, x = Network().eval(), floats(8, 16, 16, 3)
    plan = plan_of(network, (8, 3, 16, 16))
    turned = np.moveaxis(x, -1, 1)
    wanted = plan(np.ascontiguousarray(turned))[0]
    x.flags.writeable = False
    np.testing.assert_array_equal(plan(turned)[0], wanted)
    with tx.profile() as seen:
        np.testing.assert_array_equal(plan(turned)[0], wanted)
    assert len(seen.events) == len(plan.launches)


def test_plans_from_disk_have_the_same_parts(tmp_path: Path):
    network, x = Network().eval(), floats(8, 3, 16, 16)

    def plan() -> Plan:
        capture = Capture("network")
        given = capture.input("x", x.shape, F32)
        with capture:
            result = network(given)
        with tx.options(cache_dir=str(tmp_path)):
            return Plan(capture, [result], prepack=True)

    first, second = plan(), plan()
    assert decisions(first) and decisions(first) == decisions(second)
    assert len({t for n in second.launches for t in n.prepacked}) == len(
        {t for n in first.launches for t in n.prepacked}
    )
    np.testing.assert_array_equal(first(x)[0], second(x)[0])


class Fire(nn.Module):
    """Two convolutions whose results are joined, as in SqueezeNet."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 24, 1), nn.Conv2d(3, 40, 3, padding=1)

    def forward(self, x: tx.Tensor) -> tx.Tensor:
        return tx.cat([self.first(x).relu(), self.second(x).relu()], 1).mean(axis=(2, 3))


def test_parts_are_fused_for_themselves():
    """Channels that are joined follow each other in one image, and not in a batch."""
    network, x = Fire().eval(), floats(4, 3, 24, 24)
    parts, alone = plan_of(network, x.shape), plan_of(network, (1, 3, 24, 24))
    assert "4 parts of 1" in decisions(parts)[0]
    kinds = {d.kind for d in parts.decisions if d.fused}
    assert "place" in kinds and "place" in {d.kind for d in alone.decisions if d.fused}
    found = parts(x)[0]
    for k in range(4):
        np.testing.assert_array_equal(found[k : k + 1], alone(x[k : k + 1])[0])


W = nn.Parameter(floats(24, 24))
WHOLE: dict[str, Callable[..., object]] = {
    "the mean of a batch": lambda x: x - x.mean(axis=0),
    "examples in turns": lambda x: tx.ops.exp(x.roll(1, 0)),
    "numbers of examples": lambda x: x * tx.arange(x.shape[0]).reshape(-1, 1, 1),
    "examples as a matrix": lambda x: (x.reshape(-1, 24) @ W).relu(),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_mixes_examples_takes_the_batch(name: str):
    plan, x = plan_of(lambda x: WHOLE[name](x), (8, 40, 24)), floats(8, 40, 24)
    assert not decisions(plan)
    assert_near(plan(x)[0], plan_of(WHOLE[name], x.shape, disable="batch")(x)[0])


@pytest.mark.parametrize("examples_, parts", [(1, 0), (31, 1), (131, 0), (128, 1)])
def test_numbers_of_parts_have_a_limit(examples_: int, parts: int):
    """Parts are equally large, and at most 64."""
    plan = plan_of(lambda x: ((x @ W).relu() @ W).relu(), (examples_, 40, 24))
    assert len(decisions(plan)) == parts


def test_programs_without_constant_weights_have_no_parts():
    assert not decisions(plan_of(Network().eval(), (8, 3, 16, 16), prepack=False))


LAYERS: dict[str, Callable[[tx.Tensor], tx.Tensor]] = {
    "product": lambda x: x @ W,
    "relu": lambda x: x.relu(),
    "softmax": lambda x: tx.ops.softmax(x),
    "turned": lambda x: x.transpose(1, 2).exp().transpose(1, 2),
    "rows": lambda x: x.cumsum(1) / x.shape[1],
    "sum": lambda x: x + x.mean(axis=1, keepdims=True),
    "of the batch": lambda x: x - 0.5 * x.mean(axis=0),
    "halves": lambda x: tx.cat([x[:, :, 12:], x[:, :, :12]], 2),
    "flat": lambda x: (x.reshape(x.shape[0], -1) * 2).reshape(x.shape),
}


@examples(25)
@given(
    st.lists(st.sampled_from(sorted(LAYERS)), min_size=1, max_size=6),
    st.sampled_from([2, 3, 4, 6]),
    st.booleans(),
)
def test_random_networks_keep_their_values(names: list[str], count: int, two: bool):
    """Beside the interpreter. Where two results are wanted, the first layer's is the other one."""

    def network(x: tx.Tensor) -> tuple[tx.Tensor, ...]:
        values = [x]
        for name in names:
            values.append(LAYERS[name](values[-1]))
        return (values[-1], values[1]) if two and len(names) > 1 else (values[-1],)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_parts, "moving", lambda size: size + 9 * max(0, size - 9_000))
        plan, x = plan_of(network, (count, 30, 24)), floats(count, 30, 24)
    known = plan.runner._interface.constants
    values = [x if t.name == "x0" else known.get(t, W.numpy()) for t in plan.captured.inputs]
    for found, wanted in zip(plan(x), interpret(plan.captured, values), strict=True):
        assert_near(found, wanted)


def test_parts_of_programs_are_programs():
    found: list[batch_parts.BatchParts] = []
    taken = batch_parts.in_parts

    def watched(*given):
        split = taken(*given)
        found.extend([split] if split else [])
        return split

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_parts, "in_parts", watched)
        plan_of(Network().eval(), (8, 3, 16, 16))
    (split,) = found
    verify_program(split.part)
    verify_program(split.rest)
    assert split.count * split.part.inputs[0].shape[0].value == 8
