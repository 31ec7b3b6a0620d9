"""The command that counts certified default schedules."""

from __future__ import annotations

import pytest

from texpr.__main__ import main
from texpr.tools.bench import coverage

TEXT = (
    "op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }\nop largest(X: f32[N]) -> s: f32 require N >= 1 { "
    "s = max(i: X[i]) }\n"
)


def test_a_file_with_gradients(tmp_path, capsys):
    (tmp_path / "some.tx").write_text(TEXT)
    assert main(["bench", "coverage", str(tmp_path / "some.tx"), "--gradients", "1"]) == 0
    assert capsys.readouterr().out == "24 default schedules: 24 certified\n"
    assert main(["bench", "coverage", str(tmp_path / "some.tx"), "--gradients", "0", "--part", "2/2"]) == 0
    assert capsys.readouterr().out == "6 default schedules: 6 certified\n"


def test_random_operators_are_the_same_in_parts():
    def of(part: str) -> list[str]:
        given = coverage.argparse.Namespace(random=6, seed=3, part=part)
        return [f"{program} {sizes}" for program, sizes in coverage._random(given)]

    whole = of("1/1")
    assert len(whole) == 6 and of("1/2") == whole[::2] and of("2/2") == whole[1::2]


@pytest.mark.parametrize("outcome", ["plainer", "uncertified", "refused"])
def test_what_is_not_certified_is_shown_and_fails(outcome: str, capsys, monkeypatch):
    monkeypatch.setattr(coverage, "_outcome", lambda program, sizes: (outcome, "a reason"))
    assert main(["bench", "coverage", "--random", "1", "--seed", "3"]) == 1
    out = capsys.readouterr().out
    assert (
        out.startswith(f"{outcome}: f (")
        and "): a reason\nop f(" in out
        and out.endswith(f"1 default schedules: 1 {outcome}\n")
    )


@pytest.mark.parametrize("part", ["a", "5", "1/0", "3/2", "0/3"])
def test_a_part_that_is_none(part: str, capsys):
    assert main(["bench", "coverage", "--random", "3", "--part", part]) != 0
    assert f"--part {part}: expected a part of all, such as 1/3" in capsys.readouterr().err
