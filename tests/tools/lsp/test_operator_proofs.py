"""Proofs of a document: each once, again only where the text that they are about has changed."""

from __future__ import annotations

import pytest

from texpr.tools.lsp import operator_proofs
from texpr.tools.lsp.documents import Document
from texpr.tools.lsp.session import Session

TEXT = """fn half(v) = v / 2
op f(X: f32[N]) -> Y: f32[N] { Y[i] = half(X[i]) }
op g(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }
op h(X: f32[N]) -> Y: f32[N] { Y = g(X) }
op later(X: f32[N]; K) -> Y: f32[N] { Y[i] = X[i] + K }
"""


@pytest.fixture
def proven(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the operators that were proven, in their order."""
    names: list[str] = []
    prove = operator_proofs._proof

    def counted(text, name, origin):
        names.append(name)
        return prove(text, name, origin)

    monkeypatch.setattr(operator_proofs, "_proof", counted)
    return names


def check(session: Session, text: str, version: int) -> list[str]:
    return [f.code for f in session.check(session.put(Document("a", text, version)))]


def test_only_what_changed_is_proven(proven: list[str]):
    session = Session()
    assert check(session, TEXT, 1) == [] and proven == ["f", "g", "h", "later"]
    proven.clear()
    assert check(session, "\n# moved\n" + TEXT, 2) == [] and proven == []
    assert check(session, TEXT.replace("v / 2", "v / 3"), 3) == [] and proven == ["f"]
    proven.clear()
    assert check(session, TEXT.replace("Y[i] = X[i] }", "Y[i] = -X[i] }"), 4) == [] and proven == ["g", "h"]
    proven.clear()
    assert check(session, TEXT, 5) == [] and proven == []


def test_an_older_version_is_given_up(proven: list[str]):
    session = Session()
    old = session.put(Document("a", TEXT, 1))
    session.put(Document("a", TEXT, 2))
    session.check(old)
    assert proven == [] and session.checked == {}


def test_a_wrong_use_is_one_finding():
    """Operators that do not need it are looked at; those that do wait for it."""
    text = (
        'use "nowhere.tx": lost\n'
        "op f(X: f32[N]) -> Y: f32[N] { Y[i] = lost(X[i]) }\n"
        "op g(X: f32[N]) -> Y: f32[N] { Y[i] = X[i - 1] }\n"
    )
    assert check(Session(), text, 1) == ["use", "bounds"]


def test_an_operator_with_constants_waits_for_its_call():
    text = "op later(X: f32[N]; K) -> Y: f32[N] { Y[i] = X[i + K] }"
    session = Session()
    assert check(session, text, 1) == []
    found = session.proofs.known(text, "later", session.origin(session.documents["a"]))
    assert found is not None and found.needs == ("K",)
