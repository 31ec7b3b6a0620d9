"""Operators in processes: threads, Ctrl-C, the disk cache, forks. Most tests are a script in a
process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.compiler.operators import operators

OPS = operators()
ROOT = Path(__file__).parents[2]
HEAD = """
import os, signal, sys, threading, time
import numpy as np
import texpr as tx

def press(after):
    def work():
        time.sleep(after)
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    pressed = []
    threading.Thread(target=work, daemon=True).start()
    return pressed
"""


def run(script: str, **environment: str) -> str:
    """Run a script; what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", HEAD + script],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TEXPR_THREADS": "2", **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# More than 10^9 iterations each: minutes.
ENDLESS = {
    "flat": (
        'tx.op("op f(x: f32; n) -> y: f32 { y = sum(k in 0..n: sin(x + f32(k))) }")',
        "n=20_000_000_000",
        "np.float32(1)",
    ),
    "nested": (
        'tx.op("op f(X: f32[M]) -> y: f32 { y = sum(i, j, k, l: sin(X[i] * X[j] + X[k] * X[l])) }")',
        "",
        "np.ones(1000, 'f4')",
    ),
    "elementwise": (
        'tx.op("op f(X: f32[M]; n) -> Y: f32[M] { Y[i] = sum(k in 0..n: sin(X[i] + f32(k))) }")',
        "n=1_000_000",
        "np.ones(1 << 20, 'f4')",
    ),
    "conditions": (
        'tx.op("op f(X: f32[M]) -> Y: f32[M] { Y[i] = 0 for i in 0..M where i < 1  '
        'Y[i] = sum(j, k, l: sin(X[j] * X[k] + X[l])) for i in 0..M where i >= 1 }")',
        "",
        "np.ones(1000, 'f4')",
    ),
}
SCHEDULES = {
    "naive": "tx.schedule(op, {options}).compile().ready()",
    "auto": "tx.schedule(op, {options}).auto().compile().ready()",
    "called": "op",
}


@pytest.mark.parametrize(
    "name, schedule", [*((n, s) for n in ENDLESS for s in ("naive", "auto")), ("flat", "called")]
)
def test_control_c_ends_a_call_at_once(name, schedule):
    op, options, argument = ENDLESS[name]
    called = f", {options}" if schedule == "called" and options else ""
    out = run(f"""
op = {op}
kernel = {SCHEDULES[schedule].format(options=options)}
pressed = press(1.0)
try:
    kernel({argument}{called})
    sys.exit("not interrupted")
except KeyboardInterrupt:
    late = time.perf_counter() - pressed[0]
assert late < 10, late
small = tx.op("op g(X: f32[N]) -> Y: f32[N] {{ Y[i] = X[i] + 1 }}")
assert small(np.ones(3, "f4")).tolist() == [2, 2, 2]
print("ok")
""")
    assert out == "ok\n"


SUMS = """
import hashlib
x = np.random.default_rng(0).standard_normal((700, 900)).astype("f4")
lib = tx.load("tests/compiler/operators.tx")
for name, arrays, constants in (("matmul", (x, x.T), {}), ("softmax", (x,), {"axis": 1}), ("total", (x,), {}), ("columns", (x,), {}),
                                ("rows", (x,), {}), ("layernorm", (x, x[0], x[1]), {})):
    print(name, hashlib.sha256(getattr(lib, name)(*arrays, **constants).tobytes()).hexdigest())
"""


def test_results_do_not_depend_on_threads():
    results = {run(f"os.chdir({str(ROOT)!r})\n{SUMS}", TEXPR_THREADS=threads) for threads in ("1", "2", "5")}
    assert len(results) == 1


def test_the_option_threads_reaches_kernels():
    x = np.random.default_rng(0).standard_normal((300, 400)).astype(np.float32)
    expected = OPS["matmul"](x, x.T)
    for threads in (1, 2, 5):
        with tx.options(threads=threads):
            np.testing.assert_array_equal(OPS["matmul"](x, x.T), expected)


BUSY = """
op = tx.op("op busy(X: f32[64]; n = 300000) -> Y: f32[64] { Y[i] = sum(k in 0..n: sin(X[i] + f32(k))) }")
kernel = tx.schedule(op).parallel("i").compile()
x = np.ones(64, "f4")
kernel(x[:64])

def ticks():
    return {t: int(open(f"/proc/self/task/{t}/stat").read().rpartition(")")[2].split()[11]) for t in os.listdir("/proc/self/task")}

before = ticks()
for _ in range(4):
    kernel(x)
spent = sorted(n - before.get(t, 0) for t, n in ticks().items())[::-1]
print(sum(n >= 0.2 * spent[0] for n in spent))
"""


def test_parallel_loops_use_the_cores():
    """Counted by the time that each thread spent, so that a busy machine makes no difference."""
    if len(os.sched_getaffinity(0)) < 2 or not os.path.exists("/proc/self/task"):
        pytest.skip("one core, or no way to see threads")
    assert [run(BUSY, TEXPR_THREADS=threads) for threads in "12"] == ["1\n", "2\n"]


CACHED = """
from texpr.compiler import pass_pipeline
made = []
compile_object = pass_pipeline.native_object
pass_pipeline.native_object = lambda *arguments: made.append(1) or compile_object(*arguments)
op = tx.op("op cached(X: f32[N], Z: f32[N]) -> Y: f32[N] { Y[i] = X[i] * 2 + sum(k: Z[k]) }")
for n in (5, 6):
    x = np.ones(n, "f4")
    assert op(x, x).tolist() == [2 + n] * n
print(len(made))
"""


def test_a_second_process_compiles_nothing(tmp_path: Path):
    cache = {"TEXPR_CACHE_DIR": str(tmp_path / "cache")}
    assert run(CACHED, **cache) == "2\n"
    assert run(CACHED, **cache) == "0\n"
    assert (
        run(CACHED.replace("= tx.op(", "= tx.op(  "), **cache) == "0\n"
    )  # the text of the operator counts, not that of the program
    assert run(CACHED.replace("* 2 +", "* 3 - X[i] +"), **cache) == "2\n"


def test_a_damaged_cache_is_made_anew(tmp_path: Path):
    cache = {"TEXPR_CACHE_DIR": str(tmp_path / "cache")}
    run(CACHED, **cache)
    damages = (
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: bytes(255 - b for b in data),
        lambda data: data + b"x",
    )
    for first in (0, 1):
        files = sorted(f for f in (tmp_path / "cache").rglob("*") if f.is_file())
        assert len(files) >= 2
        for k, f in enumerate(files):
            f.write_bytes(damages[(first + k) % len(damages)](f.read_bytes()))
        assert run(CACHED, **cache) == "2\n"


def test_a_cache_that_cannot_be_written(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert run(CACHED, TEXPR_CACHE_DIR="/proc/none") == "2\n"
    assert run(CACHED, TEXPR_CACHE_DIR="") == "2\n"


def test_forks(tmp_path: Path):
    out = run(
        """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
text = "op f(X: f32[M, N]) -> Y: f32[M] {{ Y[i] = {} * sum(k: X[i, k]) }}"
x = np.ones((500, 500), "f4")
before = tx.op(text.format(2))
assert before(x).tolist() == [1000] * 500
for attempt in range(3):
    child = os.fork()
    if child == 0:
        ok = before(x).tolist() == [1000] * 500 and tx.op(text.format(3 + attempt))(x).tolist() == [500 * (3 + attempt)] * 500
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
print("ok")
""",
        TEXPR_CACHE_DIR=str(tmp_path),
    )
    assert out == "ok\n"


def test_forks_while_threads_prove_and_compute(tmp_path: Path):
    out = run(
        """
import itertools, signal, threading, time, warnings
warnings.simplefilter("ignore")
numbers, stop = itertools.count(), threading.Event()
text = "op f(X: f32[M, N], n: i32[M] in 0..N + 1) -> Y: f32[M] {{ Y[i] = {} * sum(k in 0..n[i]: X[i, k]) }}"
x, n = np.ones((40, 30), "f4"), np.full(40, 30, "i4")
traced = tx.jit(lambda x: (x @ x.T).sum(0))
work = {
    "prove": lambda: tx.op(text.format(next(numbers) + 2)).program(),
    "trace": lambda: tx.jit(lambda x: x * 2 + x)(x),
    "run": lambda: [traced(x) for _ in range(50)],
    "wait": lambda: (tx.tensor(x) * 3 + 1).numpy(),
}

def again(step):
    while not stop.is_set():
        step()

for name, step in work.items():
    step()
    stop.clear()
    threads = [threading.Thread(target=again, args=(step,), daemon=True) for _ in range(2)]
    for t in threads:
        t.start()
    for attempt in range(3):
        time.sleep(0.02)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            ok = tx.op(text.format(next(numbers) + 2))(x, n).shape == (40,)
            for each in work.values():
                each()
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0, name
    stop.set()
    for t in threads:
        t.join()
print("ok")
""",
        TEXPR_CACHE_DIR=str(tmp_path),
    )
    assert out == "ok\n"


def test_threads_call_and_compile_at_once():
    errors: list[BaseException] = []
    start = threading.Barrier(8)
    shared = tx.op(
        "op shared(X: f32[M, N]) -> Y: f32[M] { T[i, j] = X[i, j] * 2  Y[i] = sum(j: T[i, j]) + max(j: T[i, "
        "j]) }"
    )

    def work(number: int) -> None:
        try:
            start.wait()
            for n in range(1, 6):
                x = np.full((n, 40), number, np.float32)
                np.testing.assert_array_equal(shared(x), np.full(n, 82 * number))
            own = tx.op(f"op own{number}(X: f32[N]) -> Y: f32[N] {{ Y[i] = X[i] * {number} + sum(k: X[k]) }}")
            np.testing.assert_array_equal(own(np.ones(9, np.float32)), np.full(9, number + 9))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors[0]


def test_intermediates_of_concurrent_calls_are_their_own():
    op = tx.op(
        "op chain(X: f32[M, N]) -> Y: f32[M, N] { T[i, j] = X[i, j] + 1  Y[i, j] = T[i, j] + sum(k: T[k, j]) "
        "}"
    )
    results: dict[int, bool] = {}

    def work(number: int) -> None:
        x = np.full((300, 301), number, np.float32)
        results[number] = all((op(x) == 301 * (number + 1)).all() for _ in range(20))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == dict.fromkeys(range(4), True)


def test_calling_an_operator_imports_no_derivatives():
    code = (
        "import sys, numpy as np, texpr as tx; tx.op('op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] "
        "}')(np.ones(4, 'f4')); "
        "assert not [m for m in sys.modules if m.startswith('texpr.autodiff')]; "
        "from texpr.compiler import grad; assert tx.grad is grad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
