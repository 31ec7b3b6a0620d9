"""Tracebacks end where the user's code is: whole texts, in scripts, pytest and IPython."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from types import TracebackType

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops  # noqa: F401  (MISTAKES use it)
from texpr.support import tracebacks
from texpr.support.tracebacks import REPORT, boundary, hide_frames
from texpr.support.warn import PACKAGE

ROOT = Path(__file__).parents[2]
DIFF = "op diff(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] - X[i] }"
DIFF_ERROR = """\
texpr.support.errors.CheckError: error[bounds]: X is read outside its shape
  --> <op>:1:44
  1 | op diff(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] - X[i] }
    |                                            ^^^^^ axis 0 has size N = 1, index is 1
    at N=1, i=0
  help: guard the read: X[i + 1 | 0]
"""
dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
running = tx.op("op running(X: f64[N]) -> Y: f64[N] { Y[i] = Y[i - 1 | 0] + X[i] }")
picked = tx.op("op picked(X: f32[N], n: i32[M] in 0..N) -> Y: f32[M] { Y[i] = X[n[i]] }")
a = np.ones(3, "f4")
t = tx.tensor(a)
layer = nn.Linear(4, 8)


class Divides(nn.Module):
    def forward(self, x):
        return x.sum() / (0 // len([]))


class Holds(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


class Examples:
    def __len__(self):
        return 4

    def __getitem__(self, k):
        raise KeyError("the user's example")


def trainer():
    return nn.Trainer(
        model := nn.Linear(4, 2), nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.1)
    )


def fails(trainer, epoch, values):
    raise RuntimeError("the user's callback")


MISTAKES = """
tx.op(DIFF)
tx.op("op f(")
tx.op(3)
tx.op(DIFF, nme="diff")
tx.load("/no/such/file.tx")
tx.nope
tx.options(thread=2)
tx.options(threads="x")
tx.schedule(3)
tx.schedule(running).reverse("i")
tx.schedule(running).splt("i", 2)
tx.interpret(dot, a)
tx.grad(dot, wrt="Q")
tx.jvp(3)
tx.check_grad(dot, a)
tx.tune(3)
tx.register_extern("nothing")
tx.jit(3)
tx.jit(lambda x: x + np.ones(7))(a)
tx.jit(lambda x: [][x.ndim])(a)
tx.vmap(lambda x: x, in_axes=3)(a)
tx.vmap(lambda x: x)(a, a)
tx.vmap(lambda x: [][x.ndim])(a)
tx.scan(lambda c: c, t, a)
tx.scan(lambda c, x: (c, 1, 2), t, a)
tx.cond(True, lambda x: x, lambda x: x)
tx.jit(lambda x: tx.cond(x[0] > 0, lambda: x, lambda x: x, x))(t)
tx.while_loop(3, lambda x: x, t)
tx.debug.watch(dot, "C", where=3)(a, a)
tx.debug.watch(dot, "C", to=lambda: None)(a, a)
tx.interpret(dot, a, a, break_at="D")
tx.tensor("abc")
tx.tensor([1.0], dtype="f33")
tx.ones(-1)
tx.rand(2, seed="x")
tx.cat([t, tx.ones(2, 2)])
tx.where(t, "x", 1)
tx.from_dlpack(3)
tx.Tensor(3)
tx.onnx.load(3)
tx.gpu.find_device("cuda:99")
dot(a)
dot(a, np.ones(4, "f4"))
dot(a, a.astype("f8"))
dot(a, t[:2])
dot(a, a, nope=1)
tx.schedule(dot, N=3).compile()(np.ones(4, "f4"), a)
picked(a, np.array([9], "i4"))
picked(t, tx.tensor(np.array([9], "i4"))).numpy()
ops.nope
ops.softmax(a, axs=1)
t + np.ones(4, "f4")
t + "x"
t.sum(axis=3)
t.sum(axi=3)
t.shpae
t[5]
t["a"]
t.item()
t.backward()
t.to("cuda:99")
t.astype("nope")
t.__setitem__(7, 1)
t.__iadd__("x")
len(tx.tensor(1.0))
float(t)
np.concatenate([t, tx.ones(2, 2)])
np.linalg.svd(t)
layer(np.ones((2, 5), "f4"))
layer(tx.ones(2, 5))
layer(a, a)
layer.forward(1)
layer.cuda()
layer.load_state_dict({})
layer.weight @ tx.ones(3)
layer.weight.nope
layer.weight.data = 3
nn.Linear(4)
nn.Linear(4, 8, bais=True)
nn.Lienar
nn.Module()(a)
nn.Sequential(3)
nn.CrossEntropyLoss()(np.ones((2, 4), "f4"), np.array([0, 9]))
nn.optim.Adam([])
nn.Trainer(1, 2, 3)
nn.load("/no/such/file.safetensors")
nn.save(layer, "/no/such/folder/m.safetensors")
list(nn.data.DataLoader(Examples()))
Divides()(np.ones((2, 4), "f4"))
Divides()(tx.ones(2, 4))
Holds()(np.ones((2, 5), "f4"))
Holds()(tx.ones(2, 4), 3)
trainer().fit(np.ones((8, 5), "f4"), np.zeros(8, "i8"))
trainer().fit(np.ones((8, 4), "f4"), np.zeros(8, "i8"), epoch=3)
trainer().fit(np.ones((8, 4), "f4"), np.zeros(8, "i8"), callbacks=[fails], progress=False)
""".strip().split("\n")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_no_frame_of_the_package_is_above_the_message(mistake):
    with pytest.raises(Exception) as caught:
        exec(compile(mistake, "<user>", "exec"), globals())
    assert files(caught.value) and not any(f.startswith(PACKAGE) for f in files(caught.value))
    assert not getattr(caught.value, "__notes__", ())
    with tx.options(traceback="full"), pytest.raises(type(caught.value)) as whole:
        exec(compile(mistake, "<user>", "exec"), globals())
    assert str(whole.value) == str(caught.value)


def files(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def functions(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def test_functions_of_the_user_that_the_package_calls_are_shown():
    with pytest.raises(tx.CallError) as caught:
        Holds()(tx.ones(2, 5))
    assert functions(caught.value)[-1] == "forward"
    with pytest.raises(KeyError) as missing:
        list(nn.data.DataLoader(Examples()))
    assert functions(missing.value)[-1] == "__getitem__"


def test_the_option_shows_all_frames():
    with tx.options(traceback="full"), pytest.raises(tx.CheckError) as caught:
        tx.op(DIFF)
    assert len([f for f in files(caught.value) if f.startswith(PACKAGE)]) > 5


def test_what_nobody_foresaw_keeps_its_frames_and_asks_once(monkeypatch):
    def broken(*arguments):
        return {}["a mistake of texpr"]

    broken.__code__ = broken.__code__.replace(co_filename=f"{PACKAGE}broken.py")
    monkeypatch.setitem(sys.modules["texpr.compiler.op"].__dict__, "_from_text", broken)
    with pytest.raises(KeyError) as caught:
        boundary(boundary(tx.op))(DIFF)
    assert sum(f.startswith(PACKAGE) for f in files(caught.value)) >= 4
    assert caught.value.__notes__ == [REPORT]


def test_an_assertion_of_the_package_is_a_fault():
    code = compile("def broken(): raise AssertionError('ours')", f"{PACKAGE}broken.py", "exec")
    exec(code, space := {})
    with pytest.raises(AssertionError) as caught:
        boundary(space["broken"])()
    assert functions(caught.value)[-2:] == ["called", "broken"] and caught.value.__notes__ == [REPORT]


def test_causes_and_contexts_stay():
    def calls():
        try:
            raise ZeroDivisionError
        except ZeroDivisionError as first:
            try:
                tx.op(3)
            except tx.CallError as second:
                raise ValueError("the user's") from second
            raise AssertionError from first

    with pytest.raises(ValueError) as caught:
        calls()
    cause = caught.value.__cause__
    assert isinstance(cause, tx.CallError) and files(cause) == [__file__]
    assert isinstance(cause.__context__, ZeroDivisionError) and files(cause.__context__) == [__file__]


def test_the_package_keeps_what_an_error_was_raised_from():
    def broken():
        try:
            int("x")
        except ValueError as error:
            raise tx.CallError("no number") from error

    broken.__code__ = broken.__code__.replace(co_filename=f"{PACKAGE}broken.py")
    with pytest.raises(tx.CallError) as caught:
        boundary(broken)()
    assert isinstance(caught.value.__cause__, ValueError) and files(caught.value) == [__file__]


def test_a_debugger_finds_the_line_of_the_user():
    with pytest.raises(tx.CallError) as caught:
        tx.op(3)
    trace = caught.value.__traceback__
    while isinstance(trace, TracebackType) and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None and trace.tb_frame.f_code.co_filename == __file__


def test_a_wrong_value_of_the_variable_is_said_by_the_option():
    found = script(f"import texpr as tx\ntx.op('{DIFF}')", TEXPR_TRACEBACK="none")
    assert "TEXPR_TRACEBACK is 'none', expected `short` or `full`" in found


def test_errors_of_the_user_alone_are_left_as_they_are():
    error = TypeError("meant")
    try:
        raise error
    except TypeError:
        hide_frames(error)
        before = error.__traceback__
        hide_frames(error)
    assert error.__traceback__ is not None and before is not None
    assert not hasattr(error, tracebacks._MARK)  # no frame of the package was there


def script(text: str, name: str = "user.py", command: tuple[str, ...] = (), **variables: str) -> str:
    """What a script writes to stderr, or pytest and IPython to stdout."""
    environment = {k: v for k, v in os.environ.items() if k != "TEXPR_TRACEBACK"}
    environment |= {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "80", **variables}
    Path(name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *command, name], capture_output=True, text=True, env=environment, timeout=100
    )
    return done.stdout + done.stderr


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def shortened(text: str) -> str:
    """Without the folder of the script, and without marks below lines: Python 3.11 to 3.14 underline
    different parts of a line.
    """
    lines = (line for line in text.split("\n") if line.strip(" ^~") or not line.strip())
    return "\n".join(lines).replace(str(Path("user.py").resolve()), "user.py")


def test_a_script():
    found = script(f'import texpr as tx\n\ndef made():\n    return tx.op("{DIFF}")\n\nmade()\n')
    assert [line for line in shortened(found).split("\n") if "^" not in line] == [
        "Traceback (most recent call last):",
        '  File "user.py", line 6, in <module>',
        "    made()",
        '  File "user.py", line 4, in made',
        f'    return tx.op("{DIFF}")',
        *[line for line in DIFF_ERROR.split("\n") if "^" not in line],
    ]
    assert found.endswith(DIFF_ERROR)


NETWORK = """\
import numpy as np
from texpr import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)

net = Net()
trainer = nn.Trainer(net, nn.MSELoss(), nn.optim.SGD(net.parameters(), lr=0.1))
trainer.fit(np.ones((8, 5), "f4"), np.ones((8, 2), "f4"), progress=False)
"""


def test_a_training():
    found = shortened(script(NETWORK))
    assert (
        found
        == """\
Traceback (most recent call last):
  File "user.py", line 14, in <module>
    trainer.fit(np.ones((8, 5), "f4"), np.ones((8, 2), "f4"), progress=False)
  File "user.py", line 10, in forward
    return self.layer(x)
texpr.support.errors.CallError: error[shape]: linear: axis 1 of `weight` has extent 4, expected I = 5
    given: X [8, 5], weight [2, 4], bias [2]
    in the layer Linear(4, 2)
"""
    )


def test_pytest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    found = script(
        f'import texpr as tx\n\ndef test_it():\n    tx.op("{DIFF}")\n',
        "test_user.py",
        ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short", "--no-header"),
    )
    shown = found[found.index("test_user.py:4") : found.index("= short test summary")].rstrip("=\n ")
    said = "\n".join(f"E   {line}" for line in DIFF_ERROR.rstrip("\n").split("\n"))
    assert shown == f'test_user.py:4: in test_it\n    tx.op("{DIFF}")\n{said}'


def test_a_notebook():
    pytest.importorskip("IPython")
    cells = [f'def made():\n    return tx.op("{DIFF}")', "import texpr as tx\nmade()"]
    found = script(
        "from IPython.core.interactiveshell import InteractiveShell\n"
        'shell = InteractiveShell(colors="NoColor")\n'
        f"for cell in {cells!r}:\n    shell.run_cell(cell)\n"
    )
    shown = re.sub(r"File .*:2(?=\n|, in)", "CELL", found)
    assert (
        shown
        == f"""\
---------------------------------------------------------------------------
CheckError                                Traceback (most recent call last)
CELL
      1 import texpr as tx
----> 2 made()

CELL, in made()
      1 def made():
----> 2     return tx.op("{DIFF}")

{DIFF_ERROR.partition(".errors.")[2]}"""
    )
