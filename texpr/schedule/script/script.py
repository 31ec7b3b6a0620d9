"""Steps as data: what a schedule did, as text that can be read, edited and applied again."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from inspect import Parameter

from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.passes.loop.drop_hints import drop_hints
from texpr.schedule.steps.loops.fuse import check_parted
from texpr.schedule.steps.registry import Rule, aliases, rules
from texpr.support.errors import CallError, ScheduleError
from texpr.support.frozen_dataclass import frozen
from texpr.support.suggest import unknown_argument


def _fixed(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


@frozen
class Step:
    """One applied scheduling request.

    Attributes:
        line: where it stands in a script, from 1; 0 if it was a call.
    """

    name: str
    args: tuple[object, ...] = ()
    options: tuple[tuple[str, object], ...] = ()
    line: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", aliases().get(self.name, self.name))
        # A list is a tuple in all forms of a script.
        object.__setattr__(self, "args", tuple(map(_fixed, self.args)))
        older = rules()[self.name].options if self.name in rules() else {}
        object.__setattr__(self, "options", tuple((older.get(k, k), _fixed(v)) for k, v in self.options))

    def __str__(self) -> str:
        given = [_text(a) for a in self.args] + [f"{k}={_text(v)}" for k, v in self.options]
        return f"{self.name}({', '.join(given)})"

    def apply(self, kernel: Kernel) -> Kernel:
        """The kernel after this step.

        Raises:
            ScheduleError: the step does not apply or would change the answer.
        """
        rule = rules()[self.name]
        for value in (*self.args, *(v for _, v in self.options)):
            if isinstance(value, str) and not value.isprintable():
                raise ScheduleError(
                    f"{value[:40]!r} has characters that no terminal shows",
                    code="arguments",
                    help="names are letters, digits and underscores",
                )
        try:
            bound = rule.signature.bind(*self.args, **dict(self.options))
        except TypeError as error:
            raise ScheduleError(
                f"{self} does not fit the step: {error}", code="arguments", help=f"{self.name}{rule.usage}"
            ) from None
        after = drop_hints(rule.function(kernel, *bound.args, **bound.kwargs))
        check_parted(kernel, after, self.name)
        return after


def called(rule: Rule, args: Sequence[object], options: Mapping[str, object]) -> Step:
    """The step of a call, without arguments that are what the step takes anyway.

    Raises:
        CallError: the arguments do not fit.
    """
    options = {rule.options.get(name, name): value for name, value in options.items()}
    known = rule.signature.parameters
    if (
        all(p.kind is not Parameter.VAR_KEYWORD for p in known.values())
        and not options.keys() <= known.keys()
    ):
        raise unknown_argument(rule.name, next(n for n in options if n not in known), frozenset(known))
    try:
        bound = rule.signature.bind(*args, **options)
    except TypeError as error:
        raise CallError(f"{rule.name}: {error}", code="arguments", help=f"{rule.name}{rule.usage}") from None
    given: list[object] = []
    named: dict[str, object] = {}
    for name, value in bound.arguments.items():
        parameter = known[name]
        if parameter.kind is Parameter.VAR_POSITIONAL:
            given += value
        elif parameter.kind is Parameter.VAR_KEYWORD:
            named |= value
        elif type(value) is not type(parameter.default) or value != parameter.default:
            positional = parameter.kind is not Parameter.KEYWORD_ONLY and len(given) == list(known).index(
                name
            )
            given, named = ([*given, value], named) if positional else (given, {**named, name: value})
    return Step(rule.name, tuple(given), tuple(named.items()))


def _text(value: object) -> str:
    text = repr(value.name if isinstance(value, Var) else value)
    return '"' + text[1:-1] + '"' if isinstance(value, str | Var) and '"' not in text else text


def parse_script(text: str) -> list[Step]:
    """The steps of a script: one call per line, literals only. Comments and empty lines are
    skipped.

    Raises:
        ScheduleError: a line is not a step with literal arguments.
    """
    if not isinstance(text, str):
        raise ScheduleError(f"a script is text, not {type(text).__name__}", code="script")
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.strip().startswith("#"):
            continue
        steps.append(_parsed(line.strip(), number))
    return steps


def _parsed(line: str, number: int) -> Step:
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line[:80]) + " ..." * (len(line) > 80)
    wrong = ScheduleError(
        f"line {number} of the script is not a step: {shown}",
        code="script",
        help='write steps as in split("i", 32)',
    )
    try:
        call = ast.parse(line, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise wrong
        args = tuple(ast.literal_eval(a) for a in call.args)
        if any(k.arg is None for k in call.keywords):
            raise wrong
        options = tuple((str(k.arg), ast.literal_eval(k.value)) for k in call.keywords)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise wrong from None
    known_step(call.func.id, f"line {number} of the script")
    return Step(call.func.id, args, options, number)


def known_step(name: str, where: str) -> None:
    """There is a step of that name.

    Raises:
        ScheduleError: there is none.
    """
    if name not in rules() and name not in aliases():
        close = get_close_matches(name, [*rules(), *aliases()], 1)
        raise ScheduleError(
            f"{where}: there is no step `{name[:40]}`",
            code="script",
            help=f"did you mean `{aliases().get(close[0], close[0])}`?"
            if close
            else "steps are the methods of a schedule",
        )
