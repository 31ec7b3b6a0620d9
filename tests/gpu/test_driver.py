"""The emulated device is as strict as a real one, and the allocator above it gives out no memory
twice.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from texpr.runtime.gpu import (
    DeviceArray,
    EmulatedDriver,
    Event,
    Pool,
    Replay,
    Stream,
    empty,
    find_device,
    to_device,
)
from texpr.runtime.gpu.device import Device
from texpr.support.errors import CallError, ResourceError

MIB = 1 << 20


def device(**options: int) -> Device:
    return Device("test", EmulatedDriver(**options))


def test_work_waits_until_somebody_asks():
    gpu = device()
    array = to_device(gpu, np.arange(4.0))
    inside, at = gpu.driver._found(array.address, 32)
    assert np.isnan(inside[at : at + 32].view(np.float64)).all(), "nothing is done yet"
    assert array.numpy().tolist() == [0, 1, 2, 3]


def test_a_copy_to_the_device_is_of_what_the_array_held():
    gpu, source = device(), np.ones(3)
    array = to_device(gpu, source)
    source[:] = 2
    assert array.numpy().tolist() == [1, 1, 1]


def test_streams_run_beside_each_other_and_events_order_them():
    gpu = device()
    other, event, array = gpu.driver.make_stream(), gpu.driver.make_event(), empty(gpu, (1,), np.float32)
    gpu.driver.fill(array.address, 1, 4, other)
    gpu.driver.record(event, other)
    assert not gpu.driver.reached(event)
    assert array.numpy().view(np.uint8).tolist() == [255] * 4, "the default stream does not wait"
    gpu.driver.wait(0, event)
    assert array.numpy().view(np.uint8).tolist() == [1] * 4
    assert gpu.driver.reached(event)


def test_a_block_on_a_stream_is_in_order_with_what_is_around_it():
    found = find_device("emulated")
    stream, start, end = Stream("emulated"), Event("emulated"), Event("emulated")
    array = to_device(found, np.zeros(2, np.float32))
    start.record()
    with stream:
        assert found.stream == stream.handle
        array.set(np.ones(2, np.float32))
    end.record()
    assert array.numpy().tolist() == [1, 1] and found.stream == 0 and end.milliseconds_since(start) >= 0


def test_memory_that_was_freed_is_refused():
    driver = EmulatedDriver()
    address = driver.allocate(100)
    driver.free(address)
    with pytest.raises(AssertionError, match="are not allocated"):
        driver.fill(address, 0, 1, 0)
    with pytest.raises(AssertionError, match="no memory that was allocated"):
        driver.free(address)


def test_memory_behind_the_end_is_refused():
    driver = EmulatedDriver()
    address = driver.allocate(100)
    with pytest.raises(AssertionError, match="101 bytes at .* are not allocated"):
        driver.fill(address, 0, 101, 0)


def test_a_graph_is_written_down_and_not_done():
    gpu = device()
    array = to_device(gpu, np.zeros(4, np.uint8))
    stream = gpu.driver.begin_capture()
    gpu.driver.fill(array.address, 7, 4, stream)
    with pytest.raises(AssertionError, match="while a graph is captured"):
        gpu.synchronize()
    graph = gpu.driver.end_capture(stream)
    assert array.numpy().tolist() == [0] * 4
    for number in (1, 2):
        array.set(np.full(4, number, np.uint8))
        gpu.driver.launch_graph(graph, 0)
        assert array.numpy().tolist() == [7] * 4


class Filling:
    """Work of a replay, noted."""

    def __init__(self, gpu: Device, array: DeviceArray) -> None:
        self.gpu, self.array, self.streams = gpu, array, []

    def touch(self) -> None:
        self.array.used_here()

    def __call__(self, stream: int) -> None:
        self.streams.append(stream)
        self.gpu.driver.fill(self.array.address, 3, self.array.nbytes, stream)


def test_a_replay_runs_its_work_and_then_its_graph():
    gpu = device()
    array = empty(gpu, (2,), np.uint8)
    work = Filling(gpu, array)
    replay = Replay(gpu, [work])  # type: ignore[list-item]
    for _ in range(4):
        array.set(np.zeros(2, np.uint8))
        replay()
        assert array.numpy().tolist() == [3, 3]
    assert len(work.streams) == 2 and work.streams[0] == 0 != work.streams[1], (
        "once by itself, once to be captured"
    )


@examples(30)
@given(st.lists(st.tuples(st.integers(0, 3 * MIB), st.integers(0, 1), st.integers(0, 9)), max_size=40))
def test_blocks_in_use_never_overlap(requests: list[tuple[int, int, int]]):
    driver = EmulatedDriver()
    pool, held = Pool(driver), []
    streams = [0, driver.make_stream()]
    for size, stream, drop in requests:
        held.append(pool.take(size, streams[stream]))
        assert held[-1].size >= size
        spans = sorted((b.address, b.address + b.size) for b in held)
        assert all(first[1] <= second[0] for first, second in zip(spans, spans[1:]))
        if drop < len(held):
            pool.give_back(held.pop(drop))
    assert pool.statistics().in_use == sum(b.size for b in held)
    for block in held:
        pool.give_back(block)
    pool.release()
    assert pool.statistics().reserved == pool.statistics().in_use == 0, "all neighbours were joined"


@pytest.mark.parametrize("size", (100, MIB, MIB + MIB // 2, 5 * MIB))
def test_memory_is_used_again(size: int):
    gpu = device()
    for _ in range(5):
        empty(gpu, (size,), np.uint8)
    assert gpu.memory().allocations == 1


def test_memory_that_another_stream_uses_is_not_given_out():
    gpu = device()
    stream = gpu.driver.make_stream()
    array = empty(gpu, (8,), np.uint8)
    first = array.address
    with gpu.on(stream):
        array.set(np.zeros(8, np.uint8))
    del array
    second = empty(gpu, (8,), np.uint8)
    assert second.address != first
    gpu.synchronize()
    assert empty(gpu, (8,), np.uint8).address == first


def test_memory_that_is_kept_is_given_back_before_there_is_none():
    gpu = device(memory=8 * MIB)
    kept = empty(gpu, (4 * MIB,), np.uint8)
    del kept
    assert empty(gpu, (8 * MIB,), np.uint8).nbytes == 8 * MIB
    assert gpu.memory().retries == 1


def test_no_memory():
    gpu = device(memory=8 * MIB)
    held = empty(gpu, (3 * MIB,), np.uint8)
    with pytest.raises(ResourceError) as error:
        empty(gpu, (5 * MIB,), np.uint8)
    assert str(error.value) == (
        "error[memory]: the GPU has not enough memory: 5.0 MiB were asked for\n"
        "    of 8.0 MiB, 4.0 MiB are free; 3.0 MiB are in use here, 0 bytes by others, 1.0 MiB are kept in "
        "parts that are too small\n"
        "  help: use smaller batches, or let go of tensors that are not needed"
    )
    assert held.nbytes and str(gpu.memory()).startswith(
        "3.0 MiB in use, 3.0 MiB at most, 4.0 MiB reserved, 4.0 MiB of 8.0 MiB free;"
    )


def test_names_of_devices():
    assert find_device("cpu") is None and find_device("emulated") is find_device("emulated:0")
    with pytest.raises(CallError) as error:
        find_device("gpu")
    assert str(error.value) == (
        "error[device]: there is no device 'gpu'\n  help: devices are 'cpu', 'cuda', 'cuda:1', 'emulated'"
    )


def test_arrays_of_a_device():
    gpu = device()
    array = to_device(gpu, np.arange(6, dtype=np.int32))
    assert array.reshape(2, 3).numpy().tolist() == [[0, 1, 2], [3, 4, 5]] and array.view(
        8, (2,), np.int32
    ).numpy().tolist() == [2, 3]
    array[...] = 5
    assert array.copy().numpy().tolist() == [5] * 6
    with pytest.raises(CallError, match="cannot become float64"):
        array.set(np.zeros(5))
    array[-1] = 9
    assert array.numpy().tolist() == [5] * 5 + [9]
    with pytest.raises(CallError, match="not assigned one by one"):
        array[0:2] = 1
    with pytest.raises(CallError, match="lies on test, and NumPy asks for it"):
        np.asarray(array)
    with pytest.raises(CallError, match="is copied to"):
        array.set(to_device(device(), np.arange(6, dtype=np.int32)))
