"""The interface between the parts of elaboration and `scalars`, which descends into expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from texpr.ir.expr import Var
from texpr.lang.elaboration.name_scope import Names, Scope, Use
from texpr.lang.elaboration.typed_values import Arithmetic
from texpr.lang.syntax import tree
from texpr.support.source import Span
from texpr.support.trampoline import Steps


class ElaborationContext(Protocol):
    """The expressions of one operator, while they are elaborated.

    Attributes:
        names: of the operator.
        functions: `fn`s of the text.
        arithmetic: typed operations.
        is_operator: true of the names of operators.
        in_library: true of what `use ops: name` would find, for a name at a place.
        uses: for each index, the unguarded reads in which it stands alone.
        inlined: how many scalar functions have been inlined.
    """

    names: Names
    functions: Mapping[str, tree.Function]
    arithmetic: Arithmetic
    is_operator: Callable[[str], bool]
    in_library: Callable[[str, Span], bool]
    uses: dict[Var, list[Use]]
    inlined: int

    def steps(self, node: tree.Tree, scope: Scope) -> Steps:
        """The value of an expression, as a generator."""
        ...

    def index_steps(self, node: tree.Tree, scope: Scope) -> Steps:
        """An i64 expression, as a generator."""
        ...

    def condition_steps(self, node: tree.Tree, scope: Scope) -> Steps:
        """A bool, as a generator."""
        ...

    def entry(self, node: tree.Tree, scope: Scope) -> Steps:
        """One index: an expression, or `*s` of a pack."""
        ...
