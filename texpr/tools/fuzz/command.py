"""The command: batches of texts, of schedules, of default schedules and of gradients in child processes, findings in a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import SystemRandom
from time import monotonic

from texpr.compiler.imports import library_files
from texpr.support.progress import bar
from texpr.tools.fuzz import defaults, gradients, language, schedules
from texpr.tools.fuzz.cases import parse_case
from texpr.tools.fuzz.defaults import Defaults
from texpr.tools.fuzz.gradients import Gradients
from texpr.tools.fuzz.language import Language
from texpr.tools.fuzz.part import Part, findings
from texpr.tools.fuzz.schedules import Schedules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `fuzz`."""
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look (default: 60), an equal part of it at each part")
    parser.add_argument("--only", choices=("language", "schedules", "default", "gradients"), help="one part alone")
    parser.add_argument("--texts", type=int, default=sys.maxsize, help="how many texts to try at most")
    parser.add_argument("--schedules", type=int, default=sys.maxsize, help="how many schedules to try at most")
    parser.add_argument("--defaults", type=int, default=sys.maxsize, help="how many default schedules to try at most")
    parser.add_argument("--gradients", type=int, default=sys.maxsize, help="how many operators to differentiate at most")
    parser.add_argument("--compile", action="store_true", help="also run default schedules of this machine, and compare with tx.interpret")
    parser.add_argument("--seed", type=int, default=None, help="the same again; a new seed is chosen and shown unless given")
    parser.add_argument("--deep", type=float, default=0.05, help="the share of texts that are also compiled, run, differentiated (0.05)")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="folder to write to (default: fuzz-findings)")
    parser.add_argument("--counts", type=Path, help="file for how often what happened to schedules, and every kind of refusal")
    parser.add_argument("--corpus", type=Path, nargs="*", default=[], help="further .tx files to take operators from")
    parser.add_argument("--replay", type=Path, help="try the text, or the .litmus, .default or .gradients case, in this file instead")


def fuzz(arguments: argparse.Namespace) -> int:
    """Try texts and schedules nobody would write; 1 if one led to anything but a right answer or a reasoned tx.Error."""
    if arguments.replay is not None:
        return _replay(arguments.replay)
    seed = SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    paths = sorted(str(path) for path in (*library_files(), *arguments.corpus))
    print(f"seed {seed}, {len(paths)} files of operators", flush=True)
    parts: dict[str, tuple[Part, int]] = {"language": (Language(seed, arguments.deep, paths), arguments.texts),
                                          "schedules": (Schedules(seed), arguments.schedules),
                                          "default": (Defaults(seed, arguments.compile), arguments.defaults),
                                          "gradients": (Gradients(seed), arguments.gradients)}
    chosen = [parts[name] for name in parts if arguments.only in (None, name)]
    kinds = 0
    for part, most in chosen:
        kinds += _tried(part, most, arguments.seconds / len(chosen), arguments.findings)
        for line in _summary(part):
            print(line)
        if arguments.counts is not None and part.counts:
            table = sorted(part.counts.items(), key=lambda each: (-each[1], each[0]))
            lines = (f"{count:>8}  {what}  (first: {part.examples[what]})\n" for what, count in table)
            arguments.counts.write_text("".join(lines))
    return 1 if kinds else 0


def _tried(part: Part, most: int, seconds: float, folder: Path) -> int:
    """Try until the time is over; how many kinds of findings there were."""
    shown, kinds, done, start = bar(unit=f" {part.what}", mininterval=1.0), set[str](), 0, monotonic()
    while done < most and monotonic() - start < seconds:
        numbers = list(range(done, min(done + part.size, most)))
        for number, finding in findings(part, numbers):
            if finding.kind not in kinds:
                kinds.add(finding.kind)
                folder.mkdir(parents=True, exist_ok=True)
                print(f"\n{finding.kind}: {part.write(folder, number, finding)}", flush=True)
        done += len(numbers)
        if shown is not None:
            shown.update(len(numbers))
    print(f"{done} {part.what}, {len(kinds)} kinds of findings" + (f" in {folder}" if kinds else ""))
    return len(kinds)


_SHOWN = ("default schedules", "programs", "differentiated", "differentiated twice", "no derivative", "steps",
          "accepted", "refused", "witness", "sizes enumerated",
          "interpreted", "compiled and run", "replayed", "certified", "certificate refused", "wrong kernels")


def _summary(part: Part) -> list[str]:
    """What was counted, refusals of one kind together."""
    totals = {name: sum(n for what, n in part.counts.items() if what.split(" | ")[0] == name) for name in _SHOWN}
    return [f"  {count:>8}  {name}" for name, count in totals.items() if count]


def _replay(path: Path) -> int:
    if path.suffix == ".default":
        finding = defaults.replayed(path.read_text(encoding="utf-8"))
    elif path.suffix == ".gradients":
        finding = gradients.replayed(path.read_text(encoding="utf-8"))
    elif path.suffix == ".litmus":
        finding = schedules.replayed(parse_case(path.read_text(encoding="utf-8")))
    else:
        finding = language.replayed(path.read_bytes().decode("utf-8", "surrogatepass"))
    print(f"{finding.kind}\n{finding.detail}" if finding else "nothing goes wrong")
    return 1 if finding else 0
