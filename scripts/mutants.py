"""Mutants: the small changes of a file that a test should notice.

What is changed: an operand of `and`, `or` is left out, a comparison is weakened or turned around,
`any` and `all`, `max` and `min`, `SOURCE` and `SINK`, two arguments, `in` and `out` change places;
a `not`, a condition of a comprehension, a constraint of a list, a kind of dependence in a set, a
case of a `match`, its guard, an alternative of a pattern, a further condition (`x.also(y)`,
`conjoined(x, y)`), an operand of `+ - & |`, a statement is left out; an `if` never holds; 0 and 1,
True and False change places.

What is not changed, because no answer depends on it:

* what only words an error: all inside `raise` and `assert`; functions that return `str` or an
  exception; arguments called `help`, `label`, `notes`, `code` and `span`; variables that only such
  places read;
* annotations, decorators, defaults of parameters, and what stands outside functions;
* what is remembered: statements about names in capitals with `MEMO` or `PARTS` in them;
* limits of effort: comparisons with names in capitals that speak of one (`LIMIT`, `QUOTA`, `SIZE`,
  `MOST`, `LARGEST`, `LONGEST`, `FEW`, `ATTEMPTS`), and what is done where one is reached, as a
  whole.

* the order of the arguments of functions that ask whether two things are alike, make them so, add
  them up or say what holds of both, and of `compare` with `==` or `!=`: the answer is the same by
  what the question means.

A change of speed alone is not recognised: it survives, and `tests/mutants.txt` says why.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Change = tuple[str, str, Callable[[], None]]
"""Its kind, what it is, and a function that does it in place."""
Parents = dict[ast.AST, ast.AST]

KINDS = (
    "conjunct",
    "comparison",
    "direction",
    "case",
    "branch",
    "quantifier",
    "constant",
    "operand",
    "statement",
)
"""Of changes: a condition or a constraint less; a comparison weakened; in and out, source and sink,
two arguments exchanged; a kind of dependence, a case or a part of a list less; an `if` that never
holds or a `not` less; any for all, max for min; 0 for 1, True for False; an operand less; a
statement less."""

WEAKER: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
PAIRED = {"any": "all", "all": "any", "max": "min", "min": "max"}
TURNED = {"in_": "out", "out": "in_"}
FURTHER = {
    "also",
    "intersect",
    "intersect_domain",
    "intersect_range",
    "intersect_params",
    "subtract",
    "subtract_range",
}
"""Methods that keep a part of what they are called on."""
SYMMETRIC = {
    "alike",
    "structurally_equal",
    "conjoined",
    "conjunction",
    "disjunction",
    "equate",
    "distinct_row_facts",
    "shared_by",
    "equal",
    "equivalent",
    "identical",
    "same_operation",
    "same_value",
    "add",
    "minimum",
    "maximum",
    "min",
    "max",
    "split_condition",
    "question",
    "cases",
    "linear",
    "is_affine_question",
    "has_integer_choices",
    "unchanged",
    "is_logical_question",
}
WORDING = {"help", "label", "notes", "code", "span", "name"}
MEMO = re.compile(r"[A-Z_]*(MEMO|PARTS)[A-Z_]*")
EFFORT = re.compile(r"[A-Z_]*(LIMIT|QUOTA|SIZE|MOST|LARGEST|LONGEST|FEW|ATTEMPTS)[A-Z_]*")


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes:
        function: the function or method it is in, without its file.
        kind: one of `KINDS`.
        what: the change; with a number from the second of its kind in the function on.
        first, last: its lines.
        at: the node, counted as `ast.walk` does, and which of its changes.
    """

    path: Path
    function: str
    kind: str
    what: str
    first: int
    last: int
    at: tuple[int, int]

    @property
    def key(self) -> str:
        """What it is called in `tests/mutants.txt`, whatever lines move."""
        return f"{self.path} {self.function or '<module>'}: {self.what}"

    def tree(self, root: Path) -> ast.Module:
        """The changed file."""
        module = ast.parse((root / self.path).read_text(encoding="utf-8"))
        node = next(n for k, n in enumerate(ast.walk(module)) if k == self.at[0])
        list(changes(node, parents_of(module)))[self.at[1]][2]()
        return ast.fix_missing_locations(module)


def mutants(root: Path, path: Path) -> list[Mutant]:
    """Every change of a file that an answer may depend on."""
    module = ast.parse((root / path).read_text(encoding="utf-8"))
    parents = parents_of(module)
    silent = Silent(module, parents)
    seen: Counter[tuple[str, str]] = Counter()
    found: list[Mutant] = []
    for k, node in enumerate(ast.walk(module)):
        for n, (kind, what, _) in enumerate(changes(node, parents)):
            if silent.holds(node) or isinstance(node, ast.If | ast.IfExp) and _limits(node.test):
                continue
            function = function_of(node, parents)
            seen[function, what] += 1
            number = f" #{seen[function, what]}" if seen[function, what] > 1 else ""
            first, last = _lines(node)
            found.append(Mutant(path, function, kind, what + number, first, last, (k, n)))
    return found


def parents_of(module: ast.Module) -> Parents:
    """The node around each node."""
    return {child: node for node in ast.walk(module) for child in ast.iter_child_nodes(node)}


def around(node: ast.AST, parents: Parents) -> Iterator[ast.AST]:
    """The node and all around it, from the inside out."""
    at: ast.AST | None = node
    while at is not None:
        yield at
        at = parents.get(at)


def function_of(node: ast.AST, parents: Parents) -> str:
    """The outermost function around a node, with its class; nothing for what a module does."""
    names = [n.name for n in around(node, parents) if isinstance(n, ast.FunctionDef | ast.ClassDef)][::-1]
    functions = [n for n in around(node, parents) if isinstance(n, ast.FunctionDef)]
    if not functions:
        return ""
    depth = names.index(functions[-1].name) + 1
    return ".".join(names[:depth])


def _lines(node: ast.AST) -> tuple[int, int]:
    match node:
        case (
            ast.If(test=part)
            | ast.IfExp(test=part)
            | ast.match_case(pattern=part)
            | ast.comprehension(target=part)
        ):
            return _lines(part)
    first = getattr(node, "lineno", 1)
    return first, getattr(node, "end_lineno", None) or first


class Silent:
    """The parts of a module on which no answer depends."""

    def __init__(self, module: ast.Module, parents: Parents) -> None:
        self.parents = parents
        self.unread: set[ast.AST] = set()
        functions = [n for n in ast.walk(module) if isinstance(n, ast.FunctionDef)]
        while more := {a for f in functions for a in self._only_worded(f)} - self.unread:
            self.unread |= more

    def _only_worded(self, function: ast.FunctionDef) -> Iterator[ast.AST]:
        """Assignments to variables that only errors' wordings read."""
        reads: dict[str, list[ast.AST]] = {}
        for n in ast.walk(function):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                reads.setdefault(n.id, []).append(n)
        for n in ast.walk(function):
            if isinstance(n, ast.Assign) and all(isinstance(t, ast.Name) for t in n.targets):
                uses = [u for t in n.targets for u in reads.get(t.id, ())]  # type: ignore[attr-defined]
                if uses and all(self.holds(u) for u in uses):
                    yield n

    def holds(self, node: ast.AST) -> bool:
        """Whether no answer depends on a node."""
        inside = False
        child: ast.AST = node
        for n in around(node, self.parents):
            if (
                n in self.unread
                or isinstance(n, ast.Raise | ast.Assert | ast.arg | ast.arguments)
                or _limits(n)
                or _remembers(n)
            ):
                return True
            if (
                isinstance(n, ast.keyword)
                and n.arg in WORDING
                or isinstance(n, ast.AnnAssign)
                and child is n.annotation
            ):
                return True
            if isinstance(n, ast.FunctionDef):
                if child is not n and child not in n.body or _words(n):
                    return True
                inside = True
            child = n
        return not inside


def _limits(n: ast.AST) -> bool:
    return isinstance(n, ast.Compare) and any(
        isinstance(m, ast.Name) and EFFORT.fullmatch(m.id) for m in ast.walk(n)
    )


def _remembers(n: ast.AST) -> bool:
    simple = isinstance(n, ast.Assign | ast.AugAssign | ast.Expr | ast.Compare)
    return simple and any(isinstance(m, ast.Name) and MEMO.fullmatch(m.id) for m in ast.walk(n))


def _words(function: ast.FunctionDef) -> bool:
    returned = ast.unparse(function.returns) if function.returns is not None else ""
    return returned == "str" or returned.endswith(("Error", "Error | None"))


def changes(node: ast.AST, parents: Parents) -> Iterator[Change]:
    """What can be changed in a node."""
    match node:
        case ast.BoolOp(values=parts) | ast.MatchOr(patterns=parts):
            kind = "conjunct" if isinstance(node, ast.BoolOp) else "case"
            for part in parts:
                yield kind, f"drop `{_text(part)}`", lambda part=part: _drop(node, parts, part, parents)
        case ast.Compare():
            yield from _compared(node)
        case ast.Call():
            yield from _called(node, parents)
        case ast.Attribute(attr="in_" | "out"):
            yield (
                "direction",
                f"`{_text(node)}` with {TURNED[node.attr]}",
                lambda: setattr(node, "attr", TURNED[node.attr]),
            )
        case ast.UnaryOp(op=ast.Not()):
            yield "branch", f"`{_text(node)}` without not", lambda: _put(node, node.operand, parents)
        case ast.comprehension():
            yield from _without_each("conjunct", node.ifs, 1, "without `if {}`")
        case ast.If():
            yield (
                "branch",
                f"`if {_text(node.test)}` never",
                lambda: setattr(node, "test", ast.Constant(False)),
            )
        case ast.IfExp():
            yield "branch", f"`{_text(node)}` never", lambda: setattr(node, "test", ast.Constant(False))
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield "statement", f"without `{_text(node)}`", lambda: _put(node, ast.Pass(), parents)
        case ast.Constant(value=bool() as value):
            yield "constant", f"{value} with {not value}", lambda: setattr(node, "value", not value)
        case ast.Constant(value=0 | 1 as value) if isinstance(value, int):
            yield (
                "constant",
                f"{value} with {1 - value} in `{_text(parents[node])}`",
                lambda: setattr(node, "value", 1 - value),
            )
        case ast.BinOp():
            yield from _operands(node, parents)
        case ast.List(ctx=ast.Load()) | ast.Set():
            yield from _without_each("case", node.elts, 2)
        case ast.Tuple(ctx=ast.Load()) if len(node.elts) > 1:
            for k, e in enumerate(node.elts):
                if isinstance(e, ast.Starred) or all(
                    isinstance(x, ast.Constant) and isinstance(x.value, str) for x in node.elts
                ):
                    yield "case", f"drop `{_text(e)}`", lambda k=k: _pop(node.elts, k)
        case ast.Match():
            yield from _without_each("case", node.cases, 2, "without case `{}`")
        case ast.match_case(guard=ast.expr() as guard):
            yield (
                "conjunct",
                f"case `{_text(node.pattern)}` without `if {_text(guard)}`",
                lambda: setattr(node, "guard", None),
            )


def _without_each(kind: str, parts: list, least: int, said: str = "drop `{}`") -> Iterator[Change]:
    for k, part in enumerate(parts if len(parts) >= least else ()):
        yield (
            kind,
            said.format(_text(part.pattern if isinstance(part, ast.match_case) else part)),
            lambda k=k: _pop(parts, k),
        )


def _drop(node: ast.AST, parts: list, part: ast.AST, parents: Parents) -> None:
    """One part of several that must be two at least."""
    rest = [p for p in parts if p is not part]
    parts[:] = rest
    if len(rest) == 1:
        _put(node, rest[0], parents)


def _pop(parts: list, k: int) -> None:
    parts.pop(k)


def _compared(node: ast.Compare) -> Iterator[Change]:
    for k, operator in enumerate(node.ops):
        new = WEAKER[type(operator)]()
        place = f" at {k}" if len(node.ops) > 1 else ""
        yield (
            "comparison",
            f"`{_text(node)}` with {_sign(new)}{place}",
            lambda k=k, new=new: node.ops.__setitem__(k, new),
        )


def _called(node: ast.Call, parents: Parents) -> Iterator[Change]:
    match node:
        case ast.Call(func=ast.Name(name) as f) if name in PAIRED:
            yield "quantifier", f"`{_text(node)}` with {PAIRED[name]}", lambda: setattr(f, "id", PAIRED[name])
        case ast.Call(func=ast.Name("conjoined"), args=[a, b]):
            yield "conjunct", f"`{_text(a)}` without `{_text(b)}`", lambda: _put(node, a, parents)
        case ast.Call(func=ast.Attribute(value=whole, attr=name)) if name in FURTHER:
            yield (
                "conjunct",
                f"without `.{_text(node).removeprefix(ast.unparse(whole) + '.')}`",
                lambda: _put(node, whole, parents),
            )
    if _is_symmetric(node):
        return
    plain = [k for k, a in enumerate(node.args) if isinstance(a, ast.Name)]
    copies = [k for k in plain if node.args[k].id.isupper()]  # type: ignore[attr-defined]
    for first, second in dict.fromkeys(tuple(found[:2]) for found in (plain, copies) if len(found) > 1):
        a, b = node.args[first], node.args[second]
        if ast.unparse(a) != ast.unparse(b):
            said = f"exchange {_text(a)} and {_text(b)} in `{_text(node)}`"
            yield "direction", said, lambda i=first, j=second: _exchange(node.args, i, j)


def _is_symmetric(call: ast.Call) -> bool:
    name = ast.unparse(call.func).rpartition(".")[2].lstrip("_")
    return (
        name in {"isinstance", *SYMMETRIC}
        or name == "compare"
        and ast.unparse(call.args[0]) in ("'=='", "'!='")
    )


def _exchange(args: list, i: int, j: int) -> None:
    args[i], args[j] = args[j], args[i]


def _operands(node: ast.BinOp, parents: Parents) -> Iterator[Change]:
    if any(
        isinstance(n, ast.Constant) and isinstance(n.value, str) or isinstance(n, ast.JoinedStr)
        for n in (node.left, node.right)
    ):
        return
    joined = "conjunct" if isinstance(node.op, ast.BitAnd) else "operand"
    if isinstance(node.op, ast.Add | ast.Sub | ast.BitAnd | ast.BitOr):
        yield joined, f"`{_text(node)}` without `{_text(node.right)}`", lambda: _put(node, node.left, parents)
    if isinstance(node.op, ast.Add | ast.BitAnd | ast.BitOr):
        yield joined, f"`{_text(node)}` without `{_text(node.left)}`", lambda: _put(node, node.right, parents)


def _put(node: ast.AST, new: ast.AST, parents: Parents) -> None:
    """The new node in the place of an old one."""
    parent = parents[node]
    for name, value in ast.iter_fields(parent):
        if value is node:
            setattr(parent, name, new)
        elif isinstance(value, list) and any(v is node for v in value):
            value[:] = [new if v is node else v for v in value]


def _text(node: ast.AST) -> str:
    said = ast.unparse(node).replace("\n", " ")
    return said if len(said) <= 90 else said[:86] + " ..."


def _sign(operator: ast.cmpop) -> str:
    return ast.unparse(ast.Compare(ast.Name("a"), [operator], [ast.Name("b")]))[2:-2]
