"""Innermost loops of the operators of `bench.x86`, for every processor: `python -m bench.inner`.

`assembly` finds them in what LLVM wrote, and says what they keep on the stack; `cases` makes the
operators with their default schedules.
"""
