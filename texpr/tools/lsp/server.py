"""The language server: requests of editors to answers of `session`, by pygls.

Requests are answered at once, from what is read and what was proven. Proofs run in one thread of their
own, after the typing has paused, and a result is dropped where the document has changed since.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

from texpr.support.errors import Error
from texpr.support.extras import needs
from texpr.tools.lsp import protocol
from texpr.tools.lsp.completion import complete
from texpr.tools.lsp.documents import Document, View
from texpr.tools.lsp.hover import hover
from texpr.tools.lsp.navigation import definition, references, renameable
from texpr.tools.lsp.outline import outline
from texpr.tools.lsp.session import Session, format_document, rename_in

PAUSE = 0.15
"""Seconds without a change before a document is checked: shorter than a pause between two words,
long enough that a word is not checked letter by letter.
"""
_LONGEST_WAIT = 30
"""Seconds that a request for quick fixes waits for the proofs of the version that it asks about."""
_REQUEST_FAILED = -32803
"""`RequestFailed` of the protocol: the request was right, and there is a reason to refuse it."""
_LOG = logging.getLogger(__name__)


class Checks:
    """Checks of documents in a thread of their own, the latest version of each."""

    def __init__(self, server: Any, session: Session) -> None:
        self._server, self._session = server, session
        self._thread = ThreadPoolExecutor(1, "texpr-proofs")
        self._tasks: dict[str, asyncio.Task] = {}

    def start(self, document: Document) -> None:
        """Check a document once the typing pauses, in the place of a check of an older version."""
        before = self._tasks.get(document.uri)
        if before is not None:
            before.cancel()
        self._tasks[document.uri] = asyncio.get_running_loop().create_task(self._check(document))

    async def finished(self, document: Document) -> None:
        """Wait for the check of a document; at most `_LONGEST_WAIT` seconds."""
        task = self._tasks.get(document.uri)
        if task is not None:
            await asyncio.wait([task], timeout=_LONGEST_WAIT)

    def drop(self, uri: str) -> None:
        """End the check of a document, and take back what was said about it."""
        task = self._tasks.pop(uri, None)
        if task is not None:
            task.cancel()
        self._publish(uri, None, [])

    async def _check(self, document: Document) -> None:
        await asyncio.sleep(PAUSE)
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._thread, self._session.check, document)
        except Exception as error:  # one document's failure is no reason to leave the others alone
            _LOG.exception("the check of %s failed", document.uri)
            self._server.report_server_error(error, type(error))
            return
        if self._session.is_current(document):
            self._publish(document.uri, document.version, [protocol.diagnostic(document, f) for f in found])

    def _publish(self, uri: str, version: int | None, found: list[Any]) -> None:
        from lsprotocol import types

        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, found, version=version)
        )

    def close(self) -> None:
        """Let go of the thread, which ends with the operator that it is at."""
        self._session.documents.clear()
        self._thread.shutdown(wait=False, cancel_futures=True)


def make_server() -> Any:
    """A language server that is not started.

    Raises:
        MissingExtra: pygls is not installed.
    """
    with needs("lsp", "the language server"):
        from lsprotocol import types
        from pygls.lsp.server import LanguageServer

    class Server(LanguageServer):
        """pygls' server; errors of handlers go to the editor's log, not to a message box."""

        def report_server_error(self, error: Exception, source: Any) -> None:
            text = f"{type(error).__name__}: {error}"
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, text))

    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("texpr")
    except PackageNotFoundError:
        number = "source"
    server = Server("texpr", number, types.TextDocumentSyncKind.Full)
    session = Session()
    _add_documents(server, session)
    _add_requests(server, session)
    return server


def _add_documents(server: Any, session: Session) -> None:
    """The handlers of documents that are opened, changed and closed, and of quick fixes, which
    need the checks.
    """
    from lsprotocol import types

    checks = Checks(server, session)

    def put(uri: str, text: str, version: int, python: bool) -> None:
        document = session.put(_document(server, uri, text, version, python))
        checks.start(document)
        for user in session.users(document):
            checks.start(user)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        put(item.uri, item.text, item.version, _is_python(item.uri, item.language_id))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        before = session.documents.get(uri)
        text = server.workspace.get_text_document(uri).source
        put(uri, text, params.text_document.version, before.python if before else _is_python(uri, ""))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        session.drop(params.text_document.uri)
        checks.drop(params.text_document.uri)

    @server.feature(types.SHUTDOWN)
    def shutdown(_: None) -> None:
        checks.close()

    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    async def code_actions(params: types.CodeActionParams) -> list[Any]:
        document = session.documents.get(params.text_document.uri)
        if document is None:
            return []
        await checks.finished(document)
        return _code_actions(session, document, params.range)


def _code_actions(session: Session, document: Document, asked: Any) -> list[Any]:
    """The quick fixes of the findings that meet a range."""
    start = document.lines.offset(asked.start.line, asked.start.character)
    stop = document.lines.offset(asked.end.line, asked.end.character)
    checked = session.checked.get(document.uri)
    if checked is None or not session.is_current(document) or checked.version != document.version:
        return []
    met = [f for f in checked.findings if f.start <= stop and start <= f.stop]
    return [
        protocol.code_action(document, f, repair, k == 0) for f in met for k, repair in enumerate(f.repairs)
    ]


def _document(server: Any, uri: str, text: str, version: int, python: bool) -> Document:
    parsed = urlparse(uri)
    path = url2pathname(unquote(parsed.path)) if parsed.scheme == "file" else None
    encoding = str(getattr(server.workspace.position_encoding, "value", server.workspace.position_encoding))
    return Document(uri, text, version, python, path, encoding)


def _is_python(uri: str, language: str) -> bool:
    return language == "python" or (language != "texpr" and uri.endswith((".py", ".pyi", ".ipynb")))


class _Found(NamedTuple):
    """A position: its document, the region there, and the offset in the region's text."""

    document: Document
    view: View
    offset: int


def _add_requests(server: Any, session: Session) -> None:
    """The handlers that answer at once."""
    from lsprotocol import types

    def at(params: Any) -> _Found | None:
        document = session.documents.get(params.text_document.uri)
        found = document and document.at(params.position.line, params.position.character)
        return _Found(document, *found) if document and found else None

    _add_descriptions(server, session, at)

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: types.PrepareRenameParams) -> Any:
        found = at(params)
        place = renameable(found.view, found.offset) if found else None
        return protocol.range_in(found.document, found.view, *place) if found and place else None

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def rename(params: types.RenameParams) -> Any:
        from pygls.exceptions import JsonRpcException

        found = at(params)
        if found is None:
            return None
        try:
            return protocol.workspace_edit(
                found.document, rename_in(found.document, found.view, found.offset, params.new_name)
            )
        except Error as error:
            raise JsonRpcException(error.message, _REQUEST_FAILED) from None

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: types.DocumentFormattingParams) -> Any:
        document = session.documents.get(params.text_document.uri)
        return [] if document is None else protocol.text_edits(document, format_document(session, document))

    @server.feature(types.TEXT_DOCUMENT_COMPLETION)
    def completion(params: types.CompletionParams) -> Any:
        found = at(params)
        return [protocol.completion_item(p) for p in complete(found.view, found.offset)] if found else []

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: types.DocumentSymbolParams) -> Any:
        document = session.documents.get(params.text_document.uri)
        views = document.views if document is not None else []
        return [protocol.document_symbol(document, v, e) for v in views for e in outline(v)]  # type: ignore[arg-type]


def _add_descriptions(server: Any, session: Session, at: Callable[[Any], _Found | None]) -> None:
    """The handlers about one name: its description, its declaration, its uses."""
    from lsprotocol import types

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def describe(params: types.HoverParams) -> Any:
        found = at(params)
        described = (
            hover(found.view, found.offset, session.proofs, session.origin(found.document)) if found else None
        )
        return protocol.hover_text(found.document, found.view, described) if found and described else None

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def define(params: types.DefinitionParams) -> Any:
        found = at(params)
        place = definition(found.view, found.offset, session.origin(found.document)) if found else None
        return protocol.location(found.document, found.view, place) if found and place else None

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def refer(params: types.ReferenceParams) -> Any:
        found = at(params)
        places = references(found.view, found.offset) if found else []
        kept = places if params.context.include_declaration else places[1:]
        return [protocol.location(found.document, found.view, place) for place in kept] if found else []

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: types.DocumentHighlightParams) -> Any:
        found = at(params)
        places = references(found.view, found.offset) if found else []
        return (
            [types.DocumentHighlight(protocol.range_in(found.document, found.view, *p)) for p in places]
            if found
            else []
        )
