"""Facts about this machine, against other sources of the same facts."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from texpr.runtime import host, processor_answers
from texpr.runtime.call import value_checks as checks
from texpr.runtime.disk_cache import DiskCache
from texpr.runtime.native import jit, native_library


def test_cores_follow_the_affinity():
    before = os.sched_getaffinity(0)
    assert 1 <= host.cores() <= len(before)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert host.cores() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_memory_and_caches():
    assert host.memory_bytes() > 1 << 28
    assert list(host.caches()) == sorted(host.caches()) and all(size >= 4096 for size in host.caches())
    assert host._bytes_of("32K") == 32768 and host._bytes_of("1M") == 1 << 20 and host._bytes_of("100") == 100


def test_features_are_what_llvm_says():
    assert set(host.cpu_features()) == {name for name, has in llvm.get_host_cpu_features().items() if has}
    assert host.cpu_name() == llvm.get_host_cpu_name() or "amx-tile" in host.cpu_features()


def object_code(text: str, triple: str, form: str) -> str | bytes:
    """A native library for a kind of host."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    with jit.lock:
        target = llvm.Target.from_triple(triple).create_target_machine(opt=2, reloc="pic")
        module = llvm.parse_assembly(text)
        module.verify()
        module.triple, module.data_layout = triple, str(target.target_data)
        return target.emit_assembly(module) if form == "text" else target.emit_object(module)


def test_what_llvm_says_is_kept_by_what_the_processor_says(monkeypatch, tmp_path):
    asked: list[str] = []

    def of_llvm() -> tuple[str, str]:
        asked.append("asked")
        return "some-cpu", "+avx,-amx"

    monkeypatch.setattr(host, "_asked_of_llvm", of_llvm)
    store = DiskCache(tmp_path / "cache")
    monkeypatch.setattr(host.disk_cache, "shared", lambda: store)
    for answers, times in (((1, 2), 1), ((1, 2), 1), ((1, 3), 2), ((), 3), ((), 4)):
        monkeypatch.setattr(host, "answers", lambda answers=answers: answers)
        assert host._stated.__wrapped__() == ("some-cpu", "+avx,-amx") and len(asked) == times


@pytest.mark.skipif(platform.machine() != "x86_64", reason="another processor")
def test_the_processor_says_the_same_on_every_core():
    before = os.sched_getaffinity(0)
    try:
        found = set()
        for core in before:
            os.sched_setaffinity(0, {core})
            found.add(processor_answers.answers.__wrapped__())
    finally:
        os.sched_setaffinity(0, before)
    (answer,) = found
    maker = b"".join(word.to_bytes(4, "little") for word in (answer[1], answer[3], answer[2]))
    assert maker.decode() in Path("/proc/cpuinfo").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("stated", "has", "name"),
    [
        ("rocketlake", {"amx-tile": True, "prefetchi": True}, "graniterapids"),
        ("icelake-server", {"amx-tile": True, "prefetchi": False}, "sapphirerapids"),
        ("emeraldrapids", {"amx-tile": True, "prefetchi": True}, "emeraldrapids"),
        ("rocketlake", {"avx512f": True, "amx-tile": False}, "rocketlake"),
    ],
)
def test_a_virtual_machine_may_state_an_older_model(monkeypatch, stated, has, name):
    features = ",".join(("+" if there else "-") + feature for feature, there in has.items())
    monkeypatch.setattr(host, "_stated", lambda: (stated, features))
    host.cpu_features.cache_clear()
    assert host.cpu_name.__wrapped__() == name
    monkeypatch.undo()
    host.cpu_features.cache_clear()


@pytest.mark.parametrize(
    "machine, triple", [("x86_64", "x86_64-unknown-linux-gnu"), ("aarch64", "aarch64-unknown-linux-gnu")]
)
def test_the_native_library_compiles_for_every_host(machine, triple):
    assembly = object_code(native_library.text(machine), triple, "text")
    assert isinstance(assembly, str) and all(f"{name}:" in assembly for name in native_library.EXPORTS)
    for check in ("range", "distinct"):
        for dtype in checks.DTYPES:
            text = checks.text(check, dtype, machine)
            assert f"tx_{check}_{dtype}:" in str(object_code(text, triple, "text"))


DRIVER = Path(__file__).parent / "native" / "driver.c"


@pytest.mark.qemu
@pytest.mark.skipif(
    not shutil.which("aarch64-linux-gnu-gcc") or not shutil.which("qemu-aarch64"),
    reason="no cross compiler or emulator",
)
def test_the_native_library_runs_on_the_other_host(tmp_path):
    """Without a Python: its functions do nothing, and its objects are not looked at."""
    texts = (
        native_library.text("aarch64"),
        checks.text("range", "i32", "aarch64"),
        checks.text("distinct", "u8", "aarch64"),
        native_library.source("sorting", "aarch64"),
    )
    objects = [f"native{k}.o" for k in range(len(texts))]
    for name, text in zip(objects, texts):
        (tmp_path / name).write_bytes(object_code(text, "aarch64-unknown-linux-gnu", "object"))
    stubs = "\n".join(f"void *{name}(void) {{ return 0; }}" for name in native_library.PYTHON_API)
    (tmp_path / "stubs.c").write_text(stubs)
    layouts = [f"-DITEMS={tuple.__basicsize__}", f"-DDATA={bytes.__basicsize__ - 1}"]
    options = ["-static", "-pthread", "-w", f"-I{Path(native_library.__file__).parent}", *layouts]
    subprocess.run(
        ["aarch64-linux-gnu-gcc", *options, DRIVER, "stubs.c", *objects, "-o", "driver"],
        cwd=tmp_path,
        check=True,
    )
    done = subprocess.run(
        ["qemu-aarch64", "driver"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
