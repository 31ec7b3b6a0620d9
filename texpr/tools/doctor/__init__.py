"""`python -m texpr doctor`: checks of an installation, each with a way out where it fails.

No check raises, and none waits without a limit. What a check needs is imported inside it: the
command runs where a required package is missing too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from texpr.support.errors import Error
from texpr.tools.arguments import Commands, add_command
from texpr.tools.doctor import cache_directory, kernel_check, machine_facts, packages, settings
from texpr.tools.doctor.finding import Finding
from texpr.tools.doctor.report import as_json, as_text

LIMIT = 120.0
"""Seconds of one check of a kernel."""


def add_parser(commands: Commands) -> None:
    """Add the command `doctor`."""
    parser = add_command(
        commands,
        "doctor",
        doctor,
        "check packages, the cache, kernels, threads, devices and options; exit with 1 if a check fails",
        ["texpr doctor --json", "texpr doctor --timeout 600"],
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout",
        type=float,
        default=LIMIT,
        metavar="SECONDS",
        help="the limit of each check of a kernel (default: %(default)s)",
    )


def doctor(arguments: argparse.Namespace) -> int:
    """Print the findings of all checks; 1 if one is a problem, else 0."""
    found = list(findings(arguments.timeout))
    print(as_json(found) if arguments.json else as_text(found))
    return int(any(each.is_problem for each in found))


def findings(limit: float = LIMIT) -> Iterator[Finding]:
    """The findings of all checks.

    Args:
        limit: seconds of each check of a kernel.
    """
    sections: dict[str, Callable[[], Iterator[Finding]]] = {
        "packages": packages.required,
        "extras": packages.optional,
        "cache": cache_directory.cache,
        "kernels": lambda: kernel_check.kernels(limit),
        "machine": machine_facts.record,
        "devices": machine_facts.devices,
        "options": settings.options,
    }
    for section, check in sections.items():
        yield from _guarded(section, check)


def _guarded(section: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings of a check, the last one a problem where it fails."""
    try:
        yield from check()
    except Error as error:
        help = error.help or ("see the options below" if error.code == "option" else "")
        yield Finding(section, "check", "problem", error.message, help)
    except Exception as error:
        missing = isinstance(error, ImportError)
        help = "install what `packages` names above" if missing else "report this as a fault of texpr"
        yield Finding(section, "check", "problem", f"{type(error).__name__}: {error}", help)
