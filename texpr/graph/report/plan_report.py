"""A plan as people read it: text, pictures, decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from texpr.graph.fusion.producer_consumer import Decision
from texpr.graph.lowering.launch_sequence import Launch, show_launches
from texpr.graph.passes.flatten_calls import with_views
from texpr.graph.report.dot import to_dot
from texpr.graph.report.svg import picture
from texpr.ir.expr import Tensor
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program


class Between(Protocol):
    """A call between two launches, as listings show it."""

    @property
    def position(self) -> int:
        """The number of launches before it."""
        ...

    @property
    def text(self) -> str:
        """A description."""
        ...


class PlanReport:
    """Reports of what a plan runs.

    Attributes:
        captured: the program as it was captured.
        launches: the kernels of one run, in order.
        decisions: what was fused and what not, and why.
        views: tensors that are other tensors' memory.
        events: what happens between launches.
    """

    captured: Program
    launches: Sequence[Launch]
    decisions: Sequence[Decision]
    views: Mapping[Tensor, Tensor]
    events: Sequence[Between] = ()

    def explain(self) -> str:
        """One line per decision: what was fused, what was not, and why; and per kernel whose
        default schedule was left, why it was.
        """
        left = (k.fallback for n in self.launches for k in n.kernels if k.fallback is not None)
        return "\n".join(map(str, (*self.decisions, *left)))

    def __str__(self) -> str:
        lines = show_launches(self.launches).splitlines()
        for event in reversed(self.events):
            lines.insert(event.position, event.text)
        return "\n".join(lines)

    def text(self) -> str:
        """The program as it was captured, with the operators that it calls: parses back."""
        return show_program(with_views(self.captured), with_callees=True)

    def svg(self) -> str:
        """The kernels and what passes between them as a picture, laid out by Graphviz where that
        is installed.
        """
        return picture(self.launches, self.views)

    def to_dot(self) -> str:
        """The same as text for Graphviz."""
        return to_dot(self.launches, self.views)

    def _repr_html_(self) -> str:
        return self.svg()
