"""Addresses of other sites: their form, and what a report of Sphinx's linkcheck says of them."""

from __future__ import annotations

import pytest

from scripts.links import fault_of, links, pages, sorted_out
from tests.repo.source import ROOT


def test_addresses_have_the_right_form():
    found = [link for path in pages() for link in links(path)]
    assert len(found) > 20
    assert [f"{link}: {fault}" for link in found if (fault := fault_of(link.address))] == []


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("https://a.example/b_(c)?d=1#e", ""),
        ("https://a.example", ""),
        ("http://a.example/b", "not https"),
        ("https://example/b", "'example' is no name of a host"),
        ("https:///b", "'' is no name of a host"),
        ("https://a.example/b_(c", "brackets that do not match"),
        ("https://a.example//b", "an empty part of the path"),
    ],
)
def test_faults_of_addresses(address: str, fault: str):
    assert fault_of(address) == fault


def test_addresses_end_where_the_text_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("scripts.links.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "[a](https://a.example/b_(c)), (<https://a.example/d>).\n`SITE=https://...` https://a.example/e.\n"
    )
    assert [(link.line, link.address) for link in links(page)] == [
        (1, "https://a.example/b_(c)"),
        (1, "https://a.example/d"),
        (2, "https://a.example/e"),
    ]
    assert page in pages() and ROOT / "README.md" not in pages()


def entry(uri: str, status: str, info: str = "") -> dict:
    return {"filename": "guide/faq.md", "lineno": 3, "uri": uri, "status": status, "info": info}


def test_a_host_that_is_not_reached_is_no_dead_address():
    dead, silent = sorted_out(
        [
            entry("#anchor", "unchecked"),
            entry("https://a.example/there", "working"),
            entry("https://a.example/gone", "broken", "404 Client Error: Not Found for url: ..."),
            entry("https://a.example/page#no", "broken", "Anchor 'no' not found"),
            entry(
                "https://b.example/1", "broken", "HTTPSConnectionPool(host='b.example', port=443): Max ..."
            ),
            entry("https://b.example/2", "timeout", "Read timed out"),
            entry("https://c.example/3", "ignored"),
        ],
        ["c.example"],
    )
    assert dead == [
        "docs/guide/faq.md:3: https://a.example/gone: 404 Client Error: Not Found for url: ...",
        "docs/guide/faq.md:3: https://a.example/page#no: Anchor 'no' not found",
    ]
    assert dict(silent) == {"b.example": 2, "c.example": 1}
