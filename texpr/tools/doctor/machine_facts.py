"""The machine: its record, threads and devices."""

from __future__ import annotations

from collections.abc import Iterator

from texpr.support.errors import Error
from texpr.support.options import current
from texpr.tools.doctor.finding import Finding


def record() -> Iterator[Finding]:
    """Give the machine record that default schedules use, and check the number of threads."""
    from texpr.runtime import host
    from texpr.targets import find_target, target_names

    machine = find_target("native").machine
    rows = {
        "cpu": host.cpu_name(),
        "cores": str(host.cores()),
        "vectors": f"{machine.vector_bytes} bytes, {machine.vector_registers} registers",
        "caches": ", ".join(f"{n >> 10} KiB" for n in machine.caches),
        "targets": ", ".join(target_names()),
    }
    yield from (Finding("machine", name, "fact", value) for name, value in rows.items())
    yield _threads(host.cores())


def _threads(cores: int) -> Finding:
    threads = current().threads
    if threads <= cores:
        return Finding("machine", "threads", "ok", f"{threads} of {cores} cores")
    help = f"TEXPR_THREADS={cores}, or tx.options(threads={cores})"
    return Finding("machine", "threads", "problem", f"{threads} threads on {cores} cores", help)


def devices() -> Iterator[Finding]:
    """Look for a GPU, and check that the device of the options is there."""
    from texpr.runtime import gpu

    try:
        yield Finding("devices", "gpu", "ok", _facts())
    except Error as error:
        yield Finding("devices", "gpu", "absent", error.message)
    name = current().device
    try:
        gpu.find_device(name)
    except Error as error:
        yield Finding(
            "devices", "device", "problem", f"{name}: {error.message}", error.help or "TEXPR_DEVICE=cpu"
        )
    else:
        yield Finding("devices", "device", "ok", name)


def _facts() -> str:
    """The name of the first GPU and its facts.

    Raises:
        ResourceError: there is none.
    """
    from texpr.runtime import gpu

    found = gpu.find_device(gpu.DEFAULT)
    assert found is not None
    facts = found.facts
    return (
        f"{facts.name}, {facts.memory >> 30} GiB, capability {'.'.join(map(str, facts.capability))}, driver "
        f"of {facts.driver}"
    )
