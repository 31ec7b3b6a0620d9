"""Objects that native code serves: as other callables, before and after, and while their target
changes.
"""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import texpr as tx
from tests.runtime import kernels
from tests.runtime.native.threads import at_once
from texpr.runtime.call.callable import Callable
from texpr.support.errors import CallError

A, B = np.arange(6, dtype=np.float32), np.ones(6, np.float32)


class Echo(Callable):
    """Gives back what it was called with."""

    def __init__(self):
        self._become(self.echo)

    def echo(self, *arguments, **options):
        return arguments, options


@pytest.mark.parametrize("native", [False, True])
def test_arguments_arrive(native):
    echo = Echo()
    if native:
        echo._become_native(echo.echo)
    assert callable(echo)
    assert echo() == ((), {})
    assert echo(1, "two", k=3) == ((1, "two"), {"k": 3})
    assert echo(*range(20), **{f"k{n}": n for n in range(20)}) == (
        tuple(range(20)),
        {f"k{n}": n for n in range(20)},
    )
    assert echo.__call__(1, k=2) == ((1,), {"k": 2})
    assert list(map(echo, [1])) == [((1,), {})]


@pytest.mark.parametrize("native", [False, True])
def test_errors_arrive(native):
    echo = Echo()

    def fail(*_):
        raise KeyError("reason")

    (echo._become_native if native else echo._become)(fail)
    with pytest.raises(KeyError, match="reason"):
        echo(1)


def test_kernels_are_served():
    echo = Echo()
    echo._become_native(add := kernels.add(), (add,))
    assert (echo(A, B) == A + B).all()
    assert (echo(A, B, out=(out := np.empty(6, np.float32))) is out) and (out == A + B).all()
    assert (echo(A.tolist(), B=B) == A + B).all()
    with pytest.raises(CallError):
        echo(A)


def test_no_python_code_stands_between():
    """The vectorcall protocol reaches classes that Python defines."""
    assert Echo.__flags__ & 1 << 11


def test_references_are_balanced():
    echo, add = Echo(), kernels.add()
    owner = add.__self__
    echo._become_native(add, (add,))
    before = sys.getrefcount(owner)
    for _ in range(1000):
        echo(A, B)
        with pytest.raises(CallError):
            echo(A, None)
    assert abs(sys.getrefcount(owner) - before) < 20


def test_circles_are_freed():
    for target in (None, kernels.add()):
        echo = Echo()
        if target is not None:
            echo._become_native(target, (target,))
        gone = weakref.ref(echo)
        del echo
        gc.collect()
        assert gone() is None


def test_the_target_changes_while_threads_call():
    """Every thread calls with a shape of its own, so that each call puts another kernel in
    place.
    """
    op = tx.op("op scaled(X: f32[N], s: f32) -> Y: f32[N] { Y[i] = X[i] * s + sum(k: X[k]) }")

    def work(n: int) -> None:
        x, s = np.ones(n, np.float32), np.float32(n)
        for _ in range(3000):
            assert op(x, s)[0] == 2 * n

    at_once(work, (1, 2, 40, 300))


def test_threads_call_one_kernel():
    """Short kernels let go of the GIL and share nothing."""
    kernel = tx.schedule(
        tx.op("op f(X: f32[N, N]) -> Y: f32[N] { T[i, j] = X[i, j] + X[j, i]  Y[i] = sum(j: T[i, j]) }"), N=50
    ).compile()
    wrong: list[int] = []

    def work(n: int) -> None:
        x, y = np.full((50, 50), n, np.float32), np.empty(50, np.float32)
        for _ in range(2000):
            kernel(x, y)
            if not (y == 100 * n).all():
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert kernel.native.built.duration == "short" and not wrong
