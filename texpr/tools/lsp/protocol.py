"""Answers in the types of the Language Server Protocol (lsprotocol), with positions in code units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from texpr.tools.lsp.completion import Proposal
from texpr.tools.lsp.diagnostics import Edit, Finding, Related, Repair
from texpr.tools.lsp.documents import Document, View
from texpr.tools.lsp.hover import Hover
from texpr.tools.lsp.navigation import Elsewhere
from texpr.tools.lsp.outline import Entry

SOURCE = "texpr"


def range_of(document: Document, start: int, stop: int) -> Any:
    """A range of the document's text."""
    from lsprotocol import types

    first, last = document.lines.position(start), document.lines.position(stop)
    return types.Range(types.Position(*first), types.Position(*last))


def range_in(document: Document, view: View, start: int, stop: int) -> Any:
    """A range of a region's text."""
    return range_of(document, *view.region.place(start, stop))


def diagnostic(document: Document, finding: Finding) -> Any:
    """A finding as a diagnostic."""
    from lsprotocol import types

    severities = types.DiagnosticSeverity
    severity = severities.Error if finding.severity == "error" else severities.Information
    return types.Diagnostic(
        range_of(document, finding.start, finding.stop),
        finding.message,
        severity=severity,
        code=finding.code,
        source=SOURCE,
        related_information=[_related(document, r) for r in finding.related],
        data=_data(finding),
    )


def _data(finding: Finding) -> dict[str, object] | None:
    """The error as `Error.to_dict` has it, without its places: those of a diagnostic are the document's."""
    if finding.error is None:
        return None
    left_out = ("place", "text", "alternatives")
    return {key: value for key, value in finding.error.to_dict().items() if key not in left_out}


def _related(document: Document, related: Related) -> Any:
    from lsprotocol import types

    if related.file is None:
        location = types.Location(document.uri, range_of(document, related.start, related.stop))
    else:
        location = _location(Elsewhere(related.file, related.line, related.column, 1))
    return types.DiagnosticRelatedInformation(location, related.message)


def _location(place: Elsewhere) -> Any:
    """A place in another file. Names stand behind `op` and `fn`, so its columns are code units."""
    from lsprotocol import types

    start = types.Position(place.line, place.column)
    stop = types.Position(place.line, place.column + place.length)
    return types.Location(Path(place.path).resolve().as_uri(), types.Range(start, stop))


def location(document: Document, view: View, place: tuple[int, int] | Elsewhere) -> Any:
    """The place of a definition or of a use."""
    from lsprotocol import types

    if isinstance(place, Elsewhere):
        return _location(place)
    return types.Location(document.uri, range_in(document, view, *place))


def text_edits(document: Document, edits: list[Edit]) -> list[Any]:
    """Edits of the document."""
    from lsprotocol import types

    return [types.TextEdit(range_of(document, e.start, e.stop), e.new) for e in edits]


def workspace_edit(document: Document, edits: list[Edit]) -> Any:
    """Edits of this version of the document."""
    from lsprotocol import types

    return types.WorkspaceEdit(changes={document.uri: text_edits(document, edits)})


def code_action(document: Document, finding: Finding, repair: Repair, preferred: bool) -> Any:
    """A way out of a finding as a quick fix."""
    from lsprotocol import types

    return types.CodeAction(
        repair.title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic(document, finding)],
        is_preferred=preferred,
        edit=workspace_edit(document, list(repair.edits)),
    )


def hover_text(document: Document, view: View, found: Hover) -> Any:
    """A description as Markdown."""
    from lsprotocol import types

    text = f"```texpr\n{found.code}\n```" + (f"\n\n{found.words}" if found.words else "")
    content = types.MarkupContent(types.MarkupKind.Markdown, text)
    return types.Hover(content, range_in(document, view, *found.place))


def document_symbol(document: Document, view: View, entry: Entry) -> Any:
    """An entry of the outline, with those below it."""
    from lsprotocol import types

    kinds = types.SymbolKind
    kind = {
        "operator": kinds.Function,
        "function": kinds.Function,
        "input": kinds.Variable,
        "output": kinds.Variable,
        "constant": kinds.Constant,
    }
    return types.DocumentSymbol(
        entry.name,
        kind.get(entry.kind, kinds.Array),
        range_in(document, view, *entry.whole),
        range_in(document, view, *entry.place),
        detail=entry.detail,
        children=[document_symbol(document, view, c) for c in entry.children],
    )


def completion_item(proposal: Proposal) -> Any:
    """A word that may be typed."""
    from lsprotocol import types

    kinds = types.CompletionItemKind
    functions = ("operator", "function", "imported", "function of the language")
    kind = {"word": kinds.Keyword, "guard": kinds.Keyword, "type": kinds.TypeParameter}
    found = kinds.Function if proposal.kind in functions else kind.get(proposal.kind, kinds.Variable)
    return types.CompletionItem(proposal.name, kind=found, detail=proposal.detail or proposal.kind)
