"""Statements that never run, because their loops are empty or their conditions never hold: the
kernel without them computes the same.
"""

from __future__ import annotations

from texpr.ir.expr import Node
from texpr.ir.loop import For, If, Kernel, Store
from texpr.ir.traverse import rewrite
from texpr.poly.certificate.engine.obligations import Proof
from texpr.poly.certificate.engine.statement_extraction import extract
from texpr.support.frozen_dataclass import replace


def remove_dead_statements(proof: Proof) -> Proof | None:
    """Remove the statements that never run; None if every statement has an instance."""
    dead = {s.node for s in proof.nest.statements if s.call is None and s.domain(proof.facts).is_empty()}
    if not dead:
        return None
    kernel = _remove(proof.nest.kernel, dead)
    return replace(proof, nest=extract(kernel, proof.nest.parameters), reassociated={})


def _remove(kernel: Kernel, dead: set) -> Kernel:
    def rule(node: Node) -> Node | None:
        if isinstance(node, For | If | Kernel):
            remaining = tuple(
                s for s in node.body if s not in dead and not (isinstance(s, For | If) and not s.body)
            )
            return replace(node, body=remaining) if len(remaining) < len(node.body) else None
        return None

    assert all(isinstance(s, Store) for s in dead)
    return rewrite(kernel, rule)
