"""The Python form: a function with types in its annotations is traced once and becomes the text of
an operator.

    @tx.op
    def softmax(X: "f32[N, D]") -> "Y: f32[N, D]":
        m = tx.let("m", lambda i: tx.max(lambda j: X[i, j]))
        e = tx.let("e", lambda i, j: tx.exp(X[i, j] - m[i]))
        return lambda i, j: e[i, j] / tx.sum(lambda k: e[i, k])

Keyword-only parameters are constants after `;`, a default on another parameter makes an optional
input. The function returns a lambda over the indices of its output, a tuple or dict of them for
several outputs, or nothing where `tx.eq` defines them. The text goes through the ordinary parser
and elaborator, so there is one meaning; errors name the Python line beside the line of the text.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from texpr.ir.dtypes import DTYPES
from texpr.lang.python_form.traced import (
    Element,
    Index,
    Scalar,
    Tensor,
    Value,
    checked_name,
    operand,
    refused,
)
from texpr.lang.python_form.vocabulary import Range, applied, indices, starred, tracing
from texpr.lang.syntax import tree
from texpr.lang.syntax.characters import as_source
from texpr.lang.syntax.parser import parse_part
from texpr.support.errors import Error
from texpr.support.frozen_dataclass import frozen
from texpr.support.spelling import counted, suggestion

_WIDTH = 100
_NUMBERS = (float, int, bool, Any, "float", "int", "bool", "Any")
"""Annotations of constants that are for type checkers alone."""


@frozen
class Traced:
    """The text of a traced function: operators it calls, then its own.

    Attributes:
        lines: the Python line of each line of the text that an equation wrote, both counted from 1.
    """

    name: str
    text: str
    file: str
    lines: Mapping[int, int]

    def explain(self, error: Error) -> None:
        """Add to an error in the text which line of Python wrote it."""
        if error.span is None or error.span.source.text != self.text:
            return
        line, _ = error.span.source.position(error.span.start)
        error.notes += (
            f"line {line} of the text that {self.name} wrote: "
            f"{self.file}:{self.lines.get(line, self.lines[0])}",
        )


def trace(function: Callable[..., Any], types: str = "", require: str = "") -> Traced:
    """Run `function` on traced tensors and write down what it says.

    Args:
        types: dtype variables, as between `<` and `>` of a text: "T: float, U".
        require: facts about sizes, as after `require`: "R <= H + 2*P".
    Raises:
        CheckError: something that the Python form cannot say; with the line of Python.
        ParseError: an annotation that is no type.
    """
    code = inspect.unwrap(function).__code__
    try:
        return _Trace(function, types, require).run()
    except Error as error:
        error.notes += (f"in {function.__name__}: {code.co_filename}:{_line(error, code)}",)
        raise


def _line(error: Error, code: Any) -> int:
    """The innermost line of the user's file that led to an error."""
    line, step = code.co_firstlineno, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == code.co_filename:
            line = step.tb_lineno
        step = step.tb_next
    return line


class _Trace:
    """One function being traced: its head, and the statements so far."""

    def __init__(self, function: Callable[..., Any], types: str, require: str) -> None:
        self.function, self.types, self.require = function, types, require
        self.name = checked_name(function.__name__, "the function")
        self.statements: list[tuple[str, int]] = []
        self.callees: dict[str, str] = {}
        self.defined: set[str] = set()
        self.inputs, self.constants = self._parameters()
        self.outputs = {d.name.text: d for d in self._outputs()}

    def run(self) -> Traced:
        arguments = {n: self.tensor(d) for n, d in self.inputs.items()}
        constants = {n: Value(n) for n in self.constants}
        with tracing(self):
            self._results(self.function(*arguments.values(), **constants))
        return self._written()

    def _parameters(self) -> tuple[dict[str, tree.Declaration], dict[str, str]]:
        inputs: dict[str, tree.Declaration] = {}
        constants: dict[str, str] = {}
        for p in inspect.signature(self.function).parameters.values():
            name, given = checked_name(p.name, "the parameter"), p.default is not p.empty
            default = f" = {operand(p.default).text}" if given else ""
            if p.kind is p.KEYWORD_ONLY:
                untyped = p.annotation is p.empty or p.annotation in _NUMBERS
                kind = "" if untyped else f": {_text(name, p.annotation)}"
                constants[name] = f"{name}{kind}{default}"
            elif p.kind is p.POSITIONAL_OR_KEYWORD:
                inputs[name] = self._declaration(f"{name}: {_text(name, p.annotation)}")
                constants[f" {name}"] = default
            else:
                raise refused(
                    f"`{p}` is no parameter of an operator",
                    "inputs are plain parameters, constants come after `*`",
                )
        self.defaults = {n: constants.pop(f" {n}") for n in inputs}
        return inputs, constants

    def _declaration(self, text: str) -> tree.Declaration:
        d: tree.Declaration = parse_part(as_source(text, f"annotation in {self.name}"), "declaration")
        name, variables = d.type.dtype.text, re.findall(r"(\w+)\s*(?::\s*\w+)?", self.types)
        if name not in DTYPES and name not in variables:
            raise refused(
                f"`{name}` in the annotation of `{d.name.text}` is no type",
                suggestion(name, (*DTYPES, *variables))
                or f'types are {", ".join(DTYPES)}; variables: @tx.op(types="{name}")',
            )
        return d

    def _outputs(self) -> list[tree.Declaration]:
        annotation = inspect.signature(self.function).return_annotation
        if annotation is inspect.Signature.empty:
            raise refused(
                "no output is declared", f'annotate the function: def {self.name}(...) -> "Y: f32[N]":'
            )
        texts = _unquoted(annotation)
        listed = texts if isinstance(texts, tuple | list) else (texts,)
        wrong = [text for text in listed if not isinstance(text, str) or ":" not in text]
        if wrong:
            raise refused(
                f"the output annotation is {wrong[0]!r}",
                'name and type as text, "Y: f32[N]", or a tuple of such texts',
            )
        return [self._declaration(part) for text in listed for part in _listed(str(text))]

    def tensor(self, d: tree.Declaration) -> Tensor | Scalar:
        """A declared tensor to compute with."""
        if not d.type.dims:
            return Scalar(d.name.text, self.call)
        sizes = [s for dim in d.type.dims for s in (dim.items if isinstance(dim, tree.Group) else (dim,))]
        packs = any(isinstance(s, tree.PackDim) for s in sizes)
        return Tensor(d.name.text, None if packs else tuple(_size(s) for s in sizes), self.call)

    def output(self, name: str) -> Tensor | Scalar:
        """`tx.output`."""
        if name not in self.outputs:
            raise refused(
                f"there is no output `{name}`",
                suggestion(name, self.outputs) or f"outputs are {', '.join(self.outputs)}",
            )
        return self.tensor(self.outputs[name])

    def let(self, declaration: str, equation: Callable[..., object] | None) -> Tensor | Scalar:
        """`tx.let`."""
        if ":" in declaration:
            d = self._declaration(declaration)
            self._write(f"let {d.span.text}")
            if equation is not None:
                self._define(d.name.text, equation, d.type.dims)
            return self.tensor(d)
        name = checked_name(declaration, "the intermediate")
        if equation is None:
            raise refused(
                f"`{name}` has neither type nor equation",
                f'tx.let("{name}: f32[N]") or tx.let("{name}", lambda i: ...)',
            )
        return (
            Tensor(name, None, self.call) if self._define(name, equation, None) else Scalar(name, self.call)
        )

    def equation(self, equation: Callable[..., object], where: Callable[..., object] | None) -> None:
        """`tx.eq`."""
        found, bound, ranges = indices(equation)
        value = applied(equation, bound)
        left, right = value.sides if isinstance(value, Value) and value.sides is not None else ((), None)
        lefts = [x for x in (left if isinstance(left, tuple) else (left,)) if isinstance(x, Element)]
        if not lefts or isinstance(left, tuple) and len(lefts) != len(left):
            raise refused(
                "tx.eq takes a lambda that gives an equation or update",
                "tx.eq(lambda i: Y[i] == X[i]) or tx.eq(lambda i: Y[p[i]].add(X[i]))",
            )
        self.defined |= {x.text.partition("[")[0] for x in lefts}
        condition = "" if where is None else f" where {operand(applied(where, bound)).text}"
        written = ", ".join(x.text for x in lefts)
        self._write(
            f"{written} {value.update} {operand(right).text}{_for(found, ranges)}{condition}", equation
        )

    def call(self, operator: Any, inputs: Mapping[str, object], constants: Mapping[str, object]) -> object:
        """An operator applied to whole tensors: a statement of its own."""
        names = {n: t.name for n, t in inputs.items() if isinstance(t, Tensor | Scalar)}
        for name in inputs:
            if name not in names:
                raise refused(
                    f"`{name}` of `{operator.__name__}` is no whole tensor",
                    'give it a name: t = tx.let("t", lambda i: ...)',
                )
        known = self.callees.setdefault(operator.__name__, operator.source)
        if known != operator.source:
            raise refused(f"two different operators are called `{operator.__name__}`", "rename one of them")
        results = tuple(self._unused(f"{operator.__name__}_{o.name}") for o in operator.signature.outputs)
        given = [
            *(f"{n}={t}" for n, t in names.items()),
            *(f"{n}={operand(c).text}" for n, c in constants.items()),
        ]
        self._write(f"{', '.join(results)} = {operator.__name__}({', '.join(given)})")
        made: tuple[Tensor, ...] = tuple(Tensor(name, None, self.call) for name in results)
        return made[0] if len(made) == 1 else made

    def _unused(self, name: str) -> str:
        candidate, k = name, 1
        while candidate in self.defined:
            candidate, k = f"{name}_{k}", k + 1
        self.defined.add(candidate)
        return candidate

    def _define(self, name: str, equation: object, dims: tuple[tree.Tree, ...] | None) -> bool:
        """`name[indices] = value`, and whether there are indices. A group of the declared type
        takes one index per factor.
        """
        self.defined.add(name)
        if not inspect.isroutine(equation):
            value = operand(equation) if isinstance(equation, Value | int | float) else None
            if value is None or dims:
                raise refused(
                    f"`{name}` is given the {type(equation).__name__}",
                    "give it as a function of its indices: lambda i: ...",
                )
            self._write(f"{name} = {value.text}")
            return False
        packs = [
            isinstance(s, tree.PackDim)
            for d in dims or ()
            for s in (d.items if isinstance(d, tree.Group) else (d,))
        ]
        found, bound, ranges = indices(equation, packs)
        if dims is not None and len(found) != len(packs):
            raise refused(
                f"`{name}` has {counted(len(packs), 'dimension')}, the lambda takes "
                f"{counted(len(found), 'index', 'indices')}",
                f"one index per dimension: lambda {', '.join('ijklmnpq'[: len(packs)])}: ...",
            )
        value = operand(applied(equation, bound))
        left = f"{name}[{', '.join(_left(found, dims))}]" if found else name
        self._write(f"{left} = {value.text}{_for(found, ranges)}", equation)
        return bool(found)

    def _results(self, returned: object) -> None:
        names = list(self.outputs)
        if returned is None:
            missing = [n for n in names if n not in self.defined]
            if missing:
                raise refused(
                    f"the function returns nothing, and `{missing[0]}` has no equation",
                    "return a lambda over its indices, or define it with tx.eq",
                )
            return
        if isinstance(returned, Mapping):
            for name in returned:
                self.output(name)
            results = dict(returned)
        else:
            listed = returned if isinstance(returned, tuple | list) else (returned,)
            if len(listed) != len(names):
                raise refused(
                    f"{counted(len(names), 'output')} declared, {len(listed)} returned",
                    f"return one lambda each for {', '.join(names)}",
                )
            results = dict(zip(names, listed))
        for name, result in results.items():
            if isinstance(result, Tensor):
                raise refused(
                    f"`{name}` is given the tensor `{result.name}`",
                    f"say it by elements: lambda i: {result.name}[i]",
                )
            self._define(name, result, self.outputs[name].type.dims)

    def _write(self, statement: str, by: Callable[..., object] | None = None) -> None:
        self.statements.append((statement, (by or self.function).__code__.co_firstlineno))

    def _written(self) -> Traced:
        lines = [line for text in dict.fromkeys(self.callees.values()) for line in text.split("\n")]
        lines += [f"# {line}".rstrip() for line in (inspect.getdoc(self.function) or "").split("\n") if line]
        inputs = ", ".join(d.span.text + self.defaults[n] for n, d in self.inputs.items())
        constants = "; " + ", ".join(self.constants.values()) if self.constants else ""
        outputs = ", ".join(d.span.text for d in self.outputs.values())
        outputs = outputs if len(self.outputs) == 1 else f"({outputs})"
        types = f"<{self.types}>" if self.types else ""
        require = f"require {self.require}" if self.require else ""
        lines += _head(f"op {self.name}{types}({inputs}{constants})", f"-> {outputs}", require)
        places = {0: self.function.__code__.co_firstlineno}
        for statement, line in self.statements:
            lines.append(f"  {statement}")
            places[len(lines)] = line
        lines.append("}")
        return Traced(self.name, "\n".join(lines), self.function.__code__.co_filename, places)


def _text(name: str, annotation: object) -> str:
    text = _unquoted(annotation)
    if annotation is inspect.Parameter.empty:
        raise refused(
            f"the parameter `{name}` has no type",
            f'annotate it with a type as text: {name}: "f32[N]"; constants come after `*`',
        )
    if not isinstance(text, str):
        raise refused(
            f"the annotation of `{name}` is {annotation!r}", f'a type as text, such as {name}: "f32[M, K]"'
        )
    return text


def _unquoted(annotation: object) -> object:
    """The text of an annotation: of `Annotated[Any, "f32[N]"]` the first text behind the type. Under
    `from __future__ import annotations` the source arrives, a text with its quotes.
    """
    if not isinstance(annotation, str):
        texts = [t for t in getattr(annotation, "__metadata__", ()) if isinstance(t, str)]
        return texts[0] if texts else annotation
    try:
        node = ast.parse(annotation.strip(), mode="eval").body
        return _annotated(node) or ast.literal_eval(node)
    except (ValueError, SyntaxError):
        return annotation


def _annotated(node: ast.expr) -> str | None:
    """The text in the source of `Annotated[Any, "f32[N]"]`, None of any other source."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    if ast.unparse(node.value).rpartition(".")[2] != "Annotated":
        return None
    texts = [e.value for e in node.slice.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return texts[0] if texts else None


def _listed(text: str) -> list[str]:
    """The declarations of a text: several stand in a row, in parentheses or not, as in the head
    of an operator.
    """
    text = text.strip()
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    parts, depth = [""], 0
    for letter in inner:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _size(node: tree.Tree) -> Value:
    text = node.span.text
    return Value(text if isinstance(node, tree.Name | tree.Number) else f"({text})")


def _head(*parts: str) -> list[str]:
    """The head of an operator on one line, or on one line per part where that is too long."""
    line = " ".join(part for part in (*parts, "{") if part)
    if len(line) <= _WIDTH:
        return [line]
    first, *rest = (part for part in parts if part)
    return [first, *(f"   {part}" for part in rest[:-1]), f"   {rest[-1]} {{"]


def _left(found: tuple[Index, ...], dims: tuple[tree.Tree, ...] | None) -> list[str]:
    names = [starred(i) for i in found]
    if dims is None:
        return names
    result, taken = [], 0
    for dim in dims:
        count = len(dim.items) if isinstance(dim, tree.Group) else 1
        part = names[taken : taken + count]
        result.append(f"({', '.join(part)})" if isinstance(dim, tree.Group) else part[0])
        taken += count
    return result


def _for(found: tuple[Index, ...], ranges: Mapping[str, Range]) -> str:
    listed = [f"{starred(i)} in {ranges[i.text].text}" for i in found if i.text in ranges]
    return f" for {', '.join(listed)}" if listed else ""
