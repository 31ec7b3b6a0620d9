"""Object code becomes code in this process without LLVM: every kind of relocation, and refusals."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import struct
import subprocess
import sys

import llvmlite.binding as llvm
import pytest

from texpr.runtime.executable_memory import PAGE, CodeMemory
from texpr.runtime.linking import linker, object_file
from texpr.runtime.native import jit

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="other hosts link by LLVM")

TEXT = """
@table = internal constant [4 x i64] [i64 10, i64 20, i64 30, i64 40], align 64
@places = internal constant [2 x ptr] [ptr @table, ptr getelementptr (i8, ptr @table, i64 16)]
@counter = internal global i64 5
@zeros = internal global [100 x i64] zeroinitializer, align 32
@elsewhere = external global i64
@perhaps = extern_weak global i64
declare i64 @outside(i64)
declare i64 @labs(i64)

define i64 @count() {
  %n = load i64, ptr @counter
  %m = add i64 %n, 1
  store i64 %m, ptr @counter
  %z = getelementptr i64, ptr @zeros, i64 99
  store i64 %m, ptr %z
  %r = load i64, ptr %z
  ret i64 %r
}
define i64 @entry(i64 %k) {
  %p = getelementptr i64, ptr @table, i64 %k
  %v = load i64, ptr %p
  ret i64 %v
}
define i64 @by_address() {
  %at = getelementptr ptr, ptr @places, i64 1
  %p = load volatile ptr, ptr %at
  %v = load i64, ptr %p
  ret i64 %v
}
define i64 @calls(i64 %x) {
  %a = call i64 @outside(i64 %x)
  %b = call i64 @labs(i64 %a)
  %c = call i64 @entry(i64 1)
  %d = add i64 %b, %c
  ret i64 %d
}
define ptr @place() { ret ptr @elsewhere }
define ptr @absent() { ret ptr @perhaps }
define ptr @zeros_at() { ret ptr @zeros }
define ptr @table_at() { ret ptr @table }
"""
EXPORTS = ("count", "entry", "by_address", "calls", "place", "absent", "zeros_at", "table_at")
OUTSIDE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: -3 * x)
WORD = ctypes.c_int64(7)


def compiled(text: str, codemodel: str, reloc: str = "pic", triple: str = "") -> bytes:
    jit.compile_text("define void @f() { ret void }")  # makes LLVM ready
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple or llvm.get_process_triple())
    machine = target.create_target_machine(opt=1, reloc=reloc, codemodel=codemodel)
    module = llvm.parse_assembly(text)
    return machine.emit_object(module)


def link(code: bytes, exports=EXPORTS, elsewhere: int = ctypes.addressof(WORD)) -> linker.Linked:
    address = ctypes.cast(OUTSIDE, ctypes.c_void_p).value or 0
    return linker.linked(code, exports, {"outside": address, "elsewhere": elsewhere})


def call(library, name: str, *arguments: int) -> int:
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))
    return kind(library[name])(*arguments)


@pytest.mark.parametrize("codemodel, reloc", [("small", "pic"), ("large", "static")])
def test_what_is_linked_computes_what_it_says(codemodel, reloc):
    library = link(compiled(TEXT, codemodel, reloc))
    assert [call(library, "count") for _ in range(3)] == [6, 7, 8]
    assert [call(library, "entry", k) for k in range(4)] == [10, 20, 30, 40]
    assert call(library, "by_address") == 30
    assert call(library, "calls", 5) == 15 + 20
    assert call(library, "place") == ctypes.addressof(WORD)
    assert call(library, "absent") == 0
    assert call(library, "zeros_at") % 32 == 0 and call(library, "table_at") % 64 == 0
    assert call(link(compiled(TEXT, codemodel, reloc)), "count") == 6  # variables are its own


def permissions(address: int) -> str:
    with open("/proc/self/maps", encoding="utf-8") as lines:
        for line in lines:
            place, kind = line.split()[:2]
            first, last = (int(x, 16) for x in place.split("-"))
            if first <= address < last:
                return kind
    return ""


def test_nothing_is_both_written_and_executed_and_all_is_given_back():
    library = link(compiled(TEXT, "small"))
    code, data = library["count"], call(library, "zeros_at")
    assert permissions(code) == "r-xp" and permissions(data) == "rw-p"
    del library
    gc.collect()
    assert not permissions(data).startswith("rw-p") or permissions(code) != "r-xp"


def with_relocation(kind: int) -> bytes:
    """Object code whose first relocation is of another kind."""
    code = bytearray(compiled(TEXT, "small"))
    file = object_file.ObjectFile(bytes(code))
    section = next(s for s in file.sections if s.kind == object_file.RELOCATIONS)
    struct.pack_into("<I", code, section.offset + 8, kind)
    return bytes(code)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: compiled(TEXT.replace("@labs", "@no_such"), "small"), "nothing is called no_such"),
        (lambda: with_relocation(19), "it has a relocation of kind 19"),
        (lambda: compiled("@v = thread_local global i64 1\ndefine ptr @f() { ret ptr @v }", "small"),
         "it has variables of threads"),
        (lambda: compiled("define void @f() { ret void }", "small", triple="aarch64-unknown-linux-gnu"),
         "it is no object file of 64-bit ELF for this processor"),
        (lambda: compiled("@elsewhere = external dso_local global i64\n"
                          "define ptr @f() { ret ptr @elsewhere }", "small"), "elsewhere is too far away"),
        (lambda: compiled("define void @g() { ret void }", "small"), "it does not define f"),
    ],
    ids=["unknown name", "unknown relocation", "thread local", "other processor", "far", "no export"],
)  # fmt: skip
def test_what_cannot_be_linked_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        link(make(), ("f",), elsewhere=PAGE)


def test_damaged_code_is_refused_or_lies_within_its_memory():
    """Whatever bytes the tables have: an error, or code that was linked; nothing else."""
    code, errors = compiled(TEXT, "small"), (ValueError, struct.error, IndexError, OSError)
    section = struct.unpack_from("<Q", code, 0x28)[0]
    for at in [*range(0, 64), *range(section, len(code), 3)]:
        damaged = bytearray(code)
        damaged[at] ^= 0x41
        try:
            link(bytes(damaged))
        except errors:
            continue
    for end in range(0, len(code), 97):
        with pytest.raises(errors):
            link(code[:end])


def test_memory_for_code():
    memory = CodeMemory(PAGE + 1, 8)
    assert memory.data_address - memory.address == 2 * PAGE
    memory.fill(b"\xb8\x07\0\0\0\xc3", b"12345678")
    assert ctypes.CFUNCTYPE(ctypes.c_int)(memory.address)() == 7
    assert ctypes.string_at(memory.data_address, 8) == b"12345678"


def test_a_process_whose_kernels_are_on_disk_does_not_load_llvm(tmp_path):
    code = (
        "import sys, numpy as np, texpr as tx\n"
        "k = tx.op('op f(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] + 1 }')\n"
        "assert k(np.ones(9, 'f4')).tolist() == [3] * 9\n"
        "print(sorted({'llvmlite', 'islpy', 'lark'} & sys.modules.keys()))"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120,
            env={**os.environ, "TEXPR_CACHE_DIR": str(tmp_path / "cache")},
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert "llvmlite" in found[0] and found[1] == "[]\n"
