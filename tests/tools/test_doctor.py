"""`python -m texpr doctor`: each check where it holds and where it fails, with the whole text."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import texpr as tx
from texpr.__main__ import main
from texpr.support import options as options_module
from texpr.support.options import origin, refusals
from texpr.tools import doctor as module
from texpr.tools.doctor import cache_directory, kernel_check, machine_facts, packages, settings
from texpr.tools.doctor.finding import Finding
from texpr.tools.doctor.report import as_text
from texpr.tools.doctor.requirement import parse

REQUIRES = [
    "numpy>=2.0",
    "lark!=1.3.0,<2,>=1.2",
    'pygments>=2.19; extra == "view"',
    'cuda-bindings<13,>=12.6; extra == "cuda12"',
    'cuda-bindings<14,>=13.0; extra == "cuda13"',
    'texpr[view]; extra == "all"',
]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The versions of packages, to be changed; the metadata of texpr are `REQUIRES`."""
    versions = {"numpy": "2.4.6", "lark": "1.3.1", "pygments": "2.21.0"}
    own = SimpleNamespace(version=tx.__version__, metadata={"Requires-Python": ">=3.11"})

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "requires", lambda name: REQUIRES)
    monkeypatch.setattr(metadata, "distribution", lambda name: own)
    monkeypatch.setattr("platform.python_version", lambda: "3.12.1")
    monkeypatch.setattr(packages, "FREE_THREADED", False)
    return versions


def required() -> str:
    return as_text(list(packages.required()))


def test_required_packages(installed):
    assert required() == (
        "packages\n"
        "  ok  python  3.12.1 (>=3.11)\n"
        f"  ok  texpr   {tx.__version__}\n"
        "  ok  numpy   2.4.6 (>=2.0)\n"
        "  ok  lark    1.3.1 (>=1.2, <2, !=1.3.0)\n"
        "\n"
        "no problem"
    )


def test_packages_that_are_old_or_missing(installed, monkeypatch):
    installed["numpy"] = "1.26.4"
    del installed["lark"]
    monkeypatch.setattr("platform.python_version", lambda: "3.10.2")
    assert required() == (
        "packages\n"
        "  problem  python  3.10.2 (>=3.11)\n"
        "           help: use a Python >=3.11\n"
        f"  ok       texpr   {tx.__version__}\n"
        "  problem  numpy   1.26.4 (>=2.0)\n"
        '           help: pip install "numpy>=2.0"\n'
        "  problem  lark    not installed (>=1.2, <2, !=1.3.0)\n"
        '           help: pip install "lark>=1.2,<2,!=1.3.0"\n'
        "\n"
        "3 problems"
    )


@pytest.mark.parametrize(
    ("version", "is_on", "expected"),
    [
        (
            "3.13.1",
            False,
            "problem 3.13.1 (>=3.11), free-threaded build, without the GIL: "
            "use Python 3.14, or the usual build of the same version",
        ),
        ("3.14.1", False, "ok 3.14.1 (>=3.11), free-threaded build, without the GIL"),
        ("3.14.1", True, "ok 3.14.1 (>=3.11), free-threaded build, with the GIL"),
    ],
)
def test_a_free_threaded_python(installed, monkeypatch, version, is_on, expected):
    monkeypatch.setattr(platform, "python_version", lambda: version)
    monkeypatch.setattr(packages, "FREE_THREADED", True)
    monkeypatch.setattr(packages, "runs_without_gil", lambda: not is_on)
    found = next(iter(packages.required()))
    assert f"{found.status} {found.value}" + (f": {found.help}" if found.help else "") == expected


def test_metadata_of_another_version(installed, monkeypatch):
    monkeypatch.setattr(tx, "__version__", "0.0.1")
    monkeypatch.setattr(metadata, "distribution", lambda name: SimpleNamespace(version="9.9", metadata={}))
    assert list(packages.required())[1] == Finding(
        "packages",
        "texpr",
        "problem",
        "0.0.1 runs, and the metadata are of 9.9",
        "install texpr again: pip install --force-reinstall",
    )


def test_a_checkout_that_is_not_installed(installed, monkeypatch):
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    monkeypatch.setattr(metadata, "requires", missing)
    assert required() == (
        "packages\n"
        "  ok       python  3.12.1\n"
        f"  problem  texpr   {tx.__version__}, not installed\n"
        "           help: pip install texpr, or in a checkout: pip install --editable .\n"
        "\n"
        "1 problem"
    )
    assert list(packages.optional()) == []


def test_extras(installed):
    installed["cuda-bindings"] = "13.0.1"
    assert as_text(list(packages.optional())) == (
        "extras\n"
        "  ok      view    pygments 2.21.0\n"
        '  absent  cuda12  cuda-bindings 13.0.1 (>=12.6, <13): pip install "texpr[cuda12]"\n'
        "  ok      cuda13  cuda-bindings 13.0.1\n"
        "\n"
        "no problem"
    )


def test_extras_that_are_old_or_missing(installed):
    installed.update({"pygments": "2.1", "cuda-bindings": "12.0"})
    assert as_text(list(packages.optional())) == (
        "extras\n"
        "  problem  view    pygments 2.1 (>=2.19)\n"
        '           help: pip install --upgrade "texpr[view]"\n'
        "  problem  cuda12  cuda-bindings 12.0 (>=12.6, <13)\n"
        '           help: pip install --upgrade "texpr[cuda12]"\n'
        "  problem  cuda13  cuda-bindings 12.0 (>=13.0, <14)\n"
        '           help: pip install --upgrade "texpr[cuda13]"\n'
        "\n"
        "3 problems"
    )
    del installed["pygments"]
    assert next(iter(packages.optional())) == Finding(
        "extras", "view", "absent", "pygments not installed", 'pip install "texpr[view]"'
    )


@pytest.mark.parametrize(
    ("range", "inside", "outside"),
    [
        (">=2.0", ["2", "2.0.0", "2.0rc1", "10.1"], ["1.26.4", "1"]),
        (">1.2", ["1.2.1"], ["1.2", "1.2.0"]),
        ("<2,!=1.3.0", ["1.3.1"], ["2.0", "1.3"]),
        ("<=1.3", ["1.3.0"], ["1.3.1"]),
        ("==1.3.*", ["1.3.9"], ["1.4", "1.33"]),
        ("!=1.3.*", ["1.4"], ["1.3.9"]),
        ("==1.3", ["1.3.0"], ["1.3.1"]),
        ("~=1.3.2", ["1.3.9"], ["1.4", "1.3.1"]),
        ("", ["0"], []),
    ],
)
def test_ranges(range, inside, outside):
    found = parse(f"some-package{range}")
    assert found is not None and found.package == "some-package"
    assert [v for v in inside if not found.allows(v)] == [] == [v for v in outside if found.allows(v)]


def test_lines_of_metadata():
    found = parse("matplotlib (>=3.9) ; extra == 'plot'")
    assert found is not None and (found.package, found.range, found.extra) == ("matplotlib", ">=3.9", "plot")
    assert parse("package @ file:///wheel") is None
    assert parse("texpr[view]; extra == 'all'").package == "texpr"  # type: ignore[union-attr]


def cache(directory: Path | None) -> str:
    with tx.options(cache_dir=directory):
        return as_text(list(cache_directory.cache()))


def test_a_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=300 << 20))
    tmp_path.chmod(0o700)
    assert cache(tmp_path) == (
        "cache\n"
        f"  ok  directory    {tmp_path}\n"
        "  ok  permissions  0700, writable by this user alone\n"
        "      size         0 entries, 0.0 of 1024 MiB\n"
        "  ok  free space   300 MiB\n"
        "\n"
        "no problem"
    )
    assert list(tmp_path.iterdir()) == []


def test_no_cache_and_one_to_be_made(tmp_path):
    assert cache(None) == "cache\n    directory  off (cache_dir is None)\n\nno problem"
    assert cache(tmp_path / "a" / "b") == (
        f"cache\n  ok  directory  {tmp_path}/a/b, made when first needed\n\nno problem"
    )
    assert not (tmp_path / "a").exists()


def test_a_cache_that_others_may_write(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1 << 20))
    tmp_path.chmod(0o777)
    assert cache(tmp_path) == (
        "cache\n"
        f"  ok       directory    {tmp_path}\n"
        f"  problem  permissions  {tmp_path} is writable by others (mode 0777)\n"
        f"           help: chmod go-w {tmp_path}, or name another directory: TEXPR_CACHE_DIR=DIRECTORY\n"
        "           size         0 entries, 0.0 of 1024 MiB\n"
        "  problem  free space   1 MiB, below 64 MiB\n"
        "           help: python -m texpr cache clear, make room, or name another directory: "
        "TEXPR_CACHE_DIR=DIRECTORY\n"
        "\n"
        "2 problems"
    )


def test_a_cache_on_a_disk_that_is_read_only(tmp_path, monkeypatch):
    def refuse(dir: Path) -> None:
        raise OSError(30, "Read-only file system")

    tmp_path.chmod(0o700)
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    way = "or name another directory: TEXPR_CACHE_DIR=DIRECTORY"
    with tx.options(cache_dir=tmp_path):
        found = {f.name: f for f in cache_directory.cache()}
    assert found["permissions"] == Finding(
        "cache",
        "permissions",
        "problem",
        f"{tmp_path}: Read-only file system (mode 0700)",
        f"chmod u+rwx {tmp_path}, {way}",
    )
    with tx.options(cache_dir=tmp_path / "new"):
        assert list(cache_directory.cache()) == [
            Finding(
                "cache",
                "directory",
                "problem",
                f"{tmp_path}/new cannot be made: {tmp_path}: Read-only file system",
                f"make it by hand, writable by you alone, {way}",
            )
        ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_without_the_right_to_write(tmp_path):
    tmp_path.chmod(0o500)
    assert f"{tmp_path} is not writable (mode 0500)" in cache(tmp_path)


def kernels(limit: float = 120) -> list[Finding]:
    with tx.options(threads=2):
        return list(kernel_check.kernels(limit))


def test_kernels():
    one, two = kernels()
    assert (one.name, one.status, two.name, two.status) == ("1 thread", "ok", "2 threads", "ok")
    assert one.value.startswith("product 192x224x160 = NumPy's, interpreter's, ")


REPORT = "report this with the output of python -m texpr doctor --json"


@pytest.mark.parametrize(
    ("program", "problem", "help"),
    [
        (
            "import time; time.sleep(60)",
            "no result after 1 s",
            "where the machine is busy: --timeout SECONDS",
        ),
        ("import os; os.kill(os.getpid(), 4)", "the process ended with SIGILL", REPORT),
        ("raise SystemExit(3)", "the process ended with 3", REPORT),
        ("print('soup')", "the process ended with 0", REPORT),
        ("raise ImportError('no islpy')", "ImportError: no islpy", REPORT),
        ("""print('{"problem": "C[0, 0] is 1", "seconds": 1}')""", "C[0, 0] is 1", REPORT),
    ],
)
def test_kernels_that_fail(program, problem, help, monkeypatch):
    monkeypatch.setattr(kernel_check, "CHILD", program)
    limit = 1 if "sleep" in program else 120
    assert list(kernels(limit)) == [
        Finding("kernels", name, "problem", problem, help) for name in ("1 thread", "2 threads")
    ]


@pytest.mark.parametrize(
    ("ending", "problem", "help"),
    [
        ("import os; os.kill(os.getpid(), 11)", "the process ended with SIGSEGV", REPORT),
        (
            "import time; time.sleep(60)",
            "no result after 1 s",
            "where the machine is busy: --timeout SECONDS",
        ),
    ],
)
def test_what_a_process_left_open_has_another(ending, problem, help, monkeypatch):
    """One thread is right, two are not: the numbers are told apart."""
    program = (
        "import sys\n"
        """if '1' in sys.argv[2:]: print('{"problem": "", "seconds": 0.5}', flush=True)\n"""
        f"else: print('soup'); {ending}\n"
        "if len(sys.argv) > 3: import os; os._exit(1)"
    )
    monkeypatch.setattr(kernel_check, "CHILD", program)
    one, two = kernels(1)
    assert (one.status, one.value) == ("ok", "product 192x224x160 = NumPy's, interpreter's, 0.5 s")
    assert two == Finding("kernels", "2 threads", "problem", problem, help)


def test_answers_before_the_limit_count(monkeypatch):
    program = (
        """import sys; print('{"problem": "", "seconds": 0.5}', flush=True)\n"""
        "if len(sys.argv) > 3: import time; time.sleep(60)"
    )
    monkeypatch.setattr(kernel_check, "CHILD", program)
    assert [each.status for each in kernels(1)] == ["ok", "ok"]


def test_no_process_can_be_started(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert kernels()[0] == Finding(
        "kernels",
        "1 thread",
        "problem",
        "/nowhere/python: No such file or directory",
        "allow this process to start others",
    )


def test_a_wrong_result(monkeypatch, capsys):
    make = tx.op

    def wrong(text: str):
        op = make(text)

        def call(A: np.ndarray, B: np.ndarray) -> np.ndarray:
            C = op(A, B)
            C[1, 2] += 1
            return C

        return call

    right = kernel_check.compare(1)
    A, B = kernel_check._inputs(kernel_check.LARGE)
    wanted = (A @ B)[1, 2]
    text = f"C[1, 2] is {wanted + 1:g}, by NumPy {wanted:g} (1 of 43008 elements differ)"
    monkeypatch.setattr(tx, "op", wrong)
    assert (right, kernel_check.compare(1)) == ("", text)
    kernel_check.report([1])
    told = json.loads(capsys.readouterr().out)
    assert told["problem"] == text and told["seconds"] > 0


def test_more_threads_than_cores(monkeypatch):
    monkeypatch.setattr("texpr.runtime.host.cores", lambda: 2)
    with tx.options(threads=64):
        found = {f.name: f for f in machine_facts.record()}
    assert found["threads"] == Finding(
        "machine", "threads", "problem", "64 threads on 2 cores", "TEXPR_THREADS=2, or tx.options(threads=2)"
    )
    assert list(found) == ["cpu", "cores", "vectors", "caches", "targets", "threads"]


def test_a_device_that_is_not_there():
    with tx.options(device="gpu:7"):
        assert list(machine_facts.devices())[1] == Finding(
            "devices",
            "device",
            "problem",
            "gpu:7: there is no device 'gpu:7'",
            "devices are 'cpu', 'cuda', 'cuda:1', 'emulated'",
        )


@pytest.fixture
def fresh_options():
    """Options of a process that has just begun."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(options_module, "_process", None)
        changed.setattr(options_module, "_in_code", frozenset())
        yield
    options_module._changed()


def test_options_and_their_origins(fresh_options, monkeypatch):
    monkeypatch.setenv("TEXPR_THREADS", "2")
    tx.options(opt=2)
    with tx.options(tuned=False):
        found = {f.name: f.value for f in settings.options()}
    assert tuple(found) == options_module.NAMES
    assert (found["threads"], found["opt"], found["tuned"], found["print"], found["guard"]) == (
        "2 (TEXPR_THREADS)",
        "2 (options(...))",
        "False (with options(...))",
        "none (default)",
        "'' (default)",
    )
    assert [origin(name) for name in ("tuned", "opt")] == ["default", "options(...)"]


def test_a_block_does_not_count_as_a_change_of_the_process(fresh_options):
    with tx.options(fma=True):
        assert origin("fma") == "with options(...)"
    assert origin("fma") == "default"


def test_variables_that_are_wrong():
    refused = refusals(
        {"TEXPR_THREADS": "few", "TEXPR_CACHEDIR": "/", "TEXPR_TUTORIAL_FAST": "1", "TEXPR_OPT": "1"}
    )
    assert {name: str(error) for name, error in refused.items()} == {
        "TEXPR_CACHEDIR": "error[option]: TEXPR_CACHEDIR is no option\n  help: did you mean TEXPR_CACHE_DIR?",
        "TEXPR_THREADS": "error[option]: TEXPR_THREADS is 'few', expected an integer above 0",
    }


def doctor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "texpr", "doctor", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


def test_a_wrong_variable_stops_no_section():
    done = doctor("--json", "--timeout", "60", TEXPR_OPT="9")
    found = json.loads(done.stdout)
    assert (done.returncode, done.stderr, found["ok"]) == (1, "", False)
    problems = {f["name"]: (f["value"], f["help"]) for f in found["findings"] if f["status"] == "problem"}
    message = "TEXPR_OPT is 9, expected 0, 1, 2 or 3"
    assert problems == {
        "check": (message, "see the options below"),
        "TEXPR_OPT": (message, "unset TEXPR_OPT"),
    }
    sections = dict.fromkeys(f["section"] for f in found["findings"])
    assert list(sections) == ["packages", "extras", "cache", "kernels", "machine", "devices", "options"]


def test_no_check_raises(monkeypatch, capsys):
    def broken():
        raise ZeroDivisionError("of nothing")
        yield

    def without():
        yield Finding("machine", "cpu", "fact", "soup")
        raise ModuleNotFoundError("No module named 'islpy'", name="islpy")

    for place, name, check in (
        (packages, "required", broken),
        (packages, "optional", lambda: iter(())),
        (cache_directory, "cache", lambda: iter(())),
        (kernel_check, "kernels", lambda limit: iter(())),
        (machine_facts, "record", without),
        (machine_facts, "devices", lambda: iter(())),
        (settings, "options", lambda: iter(())),
    ):
        monkeypatch.setattr(place, name, check)
    assert (main(["doctor"]), *capsys.readouterr()) == (
        1,
        "packages\n"
        "  problem  check  ZeroDivisionError: of nothing\n"
        "           help: report this as a fault of texpr\n"
        "\n"
        "machine\n"
        "           cpu    soup\n"
        "  problem  check  ModuleNotFoundError: No module named 'islpy'\n"
        "           help: install what `packages` names above\n"
        "\n"
        "2 problems\n",
        "",
    )
    monkeypatch.setattr(packages, "required", lambda: iter(()))
    monkeypatch.setattr(machine_facts, "record", lambda: iter([Finding("machine", "cpu", "fact", "soup")]))
    assert main(["doctor"]) == 0 and capsys.readouterr().out == "machine\n    cpu  soup\n\nno problem\n"
    assert module.LIMIT == 120


def test_the_doctor_needs_no_required_package():
    """It is there for those who lack one."""
    code = (
        "import sys\n"
        "for name in ('numpy', 'llvmlite', 'lark', 'islpy'): sys.modules[name] = None\n"
        "from texpr.__main__ import main\n"
        "sys.exit(main(['doctor', '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    found = json.loads(done.stdout)
    checks = {f["section"]: f for f in found["findings"] if f["name"] == "check"}
    assert done.returncode == 1 and {"cache", "machine", "devices"} >= checks.keys() >= {"machine"}
    assert checks["machine"]["value"] == ("ModuleNotFoundError: import of numpy halted; None in sys.modules")
