"""Object code becomes code in this process: `linker` for x86-64, `llvm_library` for other hosts and
where a debugger wants names. `perf_map` tells `perf` of it.
"""
