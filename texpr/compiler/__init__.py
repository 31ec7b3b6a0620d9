"""The top of the compiler: operators, schedules, compiled kernels.

text -lang-> Program -specialize, lower-> Kernel -steps-> Kernel -loop passes-> Kernel -targets-> Artifact -runtime-> callable.
`Op` keeps what was made: one Program per dtypes and constants (its proofs hold for all sizes), one
kernel per shapes. A derived operator (`grad`, `vjp`) is an Op whose Programs come from another
one's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.compiler import row_orders
from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.compiler.check_grad import check_grad
    from texpr.compiler.derived_operators import grad, jvp, register_vjp, vjp
    from texpr.compiler.fallback import fallbacks
    from texpr.compiler.kernels.compiled_kernel import CompiledKernel
    from texpr.compiler.op import Op, interpret, load, op
    from texpr.compiler.pass_pipeline import build
    from texpr.compiler.schedule import Schedule, schedule
    from texpr.ir.extern import register_extern

__all__ = [
    "CompiledKernel",
    "Op",
    "Schedule",
    "build",
    "check_grad",
    "fallbacks",
    "grad",
    "interpret",
    "jvp",
    "load",
    "op",
    "register_extern",
    "register_vjp",
    "schedule",
    "vjp",
]

row_orders.register()
offer_late(__name__)
