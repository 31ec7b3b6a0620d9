"""Advice is tried before it is given: the changes that it proposes are made in the text, and the
program is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields

from texpr.lang.elaboration.declaration import Module, OpDeclaration, parse
from texpr.lang.syntax import tree
from texpr.lang.syntax.parser import tokenize
from texpr.support.errors import CheckError, Error
from texpr.support.fixes import (
    Declare,
    Define,
    Edit,
    Fix,
    Import,
    Ranges,
    Rename,
    Require,
    Shift,
    Write,
    said,
)
from texpr.support.source import Source, Span

Change = tuple[int, int, str]
"""Characters start..stop become another text."""
Again = Callable[[Source], Error | None]
"""A function that elaborates a program in which one text has changed, and returns its error."""


def try_fixes(error: CheckError, declaration: OpDeclaration, make: Callable[[OpDeclaration], object]) -> None:
    """Leave in the help of an error only what works, and give the error the program that follows
    the first such advice.

    A way out works where the program is accepted, or where its next error stands elsewhere and is
    about something else.

    Args:
        declaration: the operator with the error, or that calls the one with it.
        make: raises what is wrong with an operator.
    """
    if error.span is None or not any(fix.edits for fix in error.fixes):
        return
    modules = {
        m.source.name: m
        for m in (declaration.module, *(d.module for d in declaration.module.imported.values()))
    }

    def again(changed: Source) -> Error | None:
        return _wrong_with(declaration, changed, make)

    tried = [_Trial(error, fix, modules, again) for fix in error.fixes]
    error.help = said(error.fixes, [t.works for t in tried])
    error.tried = tuple((t.fix, t.text) for t in tried if t.works and t.text is not None)
    error.fixed = error.tried[0][1] if error.tried else None


def _wrong_with(
    declaration: OpDeclaration, changed: Source, make: Callable[[OpDeclaration], object]
) -> Error | None:
    """The error of an operator where one of the texts is another."""
    module = declaration.module

    def find(use: tree.Use, word: tree.Word, importer: str) -> Source:
        assert module.find is not None, "a text that uses others was parsed with what finds them"
        found = module.find(use, word, importer)
        return changed if found.name == changed.name else found

    own = changed if module.source.name == changed.name else module.source
    try:
        make(parse(own.text, own.name, find if module.find is not None else None).ops[declaration.name])
    except Error as error:
        return error
    return None


class _Trial:
    """One way out. `text` is what the program becomes; None where the advice is words alone or does
    not apply.

    Args:
        steps: the advice on the next error that may be needed too.
    """

    def __init__(
        self, error: CheckError, fix: Fix, sources: Mapping[str, Module], again: Again, steps: int = 1
    ) -> None:
        self.fix, self.works, self.text = fix, not fix.edits, None
        module = None if error.span is None else sources.get(error.span.source.name)
        if not fix.edits or error.span is None or module is None:
            return
        if module.source.text != error.span.source.text:
            module = _parsed(error.span.source, module)
        place = _Place(module, error.span)
        changes = [place.changes(e) for e in fix.edits]
        if any(not c for c in changes):
            return
        wanted = sorted(dict.fromkeys(c for each in changes for c in each))
        self.text = _changed(module.source.text, wanted)
        left = again(Source(module.source.name, self.text))
        if left is None or _is_another(left, place, fix, wanted):
            self.works = True
        elif (
            isinstance(left, CheckError)
            and left.code != error.code
            and error.code in _READING
            and left.code not in _READING
        ):
            self.works = True  # what a text means is known now; proofs come after that
        elif isinstance(left, CheckError) and steps and left.code != "bounds":
            onward = (_Trial(left, each, sources, again, steps - 1) for each in left.fixes if each.edits)
            self.works = any(t.works for t in onward)


_READING = ("name", "dtype")
"""Codes of errors about what a text means, before anything is proven of it."""


def _is_another(left: Error, place: _Place, fix: Fix, changes: list[Change]) -> bool:
    """True if an error stands elsewhere, and is not about what a change declares."""
    if not isinstance(left, CheckError) or left.span is None or left.span.source.name != place.source.name:
        return False
    declared = [e.name for e in fix.edits if isinstance(e, Declare)]
    if any(name in left.message.replace("`", " ").split() for name in declared):
        return False
    touched = [(a, b) for a, b, _ in changes]
    if not all(isinstance(e, Write) or isinstance(e, Define) and left.code in _READING for e in fix.edits):
        touched.append((place.part.span.start, place.part.span.stop))
    return not any(_meets(left.span, _moved(a, b, changes)) for a, b in touched)


def _parsed(source: Source, like: Module) -> Module:
    """A text that was changed already, with what it uses."""
    return parse(source.text, source.name, like.find)


def _changed(text: str, changes: list[Change]) -> str:
    for start, stop, new in reversed(changes):
        text = text[:start] + new + text[stop:]
    return text


def _moved(start: int, stop: int, changes: list[Change]) -> tuple[int, int]:
    """Range of a part of the text after the changes."""
    before = sum(len(new) - (b - a) for a, b, new in changes if b <= start and a < start)
    within = sum(len(new) - (b - a) for a, b, new in changes if a >= start and b <= stop)
    return start + before, stop + before + within


def _meets(span: Span, part: tuple[int, int]) -> bool:
    return span.start < part[1] and part[0] < span.stop


class _Place:
    """Place of an error: the operator and the declaration or equation."""

    def __init__(self, module: Module, span: Span) -> None:
        self.source, self.span = module.source, span
        roots: list[tree.Tree] = [*(d.tree for d in module.ops.values()), *module.functions.values()]
        root = next(
            (r for r in roots if r.span.source.name == span.source.name and _holds(r.span, span)), None
        )
        self.operator = root if isinstance(root, tree.Operator) else None
        self.part: tree.Tree = next(
            (p for p in _parts(root) if _holds(p.span, span)), root or tree.Word(span, "")
        )

    def changes(self, edit: Edit) -> list[Change]:
        """The characters that an edit changes; none where it does not apply."""
        match edit:
            case Import(name):
                return [(0, 0, f"use ops: {name}\n")]
            case Write(old, new):
                found = next(
                    (n for n in _nodes(self.part) if _touches(n.span, self.span) and _same(n.span.text, old)),
                    None,
                )
                return [] if found is None else [(found.span.start, found.span.stop, new)]
            case Ranges(text) if isinstance(self.part, tree.Equation):
                binder = next(
                    (n for n in _nodes(self.part.value) if _binds(n, text.partition(" in ")[0])), None
                )
                if binder is not None:
                    return [(binder.span.start, binder.span.stop, text)]
                ranges = self.part.ranges
                at = ranges[-1].span.stop if ranges else self.part.value.span.stop
                return [(at, at, f", {text}" if ranges else f"  for {text}")]
            case Define(equation) if isinstance(self.part, tree.Equation):
                return [(self.part.span.start, self.part.span.start, f"{equation}  ")]
            case Shift() if isinstance(self.part, tree.Equation) and self.operator is not None:
                return _shifted(self.operator, self.part, edit)
            case _ if self.operator is not None:
                return self._in_operator(self.operator, edit)
        return []

    def _in_operator(self, op: tree.Operator, edit: Edit) -> list[Change]:
        match edit:
            case Require(condition) if op.requires:
                at = op.requires[-1].span.stop
                return [(at, at, f", {condition}")]
            case Require(condition) if op.body is not None:
                at = self.source.text.rindex("{", op.span.start, op.inside + 1)
                return [(at, at, f"require {condition} ")]
            case Declare(name, type):
                known = next((d for d in _declarations(op) if d.name.text == name), None)
                if known is not None:
                    return [(known.type.span.start, known.type.span.stop, type)]
                at = self.source.text.rindex("{", op.span.start, op.inside + 1) + 1
                return [(at, at, f" let {name}: {type} ")]
            case Rename(old, new):
                tokens = tokenize(self.source, op.span.start, op.span.stop)
                return [(t.start_pos, t.end_pos, new) for t in tokens if t.type == "NAME" and t.value == old]
        return []


def _shifted(op: tree.Operator, part: tree.Equation, edit: Shift) -> list[Change]:
    """The range of an index, its uses, and the reads of the tensor elsewhere."""
    changes = [
        (b.span.start, b.span.stop, f"{edit.index} in 0..{edit.count}")
        for b in part.ranges
        if b.name == edit.index
    ]
    uses = [n for root in (part.value, *([part.where] if part.where else [])) for n in _nodes(root)]
    changes += [
        (n.span.start, n.span.stop, f"({edit.begins})")
        for n in uses
        if isinstance(n, tree.Name) and n.text == edit.index
    ]
    for statement in op.body or ():
        for n in _nodes(statement) if statement is not part else ():
            if isinstance(n, tree.Access) and n.name.text == edit.tensor and len(n.indices) > edit.axis:
                at = n.indices[edit.axis].span.stop
                changes.append((at, at, f" + {edit.offset}"))
    return changes


def _declarations(op: tree.Operator) -> list[tree.Declaration]:
    lets = [s.declaration for s in op.body or () if isinstance(s, tree.Let)]
    return [*op.inputs, *op.outputs, *lets]


def _parts(root: tree.Tree | None) -> list[tree.Tree]:
    """The declarations, conditions and statements of an operator."""
    if not isinstance(root, tree.Operator):
        return []
    return [*root.inputs, *root.constants, *root.outputs, *root.requires, *(root.body or ())]


def _nodes(root: tree.Tree) -> Iterator[tree.Tree]:
    """`root` and what is below it, outer nodes first."""
    level = [root]
    while level:
        yield from level
        values = [getattr(node, f.name) for node in level for f in fields(node)]
        level = [p for v in values for p in (v if type(v) is tuple else (v,)) if isinstance(p, tree.Tree)]


def _binds(node: tree.Tree, name: str) -> bool:
    """True for the binder of a reduction that has no range yet."""
    return isinstance(node, tree.Binder) and node.name == name and node.range is None


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.stop <= outer.stop


def _touches(node: Span, span: Span) -> bool:
    return _holds(node, span) or _holds(span, node)


def _same(a: str, b: str) -> bool:
    return "".join(a.split()) == "".join(b.split())
