"""Texts for `use`: files below a folder, and the operator library."""

from __future__ import annotations

import errno
import re
from os.path import dirname, isabs, join, normpath
from pathlib import Path

from texpr import lang
from texpr.support.errors import CheckError, ResourceError
from texpr.support.files import read_file
from texpr.support.options import current
from texpr.support.source import Source, Span

LIBRARY = Path(__file__).parents[1] / "ops" / "library"
"""The folder of the operator library."""


def library_files() -> list[Path]:
    """The files of the operator library, by name."""
    return sorted(LIBRARY.glob("*.tx"))


class Uses:
    """Texts by the path they are used with, read from `root` at first use. Without a root only
    texts already here are found.

    Attributes:
        texts: what was read; enough to find everything again where there are no files.
    """

    def __init__(self, root: Path | None, texts: dict[str, str] | None = None) -> None:
        self.root, self.texts = root, dict(texts or {})

    def __call__(self, use: lang.Use, word: lang.Word, importer: str) -> Source:
        """The source of a name.

        Raises:
            CheckError: it cannot be read, is outside of the root, or no library has it.
        """
        if not use.file:
            return self._library(use, word)
        path = normpath(join(dirname(importer), use.origin.text))
        if path not in self.texts:
            self.texts[path] = self._read(path, use)
        return Source(path, self.texts[path])

    def _read(self, path: str, use: lang.Use) -> str:
        span = use.origin.span
        if self.root is None:
            raise CheckError(
                "a text that is no file cannot use files",
                span,
                code="use",
                help="put it into a file and tx.load it; library operators are always at hand: use ops: "
                "softmax",
            )
        if isabs(use.origin.text) or "\\" in use.origin.text:
            raise CheckError(
                f"`{use.origin.text}` is no relative path",
                span,
                code="use",
                help='write use "folder/file.tx": name',
            )
        if not Path(path).resolve().is_relative_to(self.root):
            raise CheckError(
                f"`{use.origin.text}` is outside of {self.root}",
                span,
                code="use",
                help="allow a larger folder: tx.load(path, root=...)",
            )
        return read(path, span)

    def _library(self, use: lang.Use, word: lang.Word) -> Source:
        if use.origin.text != "ops":
            raise CheckError(
                f"there is no library `{use.origin.text}`",
                use.origin.span,
                code="use",
                help='the operator library is `ops`; files stand in quotes: use "file.tx": name',
            )
        for file in library_files():
            text = file.read_text(encoding="utf-8")
            if re.search(rf"^(op|fn) {word.text}\b", text, re.MULTILINE):
                return Source(f"ops/{file.name}", text)
        raise CheckError(
            f"the library has no `{word.text}`",
            word.span,
            code="use",
            help="dir(texpr.ops) lists what it has",
        )


def read(path: str, span: Span | None = None) -> str:
    """The text of a file.

    Raises:
        CheckError: it is not UTF-8, or a `use` at `span` leads to no file.
        ResourceError: it is longer than any text that is read.
        OSError: it cannot be read, and no `use` asked for it.
    """
    try:
        return read_file(path, 4 * current().text_limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise CheckError(f"{path} is not UTF-8 text (byte {error.start})", span, code="file") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise ResourceError(
                f"{path}: {error.strerror}", span, help="tx.options(text_limit=...) changes that"
            ) from None
        if span is None:
            raise
        raise CheckError(
            f"{path}: {error.strerror}",
            span,
            code="use",
            help="paths are relative to the file that uses them",
        ) from None
