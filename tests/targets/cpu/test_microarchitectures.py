"""What is known of single x86 processors."""

from __future__ import annotations

import pytest

from texpr.runtime import host
from texpr.targets.cpu import x86

FEATURES = ("avx512bf16", "avx512dq", "avx512f", "avx512vl", "avx512vnni", "fma")
CACHES = (32 << 10, 1 << 20, 32 << 20)


def machine(cpu: str, monkeypatch: pytest.MonkeyPatch):
    for name, value in {
        "cpu_name": cpu,
        "cpu_features": FEATURES,
        "caches": CACHES,
        "cores": 4,
        "tiles_permitted": False,
    }.items():
        monkeypatch.setattr(host, name, lambda value=value: value)
    return x86._host_machine()


@pytest.mark.parametrize(
    ("cpu", "nontemporal", "fma", "split", "half", "unprofitable"),
    [
        ("znver2", True, 1, 1, 0, False),
        ("znver3", True, 2, 1, 0, False),
        ("znver4", True, 1, 1, CACHES[1], False),
        ("znver5", True, 2, 1, CACHES[2] // 2, False),
        ("znver6", True, 1, 1, 0, False),
        ("sapphirerapids", True, 2, 2, 0, True),
        ("graniterapids", True, 2, 2, 0, True),
        ("graniterapids-d", True, 1, 1, 0, True),
        ("cascadelake", False, 1, 1, 0, True),
    ],
)
def test_traits(
    cpu: str,
    nontemporal: bool,
    fma: int,
    split: int,
    half: int,
    unprofitable: bool,
    monkeypatch: pytest.MonkeyPatch,
):
    m = machine(cpu, monkeypatch)
    assert (m.prefers_nontemporal_stores, m.fma_per_cycle, m.split_load_cost) == (nontemporal, fma, split)
    assert m.half_vector_threshold_bytes == half
    assert m.unprofitable_instructions == (frozenset({"vdpbf16ps"}) if unprofitable else frozenset())
    assert {"vpdpbusd", "vdpbf16ps"} <= m.instructions


def test_no_halves_of_a_cache_that_is_not_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host, "caches", lambda: CACHES[:2])
    assert x86._half_vector_threshold(x86.traits_of("znver5"), CACHES[:2]) == 0
