"""Summaries and histories as HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from math import nan

from texpr import nn


class Cells(HTMLParser):
    """The cells of all tables, and the tags that are open at the end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag != "br":
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        assert tag == "polyline"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def test_summaries():
    found = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).summary((1, 3))
    assert isinstance(found, str) and str(found).startswith("Sequential\n---")
    cells = Cells(found._repr_html_())  # type: ignore[attr-defined]
    assert not cells.open and cells.cells[:4] == ["layer", "output", "parameters", "MACs"]
    assert cells.cells[4:8] == ["0: Linear", "(1, 2)", "8", "6"] and cells.cells[-4:] == [
        "total",
        "",
        "8",
        "6",
    ]


def test_printed_histories():
    """A table of the last epochs; `repr` is that of the dict, which can be read back."""
    history = nn.History()
    assert str(history) == "epoch"
    history.add({"loss": 0.123456})
    history.add({"loss": 1e-5, "accuracy": 0.5})
    assert str(history) == "epoch    loss  accuracy\n    1  0.1235       nan\n    2   1e-05       0.5"
    assert repr(history) == "{'loss': [0.123456, 1e-05], 'accuracy': [nan, 0.5]}"
    for _ in range(20):
        history.add({"loss": 1.0})
    lines = str(history).splitlines()
    assert lines[1].split() == ["3", "1", "nan"] and lines[-1] == "the last 20 of 22 epochs"


def test_histories():
    history = nn.History()
    for k in range(25):
        history.add({"loss": 1.0 / (k + 1), "val_loss": nan if k == 3 else 0.5, "<b>": float(k)}, 0.5, 100)
    text = history._repr_html_()
    cells = Cells(text)
    assert (
        not cells.open
        and "<b>" not in text
        and text.count("<svg") == 2
        and "nan" not in text[: text.index("epoch")]
    )
    assert (
        cells.cells[-6:] == ["25", "0.04", "0.5", "24", "0.50", "200"] and "the last 20 of 25 epochs" in text
    )
    assert Cells(nn.History()._repr_html_()).cells == ["epoch", "seconds", "samples/s"]
