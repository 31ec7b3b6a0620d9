"""Runs in a process of its own: what a device is, or rows, a line of JSON each."""

from __future__ import annotations

import argparse
import json
import sys
import time
from platform import python_version
from statistics import median
from typing import Any

import llvmlite
import numpy as np

import texpr as tx
from bench.gpu.rows import Row, Work, rows
from texpr.runtime.gpu import Device, Event, find_device
from texpr.targets import target_of

SAMPLES, SECONDS = 9, 2.0
MOST_KERNELS = 12


def main(argv: list[str] | None = None) -> int:
    """Print a record of each; its `error` says what went wrong, if anything did."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu.measure", description=__doc__)
    parser.add_argument("device")
    parser.add_argument(
        "--rows", default="", help="their numbers, with commas between; what the device is unless given"
    )
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args(argv)
    device = find_device(arguments.device)
    assert device is not None, "a GPU"
    if not arguments.rows:
        print(json.dumps(about(device)))
    for k in map(int, filter(None, arguments.rows.split(","))):
        print(json.dumps(compared(rows(arguments.tiny)[k], device, arguments.tiny)), flush=True)
    return 0


def about(device: Device) -> dict[str, Any]:
    """The device, the versions, and how fast it copies."""
    torch = _torch()
    return {
        "device": device.facts.name,
        "capability": ".".join(map(str, device.facts.capability)),
        "driver": device.facts.driver,
        "memory": f"{device.facts.memory / 2**30:.0f} GiB",
        "target": target_of(device).name,
        "python": python_version(),
        "numpy": np.__version__,
        "llvmlite": llvmlite.__version__,
        "torch": torch.__version__ if torch else "absent",
        "copy": copy_rate(device, 1 << (28 if device.facts.shares else 16)),
    }


def copy_rate(device: Device, size: int) -> float:
    """Bytes read and written each second by the driver's own copy."""
    one, other = device.driver.allocate(size), device.driver.allocate(size)
    seconds = seconds_of(lambda: device.driver.copy(other, one, size, device.stream), device, 3)
    device.driver.free(one)
    device.driver.free(other)
    return 2 * size / seconds


def compared(row: Row, device: Device, tiny: bool) -> dict[str, Any]:
    """The times of a row, in seconds."""
    start = time.perf_counter()
    ours = row.ours(device.name)
    ours.run()
    device.synchronize()
    found: dict[str, Any] = {
        "first": time.perf_counter() - start,
        "ours": seconds_of(ours.run, device, 1 if tiny else SAMPLES),
    }
    found["kernels"] = kernels_of(ours.run, device)
    torch = None if tiny else _torch()
    if torch is not None:
        works = row.peers(torch)
        if ours.result is not None:
            found["apart"] = _apart(ours.result(), list(works.values())[-1]().float().cpu().numpy())
        times = _peers(row, works, torch)
        found |= (
            {"peer": min(times.values()), "peer name": min(times, key=lambda name: times[name])}
            if times
            else {}
        )
    return found


def kernels_of(work: Work, device: Device) -> list[tuple[str, str, int, float, int, int]]:
    """The most expensive kernels of a run: name, shapes, calls, seconds of all of them, float
    operations and bytes of one. Each is waited for.
    """
    with tx.profile() as profile:
        work()
        device.synchronize()
    return [
        (r.name, r.shapes, r.calls, r.seconds, r.operations, r.moved) for r in profile.rows[:MOST_KERNELS]
    ]


def seconds_of(work: Work, device: Device, samples: int) -> float:
    """The median time of one run on the device, from event to event, after one that does not
    count.
    """
    work()
    device.synchronize()
    start = time.perf_counter()
    work()
    device.synchronize()
    repeats = _repeats(time.perf_counter() - start, samples)
    found = []
    for _ in range(samples):
        first, last = Event(device.name), Event(device.name)
        first.record()
        for _ in range(repeats):
            work()
        last.record()
        found.append(last.milliseconds_since(first) / 1e3 / repeats)
    return median(found)


def _repeats(once: float, samples: int) -> int:
    """Runs of a sample: all samples together take `SECONDS`, each at least one run."""
    return max(1, min(200, int(SECONDS / samples / max(once, 1e-6)))) if samples > 1 else 1


def _torch() -> Any:
    """torch, where it is installed and finds the GPU."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def _apart(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, relative to the largest element."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def _peers(row: Row, works: dict[str, Work], torch: Any) -> dict[str, float]:
    """Times of all peers that can do it."""
    found = {}
    for name, work in works.items():
        try:
            found[name] = _seconds_of_peer(work, torch)
        except RuntimeError as error:  # a backend of attention that does not take these shapes
            print(f"{row.name}: {name}: {str(error).splitlines()[0]}", file=sys.stderr)
    return found


def _seconds_of_peer(work: Work, torch: Any) -> float:
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    repeats, found = _repeats(time.perf_counter() - start, SAMPLES), []
    for _ in range(SAMPLES):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(repeats):
            work()
        last.record()
        torch.cuda.synchronize()
        found.append(first.elapsed_time(last) / 1e3 / repeats)
    return median(found)


if __name__ == "__main__":
    raise SystemExit(main())
