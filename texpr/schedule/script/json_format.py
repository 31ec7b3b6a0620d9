"""Scripts as JSON, for tools: `{"version": 1, "steps": [{"step": "split", "args": ["i", 32],
"options": {"tail": "peel"}}]}`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from texpr.schedule.script.script import Step, known_step
from texpr.support.errors import ScheduleError, json_fault

VERSION = 1
DEEPEST = 4


def to_json(steps: Sequence[Step]) -> str:
    """The steps as a JSON object."""
    listed = [{"step": s.name, "args": list(s.args), "options": dict(s.options)} for s in steps]
    return json.dumps({"version": VERSION, "steps": listed})


def from_json(text: str) -> list[Step]:
    """The steps of a JSON object. Nothing in it is run.

    Raises:
        ScheduleError: no JSON, another version, or something that is not a step.
    """
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"the script is no JSON: {json_fault(error)[:80]}") from None
    if (
        not isinstance(found, dict)
        or set(found) != {"version", "steps"}
        or not isinstance(found["steps"], list)
    ):
        raise _wrong('a JSON script is an object with "version" and "steps"')
    if found["version"] != VERSION or isinstance(found["version"], bool):
        raise _wrong(f"the script has version {found['version']!r:.20}; this texpr reads version {VERSION}")
    return [_step(each, number) for number, each in enumerate(found["steps"], 1)]


def _step(each: object, number: int) -> Step:
    where = f"step {number} of the script"
    if (
        not isinstance(each, dict)
        or not isinstance(each.get("step"), str)
        or not set(each) <= {"step", "args", "options"}
    ):
        raise _wrong(f'{where} is not an object with "step", "args" and "options"')
    args, options = each.get("args", []), each.get("options", {})
    if not isinstance(args, list) or not isinstance(options, dict):
        raise _wrong(f"{where}: args is a list, options an object")
    known_step(each["step"], where)
    return Step(
        each["step"],
        tuple(_value(a, where) for a in args),
        tuple((k, _value(v, where)) for k, v in options.items()),
    )


def _value(value: object, where: str, depth: int = 0) -> object:
    """An argument of a step: text, numbers, true, false, null, and tuples of them."""
    if isinstance(value, list) and depth < DEEPEST:
        return tuple(_value(v, where, depth + 1) for v in value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise _wrong(f"{where} has an argument that is no text, number, true, false, null or list of those")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return dict(pairs)


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is no number")


def _wrong(message: str) -> ScheduleError:
    return ScheduleError(message, code="script", help='s.script(format="json") writes one')
