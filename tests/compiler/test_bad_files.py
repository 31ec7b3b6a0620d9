"""Files and Python functions that operators cannot be made of, and operators as Python objects."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import re
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import texpr as tx

DOUBLE = "op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }\n"


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        tx.load(tmp_path / "missing.tx")
    with pytest.raises(OSError):
        tx.load(tmp_path)
    path = written(tmp_path / "latin.tx", b"# caf\xe9\n" + DOUBLE.encode())
    with pytest.raises(tx.CheckError) as e:
        tx.load(path)
    assert str(e.value) == f"error[file]: {path} is not UTF-8 text (byte 5)"
    with pytest.raises(tx.ResourceError, match="characters; at most"):
        tx.load(written(tmp_path / "large.tx", "#" * 1_100_000))
    with pytest.raises(tx.ParseError, match=re.escape(f"{tmp_path}/wrong.tx:1:4")):
        tx.load(written(tmp_path / "wrong.tx", "op 3"))
    with pytest.raises(tx.ParseError, match="empty program"):
        tx.load(written(tmp_path / "empty.tx", ""))
    if os.geteuid() != 0:
        secret = written(tmp_path / "secret.tx", DOUBLE)
        secret.chmod(0)
        with pytest.raises(PermissionError):
            tx.load(secret)


def test_files_that_use_what_they_cannot(tmp_path):
    said = {}
    alone = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\n"
    (tmp_path / "folder.tx").mkdir()
    written(tmp_path / "latin.tx", b"\xff" + DOUBLE.encode())
    written(tmp_path / "wrong.tx", "op double(")
    written(tmp_path / "large.tx", "#" * 1_100_000)
    os.symlink("/etc/hostname", tmp_path / "link.tx")
    for name in ("folder", "latin", "wrong", "large", "link", "self", "no"):
        path = written(tmp_path / "main" / f"{name}.tx", f'use "../{name}.tx": double\n{alone}')
        if name == "self":
            path = written(tmp_path / "self.tx", f'use "self.tx": double\n{alone}')
        with pytest.raises(tx.Error) as e:
            tx.load(path, root=tmp_path)
        said[name] = str(e.value)
    assert "Is a directory" in said["folder"] and "--> " in said["folder"]
    assert "is not UTF-8 text (byte 0)" in said["latin"] and "found the end of the text" in said["wrong"]
    assert (
        "characters; at most" in said["large"]
        and "is outside of" in said["link"]
        and "No such file" in said["no"]
    )
    assert "use each other in a circle" in said["self"]


def test_a_chain_of_many_files(tmp_path):
    written(tmp_path / "f0.tx", DOUBLE.replace("double", "g0"))
    for k in range(1, 30):
        written(
            tmp_path / f"f{k}.tx",
            f'use "f{k - 1}.tx": g{k - 1}\nop g{k}(X: f32[N]) -> Y: f32[N] {{ Y = g{k - 1}(X) }}\n',
        )
    np.testing.assert_array_equal(tx.load(tmp_path / "f29.tx").g29(np.ones(3, "f4")), np.full(3, 2, "f4"))


def test_a_text_without_an_operator():
    with pytest.raises(tx.CheckError) as e:
        tx.op("fn f(x) = x")
    assert str(e.value) == (
        "error[op]: the text defines no operator\n  help: write: op name(inputs) -> outputs { equations }"
    )
    with pytest.raises(tx.CheckError) as e:
        tx.op(DOUBLE, name="half")
    assert str(e.value) == "error[op]: the text defines no operator `half`\n  help: it defines double"


class Broken(Exception):
    """What a user's function raises by itself."""


def raises() -> None:
    raise Broken("mine")


def test_errors_of_python_come_through():
    with pytest.raises(Broken, match="mine"):

        @tx.op
        def f(X: "f32[N]") -> "Y: f32[N]":  # noqa: F722, F821, UP037
            raises()
            return lambda i: X[i]

    with pytest.raises(Broken, match="mine"):

        @tx.op
        def g(X: "f32[N]") -> "Y: f32[N]":  # noqa: F722, F821, UP037
            return lambda i: raises() or X[i]

    with pytest.raises(RecursionError):

        @tx.op
        def h(X: "f32[N]") -> "Y: f32[N]":  # noqa: F722, F821, UP037
            def deeper(v):
                return deeper(v + 1)

            return lambda i: deeper(X[i])


FORMS = {"no annotation": lambda X: lambda i: X[i], "no result": lambda: None}


@pytest.mark.parametrize("name", FORMS)
def test_functions_that_say_too_little(name):
    with pytest.raises(tx.Error) as e:
        tx.op(FORMS[name])
    assert str(e.value)


def test_a_closure_is_read_once():
    factor = 2
    values = [1.5]

    @tx.op
    def scaled(X: "f32[N]") -> "Y: f32[N]":  # noqa: F722, F821, UP037
        return lambda i: factor * X[i] + values[0]

    factor, values[0] = 3, 9.0
    np.testing.assert_array_equal(scaled(np.ones(2, "f4")), [3.5, 3.5])
    assert "2 * X[i] + 1.5" in str(scaled)


@pytest.mark.parametrize(
    "make",
    [
        copy.copy,
        copy.deepcopy,
        lambda op: pickle.loads(pickle.dumps(op)),
        lambda op: pickle.loads(pickle.dumps(op, protocol=0)),
        lambda op: tx.op(str(op)),
    ],
    ids=range(5),
)
def test_copies_are_equal_operators(make):
    double = tx.op("# Twice.\n" + DOUBLE)
    again = make(double)
    assert (str(again), again.__name__, repr(again)) == (str(double), "double", repr(double))
    np.testing.assert_array_equal(again(np.arange(3, dtype="f4")), [0, 2, 4])
    for derived in (tx.grad(double), tx.vjp(double)[1], tx.jvp(double)):
        assert str(make(derived)).rstrip() == str(derived).rstrip()


def test_operators_are_objects():
    double, other = tx.op(DOUBLE), tx.op(DOUBLE)
    assert double == double and double != other and len({double, other, double}) == 2
    assert {double: 1}[double] == 1
    held = weakref.ref(other)
    other(np.ones(3, "f4"))
    del other
    gc.collect()
    assert held() is None, "nothing else keeps an operator"
    double.remark = "mine"
    assert double.remark == "mine"


def test_threads_make_and_call_operators():
    failed: list[BaseException] = []

    def work(k: int) -> None:
        try:
            for n in range(1, 6):
                own = tx.op(DOUBLE.replace("2 *", f"{k} *"))
                x = np.arange(n, dtype=np.float32)
                np.testing.assert_array_equal(own(x), k * x)
                np.testing.assert_array_equal(shared(x), 2 * x)
                with pytest.raises(tx.CheckError):
                    tx.op(DOUBLE.replace("X[i]", "X[i + 1]"))
        except BaseException as error:
            failed.append(error)

    shared = tx.op(DOUBLE)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
