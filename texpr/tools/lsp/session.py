"""Open documents, and answers about them in offsets of the document. It knows no protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from os.path import normpath

from texpr.support.frozen_dataclass import frozen, replace
from texpr.tools.lsp.diagnostics import Edit, Finding, Related, diagnose, differences
from texpr.tools.lsp.documents import Document, View
from texpr.tools.lsp.formatting import formatted
from texpr.tools.lsp.navigation import rename
from texpr.tools.lsp.operator_proofs import Origin, Proofs


@frozen
class Checked:
    """The findings about one version of a document."""

    version: int
    findings: tuple[Finding, ...]


@dataclass
class Session:
    """The documents that an editor has open, and what is known about them."""

    documents: dict[str, Document] = field(default_factory=dict)
    checked: dict[str, Checked] = field(default_factory=dict)
    proofs: Proofs = field(default_factory=Proofs)

    def put(self, document: Document) -> Document:
        """Keep a version of a document in the place of the one before."""
        self.documents[document.uri] = document
        return document

    def drop(self, uri: str) -> None:
        """Forget a document that was closed."""
        self.documents.pop(uri, None)
        self.checked.pop(uri, None)

    def is_current(self, document: Document) -> bool:
        """True if no other version of the document has come since."""
        return self.documents.get(document.uri) is document

    def origin(self, document: Document) -> Origin:
        """The place that the texts of a document use others from: as they are in the editor."""
        if document.python or document.path is None:
            return Origin()
        open_ = [(normpath(d.path), d.text) for d in self.documents.values() if d.path and not d.python]
        others = sorted((p, t) for p, t in open_ if p != normpath(document.path))
        return Origin(normpath(document.path), tuple(others))

    def users(self, document: Document) -> list[Document]:
        """Other open documents that use files, and so may use this one."""
        return [] if document.python else [
            d for d in self.documents.values() if d.uri != document.uri and not d.python and 'use "' in d.text
        ]  # fmt: skip

    def check(self, document: Document, stopped: Callable[[], bool] | None = None) -> list[Finding]:
        """The findings about a document; it takes as long as the proofs take.

        Args:
            stopped: true once nobody waits for the answer; unless given, once there is a newer
                version.
        """
        given_up = stopped or (lambda: not self.is_current(document))
        origin = self.origin(document)
        found: list[Finding] = []
        for view in document.views:
            findings = diagnose(view.text, self.proofs, origin, given_up)
            found += [in_document(f, view, document) for f in findings]
        if self.is_current(document):
            self.checked[document.uri] = Checked(document.version, tuple(found))
        return found


def in_document(finding: Finding, view: View, document: Document) -> Finding:
    """A finding about a region with places of the document; repairs that cannot be made there are
    left out.
    """
    start, stop = view.region.place(finding.start, finding.stop)
    related = [_related(r, view) for r in finding.related]
    repairs = []
    for repair in finding.repairs:
        edits = edits_in(document, view, list(repair.edits))
        repairs += [replace(repair, edits=tuple(edits))] if edits is not None else []
    return Finding(
        start, stop, finding.message, finding.code, finding.severity, tuple(related), tuple(repairs)
    )


def _related(related: Related, view: View) -> Related:
    if related.file is not None:
        return related
    start, stop = view.region.place(related.start, related.stop)
    return Related(related.message, start, stop)


def edits_in(document: Document, view: View, edits: list[Edit]) -> list[Edit] | None:
    """Edits of a region as edits of the document; None where one of them meets an escape, or the
    string could not hold the new text.
    """
    region = view.region
    placed = []
    for e in edits:
        start, stop = region.place(e.start, e.stop)
        new = e.new.replace("\r\n", "\n")
        if not region.literal and (not region.is_whole(e.start, e.stop) or "\n" in new):
            return None
        if document.python and any(c in new for c in ("\\", region.quote)):
            return None
        placed.append(Edit(start, stop, new.replace("\n", document.lines.ending)))
    return placed


def format_document(session: Session, document: Document) -> list[Edit]:
    """The edits that lay out all operators of a document; of Python, those in triple quotes."""
    found: list[Edit] = []
    for view in document.views:
        if view.region.literal:
            edits = [Edit(*d) for d in differences(view.text, _formatted(view, document))]
            found += edits_in(document, view, edits) or []
    return found


def _formatted(view: View, document: Document) -> str:
    text = view.text
    new = formatted(text.replace("\r\n", "\n"), _indent(view) if document.python else "")
    if document.python:
        end = len(text.rstrip())
        new = new.rstrip() + text[end:]
        new = new.lstrip(" ") if view.parts and view.parts[0].start == 0 and text[:1] not in " \t" else new
    return new.replace("\n", "\r\n") if "\r\n" in text else new


def _indent(view: View) -> str:
    """Spaces before the declarations in a string of Python."""
    lines = [p.text for p in view.parts if p.start > 0] or view.text.rstrip().split("\n")[-1:]
    return lines[0][: len(lines[0]) - len(lines[0].lstrip(" "))] if lines else ""


def rename_in(document: Document, view: View, offset: int, new: str) -> list[Edit]:
    """The edits of the document that rename the name at an offset of a region.

    Raises:
        CallError: the name cannot be changed, or the new one is not free.
    """
    return edits_in(document, view, rename(view, offset, new)) or []
