"""Options: where they come from, what they refuse."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from texpr.support import options as module
from texpr.support.errors import CallError
from texpr.support.options import Options, current, from_environment, options, user_cache_dir


@pytest.fixture(autouse=True)
def _fresh():
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(module, "_process", Options(threads=4, cache_dir=None))
        yield
    module._changed()  # the pool of threads, too, is as it was


def test_a_plain_call_changes_the_process():
    options(threads=2)
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(current().threads))
    thread.start()
    thread.join()
    assert seen == [2] and current().threads == 2


def test_a_block_changes_only_itself_and_only_this_thread():
    seen: list[int] = []
    with options(threads=1) as inside:
        thread = threading.Thread(target=lambda: seen.append(current().threads))
        thread.start()
        thread.join()
        assert inside.threads == current().threads == 1
        with options(verify=True):
            assert current() == Options(threads=1, cache_dir=None, verify=True)
    # Free-threaded builds of Python let threads begin in a copy of the context around.
    inherits = getattr(sys.flags, "thread_inherit_context", 0)
    assert seen == [1 if inherits else 4] and current() == Options(threads=4, cache_dir=None)


def test_a_block_ends_on_an_exception():
    with pytest.raises(KeyError), options(threads=1):
        raise KeyError
    assert current().threads == 4


def test_the_environment_gives_the_defaults(tmp_path: Path):
    found = from_environment(
        {
            "TEXPR_THREADS": "3",
            "TEXPR_VERIFY": "1",
            "TEXPR_PRINT": "after:lower, after:*",
            "TEXPR_CACHE_DIR": str(tmp_path),
            "TEXPR_OTHER": "x",
        }
    )
    assert found == Options(threads=3, verify=True, print=("after:lower", "after:*"), cache_dir=tmp_path)
    assert from_environment({"TEXPR_CACHE_DIR": ""}).cache_dir is None


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"thread": 2}, "error[option]: no option `thread`\n  help: did you mean `threads`?"),
        ({"threads": 0}, "error[option]: threads is 0, expected an integer above 0"),
        ({"threads": True}, "error[option]: threads is True, expected an integer above 0"),
        ({"threads": 2.0}, "error[option]: threads is 2.0, expected an integer above 0"),
        ({"verify": 1}, "error[option]: verify is 1, expected True or False"),
        (
            {"print": "lower"},
            "error[option]: print is 'lower', expected a text such as `after:lower` or `after:*`",
        ),
        (
            {"cache_dir": "/" + "x" * 10_000},
            f"error[option]: cache_dir is '/{'x' * 10_000}', expected a directory (File name too long)",
        ),
        ({"cache_dir": __file__}, f"error[option]: cache_dir is {__file__!r}, expected a directory"),
    ],
)
def test_complaints(changes: dict[str, object], complaint: str):
    with pytest.raises(CallError) as error:
        options(**changes)
    assert str(error.value) == complaint
    assert current() == Options(threads=4, cache_dir=None)


def test_a_wrong_variable_is_named():
    with pytest.raises(CallError, match="TEXPR_THREADS is 'many', expected an integer above 0"):
        from_environment({"TEXPR_THREADS": "many"})


PLATFORMS = {"linux": ("unix", "Unix"), "darwin": ("macos", "MacOS"), "win32": ("windows", "Windows")}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize(
    "variables", [{}, {"XDG_CACHE_HOME": "/x/cache"}, {"XDG_CACHE_HOME": ""}, {"XDG_CACHE_HOME": "relative"}]
)
def test_the_cache_folder_is_where_platformdirs_says(platform: str, variables: dict[str, str], monkeypatch):
    name, kind = PLATFORMS[platform]
    module = pytest.importorskip(f"platformdirs.{name}")
    if platform == "win32":  # where it asks the system, which is not there
        monkeypatch.setattr(module, "get_win_folder", module.get_win_folder_from_env_vars)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for variable, value in {
        "HOME": "/home/me",
        "LOCALAPPDATA": "/users/me/AppData/Local",
        **variables,
    }.items():
        monkeypatch.setenv(variable, value)
    assert user_cache_dir(platform) == Path(getattr(module, kind)("texpr", appauthor=False).user_cache_dir)
