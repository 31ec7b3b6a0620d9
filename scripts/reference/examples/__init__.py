"""Examples of the methods of public classes: Python that is run when a page is written, and shown with
its output.
"""

from __future__ import annotations

from scripts.reference.examples.kernels import CLASSES as KERNELS
from scripts.reference.examples.layers import CLASSES as LAYERS
from scripts.reference.examples.modules import CLASSES as MODULES
from scripts.reference.examples.optimizers import CLASSES as OPTIMIZERS
from scripts.reference.examples.ranks import CLASSES as RANKS
from scripts.reference.examples.training import CLASSES as TRAINING

Class = tuple[str, dict[str, str]]
"""Lines that each example of a class begins with, and an example for each of its methods."""
CLASSES: dict[str, Class] = {**KERNELS, **MODULES, **LAYERS, **OPTIMIZERS, **TRAINING, **RANKS}
"""By the public name of the class."""
