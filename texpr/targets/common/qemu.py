"""Code for other CPUs in QEMU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from texpr.ir.expr import Var
from texpr.support.late import late
from texpr.targets.common.records import Artifact, Runner

if TYPE_CHECKING:
    from texpr.runtime.process import qemu
else:
    qemu = late("texpr.runtime.process.qemu")


def in_qemu(processor: str, cpu: str = "max") -> Runner:
    """QEMU as such a processor, in its words.

    Args:
        processor: a key of `qemu.PROCESSORS`.
    """

    def run(
        artifact: Artifact,
        symbol: str,
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        sizes: Mapping[Var, int],
    ) -> None:
        qemu.run(
            artifact.object_code, symbol, inputs, outputs, list(sizes.values()), processor=processor, cpu=cpu
        )

    return run
