"""Calls that cannot go well: an error on all ranks that says why, and ranks that stay in step."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import texpr as tx
from tests.distributed.mpi_world import LIMIT, ROOT
from tests.distributed.thread_world import run_ranks
from texpr import distributed as dist
from texpr.distributed import start
from texpr.distributed.header_rounds import ControlMessages


class Unreadable:
    """Can be pickled, and not be made again."""

    def __reduce__(self):
        return int, ("x",)


def caught(call, *arguments):
    """The text of an error, or the value."""
    try:
        return call(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


DATA = "\n  help: give data: arrays, numbers, text, lists and dicts of them; no open files, locks or local functions"


def test_an_object_that_cannot_be_pickled_is_an_error_on_all_ranks():
    def call(comm):
        lock = threading.Lock()
        found = caught(comm.gather_object, lock if comm.rank == 1 else 1), caught(comm.broadcast_object, lock)
        return *found, comm.allreduce(comm.rank, "sum")

    (first, second, total), (own, others, _) = run_ranks(2, call)
    reason = ": TypeError: cannot pickle '_thread.lock' object"
    said = "DistributedError: error[ranks]: gather_object: the object of rank 1 cannot be pickled"
    assert (first, own) == (said + DATA, said + reason + DATA)
    said = "DistributedError: error[ranks]: broadcast_object: the object of rank 0 cannot be pickled"
    assert (second, others, total) == (said + reason + DATA, said + DATA, 1)


def test_an_object_that_cannot_be_made_again():
    said = (
        "DistributedError: error[ranks]: gather_object: the object of rank 0 cannot be unpickled here: "
        "ValueError: invalid literal for int() with base 10: 'x'\n"
        "  help: let all ranks have the same program and the same modules"
    )
    call = lambda comm: (caught(comm.gather_object, Unreadable()), comm.allreduce(1, "sum"))  # noqa: E731
    assert run_ranks(2, call) == [(said, 2)] * 2


def test_calls_of_two_threads_at_once_are_an_error():
    """In what order they come is left to chance, and the sums would be of arrays that do not belong
    together.
    """

    def call(comm):
        found = []
        agree = comm.agree

        def agree_while_another_calls(*arguments):
            other = threading.Thread(target=lambda: found.append(caught(comm.allreduce, 5.0)))
            other.start()
            other.join()
            return agree(*arguments)

        comm.agree = agree_while_another_calls
        total = comm.allreduce(1.0, "sum")
        del comm.agree
        return total, comm.allreduce(2.0, "sum"), found

    for rank, found in enumerate(run_ranks(2, call)):
        said = (
            f"DistributedError: error[ranks]: allreduce: another thread of rank {rank} is in a call of this "
            "communicator\n  help: let one thread make the calls, or give each thread a communicator of its "
            "own: dist.MPICommunicator()"
        )
        assert found == (2, 4, [said])


def test_a_forked_process_is_no_rank():
    def call(comm):
        comm._process += comm.rank  # as if rank 1 had been forked
        return caught(comm.allreduce, 1.0) if comm.rank else None

    assert run_ranks(2, call)[1] == (
        "DistributedError: error[ranks]: allreduce: this process was forked from rank 1, and is no rank "
        "itself\n  help: call the communicator in the process that the launcher has started"
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt, None])
def test_who_has_left_a_call_makes_no_other(error):
    """Else it is one call apart from the others, which wait for its data."""

    def call(comm):
        if comm.rank:
            return None
        if error is not None:
            exchange, comm.exchange_headers = comm.exchange_headers, interrupted
        with pytest.raises(error or dist.DistributedError):
            comm.barrier(timeout=0.1)
        if error is not None:
            comm.exchange_headers = exchange
        return caught(comm.allreduce, 1.0)

    def interrupted(*_):
        raise KeyboardInterrupt

    assert run_ranks(2, call)[0] == (
        "DistributedError: error[ranks]: allreduce: this rank has left the call of barrier before, by an error "
        "or Ctrl-C, and the ranks are no longer in step\n"
        "  help: end the program; `launch --restarts 3` goes on from the last checkpoint"
    )


@pytest.mark.parametrize("timeout", [math.inf, 1e30])
def test_a_timeout_without_end(timeout):
    assert run_ranks(2, lambda comm: comm.allreduce(np.ones(2), "sum").tolist(), timeout) == [[2, 2]] * 2


def test_a_later_timeout(monkeypatch):
    """Else who asks for a minute would wait half an hour, since another module came first."""
    monkeypatch.setattr(start, "_current", None)
    comm = dist.init()
    assert comm.timeout == 1800
    assert dist.init(timeout=60) is comm and comm.timeout == 60
    assert dist.init().timeout == 60
    assert dist.init(dist.Communicator(), timeout=5).timeout == 5
    with pytest.raises(tx.CallError) as error:
        dist.init(timeout=0)
    assert str(error.value) == "error[arguments]: dist.init: timeout is 0, expected seconds above 0"


class Request:
    """Of a message that does not come."""

    error: type[BaseException] | None = None

    def Test(self):
        if self.error is not None:
            raise self.error
        return False


class Control:
    """MPI's part of an exchange in which no rank answers."""

    def __init__(self):
        self.made = []

    def Irecv(self, *_, **__):
        self.made.append(weakref.ref(request := Request()))
        return request

    Isend = Irecv
    Get_rank, Get_size = staticmethod(lambda: 0), staticmethod(lambda: 3)

    def Iprobe(self, **_):
        return False


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_messages_that_come_late_have_their_memory(monkeypatch, error):
    monkeypatch.setattr(Request, "error", error)
    comm = dist.MPICommunicator.__new__(dist.MPICommunicator)
    dist.Communicator.__init__(comm)
    monkeypatch.setattr("texpr.distributed.mpi_communicator._LATE", 0.0)
    control, comm.size, comm._unanswered = Control(), 3, []
    comm._mpi = SimpleNamespace(BYTE=None, ANY_SOURCE=-1, Status=object)
    comm._control = ControlMessages(comm._mpi, control)
    with pytest.raises(error or dist.DistributedError) as raised:
        comm.barrier(timeout=0.01)
    assert error or "barrier: ranks 1 and 2 did not come within 0.01 s" in str(raised.value)
    del raised
    gc.collect()
    assert [request() is not None for request in control.made] == [True] * (2 if error else 4)


def test_values_of_what_is_no_loader():
    with pytest.raises(tx.CallError) as error:
        dist.gather_for_metrics(np.ones(2), loader=3)
    assert str(error.value) == (
        "error[arguments]: gather_for_metrics: loader is of type int, expected a DataLoader"
    )


@pytest.mark.parametrize(
    "values, difference",
    [
        ({"loss": 1.0, "f1": 2.0}, "line 1 is `values['f1']`, that of rank 0 `values['accuracy']`"),
        ({"loss": 1.0}, "line 1 is `values['loss']`, that of rank 0 `values['accuracy']`"),
        (
            {"loss": 1.0, "accuracy": (2.0,)},
            "line 1 is `values['accuracy'][0]`, that of rank 0 `values['accuracy']`",
        ),
        ([], "line 1 is `values is empty`, that of rank 0 `values['accuracy']`"),
    ],
)
def test_values_of_other_names_are_not_gathered(values, difference):
    own = {"loss": 1.0, "accuracy": 2.0}
    for error in run_ranks(2, lambda comm: dist.gather_for_metrics(values if comm.rank else own, comm)):
        assert isinstance(error, dist.DistributedError)
        assert str(error).splitlines()[:2] == [
            "error[ranks]: rank 1 differs from rank 0 in the values of gather_for_metrics",
            f"    rank 1: {difference}",
        ]


def test_values_are_gathered_by_their_names():
    def call(comm):
        names = ["loss", "accuracy"] if comm.rank else ["accuracy", "loss"]
        found = dist.gather_for_metrics({name: len(name) + comm.rank for name in names}, comm)
        return [(name, each.tolist()) for name, each in found.items()]

    first, second = run_ranks(2, call)
    assert first == second[::-1] == [("accuracy", [8, 9]), ("loss", [4, 5])]


def test_texts_to_be_compared():
    with pytest.raises(tx.CallError) as error:
        dist.Communicator().compare("the options", 3)  # type: ignore[arg-type]
    assert str(error.value) == "error[type]: compare: the text is of type int\n  help: give str(...) of it"
    assert run_ranks(2, lambda comm: comm.compare("the options", "\ud800")) == [None, None]


def test_a_call_that_does_not_fit_is_no_failure_of_ours():
    with pytest.raises(TypeError) as error:
        dist.Communicator().allreduce()  # type: ignore[call-arg]
    assert not getattr(error.value, "__notes__", [])
    with pytest.raises(tx.CallError, match="op is array"):
        dist.Communicator().allreduce(1.0, op=np.array(["sum", "max"]))  # type: ignore[arg-type]


STUCK = """
import threading
from texpr import distributed as dist
from texpr.distributed import communication_thread

class Stuck(dist.Communicator):
    def give_up(self, what):
        print("ends in the midst of", what)

communication_thread._AT_EXIT = 0.1
Stuck().thread.call(threading.Event().wait, "a broadcast")
"""


def test_a_process_that_ends_in_the_midst_of_a_call_says_so():
    """MPI would crash at its end."""
    found = subprocess.run(
        [sys.executable, "-c", STUCK],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert found.stdout == "ends in the midst of a broadcast\n" and not found.stderr
