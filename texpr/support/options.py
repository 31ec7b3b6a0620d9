"""Options: for the process, for a with-block, or from `TEXPR_*` variables.

`options(threads=2)` changes the process; `with options(threads=2):` changes the code inside, in
this thread or task only. Inside, `current()` is what holds: the innermost with-block, then the
process, then the environment, then the defaults.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import field, fields
from pathlib import Path
from types import TracebackType
from typing import Literal

from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen, replace
from texpr.support.spelling import nearest
from texpr.support.suggest import did_you_mean
from texpr.support.tracebacks import boundary, follow


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def user_cache_dir(platform: str = sys.platform) -> Path:
    """The cache folder of this user: XDG's on Linux and macOS, the system's where that is not set.

    Kept by hand: these are the rules of platformdirs, which would be a dependency at run time for
    six lines.
    """
    if platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "texpr" / "Cache"
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):  # XDG: a relative path is ignored
        return Path(named) / "texpr"
    return Path.home() / ("Library/Caches" if platform == "darwin" else ".cache") / "texpr"


@frozen
class Options:
    """The options, with their values.

    Attributes:
        threads: how many threads a parallel loop uses; as many as this process has cores by
            default. There is one pool, so a with-block changes it for the whole process while it
            lasts. Where a plan needs many kernels, as many processes compile them, at most eight.
        cache_dir: where compiled kernels and tuning results are kept; None keeps nothing.
        verify: check every program and kernel between all passes.
        certify: whether the final loops of every kernel are proven to compute its operator. True: a
            default schedule that is not certified is left for a plainer one (`tx.fallbacks`); any
            other kernel that is not is refused with `CertificateError`. "warn": such kernels are
            compiled, with a `CertificateWarning`. False: nothing is certified.
        print: passes after which to print, such as `after:lower` or `after:*`.
        text_limit: characters of operator text that are accepted at once.
        tuned: operators use the schedules that `tx.tune` chose for them.
        specializations: shapes of an operator that get a kernel of constant sizes at once. Others
            are served by one of symbolic sizes until their calls have taken as long as compiling
            takes, if that adds floats in the same order.
        opt: level of passes over captured programs. 0: none. 1: those that remove needless equations.
            2: all but fusion. 3: all.
        disable: passes over captured programs that are left out, such as `fuse`
            (`texpr.graph.PASSES`).
        device: where tensors, parameters and what is computed of them lie, unless they say so
            themselves: "cpu", or the name of a GPU.
        tf32: default schedules for GPUs may round the factors of sums of f32 to 10 bits of
            fraction, where tensor cores add them then.
        fma: default schedules may round every `a * b + c` once (`allow_fma`), and not those of sums
            alone. It holds for kernels that are made from then on: an operator keeps those of its
            earlier calls.
        guard: guard pages for arrays and buffers of kernels on a CPU that are made meanwhile. "end" or
            True: they end directly in front of a page that cannot be touched. "begin": they begin
            directly behind one. "" or False: none. An access outside ends the process.
        reassociate: captured programs may be rewritten by laws of real numbers that do not hold for
            floats bit for bit.
        perf_map: code that is loaded meanwhile is named in the file `perf-PID.map` that `perf report` reads,
            a line a function.
        traceback: "short": errors that texpr raises on purpose end at the line of the user's program that
            led to them. "full": frames of the package are shown too.
    """

    threads: int = field(default_factory=_cores)
    cache_dir: Path | None = field(default_factory=user_cache_dir)
    verify: bool = False
    certify: bool | Literal["warn"] = True
    print: tuple[str, ...] = ()
    tuned: bool = True
    text_limit: int = 1_000_000
    specializations: int = 8
    opt: int = 3
    disable: tuple[str, ...] = ()
    reassociate: bool = False
    tf32: bool = False
    fma: bool = False
    device: str = "cpu"
    guard: str = ""
    perf_map: bool = False
    traceback: Literal["short", "full"] = "short"


NAMES = tuple(f.name for f in fields(Options))


def _positive(value: object) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError("an integer above 0")
    number = value.__index__()  # type: ignore[attr-defined]
    if number < 1:
        raise ValueError("an integer above 0")
    return number


def _directory(value: object) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise ValueError("a path or None")
    path = Path(os.fspath(value)).expanduser()  # type: ignore[arg-type]
    if "\0" in str(path):
        raise ValueError("a directory")
    try:  # `Path.exists` hides from Python 3.14 on that a name is too long
        is_directory = stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return path  # made when it is needed
    except OSError as error:  # a name that is too long, a directory that may not be entered
        raise ValueError(f"a directory ({error.strerror})") from None
    if not is_directory:
        raise ValueError("a directory")
    return path


def _level(value: object) -> int:
    if isinstance(value, bool) or value not in range(4):
        raise ValueError("0, 1, 2 or 3")
    return int(value)  # type: ignore[call-overload]


def _names(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise ValueError("names such as `fuse` or `cse,fuse`")
    return tuple(part.strip() for part in parts if part.strip())


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("True or False")
    return value


def _certification(value: object) -> bool | str:
    if value is None:  # the default was None once
        return True
    if not isinstance(value, bool) and value != "warn":
        raise ValueError('True, False or "warn"')
    return value  # type: ignore[return-value]


def _selection(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise ValueError("a text such as `after:lower` or `after:*`")
    chosen = tuple(part.strip() for part in parts if part.strip())
    if not all(part.startswith("after:") and len(part) > len("after:") for part in chosen):
        raise ValueError("a text such as `after:lower` or `after:*`")
    return chosen


def _device(value: object) -> str:
    if not isinstance(value, str) or re.fullmatch(r"[a-z]+(:\d+)?", value) is None:
        raise ValueError("the name of a device, such as `cpu`")
    return value


def _guard(value: object) -> str:
    found = ("end" if value else "") if isinstance(value, bool) else value
    if found not in ("", "end", "begin"):
        raise ValueError("True, False, `end` or `begin`")
    return str(found)


def _traceback(value: object) -> str:
    if value not in ("short", "full"):
        raise ValueError("`short` or `full`")
    return str(value)


_CHECKS: dict[str, Callable[[object], object]] = {
    "threads": _positive,
    "cache_dir": _directory,
    "verify": _switch,
    "tuned": _switch,
    "certify": _certification,
    "print": _selection,
    "text_limit": _positive,
    "specializations": _positive,
    "opt": _level,
    "disable": _names,
    "reassociate": _switch,
    "tf32": _switch,
    "fma": _switch,
    "device": _device,
    "guard": _guard,
    "perf_map": _switch,
    "traceback": _traceback,
}


def _checked(name: str, value: object, written: str) -> object:
    if name not in _CHECKS:
        raise CallError(f"no option `{name}`", code="option", help=did_you_mean(name, NAMES))
    try:
        return _CHECKS[name](value)
    except ValueError as expected:
        raise CallError(f"{written} is {value!r}, expected {expected}", code="option") from None


def _from_text(name: str, text: str) -> object:
    """The value an environment variable spells."""
    match name:
        case "threads" | "text_limit" | "specializations" | "opt":
            return int(text) if text.strip().isascii() and text.strip().isdigit() else text
        case "verify" | "certify" | "tuned" | "reassociate" | "tf32" | "fma" | "perf_map":
            return {
                "1": True,
                "true": True,
                "yes": True,
                "0": False,
                "false": False,
                "no": False,
                "": False,
            }.get(text.lower(), text)
        case "guard":
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}.get(
                text.lower(), text
            )
        case "cache_dir":
            return text or None
    return text


def from_environment(environment: Mapping[str, str]) -> Options:
    """The defaults, changed by `TEXPR_THREADS`, `TEXPR_CACHE_DIR` and so on."""
    written = {name: variable(name) for name in NAMES}
    changes = {
        name: _checked(name, _from_text(name, environment[spelled]), spelled)
        for name, spelled in written.items()
        if spelled in environment
    }
    return replace(Options(), **changes)  # type: ignore[arg-type]


_process: Options | None = None
_in_code: frozenset[str] = frozenset()
"""Options of the process that `options(...)` has changed."""
_local: ContextVar[Mapping[str, object] | None] = ContextVar("texpr_options", default=None)


def _of_process() -> Options:
    global _process
    if _process is None:
        _process = from_environment(os.environ)
    return _process


def current() -> Options:
    """The options that hold here."""
    local = _local.get()
    return replace(_of_process(), **local) if local else _of_process()  # type: ignore[arg-type]


follow(lambda: current().traceback)


def origin(name: str) -> str:
    """Origin of an option's value: `with options(...)`, `options(...)`, the name of the variable
    that gives it, or `default`.
    """
    if name in (_local.get() or {}):
        return "with options(...)"
    if name in _in_code:
        return "options(...)"
    return variable(name) if variable(name) in os.environ else "default"


def variable(name: str) -> str:
    """The environment variable of an option."""
    return f"TEXPR_{name.upper()}"


def refusals(environment: Mapping[str, str]) -> Mapping[str, CallError]:
    """Error of each `TEXPR_*` variable whose value its option refuses, or that is a mistyped
    option. Other programs have variables of that prefix, which are not looked at.
    """
    known = {variable(name): name for name in NAMES}
    found = {}
    for written in sorted(each for each in environment if each.startswith("TEXPR_")):
        meant = nearest(written.removeprefix("TEXPR_").lower(), NAMES)
        if written in known:
            try:
                _checked(known[written], _from_text(known[written], environment[written]), written)
            except CallError as error:
                found[written] = error
        elif meant is not None:
            found[written] = CallError(
                f"{written} is no option", code="option", help=f"did you mean {variable(meant)}?"
            )
    return found


COMPILED_WITH = ("cache_dir", "verify", "certify", "print", "guard")
"""Options that compilation depends on."""


def of_blocks() -> Mapping[str, object]:
    """Options of the with-blocks around that compilation depends on: they are kept for work that is
    asked for here and compiled when it is needed.
    """
    return {name: value for name, value in (_local.get() or {}).items() if name in COMPILED_WITH}


@contextmanager
def remembered(chosen: Mapping[str, object]) -> Iterator[None]:
    """A with-block of options that held elsewhere (`of_blocks`)."""
    token = _local.set({**(_local.get() or {}), **chosen})
    try:
        yield
    finally:
        _local.reset(token)


_watchers: list[Callable[[Options], None]] = []


def watch(watcher: Callable[[Options], None]) -> None:
    """Have `watcher` called with the options that hold after every change, also when a
    with-block begins or ends.
    """
    _watchers.append(watcher)


def _changed() -> None:
    for watcher in _watchers:
        watcher(current())


class Scope:
    """Result of `options(...)`: the change is made; entering it as a context makes it one
    for the block instead.
    """

    def __init__(self, changes: Mapping[str, object]) -> None:
        global _process, _in_code
        self._changes, self._before, self._in_code_before = changes, _of_process(), _in_code
        self._token: Token[Mapping[str, object] | None] | None = None
        if changes:
            _process = replace(self._before, **changes)  # type: ignore[arg-type]
            _in_code = _in_code | changes.keys()
            _changed()

    def __enter__(self) -> Options:
        global _process, _in_code
        assert self._token is None, "these options are entered already"
        _process, _in_code = self._before, self._in_code_before
        self._token = _local.set({**(_local.get() or {}), **self._changes})
        _changed()
        return current()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._token is not None
        _local.reset(self._token)
        self._token = None
        _changed()

    def __repr__(self) -> str:
        return repr(current())


@boundary
def options(**changes: object) -> Scope:
    """Change options for the process, or, with `with`, for a block.

    Raises:
        CallError: an unknown name, or a value that does not fit.
    Example:
        >>> with tx.options(threads=1):
        ...     y = tx.ones(3) + 1
        ...     total = y.sum().item()
        >>> total
        6.0
    """
    return Scope({name: _checked(name, value, name) for name, value in changes.items()})
