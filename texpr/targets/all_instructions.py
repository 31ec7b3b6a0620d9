"""All instructions of all targets: importing this fills `ir.instructions.INSTRUCTIONS`."""

from texpr.targets.cpu import amx_tiles  # noqa: F401
from texpr.targets.emit import instruction_emission  # noqa: F401
from texpr.targets.gpu import warp_instructions, warpgroup_instructions  # noqa: F401
