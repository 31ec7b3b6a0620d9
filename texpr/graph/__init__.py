"""Whole programs of operators: captured, differentiated, planned, run.

Operators applied to `Symbolic` tensors append calls to a `Capture`: a Program of the Tensor IR whose equations are calls. Gradients are
`autodiff` on that Program; there is no tape. A `Plan` compiles each call for its sizes, shares memory between tensors that are not
alive at once, and runs the calls in order. What outlives a run is a `Variable`.
"""

from texpr.graph.capture import Capture
from texpr.graph.cost import multiply_adds, operations
from texpr.graph.plan import Plan, Timing, timing_table
from texpr.graph.symbolic import Symbolic
from texpr.graph.variable import Variable, active_capture

__all__ = ["Capture", "Plan", "Symbolic", "Timing", "Variable", "active_capture", "multiply_adds", "operations", "timing_table"]
