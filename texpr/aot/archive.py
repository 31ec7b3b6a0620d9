"""Static libraries: the `ar` format as GNU and LLVM linkers read it, with an index of symbols."""

from __future__ import annotations

import struct

_MAGIC = b"!<arch>\n"
_HEADER = 60


def archive(member: str, content: bytes, symbol: str) -> bytes:
    """An archive of one object, whose index names one symbol. The same bytes for the same content:
    no dates, no owners.

    Args:
        member: a name of at most 15 characters.
    """
    name = symbol.encode() + b"\0"
    index = struct.pack(">II", 1, len(_MAGIC) + _HEADER + _even(8 + len(name))) + name
    return _MAGIC + _member("/", index) + _member(f"{member}/", content)


def _member(name: str, content: bytes) -> bytes:
    assert len(name) <= 16, name
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
    assert len(head) == _HEADER
    return head + content + b"\n" * (_even(len(content)) - len(content))


def _even(size: int) -> int:
    return size + size % 2
