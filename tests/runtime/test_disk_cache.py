"""The disk cache gives back exactly what was stored, or nothing."""

from __future__ import annotations

import multiprocessing
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from texpr.runtime.disk_cache import DiskCache, shared
from texpr.support.options import options


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "cache")


def only_file(cache):
    [path] = [path for path in cache.directory.rglob("*") if path.is_file()]
    return path


@given(st.text(), st.binary())
@examples(50)
def test_what_is_stored_comes_back(tmp_path_factory, key, data):
    cache = DiskCache(tmp_path_factory.mktemp("cache"))
    assert cache.get(key) is None
    cache.put(key, data)
    assert cache.get(key) == data
    assert DiskCache(cache.directory).get(key) == data


def test_the_last_put_wins(cache):
    cache.put("k", b"one")
    cache.put("k", b"two")
    assert cache.get("k") == b"two"


def test_the_directory_is_private(cache):
    assert cache.directory.stat().st_mode & 0o777 == 0o700
    cache.put("k", b"data")
    assert only_file(cache).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content[:10],
        lambda content: b"",
        lambda content: content[:60] + bytes([content[60] ^ 1]) + content[61:],
        lambda content: b"X" + content[1:],
        lambda content: content[:6] + b"\x02" + content[7:],
        lambda content: pickle.dumps({"a": 1}),
    ],
)
def test_a_damaged_entry_is_removed(cache, damage):
    cache.put("k", b"some data that is long enough")
    path = only_file(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("k") is None
    assert not path.exists()


def test_an_entry_under_another_name_does_not_count(cache):
    cache.put("k", b"data")
    path = only_file(cache)
    other = cache._path("other")
    other.parent.mkdir(exist_ok=True)
    os.replace(path, other)
    assert cache.get("other") is None


def test_old_entries_go_first(tmp_path):
    cache = DiskCache(tmp_path, limit=100_000)
    for index in range(10):
        cache.put(f"k{index}", bytes(9_000))
        os.utime(cache._path(f"k{index}"), (index, index))
    assert cache.get("k0") is not None  # used just now
    for index in range(10, 13):
        cache.put(f"k{index}", bytes(9_000))
    assert cache.get("k0") is not None
    assert cache.get("k1") is None
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 112_000


def test_an_entry_of_half_the_limit_is_not_kept(tmp_path):
    cache = DiskCache(tmp_path, limit=1000)
    cache.put("k", bytes(600))
    assert cache.get("k") is None


def test_a_directory_that_others_can_write_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    cache = DiskCache(tmp_path)
    cache.put("k", b"data")
    assert cache.get("k") is None
    assert cache.problem == f"{tmp_path} is writable by others"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(tmp_path):
    os.chown(tmp_path, 12345, 12345)
    assert DiskCache(tmp_path).problem == f"{tmp_path} belongs to another user"


def test_a_directory_that_cannot_be_made_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file" / "cache")
    cache.put("k", b"data")
    assert cache.get("k") is None
    assert "Not a directory" in cache.problem


def test_a_failure_to_write_is_no_error(cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put("k", b"data")
    assert cache.get("k") is None
    assert "No space left on device" in cache.problem
    assert not [path for path in cache.directory.rglob("*") if path.is_file()]


def test_interrupted_writing_leaves_nothing(cache, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.put("k", b"data")
    assert not [path for path in cache.directory.rglob("*") if path.is_file()]


def _hammer(directory, seed):
    cache = DiskCache(directory, limit=50_000)
    for step in range(200):
        key = f"k{(seed * 7 + step) % 20}"
        data = cache.get(key)
        assert data is None or data == key.encode() * 1000
        cache.put(key, key.encode() * 1000)


def test_processes_at_once(tmp_path):
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_hammer, args=(tmp_path, seed)) for seed in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 4


def test_the_shared_one_lies_where_the_options_say(tmp_path):
    with options(cache_dir=tmp_path / "here"):
        assert shared().directory == tmp_path / "here"
        assert shared() is shared()
    with options(cache_dir=None):
        shared().put("k", b"data")
        assert shared().get("k") is None


def test_a_put_looks_at_one_folder_unless_there_is_too_much(cache, monkeypatch):
    for k in range(60):
        cache.put(str(k), b"x" * 100)
    looked, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: looked.append(folder) or scandir(folder))
    DiskCache(cache.directory).put("a", b"y")
    assert len(looked) == 1
    DiskCache(cache.directory, limit=5_000).put("b", b"z")
    assert len(looked) > 10 and sum(size for _, size, _ in cache._entries()) <= 5_000
