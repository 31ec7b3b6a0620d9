"""Tensor IR: equations between tensors, in no order. A captured network is a Program too, whose
equations are calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from texpr.ir.expr import Axis, Expr, Guard, Node, Tensor, Var
from texpr.support.frozen_dataclass import node, replace
from texpr.support.source import Span


@node
class Equation(Node):
    """`target[indices] update value for axes where where`.

    Attributes:
        axes: the left side's index variables with their proven ranges, outermost first.
        update: None for a definition; `add mul max min` for a fold into what an earlier equation of
            the target defined.
        where: an affine condition on the instances.
        guard: what a write outside the target does (`drop`, `clamp`, `wrap`), or None where it
            cannot happen.
    """

    parts: ClassVar = ("indices", "axes", "value", "where", "guard")
    target: Tensor
    indices: tuple[Expr, ...]
    axes: tuple[Axis, ...]
    value: Expr
    update: str | None = None
    where: Expr | None = None
    guard: Guard | None = None
    span: Span | None = None

    @property
    def targets(self) -> tuple[Tensor, ...]:
        """The one tensor that it defines or updates, as `Invoke.targets` has several."""
        return (self.target,)


@node
class Invoke(Node):
    """`targets = program(args)`: a whole-tensor call. Argument k of the callee's inputs is
    `args[k]`.
    """

    targets: tuple[Tensor, ...]
    program: Program
    args: tuple[Tensor, ...]
    span: Span | None = None


@node
class Program(Node):
    """An operator with its dtypes and constants filled in; its sizes stay symbolic until
    `specialize`.

    Attributes:
        sizes: the symbolic sizes, each bound by a dimension of an input; packs have `Var.pack`.
        requires: bool expressions over sizes, written or implied, checked at the call.
        constants: the constants after `;` and the dtype variables that were filled in, for printing
            and caching.
    """

    parts: ClassVar = ("equations", "requires")
    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    equations: tuple[Equation | Invoke, ...]
    sizes: tuple[Var, ...] = ()
    requires: tuple[Expr, ...] = ()
    constants: tuple[tuple[str, object], ...] = ()
    doc: str = ""
    span: Span | None = None

    @property
    def temporaries(self) -> tuple[Tensor, ...]:
        """Tensors that are neither input nor output, in the order in which they are first
        defined.
        """
        known = {*self.inputs, *self.outputs}
        targets = (t for e in self.equations for t in e.targets)
        return tuple(dict.fromkeys(t for t in targets if t not in known))


def with_equations(program: Program, equations: Sequence[Equation | Invoke]) -> Program:
    """The program with other equations in place of its own; itself where they are the same."""
    own = program.equations
    same = len(own) == len(equations) and all(a is b for a, b in zip(own, equations))
    return program if same else replace(program, equations=tuple(equations))
