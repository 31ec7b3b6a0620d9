"""Object code for x86-64 becomes code in this process, without LLVM: kernels that lie on disk need no
more than this, and LLVM is a hundred megabytes of memory.

Sections that are loaded lie behind each other, those that are written on pages of their own. What is
called outside is reached by a stub, and what is read outside by a table of addresses, since it may lie
farther away than an instruction can say. Relocations: System V Application Binary Interface, AMD64
Architecture Processor Supplement, section 4.4.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from texpr.runtime.executable_memory import PAGE, CodeMemory, symbol_address
from texpr.runtime.linking.object_file import (
    ABSOLUTE,
    COMMON,
    EMPTY,
    LOADED,
    OF_THREADS,
    PROGRAM,
    UNDEFINED,
    WEAK,
    WRITABLE,
    ObjectFile,
    Relocation,
    Symbol,
)

_WORD, _NEAR, _CALL, _BY_TABLE, _NEAR_WORD, _BY_TABLE_RELAXED, _BY_TABLE_PREFIXED = 1, 2, 4, 9, 24, 41, 42
_TABLE_KINDS = frozenset({_BY_TABLE, _BY_TABLE_RELAXED, _BY_TABLE_PREFIXED})
_LARGEST = (1 << 31) - 1
"""Bytes that distances of 32 bits span."""
_STUB = 8
"""Bytes of a jump to where the table says: ff 25 and a distance."""


class Linked:
    """Addresses by name of what object code exports. The code stays as long as this object does."""

    __slots__ = ("_addresses", "_memory")

    def __init__(self, memory: CodeMemory, addresses: dict[str, int]) -> None:
        self._memory, self._addresses = memory, addresses

    def __getitem__(self, name: str) -> int:
        return self._addresses[name]


def linked(code: bytes, exports: Iterable[str], imports: Mapping[str, int]) -> Linked:
    """Link object code. Names that are not among `imports` are those of the C library and of Python.

    Raises:
        ValueError, struct.error, IndexError: it is damaged, lacks an export, or needs what is not there.
        OSError: there is no memory.
    """
    return _Image(ObjectFile(code, for_linking=True), imports).placed(exports)


class _Image:
    """Object code that is about to lie in memory."""

    def __init__(self, file: ObjectFile, imports: Mapping[str, int]) -> None:
        self._file, self._imports = file, imports
        self._symbols = file.symbols()
        self._changes = [(number, rows) for number, rows in file.relocations() if self._is_loaded(number)]
        self._starts: dict[int, int] = {}
        """First byte of each section: in the code, or in the data if it is written."""
        self._code, self._data = self._laid_out(False), self._laid_out(True)
        self._outside = self._reached_outside()
        self._table = self._places(self._entries())
        self._stubs = self._places({s: None for s in self._called()}, _STUB)

    def placed(self, exports: Iterable[str]) -> Linked:
        """The code in memory."""
        memory = CodeMemory(len(self._code), len(self._data))
        self._base, self._data_base = memory.address, memory.data_address
        for symbol, at in self._table.items():
            struct.pack_into("<Q", self._code, at, self._address(symbol) % 2**64)
        for symbol, at in self._stubs.items():
            struct.pack_into("<2si", self._code, at, b"\xff\x25", self._table[symbol] - at - 6)
        for number, rows in self._changes:
            for row in rows:
                self._change(number, row)
        found = {s.name: n for n, s in enumerate(self._symbols) if s.section != UNDEFINED}
        if missing := sorted(set(exports) - found.keys()):
            raise ValueError(f"it does not define {', '.join(missing)}")
        addresses = {name: self._address(found[name]) for name in exports}
        memory.fill(self._code, self._data)
        return Linked(memory, addresses)

    def _is_loaded(self, number: int) -> bool:
        section = self._file.sections[number]
        if section.flags & OF_THREADS:
            raise ValueError("it has variables of threads")
        return bool(
            section.flags & LOADED
            and section.kind in (PROGRAM, EMPTY)
            and self._file.name(section) != ".eh_frame"  # nothing unwinds kernels
        )

    def _laid_out(self, written: bool) -> bytearray:
        found = bytearray()
        for number, section in enumerate(self._file.sections):
            if section.align > PAGE or section.size > _LARGEST:
                raise ValueError("a section is larger than code can be")
            if bool(section.flags & WRITABLE) == written and self._is_loaded(number):
                found += bytes(-len(found) % max(section.align, 1))
                self._starts[number] = len(found)
                found += self._file.bytes_of(section)
        return found

    def _reached_outside(self) -> dict[int, int]:
        """Addresses of symbols that the object code does not define."""
        found: dict[int, int] = {}
        missing: list[str] = []
        for number, symbol in enumerate(self._symbols):
            if symbol.section == COMMON:
                raise ValueError(f"{symbol.name} has no section")
            if symbol.section == UNDEFINED and symbol.name:
                address = self._imports.get(symbol.name) or symbol_address(symbol.name)
                if address is None and symbol.binding != WEAK:
                    missing.append(symbol.name)
                found[number] = address or 0
        if missing:
            raise ValueError(f"nothing is called {', '.join(missing)}")
        return found

    def _called(self) -> list[int]:
        rows = [row for _, rows in self._changes for row in rows if row.kind == _CALL]
        return sorted({row.symbol for row in rows if row.symbol in self._outside})

    def _entries(self) -> dict[int, None]:
        """Symbols whose address stands in the table."""
        rows = [row for _, rows in self._changes for row in rows if row.kind in _TABLE_KINDS]
        return dict.fromkeys([*self._called(), *(row.symbol for row in rows)])

    def _places(self, symbols: Mapping[int, None], size: int = 8) -> dict[int, int]:
        """Places for each behind the code."""
        self._code += bytes(-len(self._code) % 8)
        start = len(self._code)
        self._code += bytes(size * len(symbols))
        return {symbol: start + size * k for k, symbol in enumerate(symbols)}

    def _address(self, number: int) -> int:
        if number in self._outside:
            return self._outside[number]
        symbol = self._symbols[number]
        return symbol.value if symbol.section == ABSOLUTE else self._start_of(symbol) + symbol.value

    def _start_of(self, symbol: Symbol) -> int:
        if symbol.section not in self._starts:
            raise ValueError(f"{symbol.name or 'a symbol'} is in no section that is loaded")
        return self._start(symbol.section)

    def _start(self, number: int) -> int:
        written = self._file.sections[number].flags & WRITABLE
        return (self._data_base if written else self._base) + self._starts[number]

    def _change(self, number: int, row: Relocation) -> None:
        here = self._start(number) + row.offset
        content = self._data if self._file.sections[number].flags & WRITABLE else self._code
        at = self._starts[number] + row.offset
        if row.kind == _WORD:
            struct.pack_into("<Q", content, at, (self._address(row.symbol) + row.addend) % 2**64)
        elif row.kind == _NEAR_WORD:
            struct.pack_into("<q", content, at, self._address(row.symbol) + row.addend - here)
        else:
            distance = self._near(row) + row.addend - here
            if not -(1 << 31) <= distance < 1 << 31:
                raise ValueError(f"{self._symbols[row.symbol].name} is too far away")
            struct.pack_into("<i", content, at, distance)

    def _near(self, row: Relocation) -> int:
        """The place that an instruction refers to by a distance of 32 bits."""
        if row.kind in _TABLE_KINDS:
            return self._base + self._table[row.symbol]
        if row.kind == _CALL and row.symbol in self._stubs:
            return self._base + self._stubs[row.symbol]
        if row.kind in (_NEAR, _CALL):
            return self._address(row.symbol)
        raise ValueError(f"it has a relocation of kind {row.kind}")
