"""Texts laid out as the printer of texpr writes programs.

The printer (`ir.printing.tensor`) prints programs: types and constants are filled in there,
functions inlined, comments gone. So a text is not printed anew. Its own tokens are set with the
printer's spaces and lines: two spaces before a statement, a line for each, one space around
operators. A text of the printer stays as it is, and no token or comment changes, which is checked.
Lines that were broken inside a statement stay broken, and keep their indentation.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from texpr.lang.syntax import tree
from texpr.lang.syntax.parser import tokenize
from texpr.lang.syntax.words import REDUCTIONS
from texpr.support.errors import Error
from texpr.support.source import Source
from texpr.tools.lsp.declarations import NAME, Declared, declarations

WIDEST = 110
"""Columns of a body that may stay in the line of its head."""
_ITEMS = ("op", "fn", "extern", "use")
_HEAD, _BODY, _MORE = "   ", "  ", "      "
_OPENERS, _CLOSERS = frozenset("([{"), frozenset(")]}")


class Token(NamedTuple):
    """A token, the comments before it, and the number of line ends before it.

    Attributes:
        column: spaces before it, where it begins a line; -1 elsewhere and after tabs.
        trailing: the comment that stands in the line of the token before.
        brackets: brackets that are open around it.
    """

    text: str
    kind: str
    start: int
    lines: int
    column: int
    trailing: str
    comments: tuple[str, ...]
    brackets: str


def formatted(text: str, indent: str = "") -> str:
    """A text in the printer's layout. Declarations that do not parse stay as they are.

    Args:
        indent: of each line; the first non-empty line's own unless given.
    """
    parts = declarations(text)
    if not parts:
        return text
    head = text[: parts[0].start]
    return head + "".join(_part(part, indent) for part in parts)


def _part(part: Declared, indent: str) -> str:
    """A declaration with the comments behind it, or the same text where it cannot be laid out."""
    if part.parsed.error is not None:
        return part.text
    try:
        tokens, tail = _tokens(part.text)
        made = "\n".join(_lines(part, tokens)) + _tail(tail)
        if _essence(made) != _essence(part.text):
            return part.text
    except Error:
        return part.text
    return re.sub(r"(?m)^(?=[^\n])", indent, made) if indent else made


def _essence(text: str) -> list[str]:
    """Tokens and comments of a text, in their order."""
    tokens, tail = _tokens(text)
    found = [x for t in tokens for x in (*([t.trailing] if t.trailing else []), *t.comments, t.text)]
    return [*found, *(line.strip() for line in tail.split("\n") if line.strip())]


def _tokens(text: str) -> tuple[list[Token], str]:
    """The tokens of a text, and what comes behind the last one."""
    found: list[Token] = []
    before, stack = 0, ""
    for token in tokenize(Source(NAME, text)):
        gap = text[before : token.start_pos]
        lines, trailing, comments = _gap(gap, bool(found))
        if token.value in _CLOSERS:
            stack = stack[:-1]
        column = _column(gap, bool(found))
        found.append(
            Token(token.value, token.type, token.start_pos, lines, column, trailing, comments, stack)
        )
        if token.value in _OPENERS:
            stack += token.value
        before = token.end_pos
    return found, text[before:]


def _column(gap: str, follows: bool) -> int:
    before = gap.rpartition("\n")[2]
    return len(before) if ("\n" in gap or not follows) and not before.strip(" ") else -1


def _gap(gap: str, follows: bool) -> tuple[int, str, tuple[str, ...]]:
    first, *rest = gap.replace("\r", "").split("\n")
    trailing = first.strip() if follows else ""
    rest = rest if follows else [first, *rest]
    comments = tuple(line.strip() for line in rest if line.strip())
    lines = gap.count("\n")
    return lines, trailing, comments


def _tail(tail: str) -> str:
    """Comments behind a declaration, with at most one empty line between paragraphs."""
    lines = [line.strip() for line in tail.replace("\r", "").split("\n")]
    trailing = f"  {lines[0]}" if lines[0] else ""
    rest = "\n".join(["", *lines[1:]]) if len(lines) > 1 else ""
    return trailing + re.sub(r"\n{3,}", "\n\n", rest)


class _Statement(NamedTuple):
    """Consecutive tokens that are laid out together, and the spaces before their lines."""

    tokens: list[Token]
    indent: str
    more: str


def _lines(part: Declared, tokens: list[Token]) -> list[str]:
    """The lines of a declaration without the text behind its last token."""
    lines: list[str] = []
    starts = _starts(part)
    for item in _items(tokens):
        if lines:
            lines += [""] if item[0].lines > 1 and not item[0].comments else []
        lines += _item(item, starts)
    return lines


def _items(tokens: list[Token]) -> list[list[Token]]:
    """Tokens by declaration: several may stand in one line."""
    found: list[list[Token]] = []
    for k, token in enumerate(tokens):
        if (
            token.kind.lower() in _ITEMS
            and token.text in _ITEMS
            and (k == 0 or tokens[k - 1].text != "extern")
        ):
            found.append([])
        found[-1].append(token)
    return found


def _starts(part: Declared) -> set[int]:
    """Offsets at which statements begin."""
    operators = [item for item in part.parsed.items if isinstance(item, tree.Operator)]
    return {s.span.start for op in operators for s in op.body or ()}


def _item(item: list[Token], starts: set[int]) -> list[str]:
    brace = next((k for k, t in enumerate(item) if t.text == "{"), None)
    if brace is None:
        return _laid_out(_Statement(item, "", _HEAD))
    head, body = item[: brace + 1], item[brace + 1 :]
    one_line = _in_one_line(head, body, starts)
    if one_line is not None:
        return one_line
    lines = _laid_out(_Statement(head, "", _HEAD))
    for statement in _statements(body[:-1], starts):
        first = statement[0]
        lines = _with_comments(lines, first, _BODY)
        lines += _laid_out(_Statement(statement, _BODY, _MORE))
    return [*_with_comments(lines, body[-1], _BODY), "}"]


def _with_comments(lines: list[str], token: Token, indent: str) -> list[str]:
    """The lines with the comments that stand before a token of a new line."""
    if token.trailing:
        lines = [*lines[:-1], f"{lines[-1]}  {token.trailing}"]
    apart = token.lines - len(token.comments) > 1 and token.text != "}" and not lines[-1].endswith("{")
    return [*lines, *([""] if apart else []), *(indent + c for c in token.comments)]


def _in_one_line(head: list[Token], body: list[Token], starts: set[int]) -> list[str] | None:
    """A body of one statement that stands in the line of its brace and may stay there."""
    single = sum(t.start in starts for t in body) <= 1
    if not single or any(t.lines or t.comments or t.trailing for t in body):
        return None
    lines = _laid_out(_Statement([*head, *body], "", _HEAD))
    return lines if len(lines[-1]) <= WIDEST else None


def _statements(tokens: list[Token], starts: set[int]) -> list[list[Token]]:
    found: list[list[Token]] = []
    for token in tokens:
        if token.start in starts or not found:
            found.append([])
        found[-1].append(token)
    return found


def _laid_out(statement: _Statement) -> list[str]:
    """The lines of some tokens. Lines break where they were broken."""
    lines = [""]
    before: Token | None = None
    for token in statement.tokens:
        breaks = before is not None and (token.lines or token.comments or token.trailing)
        if before is None:
            lines[-1] = statement.indent + token.text
        elif breaks:
            lines[-1] += f"  {token.trailing}" if token.trailing else ""
            more = _continuation(statement, token)
            lines += [more + c for c in token.comments]
            lines.append(more + token.text)
        else:
            lines[-1] += _space(before, token, statement) + token.text
        before = token._replace(kind="prefix") if _is_prefix(before, token) else token
    return lines


def _continuation(statement: _Statement, token: Token) -> str:
    """Spaces before a line inside a statement: as many as it had, beside the statement's own."""
    begin = statement.tokens[0].column
    if begin < 0 or token.column - begin < len(_BODY):
        return statement.more
    return statement.indent + " " * (token.column - begin)


_OPERAND = frozenset({"NAME", "INT", "FLOAT", "STRING"})
_VALUES = frozenset({")", "]", "inf", "nan", "true", "false"})


def _is_prefix(before: Token | None, token: Token) -> bool:
    """True for the sign of a number and the star of a pack."""
    if token.text not in ("-", "*"):
        return False
    return before is None or not (before.kind in _OPERAND or before.text in _VALUES)


def _space(before: Token, token: Token, statement: _Statement) -> str:
    """The spaces between two tokens of a line."""
    a, b = before.text, token.text
    if before.kind == "prefix" or a in ("(", "[") or b in (")", "]", ",", ";") or ".." in (a, b):
        return ""
    if b == "[" or (
        b == "(" and (before.kind == "NAME" or a in REDUCTIONS or a == ">" and _closes(statement, before))
    ):
        return ""
    if b == ":" or (a == ":" and before.brackets.endswith("[")):
        return ""
    if "<" in (a, b) or ">" in (a, b):
        if _closes(statement, before if a in "<>" else token) or (a == ">" and _closes(statement, before)):
            return "" if b in "<>" or a == "<" else " "
    if "=" in (a, b) and token.brackets.endswith("(") and _is_argument(statement, before, token):
        return ""
    if b in ("for", "where") and not token.brackets.strip("{"):
        return "  "
    return " "


def _is_argument(statement: _Statement, before: Token, token: Token) -> bool:
    """True for the `=` of an argument by name; a default in a head has spaces."""
    return statement.tokens[0].text not in ("op", "extern") or "{" in token.brackets


def _closes(statement: _Statement, angle: Token) -> bool:
    """True if `<` or `>` stands around types: behind the name of an operator or a reduction."""
    return angle.start in _angles(statement)


def _angles(statement: _Statement) -> set[int]:
    tokens = statement.tokens
    found: set[int] = set()
    for k, token in enumerate(tokens):
        typed = k > 0 and (tokens[k - 1].text in REDUCTIONS or k > 1 and tokens[k - 2].text == "op")
        if token.text == "<" and typed:
            end = next((t for t in tokens[k:] if t.text == ">"), token)
            found |= {token.start, end.start}
    return found
