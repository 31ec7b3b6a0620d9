"""The reference of `nn`, tensors and the Python API: complete, current, and its examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest

import texpr as tx
from scripts.reference.docstrings import read
from scripts.reference.entries import Entry, heading, methods
from scripts.reference.examples import CLASSES
from scripts.reference.pages import PAGES, PUBLIC, Page, names, package, page_of, public
from scripts.reference.tensor_examples import EXAMPLES
from scripts.reference.tensor_page import members
from scripts.reference.write import written
from tests.repo.source import ROOT
from texpr import nn
from texpr.lang.python_form.vocabulary import WORDS

ENTRIES = list(public())
WITH_SHAPES = {"nn/layers.md", "nn/losses.md"}
"""Pages whose entries say shapes."""
WITHOUT_ERRORS = {"array_api.md"}
"""Pages whose opening says the errors of all entries."""
CANNOT_FAIL = {
    "tx.enable_grad",
    "tx.fallbacks",
    "tx.gpu.Memory",
    "tx.gpu.is_device",
    "tx.gpu.missing",
    "tx.no_grad",
    "tx.profile",
    "tx.tuning.Loaded",
}
"""Entries that raise nothing, whatever they are given."""
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {path.as_posix(): text for path, text in written().items()}


def test_pages_are_current(pages: dict[str, str]):
    # What NumPy's functions give is told of one version of NumPy.
    theirs = (ROOT / "docs/reference/numpy_functions.md").read_text(encoding="utf-8")
    skipped = (
        ()
        if f"NumPy {'.'.join(np.__version__.split('.')[:2])};" in theirs
        else ("docs/reference/numpy_functions.md",)
    )
    old = [
        path
        for path, text in pages.items()
        if path not in skipped and (ROOT / path).read_text(encoding="utf-8") != text
    ]
    assert not old, "run: python -m scripts.reference"


def test_no_public_name_is_missing(pages: dict[str, str]):
    missing = [
        f"{each.name} in {page_of(each).path}"
        for each in ENTRIES
        if f"\n{heading(3, each.short)}\n" not in pages[_path(each)] and each.name != "tx.Tensor"
    ]
    assert not missing, "\n".join(missing)
    aliases = [name for each in ENTRIES for name in each.aliases if f"`{name}`" not in pages[_path(each)]]
    assert not aliases


def test_words_of_the_python_form_are_listed(pages: dict[str, str]):
    listed = set(re.findall(r"\btx\.(\w+)", pages["docs/reference/api.md"].split("## Words")[1]))
    assert not set(WORDS) - listed


def _path(each: Entry) -> str:
    return f"docs/reference/{page_of(each).path}"


@pytest.mark.parametrize("path", PUBLIC.values())
def test_every_name_of_a_package_is_an_entry(path: str, pages: dict[str, str]):
    """Walk the package itself: what it offers is an entry, a package that has entries, or the name of a
    type that a page mentions.
    """
    listed = {id(each.object) for each in ENTRIES}
    module = package(path)
    offered = (
        names(module) if path == "texpr.runtime.gpu" else getattr(module, "__all__", None) or names(module)
    )
    missing = [
        name
        for name in offered
        if not inspect.ismodule(found := getattr(module, name))
        and id(found) not in listed
        and not any(re.search(rf"`(?:\w+\.)*{name}`", text) for text in pages.values())
    ]
    assert not missing


def test_packages_that_are_called_public_have_entries():
    """Those of the table of the policy of versions; operators and the functional forms have pages of
    their own, made from the library.
    """
    table = (ROOT / "docs/developer/versioning.md").read_text(encoding="utf-8").split("## Public API")[1]
    told = set(re.findall(r"`texpr\.(\w+)`", table.split("Not public")[0]))
    inside = {prefix.removeprefix("tx.").split(".")[0] for prefix in PUBLIC if prefix != "tx"}
    assert told - {"__all__", "ops"} == {"distributed" if name == "dist" else name for name in inside}


def test_every_method_of_a_tensor_has_an_example():
    assert set(members()) == set(EXAMPLES)


REFUSED = {"nn.Module.load_state_dict", "nn.TrainingStep.check_labels"}
"""Methods whose example ends with an error."""


def test_every_method_has_an_example():
    """In its docstring or in `scripts/reference/examples`, which has no example of anything else."""
    told = {each: set(methods(each)) for each in ENTRIES if each.name != "tx.Tensor"}
    bare = {m.name for found in told.values() for m in found if "Example" not in read(m.docstring).sections}
    tabled = {f"{owner}.{method}" for owner, (_, examples) in CLASSES.items() for method in examples}
    assert sorted(bare - tabled) == sorted(tabled - bare) == []


def test_examples_of_methods_end_as_they_are_meant(pages: dict[str, str]):
    failed = {
        heading
        for page in pages.values()
        for heading, block in re.findall(r"^#{3,4} (\S+)\n((?:(?!^#{2,4} ).*\n)*)", page, re.M)
        if "Traceback (most recent call last)" in block.split("```pycon")[-1]
    }
    assert failed == {name.split(".", 1)[1] for name in REFUSED}


def test_every_entry_has_a_docstring():
    missing = [
        each.name for entry in ENTRIES for each in (entry, *methods(entry)) if not read(each.docstring).text
    ]
    assert not missing


def lacking(page: Page, sections: tuple[str, ...]) -> Iterator[str]:
    """Entries of a page that lack a section."""
    for each in ENTRIES:
        if page_of(each) is page:
            raises = each.name in CANNOT_FAIL or is_error(each)
            told = {*read(each.docstring).sections, *(["Raises"] if raises else [])}
            lacks = [name for name in sections if name not in told]
            if lacks:
                yield f"{each.name}: no {', '.join(lacks)}"


def is_error(each: Entry) -> bool:
    """True for classes of errors, which raise none."""
    return isinstance(each.object, type) and issubclass(each.object, BaseException)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.path)
def test_entries_have_their_sections(page: Page):
    shapes = ("Shapes",) if page.path in WITH_SHAPES else ()
    errors = () if page.path in WITHOUT_ERRORS else ("Raises",)
    found = list(lacking(page, (*shapes, *errors, "Example")))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.path)
def test_examples_run(page: Page, tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    failed = [text for each in ENTRIES if page_of(each) is page for text in failures(each)]
    assert not failed, "\n".join(failed)


def failures(entry: Entry) -> list[str]:
    """What the examples of an entry and of its methods print beside what they should."""
    found: list[str] = []
    for each in (entry, *methods(entry)):
        needed = re.findall(r">>> import (\w+)", each.docstring)
        if not all(map(find_spec, needed)):  # `make bridges` runs these
            continue
        names = {"tx": tx, "nn": nn, "np": np}
        test = doctest.DocTestParser().get_doctest(each.docstring, names, each.name, None, 0)
        nn.manual_seed(0)
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=found.append)
    return found


def test_a_wrong_example_is_found():
    class Wrong:
        """Text.

        Example:
            >>> 1 + 1
            3
        """

    assert "Expected:\n    3\nGot:\n    2" in "".join(failures(Entry("nn.Wrong", Wrong)))
    assert "Shapes" not in read(Wrong.__doc__).sections
