"""Odd documents: half-typed text at every prefix, line ends, marks, controls, strings of all kinds."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import texpr as tx
from tests.repo.source import ROOT
from tests.tools.lsp.client import Client
from texpr.__main__ import main
from texpr.tools.lsp import operator_proofs
from texpr.tools.lsp.completion import complete
from texpr.tools.lsp.declarations import declarations
from texpr.tools.lsp.diagnostics import Finding
from texpr.tools.lsp.documents import Document
from texpr.tools.lsp.hover import hover
from texpr.tools.lsp.navigation import _check_word, definition, references, rename, renameable
from texpr.tools.lsp.outline import outline
from texpr.tools.lsp.server import make_server
from texpr.tools.lsp.session import Session, format_document

EXAMPLES = sorted((ROOT / "examples" / "operators").glob("*.tx"))
ODD = {
    "empty": "",
    "space": " \n\t \n",
    "comment": "# nothing here",
    "mark": "\ufeffop f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }",
    "two marks": "\ufeff\ufeffop f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }",
    "tabs": "op f(X: f32[N])\t-> Y:\tf32[N]\t{\n\tY[i] = X[i - 1]\n}\n",
    "crlf": "# a\r\nop f(X: f32[N]) -> Y: f32[N] {\r\n  Y[i] = X[i - 1]  # b\r\n}\r\n",
    "cr": "op f(X: f32[N]) -> Y: f32[N] {\r  Y[i] = X[i]\r}\r",
    "controls": "op f(X: f32[N]) -> \x00Y: f32[N] { Y[i] = X[i] }\x0c\u2028op g() -> () {}",
    "surrogate": "op f(X: f32[N]) -> Y: f32[N] { Y[i] = \ud800 }",
    "closers": "}}}]])",
    "openers": "((((([[[{{{" * 80,
    "deep": "op f(X: f32[N]) -> Y: f32[N] { Y[i] = " + "(" * 500 + "X[i]" + ")" * 500 + " }",
    "long line": "op f(X: f32[N]) -> Y: f32[N] { Y[i] = " + " + ".join(["X[i]"] * 2000) + " }",
    "number": "op f(X: f32[N]) -> Y: f32[N] { Y[i] = 1" + "0" * 5000 + " }",
    "words": "op fn use let if then else for in where require distinct",
    "twice": "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\n" * 3,
    "circle": "op f(X: f32[N]) -> Y: f32[N] { Y = g(X) }\nop g(X: f32[N]) -> Y: f32[N] { Y = f(X) }\n",
    "fn circle": "fn f(v) = g(v)\nfn g(v) = f(v)\nop h(X: f32[N]) -> Y: f32[N] { Y[i] = f(X[i]) }",
    "use": 'use "\n',
    "use nothing": 'use "nowhere.tx": f\nuse ops: nothing\nuse other: g\n',
    "extern": "extern\nop f(X: f32[N]) -> Y: f32[N]\nextern op g(X: f32[N]) -> Y: f32[N]\n",
}


def ask_all(session: Session, document: Document, places: list[int]) -> list[Finding]:
    """All questions about a document at some offsets, and its findings."""
    findings = session.check(session.put(document))
    for f in findings:
        assert 0 <= f.start <= f.stop <= len(document.text), f
    format_document(session, document)
    for view in document.views:
        outline(view)
    for place in places:
        line, column = document.lines.position(place)
        found = document.at(line, column)
        if found is not None:
            ask(session, document, *found)
    return findings


def ask(session: Session, document: Document, view, offset: int) -> None:
    """All questions about one place."""
    origin = session.origin(document)
    hover(view, offset, session.proofs, origin)
    definition(view, offset, origin)
    references(view, offset)
    renameable(view, offset)
    complete(view, offset)
    try:
        rename(view, offset, "other")
    except tx.Error:
        pass


def prefixes(path: Path) -> list[str]:
    """Each declaration of a file, typed letter by letter behind a whole one."""
    parts = declarations(path.read_text(encoding="utf-8"))
    return [
        "op id(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\n" + p.text[:k]
        for p in parts
        for k in range(len(p.text))
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_prefix_is_answered(path: Path):
    """Proofs are left out where a prefix is a whole operator: they are the subject of other tests."""
    session = Session()
    texts = prefixes(path)
    assert len(texts) > 500
    for k, text in enumerate(texts):
        document = Document("a", text, k)
        session.put(document)
        if k % 11 == 0:
            ask_all(session, document, [len(text), len(text) - 1, len(text) // 2])
        else:
            for view in document.views:
                ask(session, document, view, len(view.text))


@pytest.mark.parametrize("python", [False, True], ids=["tx", "python"])
@pytest.mark.parametrize("name", ODD)
def test_odd_texts_are_answered(name: str, python: bool):
    text = f'import texpr as tx\nf = tx.op("""{ODD[name]}""")\n' if python else ODD[name]
    session = Session()
    places = list(range(0, len(text), max(1, len(text) // 60))) + [len(text)]
    ask_all(session, Document("a", text, 1, python), places)


def test_findings_of_odd_texts():
    def found(name: str) -> list[tuple[str, str, str]]:
        document = Document("a", ODD[name], 1)
        findings = ask_all(Session(), document, [])
        return [(f.code, f.severity, document.text[f.start : f.stop]) for f in findings]

    assert found("empty") == found("space") == found("comment") == [("syntax", "information", "")]
    assert found("mark") == [] and found("tabs") == found("crlf") == [("bounds", "error", "i - 1")]
    assert found("twice") == [("name", "error", "f"), ("name", "error", "f")]
    assert found("surrogate")[0][2] == "\ud800" and found("closers")[0][2] == "}"
    assert [c for c, _, _ in found("use nothing")] == ["use", "use", "use"]
    assert found("extern") == []


@pytest.mark.parametrize(
    "literal, decoded",
    [
        ("'op f(X: f32[N]) -> Y: f32[N] { Y[i] = Q[i] }'", "Q"),
        ("r'''\\\nop f(X: f32[N]) -> Y: f32[N] { Y[i] = Q[i] }'''", "\\Q"),
        ("'op f(X: f32[N]) -> ' 'Y: f32[N] { Y[i] = Q[i] }'", "Q"),
        ("('op f(X: f32[N]) -> '  # é\n   \"Y: f32[N] { Y[i] = \\x51[i] }\")", "\\x51"),
        ("'\\u0023 é 𝛼\\nop f(X: f32[N]) -> Y: f32[N] { Y[i] = Q[i] }'", "Q"),
        ("u'''\\\nop f(X: f32[N]) -> Y: f32[N] { Y[i] = Q[i] }'''", "Q"),
        ("'''\r\nop f(X: f32[N]) -> Y: f32[N] { Y[i] =\r\n Q[i] }'''", "Q"),
        ("f'op f(X: f32[N]) -> Y: f32[N] {{ Y[i] = Q[i] }}'", ""),
        ("b'op f'", ""),
        ("'op f(X: f32[N]) -> Y: f32[N] { Y[i] = Q[i] }'.strip()", ""),
    ],
)
def test_strings_of_python(literal: str, decoded: str):
    text = f"import texpr as t\né = t.op({literal})\n"
    findings = ask_all(Session(), Document("a", text, 1, True), list(range(len(text))))
    assert "".join(text[f.start : f.stop] for f in findings) == decoded


def test_calls_that_are_found():
    body = "'op f(X: f32[N]) -> Y: f32[N] { Y[i] = Q[i] }'"
    for call in ("import texpr\ntexpr.op", "import texpr as x\nx.op", "from texpr import op\nop"):
        assert len(Session().check(document := Document("a", f"{call}({body})", 1, True), lambda: False)) == 1
        assert document.views
    for call in ("other.op", "op", "tx.load", "print"):
        assert not Document("a", f"{call}({body})", 1, True).views
    half = f"import texpr as tx\nf = tx.op({body})\nif x ="
    assert len(Document("a", half, 1, True).views) == 1


def test_the_server_lives_through_odd_texts():
    pytest.importorskip("pygls", reason="the language server needs pygls")
    document = {"textDocument": {"uri": "untitled:a.tx"}}
    example = ODD["crlf"]
    texts = [
        *(t for n, t in ODD.items() if n not in ("surrogate", "long line")),
        *(example[:k] for k in range(0, len(example), 5)),
    ]
    with Client() as client:
        client.open("untitled:a.tx", "")
        for version, text in enumerate(texts, 2):
            client.change("untitled:a.tx", text, version)
            for method in ("hover", "definition", "completion", "documentHighlight", "prepareRename"):
                client.at(method, "untitled:a.tx", 1, 7)
            client.request("textDocument/documentSymbol", document)
            options = {"options": {"tabSize": 2, "insertSpaces": True}}
            client.request("textDocument/formatting", {**document, **options})
        assert client.diagnostics("untitled:a.tx", len(texts) + 1) is not None
        assert client.runs and not [n for n in client.notices if n["method"] == "window/logMessage"]


def test_without_pygls_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    with pytest.raises(tx.MissingExtra, match="the language server needs"):
        make_server()
    assert main(["lsp"]) == 1
    assert 'pip install "texpr[lsp]"' in capsys.readouterr().err


def test_a_fault_of_one_proof_is_a_finding(monkeypatch):
    """Other operators are looked at all the same."""

    def broken(found, name, signature):
        raise AssertionError("no such case")

    text = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\nop g("
    monkeypatch.setattr(operator_proofs, "_program", broken)
    first, second = Session().check(Document("a", text, 1), lambda: False)
    assert first.code == "internal" and "no such case" in first.message
    assert text[first.start : first.stop] == "f" and second.code == "syntax"


def test_an_error_of_rename_is_shown_whole():
    with pytest.raises(tx.CallError) as e:
        _check_word("2x", SimpleNamespace(kind="index"))
    assert str(e.value) == "error[rename]: `2x` is not a name\n  help: letters, digits and _, no digit first"
