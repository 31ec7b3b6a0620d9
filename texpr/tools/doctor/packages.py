"""Checks of packages: those that texpr requires, and those of its extras."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from importlib import metadata

import texpr
from texpr.support.version import FREE_THREADED, runs_without_gil
from texpr.tools.doctor.finding import Finding
from texpr.tools.doctor.requirement import Requirement, parse


def required() -> Iterator[Finding]:
    """Check Python, texpr's own metadata, and the packages that it requires."""
    try:
        own = metadata.distribution("texpr")
    except metadata.PackageNotFoundError:
        yield _python("")
        help = "pip install texpr, or in a checkout: pip install --editable ."
        yield Finding("packages", "texpr", "problem", f"{texpr.__version__}, not installed", help)
        return
    yield _python(own.metadata.get("Requires-Python", ""))
    yield _texpr(own.version)
    for each in requirements():
        if not each.extra:
            yield _package(each)


def optional() -> Iterator[Finding]:
    """Check the packages of each extra."""
    wanted = [each for each in requirements() if each.extra and each.package != "texpr"]
    for extra in dict.fromkeys(each.extra for each in wanted):
        yield _extra(extra, [each for each in wanted if each.extra == extra], wanted)


def requirements() -> list[Requirement]:
    """The requirements of texpr by its metadata; none where it is not installed."""
    try:
        lines = metadata.requires("texpr") or []
    except metadata.PackageNotFoundError:
        return []
    return [found for line in lines if (found := parse(line)) is not None]


def installed(package: str) -> str:
    """The version of a package; empty where it is not installed."""
    try:
        return metadata.version(package) or ""
    except metadata.PackageNotFoundError:
        return ""


def _python(supported: str) -> Finding:
    version, wanted = platform.python_version(), parse(f"python{supported}")
    value = version + (f" ({supported})" if supported else "")
    if wanted is not None and not wanted.allows(version):
        return Finding("packages", "python", "problem", value, f"use a Python {supported}")
    if FREE_THREADED:
        value += f", free-threaded build, with{'out' if runs_without_gil() else ''} the GIL"
        old = parse("python<3.14")
        if old is not None and old.allows(version):
            help = "use Python 3.14, or the usual build of the same version"
            return Finding("packages", "python", "problem", value, help)
    return Finding("packages", "python", "ok", value)


def _texpr(version: str) -> Finding:
    """Compare the version of the code with that of the metadata, which give the ranges."""
    if version == texpr.__version__:
        return Finding("packages", "texpr", "ok", version)
    value = f"{texpr.__version__} runs, and the metadata are of {version}"
    return Finding(
        "packages", "texpr", "problem", value, "install texpr again: pip install --force-reinstall"
    )


def _package(wanted: Requirement) -> Finding:
    version, name = installed(wanted.package), wanted.package
    help = f'pip install "{name}{wanted.range.replace(" ", "")}"'
    if not version:
        return Finding("packages", name, "problem", f"not installed ({wanted.range})", help)
    value = f"{version} ({wanted.range})"
    return Finding("packages", name, "ok" if wanted.allows(version) else "problem", value, help)


def _extra(extra: str, wanted: Sequence[Requirement], all_wanted: Sequence[Requirement]) -> Finding:
    """A problem is a version that no extra allows: those of `cuda12` and `cuda13` exclude each
    other.
    """
    help, absent = f'pip install "texpr[{extra}]"', False
    shown = []
    for each in wanted:
        version = installed(each.package)
        if version and not each.allows(version):
            shown.append(f"{each.package} {version} ({each.range})")
            absent = True
            if not any(o.package == each.package and o.allows(version) for o in all_wanted):
                return Finding(
                    "extras", extra, "problem", shown[-1], f'pip install --upgrade "texpr[{extra}]"'
                )
        else:
            shown.append(f"{each.package} {version or 'not installed'}")
            absent = absent or not version
    return Finding("extras", extra, "absent" if absent else "ok", ", ".join(shown), help if absent else "")
