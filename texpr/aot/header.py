"""A C header: what a compiler needs to know of a function, and what its users do."""

from __future__ import annotations

import textwrap

from texpr.aot.c_function import Function, Parameter, c_name

_WIDTH = 110
_THREADS = (
    "Any thread may call it, and several at once where none writes what another one uses; it runs in the "
    "thread that calls it and "
    "gives the same bits in each."
)
_STATUS = "Returns 0; or 2 where memory ran out, and then what it has written is not complete."


def header(function: Function) -> str:
    """The text of a header for C99 and C++11."""
    guard = f"TEXPR_{c_name(function.name)}_H"  # case tells operators apart
    return "\n".join(
        [
            f"#ifndef {guard}",
            f"#define {guard}",
            *_comment(function),
            "#include <stdint.h>",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            *function.needs,
            "/* The same, with the arguments above as words of 64 bits in their order: addresses and "
            "numbers. */",
            f"int32_t {function.symbol}(void **slots);",
            "",
            *_typed(function),
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "#endif",
            "",
        ]
    )


def _comment(function: Function) -> list[str]:
    shown = [
        (p.name, f"{'' if p.written or p.shape is None else 'const '}{p.type}{p.shape or ''}", p.note)
        for p in function.parameters
    ]
    names, types = (max((len(row[k]) for row in shown), default=0) for k in (0, 1))
    lines = [f"{function.name}, compiled for {function.target}.", ""]
    lines += [f"  {name:<{names}}  {kind:<{types}}  {note}".rstrip() for name, kind, note in shown]
    arrays = [p for p in function.parameters if p.shape is not None]
    facts = [_alignment(arrays), *function.facts, _THREADS, _STATUS]
    lines += ["", *(line for fact in facts for line in textwrap.wrap(fact, _WIDTH))]
    return ["/* " + lines[0], *(f" * {line}".rstrip() for line in lines[1:]), " */"]


def _alignment(arrays: list[Parameter]) -> str:
    written = [p.name for p in arrays if p.written]
    return (
        "Arrays are contiguous, the last index runs fastest, and begin where C would align their elements "
        "(64 bytes are fastest); "
        f"{' and '.join(written)} {'overlaps' if len(written) == 1 else 'overlap'} no other array."
    )


def _typed(function: Function) -> list[str]:
    """The function with types, where a C compiler sees them; inline, so that objects hold no
    more than one symbol.
    """
    named = list(zip(function.parameters, function.c_names))
    words = [f"(uint64_t){'' if p.shape is None else '(uintptr_t)'}{name}" for p, name in named]
    head = f"static inline int32_t {function.symbol}_call({', '.join(p.declared(name) for p, name in named)})"
    slots = f"    uint64_t slots[] = {{{', '.join(words)}}};"
    return [*_wrapped(head), "{", *_wrapped(slots), f"    return {function.symbol}((void **)slots);", "}"]


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(
        line, _WIDTH, subsequent_indent=" " * 8, break_on_hyphens=False, break_long_words=False
    )
