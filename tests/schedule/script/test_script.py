"""Scripts as text and as JSON: what is no script, and the whole of what is said of it."""

from __future__ import annotations

import pytest

import texpr as tx
from tests.schedule.steps.cases import EIGHT, OPS, refusals

SCRIPTS = [
    'split("i")',
    'split("i", 2, 3, 4)',
    'split("i", 2, width=3)',
    'split("i", 2, factor=3)',
    "__import__('os').abort()",
    "split(__import__('os').abort(), 3)",
    "split(*[1, 2])",
    "split(**{'loop': 'i'})",
    'splt("i", 2)',
    'tile("i", 2)',
    'split("i", 2); parallel("io")',
    "x = 1",
    "s.split('i', 2)",
    "split",
    "split(",
    "split('i', 2",
    "split('i', i)",
    "split(lambda: 1, 2)",
    "split(f'{1}', 2)",
    "split('i', [x for x in 'ab'])",
    "split({}, 2)",
    "split({[]: 1}, 2)",
    "split('i', 2 + 2j)",
    "contract(3)",
    "'split'('i', 2)",
    "split('i', 1_0) if 1 else 2",
    "\x00",
    "split('i', \x00)",
    "split(" * 60,
    "apply(1)",
    "__class__(1)",
]


JSON = [
    "{",
    "[]",
    "{}",
    '{"version": 1}',
    '{"version": 2, "steps": []}',
    '{"version": true, "steps": []}',
    '{"version": 1, "steps": {}}',
    '{"version": 1, "steps": [], "more": 1}',
    '{"version": 1, "steps": [3]}',
    '{"version": 1, "steps": [{"step": "splt", "args": []}]}',
    '{"version": 1, "steps": [{"step": "split", "args": "i"}]}',
    '{"version": 1, "steps": [{"step": "split", "args": [{}]}]}',
    '{"version": 1, "steps": [{"step": "split", "args": [[[[[[1]]]]]]}]}',
    '{"version": 1, "version": 1, "steps": []}',
    '{"version": 1, "steps": [{"step": "split", "args": ["i", NaN]}]}',
    '{"version": 1, "steps": [{"step": "split", "args": ["i"]}]}',
    '{"version": 1, "steps": [{"step": "split", "args": ["i", 4], "options": {"tail": "cut"}}]}',
    "[" * 100_000,
    '{"version": 1, "steps": [{"step": "__import__", "args": ["os"]}]}',
    '{"version": 1' + "0" * 5000 + ', "steps": []}',
]


def test_json(golden):
    golden("\n".join(complaint_of_script(text)[:1000] + "\n" * (len(text) > 200) for text in JSON))


def test_there_are_two_formats():
    with pytest.raises(tx.ScheduleError, match="there is no format 'yaml'"):
        tx.schedule(OPS["matmul"]).script("yaml")


def test_scripts(golden):
    golden("\n".join(complaint_of_script(text) for text in SCRIPTS))


def complaint_of_script(text: str) -> str:
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(OPS["matmul"], **EIGHT).replay(text)
    return f"# {text[:200]!r}\n{error.value}\n"


@pytest.mark.parametrize(
    "text",
    [
        "split(" * 100_000,
        "split('i', " + "-" * 100_000 + "2)",
        "split('i', 1" + "0" * 5000 + ")",
        "split('i', " + "(" * 5000 + "2" + ")" * 5000 + ")",
    ],
)
def test_monstrous_scripts(text):
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(OPS["matmul"], **EIGHT).replay(text)
    assert len(str(error.value)) < 300


def test_comments_and_empty_lines_are_no_steps():
    s = tx.schedule(OPS["matmul"], **EIGHT)
    s.replay('# tiles\n\n  split("i", 4)\r\n\tparallel("io")  # on threads\n')
    assert s.script() == 'split("i", 4)\nparallel("io")\n'


def test_steps_before_a_refused_line_stay():
    s = tx.schedule(OPS["matmul"], **EIGHT)
    with pytest.raises(tx.ScheduleError):
        s.replay('split("i", 4)\nparallel("k")\nsplit("j", 4)\n')
    assert s.script() == 'split("i", 4)\n'


def test_whole_schedules(golden):
    golden(refusals([("matmul", EIGHT, "s.replay(3)"), ("matmul", EIGHT, "s.auto().auto()")]))
