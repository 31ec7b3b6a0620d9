"""Whole programs of operators: captured, differentiated, fused, planned, run by one native call.

Operators applied to `Symbolic` tensors append calls to a `Capture`: a Program of the Tensor IR
whose equations are calls. Gradients are `autodiff` on that Program; there is no tape. What outlives
a run is a `Variable`. A `Plan` goes through these stages, each of which gives a Program or a list
that can be printed:

1. `passes`: calls become equations over tensors whose extents are numbers (`flatten`); what no
   result needs goes, what is known at capture is computed, the laws of `passes.LAWS` are applied,
   equal definitions are one, transposes and slices become indices of their readers, reshapes become
   views. `PASSES` is the list; `opt` and `disable` choose from it.
2. `fusion.materialize`: functions of elements that are computed again and again are stored.
   `fusion.producer_consumer`: a tensor computed element by element is computed where it is read, a
   reduction ends with what is done to its result. `fusion.operand_transposes`: matrices that
   recurrences multiply with are turned before them. `fusion.kernel_groups`: what is left is shared
   out among kernels. `fusion.horizontal`: results that are computed alike, such as the updates of
   all parameters, are one loop. All follow a cost model (bytes saved against operations done again)
   and keep their decisions: `Plan.explain()`.
3. `lowering.launch_sequence`, `lowering.default_kernels`: each group is a Program whose tensors are
   named by position, so that groups of one structure (layers of one shape) are compiled once.
   Kernels are scheduled by `auto()`, proven, and cached on disk as all are.
4. `execution.in_place_updates`: kernels that cannot fail and write new values of variables over the
   old ones come behind all others. `execution.arena`: one block, places from lifetimes, 64-byte
   aligned, buffers of kernels among them; views are other tensors' memory, and what is computed
   element by element may be written over what is not needed any more.
5. `Plan`: what is known of the program, its `Memory`, and the `Runner`. Kernels and checks of
   values are entries of one table that native code walks through (`runtime.call.kernel_sequence`).
   In calls the slots of kernels that read data or write results are bound to the caller's arrays and
   to new ones (ADR 33); `fill`, `compute` and `commit` have arrays that stay, made at first use.
   A run that is interrupted there changes nothing; it begins anew where the handler of the signal
   does not raise: so no kernel of it may write data or variables, and tensors in the block are
   computed again. In-place updates are a table of their own: Ctrl-C waits until they are done and
   other variables have been exchanged for their second arrays (`runtime.call.signal_guard`).

Nothing here names an operator: fusion sees equations, their axes and their indices.
"""

from types import ModuleType

from texpr.graph.arrays.recording import active_capture
from texpr.graph.capture.capture import Capture
from texpr.graph.capture.protocol import Evaluation
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.capture.variable import Variable
from texpr.graph.execution.plan import Plan
from texpr.graph.fusion.flops import multiply_adds, operations
from texpr.graph.fusion.producer_consumer import Decision
from texpr.graph.lazy.lazy_tensor import Tensor, leaf_of
from texpr.graph.passes import PASSES
from texpr.graph.report.timing import Timing, timing_table

__all__ = [
    "PASSES",
    "Capture",
    "Decision",
    "Plan",
    "Symbolic",
    "Timing",
    "Variable",
    "active_capture",
    "multiply_adds",
    "operations",
    "timing_table",
]

Evaluation.leaf_of = leaf_of


def _namespace() -> ModuleType:
    from texpr.graph import array_api  # its hundred names take time, and few ask

    return array_api


Tensor._namespace = staticmethod(_namespace)
