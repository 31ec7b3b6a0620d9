"""texpr: tensor operators as mathematics, schedules with proofs, machine code, gradients, networks."""

from texpr.compiler import CompiledKernel, Op, Schedule, check_grad, grad, interpret, jvp, load, op, schedule, vjp
from texpr.support.errors import (
    CallError,
    CheckError,
    CheckpointError,
    CompileError,
    Error,
    ParseError,
    ResourceError,
    ScheduleError,
)
from texpr.support.options import options

__all__ = [
    "CallError", "CheckError", "CheckpointError", "CompileError", "CompiledKernel", "Error", "Op", "ParseError", "ResourceError",
    "Schedule", "ScheduleError", "check_grad", "grad", "interpret", "jvp", "load", "op", "options", "schedule", "vjp",
]
