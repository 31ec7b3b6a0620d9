"""The layouts of `xla_ffi.h` are those of the header that the installed jaxlib ships."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

jax = pytest.importorskip("jax")

NATIVE = Path(__file__).parents[3] / "texpr" / "runtime" / "native" / "xla"
COMPILER = next(filter(None, map(shutil.which, ("clang++-19", "clang++", "g++", "c++"))), None)
FIELDS = {
    ("XlaExtension", "XLA_FFI_Extension_Base"): {"size": "struct_size", "type": "type", "next": "next"},
    ("XlaVersion", "XLA_FFI_Api_Version"): {
        "size": "struct_size",
        "extensions": "extension_start",
        "major": "major_version",
        "minor": "minor_version",
    },
    ("XlaMetadata", "XLA_FFI_Metadata"): {
        "size": "struct_size",
        "version": "api_version",
        "traits": "traits",
    },
    ("XlaMetadataExtension", "XLA_FFI_Metadata_Extension"): {
        "base": "extension_base",
        "metadata": "metadata",
    },
    ("XlaErrorArguments", "XLA_FFI_Error_Create_Args"): {
        "size": "struct_size",
        "extensions": "extension_start",
        "message": "message",
        "code": "errc",
    },
    ("XlaApi", "XLA_FFI_Api"): {
        "size": "struct_size",
        "version": "api_version",
        "internal": "internal_api",
        "make_error": "XLA_FFI_Error_Create",
    },
    ("XlaBuffer", "XLA_FFI_Buffer"): {"type": "dtype", "data": "data", "rank": "rank", "extents": "dims"},
    ("XlaBuffers", "XLA_FFI_Args"): {"count": "size", "kinds": "types", "buffers": "args"},
    ("XlaBuffers", "XLA_FFI_Rets"): {"count": "size", "kinds": "types", "buffers": "rets"},
    ("XlaScalar", "XLA_FFI_Scalar"): {"type": "dtype", "value": "value"},
    ("XlaAttributes", "XLA_FFI_Attrs"): {
        "count": "size",
        "kinds": "types",
        "names": "names",
        "values": "attrs",
    },
    ("XlaCallFrame", "XLA_FFI_CallFrame"): {
        "extensions": "extension_start",
        "api": "api",
        "context": "ctx",
        "stage": "stage",
        "arguments": "args",
        "results": "rets",
        "attributes": "attrs",
    },
}
CONSTANTS = {
    "XLA_EXTENSION_METADATA": "XLA_FFI_Extension_Metadata",
    "XLA_STAGE_EXECUTE": "XLA_FFI_ExecutionStage_EXECUTE",
    "XLA_IS_BUFFER": "XLA_FFI_ArgType_BUFFER",
    "XLA_IS_SCALAR": "XLA_FFI_AttrType_SCALAR",
    "XLA_CANCELLED": "XLA_FFI_Error_Code_CANCELLED",
    "XLA_INVALID_ARGUMENT": "XLA_FFI_Error_Code_INVALID_ARGUMENT",
    "XLA_RESOURCE_EXHAUSTED": "XLA_FFI_Error_Code_RESOURCE_EXHAUSTED",
    "XLA_FAILED_PRECONDITION": "XLA_FFI_Error_Code_FAILED_PRECONDITION",
    "XLA_S64": "XLA_FFI_DataType_S64",
    "XLA_MAJOR_VERSION": "XLA_FFI_API_MAJOR",
}
TYPES = {
    "bool": "PRED",
    "int8": "S8",
    "int16": "S16",
    "int32": "S32",
    "int64": "S64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "bfloat16": "BF16",
    "float8_e5m2": "F8E5M2",
    "float8_e4m3fn": "F8E4M3FN",
}


def checked(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "layouts.cc").write_text(
        f'#include "xla/ffi/api/c_api.h"\n#include "xla_ffi.h"\n{text}', encoding="utf-8"
    )
    command = [
        COMPILER,
        "-std=c++17",
        "-fsyntax-only",
        f"-I{jax.ffi.include_dir()}",
        f"-I{NATIVE}",
        "layouts.cc",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # type: ignore[arg-type]


def asserted(left: str, right: str) -> str:
    return f'static_assert((long)({left}) == (long)({right}), "{left}");\n'


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")
def test_layouts_and_numbers(tmp_path: Path):
    from texpr.runtime.call.xla_calls import _TYPES

    assert set(_TYPES) == set(TYPES)
    lines = [
        asserted(f"offsetof({own}, {mine})", f"offsetof({its}, {theirs})")
        + asserted(f"sizeof((({own}*)0)->{mine})", f"sizeof((({its}*)0)->{theirs})")
        for (own, its), fields in FIELDS.items()
        for mine, theirs in fields.items()
        if (mine, its) not in {("arguments", "XLA_FFI_CallFrame")}
    ]
    lines += [asserted(own, its) for own, its in CONSTANTS.items()]
    lines += [asserted(str(_TYPES[name]), f"XLA_FFI_DataType_{its}") for name, its in TYPES.items()]
    done = checked("".join(lines), tmp_path)
    assert done.returncode == 0, done.stderr
    assert checked(asserted("sizeof(XlaBuffer)", "sizeof(XLA_FFI_Buffer) + 8"), tmp_path).returncode
