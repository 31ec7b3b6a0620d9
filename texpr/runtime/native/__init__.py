"""The part of the runtime that is LLVM IR: calls, threads, guards, signals."""
