"""Imports that wait until something is used."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from texpr.support.late import _read, late

INIT = '''"""A package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from latepackage import whole
    from latepackage.double import double, triple as thrice  # two of them
    from latepackage.numbers import (
        ONE,
        TWO,
    )

    from json import dumps

__all__ = ["ONE", "TWO", "double", "thrice", "whole"]

suggest_names(__name__)
offer_late(__name__)
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    folder = tmp_path / "latepackage"
    folder.mkdir()
    (folder / "__init__.py").write_text(INIT)
    (folder / "double.py").write_text("def double(x):\n    return 2 * x\ndef triple(x):\n    return 3 * x\n")
    (folder / "numbers.py").write_text("ONE = 1\nTWO = 2\n")
    (folder / "whole.py").write_text("NUMBER = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [n for n in sys.modules if n.startswith("latepackage")]:
        monkeypatch.delitem(sys.modules, name)
    return __import__("latepackage")


def loaded() -> set[str]:
    return {n.partition(".")[2] for n in sys.modules if n.startswith("latepackage.")}


def test_names_are_imported_when_they_are_first_used(package: Any):
    assert loaded() == set()
    assert package.TWO == 2 and loaded() == {"numbers"}
    assert package.thrice(2) == 6 and package.whole.NUMBER == 7
    assert loaded() == {"numbers", "double", "whole"}


def test_a_module_does_not_hide_the_function_of_its_name(package: Any):
    __import__("latepackage.double")
    assert package.double(4) == 8
    from latepackage import double  # type: ignore[import-not-found]

    assert double(4) == 8


def test_names_are_listed_before_they_are_imported(package: Any):
    assert {"ONE", "TWO", "double", "thrice", "whole", "__all__"} <= set(dir(package))
    assert loaded() == set()


def test_other_names_are_refused_with_what_is_meant(package: Any):
    with pytest.raises(AttributeError, match="did you mean `double`"):
        package.doubel  # noqa: B018
    assert not hasattr(package, "dumps_") and loaded() == set()


def test_what_is_read_and_set_is_the_modules_own(package: Any, monkeypatch: pytest.MonkeyPatch):
    numbers = late("latepackage.numbers")
    assert loaded() == set() and "latepackage.numbers" in repr(numbers)
    assert numbers.ONE == 1
    monkeypatch.setattr(numbers, "ONE", 11)
    assert sys.modules["latepackage.numbers"].ONE == 11 == numbers.ONE
    del numbers.TWO
    assert not hasattr(numbers, "TWO")
    monkeypatch.undo()
    assert numbers.ONE == 1


def test_copies_are_of_the_same_module():
    found = late("json.decoder")
    for each in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert each.JSONDecoder is found.JSONDecoder


def test_a_package_without_its_source(package: Any, monkeypatch: pytest.MonkeyPatch):
    """As where files of compiled code alone are installed."""
    expected = _read(package)
    monkeypatch.setattr(type(package.__loader__), "get_source", lambda *_: None)
    assert expected.items() <= _read(package).items()
