"""A client of the language server: JSON-RPC over the pipes of a process, written out by hand, so that
the tests depend on the protocol and not on a library of the server's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from queue import Empty, Queue
from typing import Any

LONGEST = 60.0
"""Seconds that an answer may take on a loaded machine."""


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class Client:
    """A running server and the messages that came from it.

    Attributes:
        notices: notifications, in their order, but published diagnostics.
        published: all that was published for each document, in its order.
    """

    def __init__(self, **capabilities: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "texpr", "lsp", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._messages: Queue[dict[str, Any] | None] = Queue()
        self.errors: list[str] = []
        self.notices: list[dict[str, Any]] = []
        self.published: dict[str, list[dict[str, Any]]] = {}
        self._count = 0
        for target in (self._read, self._read_errors):
            threading.Thread(target=target, daemon=True).start()
        given = {"textDocument": {"rename": {"prepareSupport": True}}, **capabilities}
        asked = {"processId": None, "rootUri": None, "capabilities": given}
        self.capabilities = self.request("initialize", asked)["capabilities"]
        self.notify("initialized", {})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> int:
        """End the server as the protocol says; its exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self._process.wait(LONGEST)

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def _read(self) -> None:
        out = self._process.stdout
        assert out is not None
        while line := out.readline():
            length = int(line.partition(b":")[2])
            while out.readline().strip():
                pass
            self._messages.put(json.loads(out.read(length)))
        self._messages.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.errors.append(line.decode("utf-8", "replace"))

    def send(self, message: dict[str, Any]) -> None:
        """Send a message as it is."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> Any:
        """The result of a request.

        Raises:
            Refused: the answer is an error.
        """
        self._count += 1
        number = self._count
        self.send({"id": number, "method": method, "params": params})
        while True:
            message = self._next()
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise Refused(message["error"])
                return message.get("result")

    def _next(self) -> dict[str, Any]:
        try:
            message = self._messages.get(timeout=LONGEST)
        except Empty:
            raise AssertionError("no answer: " + "".join(self.errors)) from None
        if message is None:
            raise AssertionError("the server has ended: " + "".join(self.errors))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published.setdefault(message["params"]["uri"], []).append(message["params"])
        elif "method" in message:
            self.notices.append(message)
        return message

    def open(self, uri: str, text: str, language: str = "texpr", version: int = 1) -> None:
        item = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, text: str, version: int) -> None:
        self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]},
        )

    def diagnostics(self, uri: str, version: int) -> list[dict[str, Any]]:
        """The diagnostics of a version, once they are published."""
        while True:
            for each in self.published.get(uri, []):
                if each.get("version") == version:
                    return each["diagnostics"]
            self._next()

    def at(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """The result of a request about a position."""
        position = {"line": line, "character": character}
        return self.request(
            f"textDocument/{method}", {"textDocument": {"uri": uri}, "position": position, **more}
        )

    def about(self, method: str, uri: str, **more: Any) -> Any:
        """The result of a request about a document."""
        return self.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, **more})


def position(text: str, place: int | str) -> dict[str, int]:
    """Line and UTF-16 column of an offset, or of the first occurrence of a word."""
    offset = text.index(place) if isinstance(place, str) else place
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    line = before.rpartition("\n")[2]
    return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}


def offset(text: str, place: dict[str, int]) -> int:
    """Offset of a position in a text with line ends `\\n` or `\\r\\n`."""
    lines = text.split("\n")
    line = lines[place["line"]]
    start = sum(len(each) + 1 for each in lines[: place["line"]])
    return start + len(line.encode("utf-16-le")[: 2 * place["character"]].decode("utf-16-le"))


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """A text after the edits of an answer."""
    placed = [
        (offset(text, e["range"]["start"]), offset(text, e["range"]["end"]), e["newText"]) for e in edits
    ]
    for start, stop, new in sorted(placed, reverse=True):
        text = text[:start] + new + text[stop:]
    return text


def text_of(text: str, place: dict[str, Any]) -> str:
    """The part of a text that a range covers."""
    return text[offset(text, place["start"]) : offset(text, place["end"])]
