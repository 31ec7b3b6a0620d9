"""The fuzzer of schedules: what it draws, what it would find, how it cuts findings down."""

from __future__ import annotations

from random import Random

import pytest

import texpr as tx
import texpr.tools.fuzz.schedule_trial as trying
from texpr import poly
from texpr.__main__ import main
from texpr.schedule.script.script import Step, parse_script
from texpr.support.errors import Error, ScheduleError
from texpr.tools.fuzz import part, schedules
from texpr.tools.fuzz.cases import Case, drawn_operator, parse_case
from texpr.tools.fuzz.random_operators import operator_text
from texpr.tools.fuzz.schedule_trial import examine
from texpr.tools.fuzz.schedules import tried
from texpr.tools.fuzz.shrink import shrunk_case
from texpr.tools.fuzz.trial import Finding

SUM = "op f(X: f32[N, M]) -> Y: f32[N] { Y[i] = sum(j: X[i, j]) }"
ANTIDIAGONAL = "op f(X: f32[N, M]) -> A: f32[N, M] { A[i, j] = A[i-1, j+1 | 0] + X[i, j] }"


def found(text: str, script: str, *, native: bool = False) -> str:
    case = Case(text, (), tuple(parse_script(script)))
    finding = examine(case, case.chooser(), native=native).finding
    return finding.kind if finding is not None else ""


def test_nothing_is_found_among_some_schedules():
    for number in range(12):
        report = tried(21, number)
        assert report.finding is None, f"{number}\n{report.case}\n{report.finding}"


def test_the_same_seed_gives_the_same_schedules():
    cases = [tried(7, k).case for k in range(3)]
    assert cases == [tried(7, k).case for k in range(3)] != [tried(8, k).case for k in range(3)]


def test_most_operators_mean_something():
    def means(text: str) -> bool:
        try:
            return bool(tx.op(text))
        except Error:
            return False

    assert sum(means(operator_text(Random(k))) for k in range(100)) >= 95
    assert {drawn_operator(Random(k)).sizes == () for k in range(20)} == {True, False}


def test_a_case_is_text():
    case = Case(SUM, (("N", 4),), (Step("split", ("i", 3), (("tail", "peel"),)), Step("parallel", ("io",))))
    assert parse_case(f"# words\nlegal name: a reason\n{case}\n") == case


def wrong(*_: object, **__: object) -> object:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "where, name, instead, script, kind",
    [
        (
            poly,
            "reversed_dependence",
            lambda *_, **__: None,
            'reorder("j", "i")',
            "reorder changes the answer",
        ),
        (
            poly,
            "reversed_dependence",
            wrong,
            'reorder("j", "i")',
            "ZeroDivisionError in reorder, in schedule/legality/rearrange.py:found",
        ),
        (trying, "STEP_SECONDS", -1.0, 'split("i", 2)', "split is slow"),
        (
            trying,
            "certificate",
            lambda *_: None,
            'reorder("j", "i")',
            "a wrong kernel is certified, made by reorder",
        ),
        (
            trying,
            "interpret",
            lambda program, arrays: tuple(a + 1 for a in arrays),
            "",
            "the interpreter of loops disagrees",
        ),
        (
            trying,
            "parse_kernel",
            lambda text: tx.schedule(tx.op(SUM)).kernel,
            "",
            "a listing reads back as something else",
        ),
        (
            trying,
            "unreal",
            lambda _: "it is made up",
            'reorder("j", "i")',
            "reorder is refused without reason: it is made up",
        ),
    ],
)
def test_what_is_broken_is_found(monkeypatch, where, name, instead, script, kind):
    monkeypatch.setattr(trying.Random, "random", lambda _: 0.0)  # everything that is tried now and then
    assert found(ANTIDIAGONAL, script) == ""
    monkeypatch.setattr(where, name, instead)
    assert found(ANTIDIAGONAL, script) == kind


def test_native_code_that_is_wrong_is_found(monkeypatch):
    assert found(SUM, 'parallel("i")', native=True) == ""
    monkeypatch.setattr(trying.Schedule, "compile", lambda self: lambda X: X.sum(1) + 1)
    assert found(SUM, 'parallel("i")', native=True) == "native code disagrees"


def test_a_script_that_replays_otherwise_is_found(monkeypatch):
    monkeypatch.setattr(trying.Random, "random", lambda _: 0.0)
    monkeypatch.setattr(trying.Schedule, "script", lambda self, format: 'split("i", 3)\n')
    assert found(SUM, 'split("i", 2)') == "a script as text replays as something else"


def test_a_witness_that_is_none_is_told():
    with pytest.raises(ScheduleError) as error:
        tx.schedule(tx.op(ANTIDIAGONAL)).reorder("j", "i")
    why = error.value.details
    assert trying.unreal(why) is None  # type: ignore[arg-type]
    conflict = trying.replace(why.conflict, element=(1, 1))  # type: ignore[attr-defined]
    assert (
        trying.unreal(trying.replace(why, conflict=conflict)) == "its instances do not depend on each other"
    )  # type: ignore[type-var]
    assert trying.unreal(trying.replace(why, after=why.kernel)) == "its instances keep their order"  # type: ignore[attr-defined, type-var]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_terms_past_the_end_of_a_sum_change_nothing(dtype):
    """They are +0, before and after they are cast."""
    script = (
        f'legal pad: of a sum\n  op f(X: {dtype}[N]) -> y: {dtype} {{ y = sum(i: X[i]) }}\n  split("i", 2, '
        f'tail="pad")\n'
    )
    case = parse_case(script)
    assert examine(case, case.chooser()).finding is None


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("dtype", ["f32", "f8e4m3", "f8e5m2"])
def test_parts_without_terms_change_nothing(dtype, op):
    """They are the largest numbers where a type has no infinity."""
    text = (
        f"op f(X: {dtype}[N], S: {dtype}[M]) -> Y: {dtype}[M] {{ Y[i] = S[i]  Y[j%2|clamp] {op}= X[j] for j "
        f"in 0..N }}"
    )
    assert found(text, 'split("j", 3)\nrfactor("ji")') == ""


def test_a_case_is_cut_down():
    steps = tuple(parse_script('split("i", 4, tail="peel")\nunroll("ii")\nsplit("j", 7)\nparallel("io")'))
    case = Case(SUM.replace("{ ", "{\n  ").replace(" }", "\n}"), (("N", 5), ("M", 3)), steps)
    small = shrunk_case(
        case,
        lambda c: "sum" in c.text and any(s.name == "split" and s.args[:1] == ("j",) for s in c.steps),
        10,
    )
    assert (small.text.strip(), small.sizes, small.steps) == ("sum", (), (Step("split", ("j", 1)),))


def test_large_numbers_are_cut_down_at_once():
    case = Case(SUM, (("N", 1 << 40),), tuple(parse_script('peel("i", 0, 1099511627776)')))
    small = shrunk_case(case, lambda c: bool(c.steps and c.sizes), 10)
    assert (small.sizes, small.steps) == ((("N", 0),), (Step("peel", ("i", 0, 1)),))


def test_the_command(tmp_path, capsys):
    assert (
        main(
            [
                "fuzz",
                "--only",
                "schedules",
                "--schedules",
                "2",
                "--seed",
                "20",
                "--findings",
                str(tmp_path / "found"),
                "--counts",
                str(tmp_path / "counts"),
            ]
        )
        == 0
    )
    assert "2 schedules, 0 kinds of findings" in capsys.readouterr().out
    assert "programs" in (tmp_path / "counts").read_text()
    (tmp_path / "one.litmus").write_text(f'legal one: of a sum\n  {SUM}\n  split("i", 4)\n')
    assert main(["fuzz", "--replay", str(tmp_path / "one.litmus")]) == 0
    assert "nothing goes wrong" in capsys.readouterr().out


def test_counts_are_those_of_all_parts(tmp_path):
    most = {"texts": 0, "schedules": 1, "defaults": 1, "gradients": 0}
    limits = [word for name, n in most.items() for word in (f"--{name}", str(n))]
    folders = ["--findings", str(tmp_path / "found"), "--counts", str(tmp_path / "counts")]
    assert main(["fuzz", "--seed", "20", *limits, *folders]) == 0
    counts = (tmp_path / "counts").read_text(encoding="utf-8")
    assert "programs" in counts and "default schedules" in counts


def test_findings_are_written(tmp_path, monkeypatch, capsys):
    def child(function: str, *arguments: object, seconds: float):
        if function.endswith(":batch"):
            return [[0, "a kind", f'words\n\nfound in:\n{SUM}\nsplit("i", 4)\nparallel("io")']], {
                "steps": [2, 0]
            }
        return ["a kind", "words"] if "split" in str(arguments[0]) else None

    monkeypatch.setattr(schedules, "SHRINK_SECONDS", 1.0)
    monkeypatch.setattr(part, "_in_child", child)
    assert (
        main(["fuzz", "--only", "schedules", "--schedules", "1", "--seed", "1", "--findings", str(tmp_path)])
        == 1
    )
    case = parse_case(next(tmp_path.glob("*.litmus")).read_text())
    assert [s.name for s in case.steps] == ["split"]
    assert "a kind" in capsys.readouterr().out and Finding("a kind", "words") == schedules.replayed(case)
