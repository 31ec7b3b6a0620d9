"""Facts about this machine, against other sources of the same facts."""

from __future__ import annotations

import os
import shutil
import subprocess

import llvmlite.binding as llvm
import pytest

from texpr.runtime import host
from texpr.runtime.call import value_checks as checks
from texpr.runtime.native import jit
from texpr.runtime.native import library as native


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


@pytest.mark.parametrize(("stated", "has", "name"), [
    ("rocketlake", {"amx-tile": True, "prefetchi": True}, "graniterapids"),
    ("icelake-server", {"amx-tile": True, "prefetchi": False}, "sapphirerapids"),
    ("emeraldrapids", {"amx-tile": True, "prefetchi": True}, "emeraldrapids"),
    ("rocketlake", {"avx512f": True, "amx-tile": False}, "rocketlake")])
def test_a_virtual_machine_may_state_an_older_model(monkeypatch, stated, has, name):
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: stated)
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: has)
    host.cpu_features.cache_clear()
    assert host.cpu_name.__wrapped__() == name
    monkeypatch.undo()
    host.cpu_features.cache_clear()


@pytest.mark.parametrize("machine, triple", [("x86_64", "x86_64-unknown-linux-gnu"), ("aarch64", "aarch64-unknown-linux-gnu")])
def test_the_native_library_compiles_for_every_host(machine, triple):
    assembly = object_code(native.text(machine), triple, "text")
    assert isinstance(assembly, str) and all(f"{name}:" in assembly for name in native.EXPORTS)
    for part, name in (("ranges", "range"), ("distinct", "distinct")):
        for dtype in checks.DTYPES:
            assert f"tx_{name}_{dtype}:" in str(object_code(checks.text(part, dtype), triple, "text"))


DRIVER = """
#include <stdio.h>
#include <string.h>
extern void tx_parallel(void (*)(void *, long, long), void *, long), tx_set_threads(long), tx_free(void *), tx_watch_interrupts(void);
extern void *tx_alloc(long);
static int counts[1000];
static void count(void *p, long lo, long hi) { for (long i = lo; i < hi; i++) ((int *)p)[i]++; }
%s
int main(void) {
  for (int threads = 1; threads < 5; threads++) {
    tx_set_threads(threads);
    for (int n = 0; n < 1000; n += 7) {
      memset(counts, 0, sizeof counts);
      tx_parallel(count, counts, n);
      for (int i = 0; i < 1000; i++) if (counts[i] != (i < n)) return 1;
    }
  }
  tx_watch_interrupts();
  for (long size = 0; size < 10000000; size = size * 2 + 1) {
    char *p = tx_alloc(size);
    if (!p || (long)p %% 64) return 2;
    memset(p, 1, size);
    tx_free(p);
  }
  if (tx_alloc(-1)) return 3;
  puts("ok");
  return 0;
}
"""


@pytest.mark.qemu
@pytest.mark.skipif(not shutil.which("aarch64-linux-gnu-gcc") or not shutil.which("qemu-aarch64"), reason="no cross compiler or emulator")
def test_the_native_library_runs_on_the_other_host(tmp_path):
    stubs = "\n".join(f"void *{name}(void) {{ return 0; }}" for name in native.PYTHON_API)
    (tmp_path / "driver.c").write_text(DRIVER % stubs)
    (tmp_path / "native.o").write_bytes(object_code(native.text("aarch64"), "aarch64-unknown-linux-gnu", "object"))
    subprocess.run(["aarch64-linux-gnu-gcc", "-static", "-pthread", "-w", "driver.c", "native.o", "-o", "driver"], cwd=tmp_path, check=True)
    done = subprocess.run(["qemu-aarch64", "driver"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
