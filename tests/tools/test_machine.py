"""The line that names a machine beside times."""

from __future__ import annotations

import platform
import socket
from importlib.metadata import PackageNotFoundError, version

import pytest

from texpr.runtime import host
from texpr.tools import machine


def test_processor_and_versions_are_named_and_no_computer():
    line = machine.describe("lark")
    assert host.cpu_name() in line and f"Python {platform.python_version()}" in line
    assert f"lark {version('lark')}" in line and f"numpy {version('numpy')}" in line
    assert socket.gethostname() not in line and "/" not in line and "\n" not in line


def test_other_systems_have_no_cpuinfo(monkeypatch: pytest.MonkeyPatch):
    def missing(path: object, **options: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr("pathlib.Path.read_text", missing)
    assert machine._processor() == (platform.processor() or platform.machine())


def test_unknown_package():
    with pytest.raises(PackageNotFoundError):
        machine.describe("no-such-package")
