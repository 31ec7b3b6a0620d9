"""Functions in another process, for work that may abort, hang or exit: LLVM does all three where it
should raise.

`run_in_child("package.module:function", *arguments)` gives the function's result. Arguments and
results are JSON values and bytes; nothing is pickled. A worker process serves one request at a time
and is kept for the next one; it ends with its parent, however that ends, and when nothing was asked
for a minute. `python -m texpr.runtime.process.worker` is the worker.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from select import select
from struct import Struct
from time import monotonic
from typing import IO, Any

from texpr.support import errors
from texpr.support.errors import CompileError, Error

_LENGTH = Struct("<Q")
_MAX_IDLE = max(2, os.cpu_count() or 1)
IDLE_SECONDS = 60.0
"""After which a worker without requests ends. Its parent asks it no more a little earlier."""
_EARLIER = 0.8
_idle: list[_Worker] = []
_lock = threading.Lock()


def run_in_child(function: str, *arguments: object, timeout: float = 60.0) -> Any:
    """Call a function in a worker process.

    Args:
        function: `module:name`, importable there.
        arguments: JSON values or bytes, also nested. So is the result.
        timeout: in seconds; the worker is killed after it.
    Raises:
        CompileError: the process died or took too long; the message has its last words.
        Error: raised by the function, as it was.
        AssertionError: any other exception of the function.
    """
    worker = _acquire()
    try:
        kind, value = worker.ask([function, list(arguments)], timeout)
    except BaseException:  # Ctrl-C too: nobody knows what the worker is doing
        worker.kill()
        raise
    _release(worker)
    if kind == "error":
        raise _rebuild_error(value)
    if kind == "bug":
        raise AssertionError(f"{function} failed in a child process:\n{value}")
    return value


class _Worker:
    """A process that waits for requests, and the file of what it says on the side."""

    def __init__(self) -> None:
        if not sys.executable:
            raise CompileError("there is no Python executable to start a child process with")
        self.idle_since = 0.0
        self.stderr = tempfile.TemporaryFile()
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
            bufsize=0,
            start_new_session=True,
        )

    def ask(self, request: object, timeout: float) -> tuple[str, Any]:
        """Send a request and wait for the answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stderr.seek(0)  # the worker writes through the same file position
        self.stderr.truncate()
        deadline = monotonic() + timeout
        try:
            _send(self.process.stdin, request)
        except BrokenPipeError:
            raise self._exit_error() from None
        received = b""
        while not _is_complete(received):
            remaining = deadline - monotonic()
            if remaining <= 0 or not select([self.process.stdout], [], [], remaining)[0]:
                raise CompileError(f"the child process was stopped after {timeout:g} s")
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                raise self._exit_error()
            received += piece
        return tuple(_decode(received[_LENGTH.size :]))

    def _exit_error(self) -> CompileError:
        """The error for a process that ended by itself."""
        status = self.process.wait()
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
        self.stderr.seek(0)
        lines = [
            line.strip()
            for line in self.stderr.read()[-100_000:].decode("utf-8", "replace").splitlines()
            if line.strip()
        ]
        reported = [line for line in lines if "error" in line.lower()] or lines[-1:]
        return CompileError(f"the child process {how}" + (f": {reported[0]}" if reported else ""), notes=[])

    def kill(self) -> None:
        """End the process now."""
        self.process.kill()
        self.process.wait()
        self.release()

    def release(self) -> None:
        """Close this end of the pipes; the worker ends when nobody holds them any more."""
        for file in (self.process.stdin, self.process.stdout, self.stderr):
            if file is not None:
                file.close()


def _acquire() -> _Worker:
    with _lock:
        while _idle:
            worker = _idle.pop()
            if worker.process.poll() is None and monotonic() - worker.idle_since < _EARLIER * IDLE_SECONDS:
                return worker
            worker.kill()
    return _Worker()


def waiting() -> int:
    """The number of workers that wait for a request."""
    with _lock:
        return sum(monotonic() - each.idle_since < _EARLIER * IDLE_SECONDS for each in _idle)


def _release(worker: _Worker) -> None:
    worker.idle_since = monotonic()
    with _lock:
        if len(_idle) < _MAX_IDLE:
            _idle.append(worker)
            return
    worker.kill()


@atexit.register
def stop_children() -> None:
    """End the workers that wait for requests."""
    with _lock:
        workers, _idle[:] = _idle[:], []
    for worker in workers:
        worker.kill()


def _disown() -> None:
    """After a fork: the workers are the parent's."""
    global _lock
    _lock = threading.Lock()
    for worker in _idle:
        worker.release()
        worker.process.returncode = 0  # so that Popen does not wait for a process that is not our child
    _idle.clear()


os.register_at_fork(after_in_child=_disown)


def _rebuild_error(value: dict[str, Any]) -> Error:
    """The user's error that the function raised."""
    kind = getattr(errors, value.pop("kind"), CompileError)
    return kind(value.pop("message"), **value)


def _encode(value: object) -> bytes:
    def text_of(data: object) -> object:
        if isinstance(data, bytes):
            return {"base64": base64.b64encode(data).decode()}
        raise TypeError(f"cannot send a {type(data).__name__} to another process")

    return json.dumps(value, default=text_of).encode()


def _decode(content: bytes) -> Any:
    return json.loads(
        content,
        object_hook=lambda found: base64.b64decode(found["base64"]) if found.keys() == {"base64"} else found,
    )


def _send(file: IO[bytes], value: object) -> None:
    content = _encode(value)
    rest = memoryview(_LENGTH.pack(len(content)) + content)
    while rest:
        rest = rest[file.write(rest) :]


def _is_complete(received: bytes) -> bool:
    return len(received) >= _LENGTH.size and len(received) >= _LENGTH.size + _LENGTH.unpack_from(received)[0]


# The worker's side.


def _answer(function: str, arguments: list) -> tuple[str, object]:
    try:
        module, _, name = function.partition(":")
        called: Callable[..., object] = getattr(import_module(module), name)
        return "value", called(*arguments)
    except Error as error:
        fields = {"kind": type(error).__name__, "message": error.message, "code": error.code}
        return "error", {**fields, "notes": error.notes, "help": error.help}
    except Exception:
        return "bug", traceback.format_exc()


def _listen(requests: SimpleQueue) -> None:
    """Queue requests; end the process when the parent is gone, whatever else goes on here."""
    while header := sys.stdin.buffer.read(_LENGTH.size):
        requests.put(sys.stdin.buffer.read(_LENGTH.unpack(header)[0]))
    os._exit(0)


def _serve() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # prints of the function must not mix with answers
    requests: SimpleQueue = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    with suppress(Empty):
        while True:
            _send(answers, _answer(*_decode(requests.get(timeout=IDLE_SECONDS))))
    os._exit(0)


if __name__ == "__main__":
    _serve()
