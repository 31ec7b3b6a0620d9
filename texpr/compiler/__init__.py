"""The top of the compiler: operators, schedules, compiled kernels.

text -lang-> Program -specialize, lower-> Kernel -steps-> Kernel -loop passes-> Kernel -targets-> Artifact -runtime-> callable.
`Op` keeps what was made: one Program per dtypes and constants (its proofs hold for all sizes), one
kernel per shapes. A derived operator (`grad`, `vjp`) is an Op whose Programs come from another
one's.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from texpr.compiler.fallback import fallbacks
from texpr.compiler.kernels.compiled_kernel import CompiledKernel
from texpr.compiler.op import Op, interpret, load, op
from texpr.compiler.pass_pipeline import build
from texpr.compiler.schedule import Schedule, schedule
from texpr.ir.extern import register_extern

if TYPE_CHECKING:
    from texpr.compiler.check_grad import check_grad
    from texpr.compiler.derived_operators import grad, jvp, register_vjp, vjp

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
_DERIVATIVES = {
    "check_grad": "check_grad",
    **dict.fromkeys(("grad", "jvp", "register_vjp", "vjp"), "derived_operators"),
}


def __getattr__(name: str) -> Any:
    """Derivatives are imported when one is first used: most programs that call operators need
    none.
    """
    if name not in _DERIVATIVES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"texpr.compiler.{_DERIVATIVES[name]}"), name)
    return found
