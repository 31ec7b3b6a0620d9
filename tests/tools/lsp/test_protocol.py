"""The language server by its protocol: a process, its pipes, and JSON."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import texpr as tx
from tests.tools.lsp.client import Client, Refused, edited, position, text_of

pytest.importorskip("pygls", reason="the language server needs pygls: pip install 'texpr[lsp]'")

URI = "untitled:a.tx"
SOFTMAX = """# Sums of exponentials, über alles 𝛼
fn half(v) = v / 2
op softmax<T: float>(X: T[N, D]) -> Y: T[N, D] require D >= 1 {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = half(e[i, j]) / sum(k: e[i, k])
}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Client]:
    with Client() as client:
        yield client
        assert client.runs, "".join(client.errors)


@pytest.fixture
def opened(server: Client) -> Iterator[Client]:
    server.published.clear()
    server.open(URI, SOFTMAX)
    yield server
    server.notify("textDocument/didClose", {"textDocument": {"uri": URI}})


def at(client: Client, method: str, text: str, word: str, uri: str = URI, by: int = 0, **more):
    place = position(text, text.index(word) + by)
    return client.at(method, uri, place["line"], place["character"], **more)


def test_it_says_what_it_can(server: Client):
    has = server.capabilities
    assert has["textDocumentSync"]["change"] == 1 and has["hoverProvider"] and has["definitionProvider"]
    assert has["renameProvider"] == {"prepareProvider": True} and has["documentFormattingProvider"]
    assert has["codeActionProvider"] == {"codeActionKinds": ["quickfix"]} and has["documentSymbolProvider"]
    assert has["positionEncoding"] == "utf-16"


def test_a_right_document_has_no_diagnostics(opened: Client):
    assert opened.diagnostics(URI, 1) == []


@pytest.mark.parametrize(
    "text, code, marked",
    [
        ("# 𝛼β\nop f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i - 1] }", "bounds", "i - 1"),
        ("op f(X: f32[N]) -> y: f32 { y = sum(j: X[2*j]) }", "range", "j"),
        ("op f(X: f32[N], Z: f32[M]) -> y: f32 { y = sum(i: X[i] * Z[i]) }", "range", "i"),
        ("op f(X: f32[N]) -> Y: f32[N] { Y[i] = Xs[i] }", "name", "Xs"),
        ("op f(X: f32[N]) -> Y: f32[N] {\n  T[i + 1] = X[i]\n  Y[i] = X[i]\n}", "shape", "i + 1"),
    ],
)
def test_a_quick_fix_makes_the_document_accepted(server: Client, text: str, code: str, marked: str):
    uri = f"untitled:{code}-{len(text)}.tx"
    server.open(uri, text)
    (found,) = server.diagnostics(uri, 1)
    assert (found["code"], found["severity"], found["source"]) == (code, 1, "texpr")
    assert text_of(text, found["range"]) == marked
    actions = server.about("codeAction", uri, range=found["range"], context={"diagnostics": [found]})
    assert actions and actions[0]["kind"] == "quickfix" and actions[0]["isPreferred"]
    for k, action in enumerate(actions):
        assert action["diagnostics"] == [found]
        changed = edited(text, action["edit"]["changes"][uri])
        tx.op(changed)
        server.change(uri, changed, k + 2)
        assert server.diagnostics(uri, k + 2) == []


def test_no_fix_is_offered_where_none_is_proven(server: Client):
    text = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = }"
    server.open("untitled:half.tx", text)
    (found,) = server.diagnostics("untitled:half.tx", 1)
    assert found["code"] == "syntax" and text_of(text, found["range"]) == "}"
    assert (
        server.about("codeAction", "untitled:half.tx", range=found["range"], context={"diagnostics": []})
        == []
    )


def test_columns_are_code_units(server: Client):
    text = 'import texpr as tx\nf = ("𝛼𝛼", tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = Q[i] }"))\n'
    server.open("untitled:units.py", text, "python")
    (found,) = server.diagnostics("untitled:units.py", 1)
    assert found["range"]["start"] == position(text, "Q[i]")
    assert found["range"]["start"]["character"] == text.split("\n")[1].index("Q[i]") + 2


@pytest.mark.parametrize("encoding, width", [("utf-8", 4), ("utf-32", 1)])
def test_other_encodings_of_columns(encoding: str, width: int):
    text = 'f = ("𝛼", tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = Q[i] }"))\n'
    with Client(general={"positionEncodings": [encoding]}) as client:
        assert client.capabilities["positionEncoding"] == encoding
        client.open("untitled:a.py", text, "python")
        (found,) = client.diagnostics("untitled:a.py", 1)
        assert found["range"]["start"]["character"] == text.index("Q[i]") - 1 + width


def test_a_second_place_is_related(server: Client):
    text = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\nop f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }"
    server.open("untitled:twice.tx", text)
    (found,) = server.diagnostics("untitled:twice.tx", 1)
    (related,) = found["relatedInformation"]
    assert related["message"] == "first" and related["location"]["range"]["start"] == position(text, 3)
    assert found["range"]["start"] == {"line": 1, "character": 3}


def test_one_half_typed_operator_leaves_the_others_alone(server: Client):
    text = (
        "op a(X: f32[N]) -> Y: f32[N] { Y[i] = X[i\n\n# ü\nop b(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] }"
    )
    server.open("untitled:two.tx", text)
    first, second = server.diagnostics("untitled:two.tx", 1)
    assert first["code"] == "syntax" and second["code"] == "bounds"
    assert text_of(text, second["range"]) == "i + 1"
    (related,) = first["relatedInformation"]
    assert related["location"]["range"]["start"] == position(text, "[i\n")


def test_hover(opened: Client):
    opened.diagnostics(URI, 1)

    def said(word: str, by: int = 0) -> str:
        return at(opened, "hover", SOFTMAX, word, by=by)["contents"]["value"]

    assert said("m[i]") == "```texpr\nm: f32[N]\n```\n\nintermediate, its shape is inferred"
    assert "X: T[N, D]" in said("X: T") and "here f32[N, D]" in said("X: T")
    assert "k in 0..D" in said("k: e") and "axis 1 of `e`" in said("k: e")
    assert "op softmax<T: float>" in said("softmax") and "fn half(v) = v / 2" in said("half(e")
    assert "Sums of exponentials, über alles" in said("half(v)")
    assert "exp(x)  # of floats" in said("exp(") and "e to the power x" in said("exp(")
    assert "required: D >= 1" in said("D >= 1")
    assert at(opened, "hover", SOFTMAX, "# Sums") is None


def test_hover_shows_ranges_of_values(server: Client):
    text = "op f(X: f32[N], k: i32[M] in 0..N) -> Y: f32[M] { Y[i] = X[k[i]] }"
    server.open("untitled:v.tx", text)
    assert server.diagnostics("untitled:v.tx", 1) == []
    found = at(server, "hover", text, "k[i]", "untitled:v.tx")
    assert "0 <= x < N" in found["contents"]["value"] and text_of(text, found["range"]) == "k"


def test_definition_and_uses(opened: Client):
    found = at(opened, "definition", SOFTMAX, "m[i])")
    assert found["range"]["start"] == position(SOFTMAX, "m[i] =")
    found = at(opened, "definition", SOFTMAX, "half(e")
    assert found["range"]["start"] == position(SOFTMAX, "half(v)")
    uses = at(opened, "references", SOFTMAX, "e[i, j] =", context={"includeDeclaration": True})
    assert len(uses) == 3 and {text_of(SOFTMAX, u["range"]) for u in uses} == {"e"}
    assert len(at(opened, "documentHighlight", SOFTMAX, "e[i, j] =")) == 3


def test_definition_in_another_file(server: Client, tmp_path):
    other, here = tmp_path / "other.tx", tmp_path / "here.tx"
    other.write_text("# Twice.\nfn twice(v) = 2 * v\n")
    text = 'use "other.tx": twice\nuse ops: softmax\nop f(X: f32[N]) -> Y: f32[N] { Y[i] = twice(X[i]) }\n'
    here.write_text(text)
    server.open(here.as_uri(), text)
    assert server.diagnostics(here.as_uri(), 1) == []
    found = at(server, "definition", text, "twice(X", here.as_uri())
    assert found["uri"] == other.as_uri() and found["range"]["start"] == {"line": 1, "character": 3}
    found = at(server, "definition", text, "softmax", here.as_uri())
    assert found["uri"].endswith("/ops/library/softmax.tx") or "/ops/library/" in found["uri"]
    assert "Twice." in at(server, "hover", text, "twice(X", here.as_uri())["contents"]["value"]
    with pytest.raises(Refused, match="declared in another text"):
        at(server, "rename", text, "twice(X", here.as_uri(), newName="thrice")
    # An unsaved change of the other file counts, and its users are looked at again.
    server.open(other.as_uri(), "fn thrice(v) = 3 * v\n")
    server.published.clear()
    server.change(here.as_uri(), text, 2)
    (found,) = server.diagnostics(here.as_uri(), 2)
    assert found["code"] == "use" and "defines no `twice`" in found["message"]


def test_rename(opened: Client):
    edit = at(opened, "rename", SOFTMAX, "m[i] =", newName="largest")
    changed = edited(SOFTMAX, edit["changes"][URI])
    assert changed == SOFTMAX.replace("m[i]", "largest[i]")
    tx.op(changed)
    assert text_of(SOFTMAX, at(opened, "prepareRename", SOFTMAX, "m[i] =")) == "m"
    assert at(opened, "prepareRename", SOFTMAX, "exp(") is None
    edit = at(opened, "rename", SOFTMAX, "half(e", newName="part")
    assert edited(SOFTMAX, edit["changes"][URI]) == SOFTMAX.replace("half", "part")


@pytest.mark.parametrize(
    "word, new, reason",
    [
        ("m[i] =", "sum", "reserved word"),
        ("m[i] =", "f32", "name of a type"),
        ("m[i] =", "e", "already has a meaning"),
        ("m[i] =", "j", "already has a meaning"),
        ("k: e", "i", "already has a meaning"),
        ("m[i] =", "2x", "is not a name"),
        ("half", "exp", "function of the language"),
        ("half", "softmax", "already has a meaning"),
        ("exp(", "f", "no name here"),
    ],
)
def test_rename_refuses(opened: Client, word: str, new: str, reason: str):
    with pytest.raises(Refused, match=reason) as refused:
        at(opened, "rename", SOFTMAX, word, newName=new)
    assert refused.value.code == -32803


def test_formatting(server: Client):
    text = "# one\r\nop  f( X:f32[N] )->Y:f32[N]{\r\nY[i]=2*X[i]#two\r\n}\r\n"
    server.open("untitled:crlf.tx", text)
    edits = server.about("formatting", "untitled:crlf.tx", options={"tabSize": 2, "insertSpaces": True})
    assert edited(text, edits) == (
        "# one\r\nop f(X: f32[N]) -> Y: f32[N] {\r\n  Y[i] = 2 * X[i]  #two\r\n}\r\n"
    )


def test_outline_and_completion(opened: Client):
    half, softmax = opened.about("documentSymbol", URI)
    assert half["name"] == "half" and softmax["name"] == "softmax"
    assert [c["name"] for c in softmax["children"]] == ["X", "Y", "m", "e"]
    assert text_of(SOFTMAX, softmax["range"]).startswith("op softmax")
    found = {item["label"] for item in at(opened, "completion", SOFTMAX, "half(e")}
    assert {"X", "e", "m", "half", "exp", "sum", "require", "f32", "clamp"} <= found


def test_python_documents(server: Client):
    text = 'import texpr\n\nf = texpr.op(\n    """\n    op f(X: f32[N]) -> Y: f32[N] {\n      Y[i]=X[i-1]\n    }\n    """\n)\n'
    uri = "untitled:doc.py"
    server.open(uri, text, "python")
    (found,) = server.diagnostics(uri, 1)
    assert text_of(text, found["range"]) == "i-1"
    (action, *_) = server.about("codeAction", uri, range=found["range"], context={"diagnostics": []})
    changed = edited(text, action["edit"]["changes"][uri])
    server.change(uri, changed, 2)
    assert server.diagnostics(uri, 2) == []
    edits = server.about("formatting", uri, options={"tabSize": 2, "insertSpaces": True})
    assert edited(changed, edits) == changed.replace("Y[i]=X[i-1 | 0]", "  Y[i] = X[i - 1 | 0]".strip())


def test_results_of_older_versions_are_dropped(server: Client):
    right, wrong = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }", "op f("
    uri = "untitled:versions.tx"
    server.open(uri, wrong)
    for version in range(2, 20):
        server.change(uri, wrong if version % 2 else right, version)
    server.change(uri, right, 20)
    assert server.diagnostics(uri, 20) == []
    assert [p["version"] for p in server.published[uri]] == [20]


def test_requests_are_answered_while_proofs_run(server: Client):
    """Names are read at once; the proofs of forty operators come later."""
    many = "\n".join(
        f"op g{k}(X: f64[N, M], Z: f64[M, N]) -> Y: f64[N, N] {{ Y[i, j] = {k} * sum(k: X[i, k] * Z[k, j]) }}"
        for k in range(40)
    )
    uri = "untitled:many.tx"
    server.open(uri, many)
    assert "op g0" in server.at("hover", uri, 0, 4)["contents"]["value"]
    assert uri not in server.published
    assert server.diagnostics(uri, 1) == []


def test_errors_of_requests_do_not_end_it(server: Client):
    server.send({"id": "malformed", "method": "textDocument/hover", "params": {"textDocument": {}}})
    with pytest.raises(Refused):
        server.request("texpr/unknown", {})
    server.notify("textDocument/didChange", {"textDocument": {"uri": "untitled:never", "version": 3}})
    assert server.at("hover", "untitled:not-open.tx", 3, 4) is None
    assert server.runs


def test_it_ends_as_the_protocol_says():
    with Client() as client:
        client.open(URI, SOFTMAX)
        assert client.close() == 0
