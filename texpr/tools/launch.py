"""`python -m texpr launch`: a program on several ranks of this machine."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from texpr.support.extras import needs
from texpr.tools.arguments import Commands, add_command, integer

_GRACE = 10.0
"""Seconds that ranks have to end once the launcher is told to."""


def add_parser(commands: Commands) -> None:
    """Add the command `launch`."""
    parser = add_command(
        commands,
        "launch",
        launch,
        "run a program on several ranks of this machine, by MPI",
        ["texpr launch -n 4 train.py --epochs 3", "texpr launch -n 2 -m package.train"],
    )
    parser.add_argument(
        "-n",
        "--ranks",
        type=integer(1),
        default=0,
        metavar="N",
        help="how many ranks (default: one per core)",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, not a file")
    parser.add_argument(
        "--threads",
        type=integer(1),
        default=0,
        metavar="N",
        help="threads of each rank (default: TEXPR_THREADS, else its share of the cores)",
    )
    parser.add_argument("--no-pin", action="store_true", help="let ranks move between cores")
    parser.add_argument(
        "--restarts",
        type=integer(0),
        default=0,
        metavar="N",
        help="how often to start again after a failure (default: %(default)s)",
    )
    parser.add_argument("--oversubscribe", action="store_true", help="allow more ranks than cores")
    parser.add_argument("--allow-root", action="store_true", help="let root run Open MPI, as in a container")
    parser.add_argument("--mpiexec", metavar="PATH", help="another mpiexec than that of this environment")
    parser.add_argument("--dry-run", action="store_true", help="print the command, and run nothing")
    parser.add_argument("program", help="a Python file, or with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")


def launch(arguments: argparse.Namespace) -> int:
    """Run the program; again where it fails, as often as `--restarts` says.

    Returns:
        the exit status of the last run.
    """
    command, threads, ranks = _command(arguments)
    environment = {**os.environ, "TEXPR_THREADS": str(threads)}
    if arguments.dry_run:
        print(f"TEXPR_THREADS={threads} {shlex.join(command)}")
        return 0
    _check_program(arguments)
    for restart in range(arguments.restarts + 1):
        status, is_told = _run(command, {**environment, "TEXPR_RESTART": str(restart)}, ranks)
        if status == 0 or is_told or restart == arguments.restarts:
            break
        _say(f"the program ended with status {status}; restart {restart + 1} of {arguments.restarts}")
    return status


def _check_program(arguments: argparse.Namespace) -> None:
    """Raise DistributedError for a file that is not there: each rank would say so, at each restart."""
    from texpr.distributed import DistributedError

    if not arguments.module and not os.path.exists(arguments.program):
        raise DistributedError(
            f"there is no file {arguments.program} in {os.getcwd()}",
            code="launch",
            help="give the path of a Python file; a module is `-m package.train`",
        )


def _command(arguments: argparse.Namespace) -> tuple[list[str], int, int]:
    """The command to be run, the threads of each rank, and the number of ranks.

    Raises:
        MissingExtra: mpi4py is not installed.
        DistributedError: MPI is not there, or would refuse.
    """
    from texpr.distributed import mpiexec
    from texpr.runtime import host

    with needs("mpi", "texpr launch"):
        import mpi4py  # noqa: F401
    path, cores = mpiexec.find_mpiexec(arguments.mpiexec), host.cores()
    ranks = arguments.ranks or cores
    given = os.environ.get("TEXPR_THREADS", "")
    threads = arguments.threads or (int(given) if given.isdecimal() and int(given) else 0)
    wanted = mpiexec.Launch(
        ranks,
        [*(["-m"] if arguments.module else []), arguments.program, *arguments.arguments],
        threads or mpiexec.share_of_cores(ranks, cores),
        not arguments.no_pin,
        arguments.oversubscribe,
        arguments.allow_root,
    )
    kind = mpiexec.kind_of(path)
    command = mpiexec.command_of(wanted, path, kind, cores, os.environ, mpiexec.superuser())
    return command, wanted.threads, ranks


def _run(command: Sequence[str], environment: Mapping[str, str], ranks: int) -> tuple[int, bool]:
    """The exit status of a command, and whether this process was told to end."""
    from texpr.tools.rank_watch import RankWatch

    sys.stdout.flush()
    with _Ending() as ending:  # before there is a child: a signal must not leave it alone
        child = subprocess.Popen(command, env=dict(environment))
        ending.hand_on_to(child)
        watch = RankWatch(child, ranks, [sys.executable, "-m"])
        watch.start()
        status = child.wait()
        watch.end()
    if ending.told:
        return 128 + ending.told[0], True
    if watch.stopped:
        many = len(watch.stopped) > 1
        who = f"{'ranks' if many else 'a rank'} ({', '.join(watch.stopped)}) {'are' if many else 'is'}"
        _say(f"{who} stopped by a signal, which ends all")
        return status if status > 0 else 1, False
    return (status if status >= 0 else 128 - status), False


class _Ending:
    """Signals that end this process, handed on to a child, which is killed where it does not end in
    time.

    Attributes:
        told: the signals that came.
    """

    def __init__(self) -> None:
        self.told: list[int] = []
        self._child: subprocess.Popen[bytes] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Ending:
        self._before = {
            **{n: signal.signal(n, self._take) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)},
            signal.SIGALRM: signal.signal(signal.SIGALRM, self._kill),
        }
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def hand_on_to(self, child: subprocess.Popen[bytes]) -> None:
        """Signals are for this child, also those that came before it was there."""
        self._child = child
        if self.told:
            child.terminate()

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.told.append(number)
        signal.setitimer(signal.ITIMER_REAL, _GRACE)
        if self._child is not None:
            self._child.terminate()

    def _kill(self, number: int, frame: FrameType | None) -> None:
        if self._child is not None:
            self._child.kill()


def _say(text: str) -> None:
    print(f"texpr launch: {text}", file=sys.stderr, flush=True)
