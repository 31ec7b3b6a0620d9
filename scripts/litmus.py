"""The litmus suite as a table: what texpr says of each program with its schedule, and what other
compilers make of those they can express.

    python scripts/litmus.py [--peers PYTHON]

Others run in an environment of their own (`make compilers`), each by
`scripts/peers/litmus_NAME.py`, which prints a verdict per case.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import texpr as tx  # noqa: E402
from tests.litmus.cases import Case, cases  # noqa: E402
from texpr.support.table import aligned  # noqa: E402

PEERS = ("tvm", "halide", "exo", "loopy")
HERE = Path(__file__).parent


def main() -> int:
    """Print the table; 1 if texpr is wrong anywhere."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--peers", help="the interpreter of an environment that has tvm, halide, exo and loopy"
    )
    arguments = parser.parse_args()
    found: dict[str, Mapping[str, str]] = {"texpr": {case.name: verdict(case) for case in cases()}}
    for peer in PEERS if arguments.peers else ():
        found[peer] = peer_verdicts(arguments.peers, peer)
    print(table(found))
    return int(
        any(
            said != ("accepted" if case.legal else "refused")
            for case in cases()
            if (said := found["texpr"][case.name])
        )
    )


def verdict(case: Case) -> str:
    """What texpr says of a case."""
    try:
        case.schedule()
    except tx.Error:
        return "refused"
    return "accepted"


def peer_verdicts(python: str, peer: str) -> Mapping[str, str]:
    """What another compiler made of the cases it can express: refused, accepted, or how many
    elements were wrong.
    """
    done = subprocess.run(
        [python, str(HERE / "peers" / f"litmus_{peer}.py")], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"{peer} did not run: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def table(found: Mapping[str, Mapping[str, str]]) -> str:
    """A row per case, a column per compiler, and how often each was right."""
    rows = [["", "", *found]]
    for case in cases():
        rows.append(
            [
                "legal" if case.legal else "illegal",
                case.name,
                *(a.get(case.name, "-") for a in found.values()),
            ]
        )
    for legal in (False, True):
        name = "accepted" if legal else "refused"
        rows.append(
            ["legal" if legal else "illegal", name, *(_right(answers, legal) for answers in found.values())]
        )
    return aligned(rows, "<")


def _right(answers: Mapping[str, str], legal: bool) -> str:
    asked = [case for case in cases() if case.legal == legal and case.name in answers]
    right = [case for case in asked if answers[case.name] == ("accepted" if legal else "refused")]
    return f"{len(right)} of {len(asked)}"


if __name__ == "__main__":
    sys.exit(main())
