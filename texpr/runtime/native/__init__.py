"""Native code of the runtime, in C: calls, threads, scratch memory, signals.

Sources are C11 without headers of a C library:

* `native.h`: types that the parts share: objects of CPython and NumPy, the specification of a call;
* `host.h`: system call numbers, the pause of spin loops and a clock, for each host;
* `library.c`: the library as one translation unit, which includes its parts:
  * `pool.c`: fork/join threads;
  * `interrupt.c`: Ctrl-C;
  * `memory.c`, `guard.c`: scratch memory, guard pages;
  * `numbers.c`, `arguments.c`, `keywords.c`, `copies.c`, `call.c`: from Python's arguments to a
    kernel and back;
  * `sequence.c`: many kernels as one;
  * `dlpack.c`: deleters;
* `value_checks.c`, a second translation unit: checks of the values of integer arrays. Others are
  `sorting.c`, `xla/` for calls from XLA, and `tensors/` for small computations of lazy tensors.

Users have no C compiler, so the LLVM IR of each unit is checked in for each host
(`ir/library-x86_64.ll`, ...). llvmlite compiles it for the processor at hand when it is first needed.
Layouts that differ between versions of CPython are constants that `native_library.py` writes into
the IR.

After a change of the C, `python scripts/native.py` writes the `.ll` files anew, with the clang that
is named there. `tests/runtime/native` compares them. The style of the C is in `.clang-format`.
"""
