"""Descriptions of names under the cursor: types, shapes, ranges, signatures, documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from texpr.ir.expr import Axis, Reduce, Tensor
from texpr.ir.printing.expr import show
from texpr.ir.printing.types import type_text
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import walk
from texpr.lang.elaboration.name_scope import below
from texpr.lang.syntax import tree
from texpr.support.errors import Error
from texpr.support.frozen_dataclass import frozen
from texpr.tools.lsp.declarations import declarations
from texpr.tools.lsp.documents import View
from texpr.tools.lsp.function_documentation import DOCUMENTATION, signature
from texpr.tools.lsp.operator_proofs import Excerpt, Origin, Proof, Proofs, excerpt
from texpr.tools.lsp.symbols import Range, Symbol

_WORD = re.compile(r"[A-Za-z_]\w*")


@frozen
class Hover:
    """Text of the language, a description in words, and the range that it is about."""

    code: str
    words: str
    place: Range


def hover(view: View, offset: int, proofs: Proofs, origin: Origin) -> Hover | None:
    """A description of the name at a place; None where there is none.

    Shapes that are inferred are shown once the operator is proven: `proofs` is only looked up.
    """
    symbol = view.symbol(offset)
    if symbol is None:
        return _function(view.text, offset)
    place = next(p for p in symbol.places if p[0] <= offset <= p[1])
    if symbol.kind in ("operator", "function", "imported"):
        code, words = _global(view, symbol, origin)
        return Hover(code, words, place)
    found = _proof(view, symbol, proofs, origin)
    code, words = _local(view, symbol, found)
    return Hover(code, words, place)


def _function(text: str, offset: int) -> Hover | None:
    for word in _WORD.finditer(text, text.rfind("\n", 0, offset) + 1):
        if word.start() <= offset <= word.end() and word.group() in DOCUMENTATION:
            name = word.group()
            return Hover(signature(name), f"{DOCUMENTATION[name]}.", (word.start(), word.end()))
        if word.start() > offset:
            break
    return None


def _global(view: View, symbol: Symbol, origin: Origin) -> tuple[str, str]:
    node = symbol.node
    if isinstance(node, tree.Use):
        return _imported(symbol, node, origin)
    code = f"fn {node.span.text[2:].strip()}" if isinstance(node, tree.Function) else head(node)
    return " ".join(code.split()), comment_above(view.text, symbol.declared[0])


def head(node: tree.Tree) -> str:
    """The head of an operator as it is written, in one line, without its body."""
    assert isinstance(node, tree.Operator)
    text = node.span.text
    if node.body is not None:
        text = text[: text.rindex("{", 0, node.inside - node.span.start + 1)]
    return " ".join(re.sub(r"#[^\n]*", "", text).split())


def comment_above(text: str, offset: int) -> str:
    """The comment lines directly above the line of an offset."""
    lines: list[str] = []
    start = text.rfind("\n", 0, offset) + 1
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        line = text[before : start - 1].strip()
        if not line.startswith("#"):
            break
        lines.insert(0, line.lstrip("#").strip())
        start = before
    return "\n".join(lines)


def _imported(symbol: Symbol, use: tree.Use, origin: Origin) -> tuple[str, str]:
    word = next(w for w in use.names if w.text == symbol.name)
    try:
        text = origin.uses()(use, word, origin.name).text
    except Error as error:
        return f"use {use.origin.text}: {symbol.name}", error.message
    for part in declarations(text):
        for item in part.parsed.items:
            if isinstance(item, tree.Operator | tree.Function) and item.name.text == symbol.name:
                code = head(item) if isinstance(item, tree.Operator) else item.span.text
                return code, comment_above(text, part.start + item.name.span.start)
    return f"use {use.origin.text}: {symbol.name}", ""


def _proof(view: View, symbol: Symbol, proofs: Proofs, origin: Origin) -> tuple[Excerpt, Proof] | None:
    """The result for the operator of a name, where it is known already."""
    if not isinstance(symbol.owner, tree.Operator):
        return None
    name = symbol.owner.name.text
    if all(name not in part.names for part in view.parts):
        return None
    part = excerpt(name, view.parts)
    proof = proofs.known(part.text, name, origin)
    return None if proof is None else (part, proof)


def _local(view: View, symbol: Symbol, found: tuple[Excerpt, Proof] | None) -> tuple[str, str]:
    proof = found[1] if found is not None else None
    program = proof.program if proof is not None else None
    match symbol.kind:
        case "input" | "output" | "tensor":
            return _tensor(symbol, program)
        case "index" | "bound index":
            return _index(symbol, found)
        case "size" | "pack":
            return f"{symbol.name}", _size(symbol, program)
        case "constant":
            return _one_line(symbol.node), "constant, known when the operator is compiled"
        case "type":
            filled = dict(program.constants).get(symbol.name) if program is not None else None
            words = "type variable" + (f"; proven here for {filled}" if filled is not None else "")
            return _one_line(symbol.node), words
    return symbol.name, f"parameter of `{_owner(symbol)}`"


def _owner(symbol: Symbol) -> str:
    return getattr(symbol.owner, "name").text  # noqa: B009


def _one_line(node: tree.Tree) -> str:
    return " ".join(re.sub(r"#[^\n]*", "", node.span.text).split())


def _tensor(symbol: Symbol, program: Program | None) -> tuple[str, str]:
    kind = {"input": "input", "output": "output", "tensor": "intermediate"}[symbol.kind]
    declared = symbol.node if isinstance(symbol.node, tree.Declaration) else None
    tensor = _tensor_named(symbol.name, program)
    if declared is not None:
        code = _one_line(declared)
        if tensor is not None and type_text(tensor) != _one_line(declared.type):
            return code, f"{kind}; here {type_text(tensor)}{_values(tensor)}"
        return code, kind + (_values(tensor) if tensor is not None else "")
    if tensor is not None:
        return f"{symbol.name}: {type_text(tensor)}", f"{kind}, its shape is inferred{_values(tensor)}"
    return symbol.name, f"{kind}; its shape is not known, since the operator is not proven"


def _tensor_named(name: str, program: Program | None) -> Tensor | None:
    if program is None:
        return None
    tensors = (*program.inputs, *program.outputs, *program.temporaries)
    return next((t for t in tensors if t.name == name), None)


def _values(tensor: Tensor) -> str:
    """Elements of integers as the proofs know them."""
    if tensor.value_range is None:
        return ""
    lo, hi = tensor.value_range
    rows = ", no two in a row equal" if tensor.distinct else ""
    return f"; each element x has {show(lo)} <= x < {show(hi)}{rows}"


def _size(symbol: Symbol, program: Program | None) -> str:
    node = symbol.node
    where = f" of `{node.name.text}`" if isinstance(node, tree.Declaration) else ""
    kind = "pack of dimensions" if symbol.kind == "pack" else "size"
    conditions = [show(c) for c in program.requires] if program is not None else []
    about = [c for c in conditions if re.search(rf"\b{symbol.name}\b", c)]
    return f"{kind}, taken from the shape{where}" + (f"; required: {', '.join(about)}" if about else "")


def _index(symbol: Symbol, found: tuple[Excerpt, Proof] | None) -> tuple[str, str]:
    axis = _axis(symbol, *found) if found is not None else None
    whence = _whence(symbol)
    star = "*" if axis is not None and axis.var.pack else ""
    if axis is None:
        return symbol.name, f"index; {whence}"
    return f"{star}{symbol.name} in {show(axis.lo)}..{show(axis.hi)}", f"index; {whence}"


def _axis(symbol: Symbol, part: Excerpt, proof: Proof) -> Axis | None:
    """The proven range of an index: that of the variable that stands where the index is declared."""
    if proof.program is None:
        return None
    for axis in _axes(proof.program):
        place = axis.var.span
        if place is None or not place.start <= len(part.text):
            continue
        start = part.place(place.start)
        if axis.var.name == symbol.name and abs(start - symbol.declared[0]) <= 1:
            return axis
    return None


def _axes(program: Program) -> Iterator[Axis]:
    for equation in program.equations:
        if isinstance(equation, Equation):
            yield from equation.axes
            for node in walk(equation):
                if isinstance(node, Reduce):
                    yield from node.axes


def _whence(symbol: Symbol) -> str:
    """The part of the text that gives an index its range (docs/reference/language.md, "Indices")."""
    scope = symbol.scope
    if isinstance(scope, tree.Reduction):
        binder = symbol.node
        if isinstance(binder, tree.Binder) and binder.range is not None:
            return f"range written in the {scope.op}"
        return f"of a {scope.op}; range from {_read_of(symbol, scope)}"
    assert isinstance(scope, tree.Equation)
    if any(b.name == symbol.name for b in scope.ranges):
        return "range written behind `for`"
    bare = _bare_axis(symbol, scope)
    if bare is not None and _is_declared(symbol, bare[0]):
        return f"range from axis {bare[1]} of `{bare[0]}`, on the left"
    return f"range from {_read_of(symbol, scope)}"


def _bare_axis(symbol: Symbol, equation: tree.Equation) -> tuple[str, int] | None:
    for target in equation.targets:
        for k, entry in enumerate(target.indices):
            items = entry.items if isinstance(entry, tree.Group) else (entry,)
            if any(isinstance(i, tree.Name | tree.PackName) and i.text == symbol.name for i in items):
                return target.name.text, k
    return None


def _is_declared(symbol: Symbol, tensor: str) -> bool:
    owner = symbol.owner
    assert isinstance(owner, tree.Operator)
    lets = [s.declaration for s in owner.body or () if isinstance(s, tree.Let)]
    return any(d.name.text == tensor for d in (*owner.outputs, *lets))


def _read_of(symbol: Symbol, scope: tree.Tree) -> str:
    """The first unguarded read that has the index alone."""
    for node in below(scope):
        if isinstance(node, tree.Access) and node.guard is None:
            for k, entry in enumerate(node.indices):
                items = entry.items if isinstance(entry, tree.Group) else (entry,)
                if any(isinstance(i, tree.Name | tree.PackName) and i.text == symbol.name for i in items):
                    return f"axis {k} of `{node.name.text}`"
    return "what reads it"
