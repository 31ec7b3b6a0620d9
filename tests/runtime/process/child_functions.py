"""What the tests of child processes run there."""

from __future__ import annotations

import os
import sys
import time

import llvmlite.binding as llvm

from texpr.support.errors import ScheduleError

CANNOT_SELECT = """
declare <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float>, <16 x float>, i16)
define void @f(ptr %p) {
  %x = load <16 x float>, ptr %p
  %y = call <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float> %x, <16 x float> %x, i16 -1)
  store <16 x float> %y, ptr %p
  ret void
}
"""


def echo(*values):
    print("this goes nowhere")
    return list(values)


def process():
    return os.getpid()


def sleep(seconds):
    time.sleep(seconds)


def compute(seconds):
    """Take more processor time."""
    end = time.process_time() + 3 * seconds
    while time.process_time() < end:
        pass


def leave(status):
    print("the end is near", file=sys.stderr)
    sys.stderr.flush()
    os._exit(status)


def refuse():
    raise ScheduleError("no such loop", code="loop", notes=["one", "two"], help="look again")


def stumble():
    return 1 // 0


def abort_in_llvm():
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(cpu="x86-64")
    return machine.emit_assembly(llvm.parse_assembly(CANNOT_SELECT))


def shorten_idle_time(seconds):
    """The worker's process, which ends after so many seconds without a request."""
    sys.modules["__main__"].IDLE_SECONDS = seconds
    return os.getpid()
