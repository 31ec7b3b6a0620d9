"""`python -m texpr bench onnx`: the node tests of ONNX, passed and left out."""

from __future__ import annotations

import argparse
from collections import Counter

from texpr.compiler.fallback import fallbacks
from texpr.onnx import converters
from texpr.onnx.backend import cases, left_out, outcome
from texpr.tools.arguments import part_of_all


def bench_onnx(arguments: argparse.Namespace) -> int:
    """Run the node tests that are used here and print their counts, and every failure with its
    reason.
    """
    k, n = part_of_all(arguments.part)
    counts: Counter[str] = Counter()
    failures: list[str] = []
    for number, case in enumerate(cases()):
        if number % n != k - 1:
            continue
        reason = left_out(case)
        problem = "" if reason else outcome(case)
        counts[f"left out: {reason}" if reason else "failed" if problem else "passed"] += 1
        if problem:
            failures.append(f"{case.name}: {problem}")
    total = counts.total()
    numeric = counts["passed"] + counts["failed"]
    print("\n".join(failures))
    print(
        f"collected {total}, passed {counts['passed']}, failed {counts['failed']}: "
        f"{counts['passed'] / max(total, 1):.1%} of all, "
        f"{counts['passed'] / max(numeric, 1):.1%} of those that are not left out"
    )
    for reason in sorted(r for r in counts if r.startswith("left out")):
        print(f"{reason}: {counts[reason]}")
    print(
        "\n".join(
            (
                f"default schedules left for plainer ones: {len(fallbacks())}",
                *(str(each) for each in fallbacks()),
            )
        )
    )
    print(f"operators with a converter: {len(converters.CONVERTERS)}")
    return 0
