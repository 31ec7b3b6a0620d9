"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import tracemalloc
from pathlib import Path

import pytest

from texpr.support.files import read_file, write_file


@pytest.mark.parametrize(("name", "content"), [("fsync", b"old"), ("replace", b"new")])
def test_ctrl_c_while_a_file_is_written(name: str, content: bytes, tmp_path, monkeypatch):
    """It is raised as it is, and the folder has one of the contents and nothing else."""
    done = getattr(os, name)

    def interrupted(*arguments):
        done(*arguments)
        raise KeyboardInterrupt

    path = tmp_path / "file"
    write_file(path, b"old")
    monkeypatch.setattr(os, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, b"new")
    assert path.read_bytes() == content and [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError) as found:
        read_file(tmp_path)
    assert found.value.filename == str(tmp_path) and found.value.errno == errno.EISDIR


def test_a_file_may_be_read_as_others_that_are_made_now(tmp_path):
    (tmp_path / "usual").touch()
    write_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_memory_is_allocated_for_the_file_and_not_for_the_limit(tmp_path: Path):
    (tmp_path / "small").write_bytes(b"text" * 100)
    tracemalloc.start()
    try:
        assert read_file(tmp_path / "small", 1 << 30) == b"text" * 100
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_file_without_a_size_is_read():
    assert read_file("/proc/self/stat", 1 << 20).startswith(str(os.getpid()).encode())
