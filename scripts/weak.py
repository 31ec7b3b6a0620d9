"""Weak mutation: which changes of `mutants.py` alter, where they stand, a value that a case
computes.

A change of a condition that leaves every value of that condition as it was cannot be noticed, so
one run without any change tells for all of them at once which a case has a chance to notice. The
conditions are exchanged for calls that compute the value and then what it would be under each
change; the case goes on with the value. Known of dropped operands, comparisons, quantifiers and
branches that never hold; of other changes nothing is known but that their lines run. Howden, Weak
mutation testing and completeness of test sets, IEEE TSE 1982.
"""

from __future__ import annotations

import ast
import gc
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

from mutants import Mutant, Parents, changes, mutants, parents_of

EITHER = "__either__"
"""The function that is called in the place of a condition."""
_FOLDED = {"any", "all", "len", "sum", "max", "min", "bool"}
"""Functions of a generator whose value says what came of its conditions."""
_ALTERS = {
    "pop",
    "popleft",
    "popitem",
    "append",
    "extend",
    "setdefault",
    "update",
    "remove",
    "discard",
    "clear",
    "insert",
    "next",
    "iter",
}
"""Calls that are not to be made twice."""
_UNTOLD = ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await


@dataclass(frozen=True)
class Place:
    """An expression, whether only its truth matters, and the numbers of the mutants that change
    it.
    """

    truth: bool
    numbers: tuple[int, ...]


class Weak:
    """Notes which of the changes a case makes matter. This is for a process that does nothing else.

    What a change would compute is computed after what is computed, so a change of what that
    remembers may go unseen.

    Attributes:
        mutants: those of the files.
        known: the numbers of those of which it can be told.
        hits: the numbers of those whose value differed since this was cleared.
        times: how many cases made each matter.
        enough: the number of cases from which on a mutant is not looked at any more.
    """

    def __init__(self, tree: Path, paths: Sequence[Path], enough: int = 5) -> None:
        self.mutants: list[Mutant] = []
        self.hits: set[int] = set()
        self.times: Counter[int] = Counter()
        self.enough = enough
        self._places: list[Place] = []
        self._busy = False
        self._codes: dict[tuple[str, str, int], CodeType] = {}
        for path in paths:
            self._read(tree, path)
        self.known = {n for p in self._places for n in p.numbers}
        gc.unfreeze()  # What is frozen is not listed.
        for f in [f for f in gc.get_objects() if isinstance(f, FunctionType)]:
            self._exchange(f)

    def _read(self, tree: Path, path: Path) -> None:
        module = ast.parse((tree / path).read_text(encoding="utf-8"))
        parents = parents_of(module)
        nodes = list(ast.walk(module))
        found: dict[ast.expr, list[tuple[int, ast.expr]]] = {}
        for number, m in enumerate(mutants(tree, path), len(self.mutants)):
            self.mutants.append(m)
            if (told := _told(nodes[m.at[0]], m.at[1], parents)) is not None:
                found.setdefault(told[0], []).append((number, told[1]))
        for e, others in found.items():
            call = ast.Call(
                ast.Name(EITHER, ast.Load()),
                [ast.Constant(len(self._places)), e, *(_later(o) for _, o in others)],
                [],
            )
            self._places.append(Place(_is_asked(e, parents), tuple(n for n, _ in others)))
            _exchanged(parents[e], e, ast.copy_location(call, e))
        self._compiled(compile(ast.fix_missing_locations(module), str(tree / path), "exec"))

    def _compiled(self, within: CodeType) -> None:
        for code in within.co_consts:
            if isinstance(code, CodeType):
                self._codes[code.co_filename, code.co_qualname, code.co_firstlineno] = code
                self._compiled(code)

    def _exchange(self, f: FunctionType) -> None:
        code = f.__code__
        new = self._codes.get((code.co_filename, code.co_qualname, code.co_firstlineno))
        if new is not None and new.co_freevars == code.co_freevars and "<" not in code.co_name:
            f.__code__ = new
            f.__globals__[EITHER] = self._either

    def _either(self, number: int, value: object, *others: Callable[[], object]) -> object:
        if self._busy:
            return value
        place = self._places[number]
        for n, other in zip(place.numbers, others):
            if n not in self.hits and self.times[n] < self.enough:
                self._busy = True
                try:
                    if _differ(value, other(), place.truth):
                        self.hits.add(n)
                except Exception:
                    self.hits.add(n)
                finally:
                    self._busy = False
        return value

    def taken(self) -> set[int]:
        """What was noted since the last time."""
        hits = set(self.hits)
        self.times.update(hits)
        self.hits.clear()
        return hits


def _later(e: ast.expr) -> ast.Lambda:
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.Lambda(nothing, e)


def _differ(a: object, b: object, truth: bool) -> bool:
    if truth:
        return bool(a) != bool(b)
    return a is not b and (type(a) is not type(b) or not isinstance(a, bool | int | str | tuple) or a != b)


def _told(node: ast.AST, which: int, parents: Parents) -> tuple[ast.expr, ast.expr] | None:
    """The expression that a change of a node alters, and what it is then; None where its value
    tells nothing.
    """
    match node:
        case ast.If(test=test) | ast.IfExp(test=test):
            return _sound(test, ast.Constant(False))
        case ast.match_case(guard=ast.expr() as guard):
            return _sound(guard, ast.Constant(True))
        case ast.comprehension(ifs=ifs):
            return _in_fold(node, which, parents) or _sound(ifs[which], ast.Constant(True))
        case ast.BoolOp() | ast.Compare() | ast.Call() | ast.UnaryOp() | ast.Constant() | ast.BinOp():
            top = _top(node, parents)
            return _sound(top, changed(top, node, which)) if _is_condition(top) else None
    return None


def _in_fold(node: ast.comprehension, which: int, parents: Parents) -> tuple[ast.expr, ast.expr] | None:
    top = _top(parents[node], parents)
    return _sound(top, changed(top, node, which)) if _is_condition(top) else None


def _is_condition(e: ast.AST) -> bool:
    return isinstance(e, ast.BoolOp | ast.Compare | ast.UnaryOp) or _folds(e)


def changed(top: ast.expr, node: ast.AST, which: int) -> ast.expr:
    """A copy of an expression with a change of a node in it."""
    at = next(k for k, n in enumerate(ast.walk(top)) if n is node)
    holder = ast.Expression(deepcopy(top))
    inside = list(ast.walk(holder.body))[at]
    parents = parents_of(holder)  # type: ignore[arg-type]
    list(changes(inside, parents))[which][2]()
    return holder.body


def _sound(e: ast.expr, other: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Both, if they may be computed one after the other."""
    for n in (*ast.walk(e), *ast.walk(other)):
        name = n.func if isinstance(n, ast.Call) else None
        called = (
            name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else ""
        )
        if isinstance(n, _UNTOLD) or called in _ALTERS:
            return None
    return e, other


def _top(node: ast.AST, parents: Parents) -> ast.expr:
    """The largest condition whose value depends on a node's."""
    at = node
    while True:
        above = parents[at]
        match above:
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Compare():
                at = above
            case ast.GeneratorExp() | ast.comprehension(ifs=[*_]) if _within_fold(at, above, parents):
                at = parents[parents[above]] if isinstance(above, ast.comprehension) else parents[above]
            case _:
                return at  # type: ignore[return-value]


def _within_fold(at: ast.AST, above: ast.AST, parents: Parents) -> bool:
    """Whether a node is an element or a condition of a generator that is folded."""
    if isinstance(above, ast.comprehension):
        return (
            at in above.ifs
            and isinstance(parents[above], ast.GeneratorExp)
            and _folds(parents[parents[above]])
        )
    return isinstance(above, ast.GeneratorExp) and at is above.elt and _folds(parents[above])


def _folds(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FOLDED


def _is_asked(e: ast.expr, parents: Parents) -> bool:
    """Whether only the truth of an expression matters."""
    match parents[e]:
        case (
            ast.If(test=test)
            | ast.IfExp(test=test)
            | ast.While(test=test)
            | ast.Assert(test=test)
            | ast.match_case(guard=test)
        ):
            return test is e
        case ast.comprehension(ifs=ifs):
            return e in ifs
    return False


def _exchanged(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
        elif isinstance(value, list):
            value[:] = [new if v is old else v for v in value]
