"""A kernel as code for C and C++ programs that know nothing of Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from texpr import aot
from texpr.compiler.kernels.certified import CertifiedLoops, with_requested_options
from texpr.support.frozen_dataclass import replace
from texpr.support.late import late
from texpr.support.once import once
from texpr.targets import Artifact

if TYPE_CHECKING:
    from texpr.compiler import pass_pipeline
else:
    pass_pipeline = late("texpr.compiler.pass_pipeline")


class CCode:
    """Code that needs no texpr: serial loops, the C library's memory."""

    def __init__(self, loops: CertifiedLoops) -> None:
        self.loops, self.asked_with = loops, loops.asked_with

    @once
    def artifact(self) -> Artifact:
        """The kernel under its own name."""
        return self.renamed(self.loops.name)

    @with_requested_options
    def renamed(self, name: str) -> Artifact:
        """The kernel under another name."""
        self.loops.prove()
        return pass_pipeline.build_alone(replace(self.loops.kernel, name=name), self.loops.target)

    @with_requested_options
    def function(self, name: str) -> aot.Function:
        """The declaration for C, with what was proven of the loops."""
        _, _, proof = self.loops.prove().partition(": ")
        facts = [f"Proven: {proof.splitlines()[0]}."] if proof else []
        return aot.function_of(replace(self.loops.kernel, name=name), self.loops.target, facts)

    def save(self, path: str | Path, header: str | Path | None, name: str) -> None:
        """Write code and header: see `CompiledKernel.save`."""
        name = name or self.loops.name
        aot.check_symbol(name)
        artifact = self.artifact if name == self.loops.name else self.renamed(name)
        aot.save(path, artifact, self.function(name), header)
