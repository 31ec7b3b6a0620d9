"""LLVM IR of loops, common to all targets: expressions, vectors, statements."""
