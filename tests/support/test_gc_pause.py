"""While a program is compiled Python does not look for cycles; afterwards it does as before."""

from __future__ import annotations

import gc

import pytest

from texpr import ops
from texpr.graph import Capture, Plan
from texpr.graph.execution.placement import Host
from texpr.graph.lowering.launch_sequence import Launch
from texpr.ir.dtypes import F32
from texpr.support.gc_pause import uncollected


@pytest.fixture
def collector():
    before = gc.isenabled()
    yield
    (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(collector: None, enabled: bool):
    (gc.enable if enabled else gc.disable)()
    with pytest.raises(KeyError), uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled() is enabled


def test_nothing_is_collected_while_kernels_are_made(collector: None, monkeypatch: pytest.MonkeyPatch):
    gc.enable()
    during: list[bool] = []
    for name in ("kernel", "sequence"):
        made = getattr(Host, name)
        monkeypatch.setattr(Host, name, lambda *args, made=made: during.append(gc.isenabled()) or made(*args))
    places = vars(Launch)["overwrites"].fget
    monkeypatch.setattr(
        Launch, "overwrites", property(lambda launch: during.append(gc.isenabled()) or places(launch))
    )
    capture = Capture("f")
    Plan(capture, [ops.tanh(capture.input("x", (3, 7), F32)) * 3]).compute()
    assert during == [False, False, False] and gc.isenabled()
