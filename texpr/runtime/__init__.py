"""Bytes, threads, devices, caches: what runs programs. Knows no program and no target.

`native.native_library` is a small library in LLVM IR text, compiled once per process: a pool of
threads, Ctrl-C inside kernels, scratch memory and the call path. `native.loader` links object code
against it, `call.fast_path` makes a Python callable of a loaded kernel, `disk_cache` keeps bytes on
disk, `process.worker` runs functions in another process, `host` describes this machine. Kernels are
called as `i32 entry(ptr slots)`.

Foreign code: `process.qemu` runs object code of another processor, `gpu` PTX on a GPU,
`emulator.fibers` the text that was emitted for a GPU on this CPU. Each takes bytes or text, arrays
and numbers.
"""
