"""Object code as a file of 64-bit ELF: sections, symbols, relocations.

Layout: System V Application Binary Interface, chapter 4, Object Files.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

PROGRAM, SYMBOLS, RELOCATIONS, EMPTY, RELOCATIONS_IN_PLACE = 1, 2, 4, 8, 9
"""Kinds of sections; an empty one has an extent and no bytes."""
WRITABLE, LOADED, OF_THREADS = 1, 2, 0x400
"""Flags of sections."""
FUNCTION = 2
"""Kind of a symbol."""
UNDEFINED, ABSOLUTE, COMMON = 0, 0xFFF1, 0xFFF2
"""Sections of symbols that are in none."""
WEAK = 2
_X86_64 = 62


class Section(NamedTuple):
    """A line of the section table."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class Symbol(NamedTuple):
    """A symbol. `value` is an offset in its section."""

    name: str
    kind: int
    binding: int
    section: int
    value: int
    size: int


class Relocation(NamedTuple):
    """A place of a section that follows from where a symbol lies."""

    offset: int
    kind: int
    symbol: int
    addend: int


class ObjectFile:
    """The tables of an object file.

    Raises:
        ValueError: it is none, or not for x86-64 where `for_linking`.
        struct.error, IndexError: it is damaged.
    """

    def __init__(self, code: bytes, *, for_linking: bool = False) -> None:
        kind, machine = struct.unpack_from("<HH", code, 16) if len(code) > 63 else (0, 0)
        if code[:6] != b"\x7fELF\x02\x01" or for_linking and (kind, machine) != (1, _X86_64):
            raise ValueError("it is no object file of 64-bit ELF for this processor")
        self.code = code
        (table,) = struct.unpack_from("<Q", code, 0x28)
        size, count, names = struct.unpack_from("<HHH", code, 0x3A)
        layout = struct.Struct("<IIQQQQIIQQ")
        self.sections = [Section(*layout.unpack_from(code, table + k * size)) for k in range(count)]
        self._names = self.sections[names].offset if names else 0

    def name(self, section: Section) -> str:
        """The name of a section."""
        return self._text(self._names + section.name)

    def bytes_of(self, section: Section) -> bytes:
        """The content of a section; zeros of an empty one."""
        if section.kind == EMPTY:
            return bytes(section.size)
        found = self.code[section.offset : section.offset + section.size]
        if len(found) != section.size:
            raise ValueError("a section lies outside of the file")
        return found

    def symbols(self) -> list[Symbol]:
        """The symbols of its table; the first one is none."""
        found: list[Symbol] = []
        for section in self.sections:
            if section.kind == SYMBOLS:
                names = self.sections[section.link].offset
                for name, info, _, where, value, size in struct.iter_unpack(
                    "<IBBHQQ", self.bytes_of(section)
                ):
                    text = self._text(names + name) if name else ""
                    found.append(Symbol(text, info & 15, info >> 4, where, value, size))
        return found

    def relocations(self) -> Iterator[tuple[int, list[Relocation]]]:
        """Numbers of sections, each with its relocations."""
        for section in self.sections:
            if section.kind == RELOCATIONS:
                entries = struct.iter_unpack("<QQq", self.bytes_of(section))
                yield (
                    section.info,
                    [Relocation(at, what & 0xFFFFFFFF, what >> 32, a) for at, what, a in entries],
                )
            elif section.kind == RELOCATIONS_IN_PLACE:
                raise ValueError("its relocations have no addends")

    def _text(self, start: int) -> str:
        return self.code[start : self.code.index(b"\0", start)].decode()
