"""f32 and narrower floats become f64: for checks that need more digits than a program has."""

from __future__ import annotations

from texpr.ir.dtypes import F64, DType
from texpr.ir.expr import Cast, Expr, Node, Tensor
from texpr.ir.tensor import Invoke, Program
from texpr.ir.traverse import rewrite
from texpr.passes.analysis.substitution import over_tensors
from texpr.passes.tensor.fix_sizes import all_tensors
from texpr.support.frozen_dataclass import replace


def widened(program: Program) -> Program:
    """The same equations in f64."""
    tensors: dict[Tensor, Tensor] = {t: replace(t, dtype=_wide(t.dtype)) for t in all_tensors(program)}

    def rule(node: Node) -> Node | None:
        if isinstance(node, Invoke):
            return replace(node, program=widened(node.program))
        if isinstance(node, Expr) and node.dtype != _wide(node.dtype):
            node = replace(node, dtype=F64)
        if isinstance(node, Cast) and node.dtype == node.operand.dtype:
            return node.operand
        return node

    return rewrite(over_tensors(program, tensors), rule)


def _wide(t: DType) -> DType:
    return F64 if t.is_float else t
