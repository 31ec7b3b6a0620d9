"""Requirements of packages, read from metadata, and versions compared with them.

Kept by hand: `packaging` would be a dependency at run time, for the few forms that texpr's own
metadata has.
Source: the dependency specifiers and the version specifiers of the Python Packaging User Guide.
"""

from __future__ import annotations

import re

from texpr.support.frozen_dataclass import frozen

_FORM = re.compile(r"([\w.-]+)\s*(\[[^]]*\])?\s*\(?([\w\s.,*<>=!~]*)\)?\s*(?:;(.*))?")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w.-]+)['"]""")
_CLAUSE = re.compile(r"(>=|<=|!=|==|~=|>|<)\s*([\w.*]+)")


@frozen
class Requirement:
    """A package with its range of versions.

    Attributes:
        package: its name on the index.
        clauses: pairs of a comparison and a version.
        extra: the extra that requires it; empty for none.
    """

    package: str
    clauses: tuple[tuple[str, str], ...]
    extra: str

    @property
    def range(self) -> str:
        """The clauses as text: `>=1.2, <2`."""
        return ", ".join(f"{comparison}{bound}" for comparison, bound in self.clauses)

    def allows(self, version: str) -> bool:
        """True if a version is in the range. Versions before a release count as the release."""
        return all(_holds(version, comparison, bound) for comparison, bound in self.clauses)


def parse(line: str) -> Requirement | None:
    """A requirement of a line of metadata; None for one that this does not read."""
    found = _FORM.fullmatch(line.strip())
    if found is None:
        return None
    extra = _EXTRA.search(found[4] or "")
    return Requirement(found[1], tuple(sorted(_CLAUSE.findall(found[3]))[::-1]), extra[1] if extra else "")


def _holds(version: str, comparison: str, bound: str) -> bool:
    if bound.endswith(".*"):
        same = _numbers(version)[: bound.count(".")] == _numbers(bound[:-2])
        return same if comparison == "==" else not same
    length = max(len(_numbers(version)), len(_numbers(bound)))
    have, want = (n + (0,) * (length - len(n)) for n in (_numbers(version), _numbers(bound)))
    match comparison:
        case ">=":
            return have >= want
        case "<=":
            return have <= want
        case ">":
            return have > want
        case "<":
            return have < want
        case "==":
            return have == want
        case "~=":
            return have >= want and have[: bound.count(".")] == want[: bound.count(".")]
    return have != want


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version: `(2, 0, 1)` of `2.0.1rc1`."""
    found = re.match(r"(?:\d+!)?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in found[1].split(".")) if found else ()
