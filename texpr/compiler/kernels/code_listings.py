"""The code of a kernel as text: for reading, in every language that its target knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.compiler.kernels.certified import CertifiedLoops, with_requested_options
from texpr.support.errors import CompileError
from texpr.support.late import late
from texpr.support.once import once
from texpr.targets import Artifact

if TYPE_CHECKING:
    from texpr.compiler import pass_pipeline
    from texpr.compiler.kernels import gpu_resources
else:
    pass_pipeline = late("texpr.compiler.pass_pipeline")
    gpu_resources = late("texpr.compiler.kernels.gpu_resources")


class CodeListings(CertifiedLoops):
    """Certified loops whose code can be read."""

    @once
    @with_requested_options
    def artifact(self) -> Artifact:
        """All that LLVM made: for reading and for saving."""
        self.prove()
        return pass_pipeline.build(self.kernel, self.target)

    @property
    def llvm(self) -> str:
        """LLVM IR after LLVM's own passes.

        Raises:
            CompileError: another compiler makes the target's code.
        """
        if not self.artifact.llvm:
            raise CompileError(
                f"LLVM does not compile kernels for {self.target.name}",
                code="target",
                help=".text is what is compiled",
            )
        return self.artifact.llvm

    @property
    def text(self) -> str:
        """The kernel as the target emitted it: LLVM IR before LLVM's passes, or another language."""
        return self.artifact.emitted

    @property
    def asm(self) -> str:
        """Assembly."""
        return self.artifact.assembly

    @property
    def ptx(self) -> str:
        """PTX, on a GPU target."""
        if not self.target.gpu:
            raise CompileError(
                f"{self.target.name} has no PTX",
                code="target",
                help="compile for a GPU target; .asm is the assembly",
            )
        return self.artifact.assembly

    def occupancy(self) -> str:
        """Of each launch on a GPU: what ptxas says that it needs, and how many of its blocks run at
        once on a processor; a line each.

        Raises:
            CompileError: the target is no GPU.
            ResourceError: ptxas is not installed.
        """
        if not self.target.gpu:
            raise CompileError(
                f"{self.target.name} is no GPU: no blocks of threads run there",
                code="target",
                help="compile for a GPU target",
            )
        return gpu_resources.occupancy_of(self.artifact)
