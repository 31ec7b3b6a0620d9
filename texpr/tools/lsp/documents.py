"""Documents as an editor has them: regions of operators, each with its declarations and names."""

from __future__ import annotations

from dataclasses import dataclass, field

from texpr.support.once import once
from texpr.tools.lsp.declarations import Declared, declarations
from texpr.tools.lsp.operator_proofs import Origin
from texpr.tools.lsp.positions import UTF16, Lines
from texpr.tools.lsp.regions import Region, regions
from texpr.tools.lsp.symbols import Symbol, symbol_at, symbols


class View:
    """A region and what is read in it; made when it is asked for."""

    def __init__(self, region: Region) -> None:
        self.region = region

    @property
    def text(self) -> str:
        return self.region.text

    @once
    def parts(self) -> list[Declared]:
        return declarations(self.text)

    @once
    def symbols(self) -> list[Symbol]:
        return symbols(self.parts)

    def symbol(self, offset: int) -> Symbol | None:
        """The name at a place of the region's text."""
        return symbol_at(self.symbols, offset)

    def part_at(self, offset: int) -> Declared | None:
        """The declaration at a place of the region's text."""
        return next((p for p in reversed(self.parts) if p.start <= offset), None)


@dataclass
class Document:
    """A version of a document.

    Attributes:
        python: it is Python with operators in strings, not a `.tx` text.
        path: None where it is no file.
        encoding: of the columns that client and server speak of.
    """

    uri: str
    text: str
    version: int = 0
    python: bool = False
    path: str | None = None
    encoding: str = UTF16
    origin: Origin = field(default_factory=Origin)

    @once
    def lines(self) -> Lines:
        return Lines(self.text, self.encoding)

    @once
    def views(self) -> list[View]:
        return [View(region) for region in regions(self.text, self.python)]

    def at(self, line: int, column: int) -> tuple[View, int] | None:
        """The region at a position, and the offset in its text."""
        place = self.lines.offset(line, column)
        for view in self.views:
            offset = view.region.offset(place)
            if offset is not None:
                return view, offset
        return None
