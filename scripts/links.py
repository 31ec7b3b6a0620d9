"""Addresses of other sites in the pages: their form, and whether they are there: `make links`.

    python scripts/links.py              # asks each address, by Sphinx's linkcheck into build/links
    python scripts/links.py --offline    # looks at their form alone

A host that has no name here or does not answer says nothing of its pages: it is listed apart from
dead addresses. Ends with 1 where an address has a wrong form or is dead, and with 0 where hosts
alone were not reached.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "build" / "links"
ADDRESS = re.compile(r"https?://[^\s<>\"'`\\|]+")
HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}")
ANSWERED = re.compile(r"\d{3} (?:Client|Server) Error|Anchor|unauthorized")
"""Beginnings of what a host says itself, which Sphinx reports of an address that is broken."""
SECONDS = 10


class Link(NamedTuple):
    """An address, and where it stands."""

    page: str
    line: int
    address: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.address}"


def main() -> int:
    """Print addresses of a wrong form, dead ones, and hosts that were not reached; 1 for the first two."""
    parser = argparse.ArgumentParser(description="Check addresses of other sites")
    parser.add_argument("--offline", action="store_true", help="look at their form alone")
    offline = parser.parse_args().offline
    found = [link for path in pages() for link in links(path)]
    wrong = [f"{link}: {fault}" for link in found if (fault := fault_of(link.address))]
    print("\n".join([*wrong, f"{len(found)} addresses, {len(wrong)} of a wrong form"]), flush=True)
    if offline:
        return int(bool(wrong))
    missing = unresolved({urlsplit(link.address).netloc for link in found if not fault_of(link.address)})
    dead, silent = sorted_out(map(json.loads, _checked(missing)), missing)
    for host, count in sorted(silent.items()):
        print(f"not reached: {host} ({count})")
    print("\n".join([*dead, f"{len(dead)} dead, {sum(silent.values())} on {len(silent)} hosts not reached"]))
    return int(bool(wrong or dead))


def pages() -> list[Path]:
    """Pages and notebooks of the site, and those in the root."""
    docs = ROOT / "docs"
    return sorted([*ROOT.glob("*.md"), *docs.rglob("*.md"), *docs.rglob("*.ipynb")])


def links(path: Path) -> Iterator[Link]:
    """The addresses in a page. Closing brackets and marks behind one are not a part of it."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for match in ADDRESS.finditer(line):
            address = match[0].rstrip(".,;:!?*_]")
            while address.endswith(")") and address.count("(") < address.count(")"):
                address = address[:-1].rstrip(".,;:!?*_]")
            if not address.endswith("://"):  # `https://...` stands for any
                yield Link(path.relative_to(ROOT).as_posix(), number, address)


def fault_of(address: str) -> str:
    """A sentence about the form of an address; empty if it is right."""
    parts = urlsplit(address)
    if not HOST.fullmatch(parts.netloc):
        return f"{parts.netloc!r} is no name of a host"
    if parts.scheme != "https":
        return "not https"
    if address.count("(") != address.count(")"):
        return "brackets that do not match"
    return "an empty part of the path" if "//" in parts.path else ""


def unresolved(hosts: Iterable[str]) -> set[str]:
    """Those of the hosts whose names have no address here."""

    def has_address(host: str) -> bool:
        try:
            return bool(socket.getaddrinfo(host, 443))
        except OSError:
            return False

    names = sorted(hosts)
    with ThreadPoolExecutor(32) as pool:
        return {host for host, there in zip(names, pool.map(has_address, names)) if not there}


def _checked(without: Iterable[str]) -> list[str]:
    """Run linkcheck; the lines of its report. It does not ask the hosts that are given."""
    ignored = ",".join(rf"https?://{re.escape(host)}(/|$)" for host in sorted(without))
    settings = [f"linkcheck_timeout={SECONDS}", "linkcheck_retries=1", f"linkcheck_ignore={ignored}"]
    flags = [word for setting in settings for word in ("-D", setting)]
    command = [sys.executable, "-m", "sphinx", "-Q", "-b", "linkcheck", *flags, "docs", OUTPUT]
    report = OUTPUT / "output.json"
    report.unlink(missing_ok=True)
    subprocess.run([str(word) for word in command], cwd=ROOT)  # ends with 1 where a link is broken
    if not report.exists():
        raise SystemExit("linkcheck wrote no report; see: python -m sphinx -b linkcheck docs build/links")
    return report.read_text(encoding="utf-8").splitlines()


def sorted_out(report: Iterable[dict], unresolved: Iterable[str]) -> tuple[list[str], Counter[str]]:
    """Lines for dead addresses; how many addresses there are on each host that was not reached."""
    dead: list[str] = []
    silent: Counter[str] = Counter()
    for each in report:
        host, status = urlsplit(each["uri"]).netloc, each["status"]
        if host in set(unresolved) or status == "timeout":
            silent[host] += 1
        elif status == "broken" and ANSWERED.match(each["info"]):
            dead.append(f"docs/{each['filename']}:{each['lineno']}: {each['uri']}: {each['info']}")
        elif status == "broken":
            silent[host] += 1
    return dead, silent


if __name__ == "__main__":
    sys.exit(main())
