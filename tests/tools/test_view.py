"""Pages: one self-contained file, escaped, with every stage; and schedules in a notebook."""

from __future__ import annotations

import html
import re
import sys
from html.parser import HTMLParser

import pytest

import texpr as tx
from texpr.__main__ import main
from texpr.compiler.html import highlight, highlighted
from texpr.compiler.html.highlight import LEXERS, style

FILE = """# <script>alert(1)</script> & co
op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }
op twice(X: f32[S]) -> Y: f32[S] { Y[i] = 2 * X[i] }
"""
VOID = {"meta", "input"}


class Tags(HTMLParser):
    """Fails where a tag is not closed by its own."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def _page(tmp_path, *arguments: str) -> str:
    file = tmp_path / "ops.tx"
    file.write_text(FILE)
    assert main(["view", str(file), *arguments]) == 0
    return (tmp_path / "ops.html").read_text()


def test_a_page_holds_every_stage_of_every_operator(tmp_path):
    page = _page(tmp_path, "M=64", "N=64", "K=64", "S=100")
    shown = "".join(Tags(page).text)
    for part in (
        "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]",
        "for C.i in 0..64",
        'vectorize("Y.ii")',
        "define internal",
        "vmovups" if "zmm" in shown or "ymm" in shown else "\tmov",
        "proven independent",
        "in order: accumulates into C",
    ):
        assert part in shown
    assert (
        page.count('class="stage" hidden') == page.count("data-stage=") - 2
    )  # the last stage of each operator shows


def test_a_page_needs_nothing_from_elsewhere_and_escapes_what_it_shows(tmp_path):
    page = _page(tmp_path, "--op", "matmul", "M=4", "N=4", "K=4")
    assert not re.search(r"(src|href)=\"(?!#)|@import|url\(", page)
    assert "<script>alert" not in page


def test_stores_refer_to_their_equations(tmp_path):
    file = tmp_path / "two.tx"
    file.write_text("op two(X: f32[N]) -> Z: f32[N] { Y[i] = X[i] * 2\n Z[i] = Y[N-1-i] + 1 }")
    assert main(["view", str(file), "-o", str(tmp_path / "two.html")]) == 0
    page = (tmp_path / "two.html").read_text()
    page = re.sub(r'<span class="\w{1,2}">(.*?)</span>', r"\1", page)  # Pygments' spans
    for number, tensor in enumerate("YZ"):
        assert re.search(rf'class="equation" data-equation="{number}">  {tensor}\[', page)
        assert re.search(rf'class="line store" data-equation="{number}">{tensor}\[', page)


def test_a_page_goes_where_it_is_sent_or_says_why_not(tmp_path, capsys):
    file = tmp_path / "ops.tx"
    file.write_text(FILE)
    assert main(["view", str(file), "--op", "twice", "-o", str(tmp_path / "no" / "page.html")]) == 1
    assert "page.html" in capsys.readouterr().err
    assert main(["view", str(file), "--op", "thrice"]) == 1
    assert "the file has no operator `thrice`" in capsys.readouterr().err


def test_sizes_go_to_the_operators_that_have_them(tmp_path, capsys):
    assert "0..7" in "".join(Tags(_page(tmp_path, "S=7")).text)
    assert main(["view", str(tmp_path / "ops.tx"), "Z=7"]) == 1
    assert "matmul has no size, constant or dtype variable `Z`" in capsys.readouterr().err


def test_a_schedule_shows_in_a_notebook():
    s = (
        tx.schedule(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }"), N=100)
        .split("i", 8)
        .vectorize("ii")
    )
    shown = Tags(s._repr_html_())
    assert s._repr_html_().count("data-stage=") == 3
    assert 'split("i", 8)' in "".join(shown.text)


TEXT = "for x < 3 & y; # note\n\tvmovups 64(%rax), %zmm1\n\n  %3 = fadd <4 x float> %1, %2 ; c"


@pytest.mark.parametrize("language", ["texpr", *LEXERS])
@pytest.mark.parametrize("ending", ["", "\n", "\n\n", " "])
def test_highlighting_changes_no_text(language: str, ending: str):
    pytest.importorskip("pygments")
    text = f"\n{TEXT}{ending}"
    assert "".join(Tags(highlighted(text, language)).text) == text
    assert "<span" in highlighted(text, language)


def test_without_pygments_pages_show_plain_text(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygments", None)
    monkeypatch.setitem(sys.modules, "pygments.formatters", None)
    for cached in (highlighted, style, highlight._formatter):
        cached.cache_clear()
    try:
        assert style() == "" and highlighted(TEXT, "texpr") == html.escape(TEXT)
        page = _page(tmp_path, "M=8", "N=8", "K=8", "S=8")
        assert '<span class="k' not in page and "for C.i in 0..8" in "".join(Tags(page).text)
    finally:
        highlighted.cache_clear(), style.cache_clear()


def test_spans_have_colours_in_light_and_in_dark():
    pytest.importorskip("pygments")
    light, dark = style().split("@media (prefers-color-scheme: dark)")
    assert ".texpr .kd {" in light and ".texpr .kd {" in dark
    assert light.count("\n.texpr .") + 1 == sum(line.startswith(".texpr .") for line in light.splitlines())
