"""The command: batches of texts, of schedules, of default schedules, of gradients and of files of
models in child processes, findings in a folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import SystemRandom
from time import monotonic

from texpr.compiler.imports import library_files
from texpr.support.errors import CallError
from texpr.support.progress import bar
from texpr.support.table import aligned
from texpr.tools.arguments import Commands, add_command
from texpr.tools.fuzz import damaged_files, defaults, gradients, language, schedules
from texpr.tools.fuzz.cases import parse_case
from texpr.tools.fuzz.damaged_files import ModelFiles
from texpr.tools.fuzz.defaults import Defaults
from texpr.tools.fuzz.gradients import Gradients
from texpr.tools.fuzz.language import Language
from texpr.tools.fuzz.model_formats import FORMATS, formats, require
from texpr.tools.fuzz.part import Part, findings
from texpr.tools.fuzz.schedules import Schedules


def add_parser(commands: Commands) -> None:
    """Add the command `fuzz`. Its parts are an option, no commands: by default all of them share
    the time.
    """
    parser = add_command(
        commands,
        "fuzz",
        fuzz,
        "try texts and schedules nobody would write, and report what goes wrong",
        [
            "texpr fuzz --seconds 600",
            "texpr fuzz --only gradients --seed 3",
            "texpr fuzz --only files --format onnx onnx-data",
            "texpr fuzz --replay fuzz-findings/one.litmus",
        ],
    )
    _add_parts(parser)
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="repeat the trials of a seed (default: a new seed, which is shown)",
    )
    parser.add_argument(
        "--findings",
        type=Path,
        default=Path("fuzz-findings"),
        metavar="FOLDER",
        help="where to write (default: %(default)s)",
    )
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="FILE",
        help="try the text, the .litmus, .default or .gradients case, or the model of a file",
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        nargs="*",
        default=[],
        metavar="FILE",
        help="further .tx files to take operators from",
    )
    parser.add_argument(
        "--counts",
        type=Path,
        metavar="FILE",
        help="where to write how often what happened, with every kind of refusal",
    )
    _add_limits(parser)


def _add_parts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        metavar="N",
        help="how long to look, shared by all parts (default: %(default)g)",
    )
    parser.add_argument(
        "--only",
        choices=("language", "schedules", "default", "gradients", "files"),
        help="try one part (default: all)",
    )
    parser.add_argument(
        "--format",
        nargs="+",
        choices=tuple(FORMATS),
        default=[],
        help="files of these formats (with --only files; default: all whose packages are installed)",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    limits = parser.add_argument_group("at most so many trials")
    for name, what in (
        ("texts", "texts"),
        ("schedules", "schedules"),
        ("defaults", "default schedules"),
        ("gradients", "operators"),
        ("files", "files of models"),
    ):
        limits.add_argument(f"--{name}", type=int, default=sys.maxsize, metavar="N", help=f"{what} to try")
    depth = parser.add_argument_group("how far trials go")
    depth.add_argument(
        "--deep",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="the share of texts that are compiled and run too (default: %(default)s)",
    )
    depth.add_argument(
        "--compile",
        action="store_true",
        help="run default schedules of this machine, and compare with tx.interpret",
    )


def fuzz(arguments: argparse.Namespace) -> int:
    """Try texts and schedules nobody would write; 1 if one led to anything but a right answer or
    a reasoned tx.Error.
    """
    if arguments.replay is not None:
        return _replay(arguments.replay)
    _check_formats(arguments)
    seed = SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    paths = sorted(str(path) for path in (*library_files(), *arguments.corpus))
    print(f"seed {seed}, {len(paths)} files of operators", flush=True)
    parts: dict[str, tuple[Part, int]] = {
        "language": (Language(seed, arguments.deep, paths), arguments.texts),
        "schedules": (Schedules(seed), arguments.schedules),
        "default": (Defaults(seed, arguments.compile), arguments.defaults),
        "gradients": (Gradients(seed), arguments.gradients),
        "files": (ModelFiles(seed, arguments.format), arguments.files),
    }
    chosen = [parts[name] for name in parts if arguments.only in (None, name)]
    kinds = 0
    rows: list[tuple[str, ...]] = []
    for part, most in chosen:
        kinds += _tried(part, most, arguments.seconds / len(chosen), arguments.findings)
        if summary := _summary(part):
            print(summary)
        table = sorted(part.counts.items(), key=lambda each: (-each[1], each[0]))
        rows += [(str(count), what, f"(first: {part.examples[what]})") for what, count in table]
    if arguments.counts is not None and rows:
        arguments.counts.write_text(aligned(rows, "><<") + "\n", encoding="utf-8")
    return 1 if kinds else 0


def _check_formats(arguments: argparse.Namespace) -> None:
    """Refuse formats where no files are tried, and those that this environment cannot read.

    Raises:
        CallError: one of the two.
        MissingExtra: the package of a format is not installed.
    """
    if arguments.format and arguments.only != "files":
        raise CallError(
            "fuzz: --format is of files of models, which are one part of several here",
            code="arguments",
            help=f"--only files --format {' '.join(arguments.format)}",
        )
    for name in arguments.format:
        require(name)


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


_SHOWN = (
    *FORMATS,
    "default schedules",
    "programs",
    "differentiated",
    "differentiated twice",
    "no derivative",
    "steps",
    "accepted",
    "refused",
    "witness",
    "sizes enumerated",
    "interpreted",
    "compiled and run",
    "replayed",
    "certified",
    "certificate refused",
    "wrong kernels",
)


def _summary(part: Part) -> str:
    """The counts, refusals of one kind together."""
    totals = {
        name: sum(n for what, n in part.counts.items() if what.split(" | ")[0] == name) for name in _SHOWN
    }
    return aligned([(f"{count:>10}", name) for name, count in totals.items() if count], "><")


def _replay(path: Path) -> int:
    if path.suffix == ".default":
        finding = defaults.replayed(path.read_text(encoding="utf-8"))
    elif path.suffix == ".gradients":
        finding = gradients.replayed(path.read_text(encoding="utf-8"))
    elif path.name.endswith(tuple(f.suffix for f in formats().values())):
        finding = damaged_files.replayed(path)
    elif path.suffix == ".litmus":
        finding = schedules.replayed(parse_case(path.read_text(encoding="utf-8")))
    else:
        finding = language.replayed(path.read_bytes().decode("utf-8", "surrogatepass"))
    print(f"{finding.kind}\n{finding.detail}" if finding else "nothing goes wrong")
    return 1 if finding else 0
